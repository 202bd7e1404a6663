//! Properties that hold for every capture.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use tcpexp_testkit::{FrameSpec, Payload, TcpOptions, Transport};
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Tunnels, decode};

use crate::{FlowId, FlowTable, Slot, Tracked};

/// Generates a packet between few endpoints, so that flows collide, with fields at the limits that
/// matter.
fn frame() -> impl Strategy<Value = FrameSpec> {
    let number = || prop_oneof![0..4_u32, u32::MAX - 3..=u32::MAX, any::<u32>()];
    let segment = (number(), number(), 0..0x200_u16).prop_map(|(seq, ack, flags)| Transport::Tcp {
        seq,
        ack,
        flags,
        window: 0,
        options: TcpOptions::NONE,
    });
    let transport = prop_oneof![4 => segment, 1 => Just(Transport::Udp)];
    let host = || (0..2_u8, 0..2_u16, any::<bool>());
    (host(), host(), transport, 0..1500_u16).prop_map(|(from, to, transport, payload_bytes)| {
        let v6 = from.2;
        let address = |host: u8| {
            if v6 {
                Ipv6Addr::from_bits(host.into()).into()
            } else {
                Ipv4Addr::from_bits(host.into()).into()
            }
        };
        FrameSpec {
            src: address(from.0),
            dst: address(to.0),
            src_port: from.1,
            dst_port: to.1,
            transport,
            payload: Payload::new(0, 0, payload_bytes),
            ..FrameSpec::default()
        }
    })
}

/// Generates capture times that mostly advance: by less than the timeouts, by about a timeout, or
/// by far too much.
fn step() -> impl Strategy<Value = i64> {
    const SECOND: i64 = 1_000_000_000;
    prop_oneof![
        4 => 0..SECOND,
        2 => -400 * SECOND..400 * SECOND,
        1 => -9_000 * SECOND..9_000 * SECOND,
        1 => any::<i64>(),
    ]
}

fn capture() -> impl Strategy<Value = Vec<(i64, FrameSpec)>> {
    prop::collection::vec((step(), frame()), 1..60)
}

/// Returns the table's answer for each packet; ended flows are drained after every `drain_after`
/// packets.
fn track(capture: &[(i64, FrameSpec)], drain_after: usize) -> (Vec<Tracked>, Vec<FlowId>) {
    let mut table = FlowTable::default();
    let mut ended = Vec::new();
    let mut tracked = Vec::new();
    let mut now = 0_i64;
    for (index, (step, spec)) in capture.iter().enumerate() {
        now = now.wrapping_add(*step);
        let bytes = spec.to_bytes();
        let packet = decode(LinkType::ETHERNET, &bytes, spec.wire_len(), Tunnels::Closed).unwrap();
        tracked.push(table.track(Timestamp::from_nanos(now), &packet));
        if index % drain_after == 0 {
            table.drain_ended(|_, flow| ended.push(flow.id));
        }
    }
    table.end_all();
    table.drain_ended(|_, flow| ended.push(flow.id));
    assert!(table.is_empty());
    (tracked, ended)
}

/// An acknowledgment half a wrap away lowers the stream's newest offset; data then lowers it again.
#[test]
fn data_after_an_acknowledgment_half_a_wrap_away_keeps_its_sequence_number() {
    let segment = |from: u8, seq, ack| FrameSpec {
        src: Ipv4Addr::from_bits(from.into()).into(),
        dst: Ipv4Addr::from_bits((1 - from).into()).into(),
        src_port: from.into(),
        dst_port: (1 - from).into(),
        transport: Transport::Tcp {
            seq,
            ack,
            flags: tcpexp_testkit::flag::ACK,
            window: 0,
            options: TcpOptions::NONE,
        },
        payload: Payload::new(0, 0, 1),
        ..FrameSpec::default()
    };
    let capture = [
        (0, segment(0, 0, 0)),
        (0, segment(1, 0, 1 << 31)),
        (0, segment(0, 0, 0)),
    ];
    let (tracked, _) = track(&capture, 1);
    assert_eq!(tracked[2].start.unwrap().seq().0, 0);
}

proptest! {
    #[test]
    fn every_packet_belongs_to_one_flow_and_every_flow_ends_once(
        capture in capture(),
        drain_after in 1..20_usize,
    ) {
        let (tracked, mut ended) = track(&capture, drain_after);
        let mut begun = 0;
        for packet in &tracked {
            prop_assert_eq!(packet.is_first, packet.flow.0 == begun);
            prop_assert!(packet.flow.0 <= begun);
            begun += u32::from(packet.is_first);
        }
        ended.sort_unstable();
        let all: Vec<FlowId> = (0..begun).map(FlowId).collect();
        prop_assert_eq!(ended, all);
    }

    #[test]
    fn draining_changes_slots_but_not_flows(capture in capture(), drain_after in 1..20_usize) {
        let identity = |tracked: Tracked| (tracked.flow, tracked.direction, tracked.start);
        let (often, _) = track(&capture, drain_after);
        let (never, _) = track(&capture, usize::MAX);
        let often: Vec<_> = often.into_iter().map(identity).collect();
        let never: Vec<_> = never.into_iter().map(identity).collect();
        prop_assert_eq!(often, never);
    }

    #[test]
    fn a_flow_has_two_endpoints_and_each_sends_one_way(capture in capture()) {
        let mut senders = HashMap::new();
        let (tracked, _) = track(&capture, 1);
        for (packet, (_, frame)) in tracked.iter().zip(&capture) {
            let protocol = matches!(frame.transport, Transport::Udp);
            let from = (frame.src, frame.src_port);
            let to = (frame.dst, frame.dst_port);
            let way = (packet.flow, packet.direction);
            let known = *senders.entry(way).or_insert((protocol, from, to));
            prop_assert_eq!(known, (protocol, from, to));
            let back = senders.get(&(packet.flow, packet.direction.opposite()));
            if let Some(&back) = back {
                prop_assert_eq!(back, (protocol, to, from));
            }
        }
    }

    #[test]
    fn a_slot_holds_one_flow_at_a_time(capture in capture(), drain_after in 1..20_usize) {
        let mut holders: HashMap<Slot, FlowId> = HashMap::new();
        let mut left = HashSet::new();
        let (tracked, _) = track(&capture, drain_after);
        for packet in tracked {
            let before = holders.insert(packet.slot, packet.flow);
            if let Some(before) = before.filter(|before| *before != packet.flow) {
                prop_assert!(packet.is_first, "a slot changes hands with a first packet");
                left.insert(before);
            }
            prop_assert!(!left.contains(&packet.flow), "a flow that ended does not come back");
        }
    }

    #[test]
    fn an_offset_is_its_sequence_number_unwrapped(capture in capture()) {
        let (tracked, _) = track(&capture, 1);
        for (packet, (_, frame)) in tracked.iter().zip(&capture) {
            let seq = packet.start.map(|start| start.seq().0);
            let expected = match frame.transport {
                Transport::Tcp { seq, .. } => Some(seq),
                _ => None,
            };
            prop_assert_eq!(seq, expected);
        }
    }
}
