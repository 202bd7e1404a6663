//! Tests of more flows that end at once than are kept.

use super::*;

/// Sequence number of the SYN of a flow.
fn isn(flow: u32) -> u32 {
    flow.wrapping_mul(0x9E37_79B1)
}

/// The SYN of one flow, with this IP ID.
fn syn(flow: u32, ip_id: u16) -> Vec<u8> {
    let frame = FrameSpec {
        src: Ipv4Addr::from(0x0a00_0001 + flow / 50_000).into(),
        src_port: 1024 + (flow % 50_000) as u16,
        ip_id,
        transport: Transport::Tcp {
            seq: isn(flow),
            ack: 0,
            flags: flag::SYN,
            window: 65_535,
            options: TcpOptions::NONE,
        },
        ..FrameSpec::default()
    };
    frame.to_bytes()
}

/// The answer to the SYN of one flow.
fn syn_ack(flow: u32) -> Vec<u8> {
    let usual = FrameSpec::default();
    let frame = FrameSpec {
        src: usual.dst,
        src_port: usual.dst_port,
        dst: Ipv4Addr::from(0x0a00_0001 + flow / 50_000).into(),
        dst_port: 1024 + (flow % 50_000) as u16,
        ip_id: (flow % 0xFFFF) as u16,
        transport: Transport::Tcp {
            seq: isn(flow) ^ 0xFFFF,
            ack: isn(flow).wrapping_add(1),
            flags: flag::SYN | flag::ACK,
            window: 65_535,
            options: TcpOptions::NONE,
        },
        ..usual
    };
    frame.to_bytes()
}

/// `count` SYNs of one flow each, 0.1 ms apart, and another one 400 s later; captured `delay` later.
fn syns(count: u32, delay: TimeDelta) -> Scripted {
    let frame = |number: u32| {
        let idle_ns = if number == count { 400_000_000_000 } else { 0 };
        let at = Timestamp::from_nanos(i64::from(number) * 100_000 + idle_ns);
        (at + delay, syn(number, (number % 0xFFFF) as u16))
    };
    Scripted::of((0..=count).map(frame).collect())
}

#[test]
fn many_flows_that_end_at_once_keep_all_their_packets() {
    const FLOWS: u32 = 80_000;
    let captures = || [0, 10].map(|millis| syns(FLOWS, TimeDelta::from_millis(millis)));
    let alignment = {
        let [src, dst] = captures();
        Alignment::between(survey(src), survey(dst)).unwrap()
    };
    let [mut src, mut dst] = captures();
    let mut matched = vec![0; FLOWS as usize + 1];
    let options = Options::default();
    let Ok(totals) = measure(&mut src, &mut dst, alignment, options, |batch| {
        for flow in batch.ended {
            matched[flow.flow.flow.0 as usize] += flow.counts[0].matched;
        }
        Ok::<(), Infallible>(())
    });
    assert_eq!(totals.flows_shed, [0, 0]);
    // Without packets of the other direction, those sent in the first 10 ms may be outside.
    assert!(matched[100..].iter().all(|&packets| packets == 1));
}

#[test]
fn packets_of_too_many_ended_flows_are_given_up_without_being_called_lost() {
    const FLOWS: u32 = 4_000;
    const MAX_FLOWS: usize = 320;
    // The path loses the second SYN of each flow.
    let captures = || {
        [(0, 2), (10, 1)].map(|(millis, copies)| {
            let frames = (0..FLOWS).flat_map(|flow| (0..copies).map(move |copy| (flow, copy)));
            let frame = |(flow, copy): (u32, u32)| {
                let at = Timestamp::from_nanos(i64::from(2 * flow + copy) * 100_000);
                let ip_id = u16::try_from(2 * flow + copy).unwrap();
                (at + TimeDelta::from_millis(millis), syn(flow, ip_id))
            };
            Scripted::of(frames.map(frame).collect()).with_max_flows(MAX_FLOWS)
        })
    };
    let alignment = {
        let [src, dst] = captures();
        Alignment::between(survey(src), survey(dst)).unwrap()
    };
    let [mut src, mut dst] = captures();
    let mut counts = DirectionCounts::default();
    let mut given_up = 0;
    let options = Options {
        outcomes: true,
        ..Options::default()
    };
    let Ok(totals) = measure(&mut src, &mut dst, alignment, options, |batch| {
        for flow in &batch.ended {
            counts += flow.counts[0];
        }
        let fates = batch.outcomes.iter().map(|outcome| outcome.fate);
        given_up += fates.filter(|fate| *fate == Fate::LostOrMissed).count() as u64;
        Ok::<(), Infallible>(())
    });
    assert!(totals.flows_shed[0] > 3_000);
    assert!(totals.given_up_early > 3_000, "{totals:?}");
    // The last flows end with the capture, which shows that their packets are lost. Packets of one direction show when
    // the capture began only after the first of them are matched.
    let last = 2 * MAX_FLOWS as u64;
    assert!(counts.lost <= last, "{counts:?}");
    assert_eq!(counts.seen, u64::from(2 * FLOWS));
    assert_eq!(counts.matched, u64::from(FLOWS));
    assert_eq!(counts.lost_or_missed, given_up);
}

/// The SYN and SYN-ACK of `flows` connections, captured at one end of a path with 20 ms each way: the
/// client's, or the server's.
fn handshakes(flows: u32, at_client: bool, max_flows: usize) -> Scripted {
    let frames = (0..flows).flat_map(|flow| {
        let start = Timestamp::from_nanos(i64::from(flow) * 10_000);
        let [syn_ms, answer_ms] = if at_client { [0, 40] } else { [20, 20] };
        let ip_id = (flow % 0xFFFF) as u16;
        [
            (start + TimeDelta::from_millis(syn_ms), syn(flow, ip_id)),
            (start + TimeDelta::from_millis(answer_ms), syn_ack(flow)),
        ]
    });
    let mut frames: Vec<_> = frames.collect();
    frames.sort_by_key(|(at, _)| *at);
    Scripted::of(frames).with_max_flows(max_flows)
}

#[test]
fn packets_of_flows_in_pieces_are_neither_lost_nor_missed() {
    const FLOWS: u32 = 20_000;
    const MAX_FLOWS: usize = 1_000;
    let captures = || [true, false].map(|at_client| handshakes(FLOWS, at_client, MAX_FLOWS));
    let alignment = {
        let [src, dst] = captures();
        Alignment::between(survey(src), survey(dst)).unwrap()
    };
    let [mut src, mut dst] = captures();
    let mut counts = [DirectionCounts::default(); 2];
    let options = Options {
        outcomes: true,
        ..Options::default()
    };
    let Ok(totals) = measure(&mut src, &mut dst, alignment, options, |batch| {
        for flow in &batch.ended {
            for (counts, of_flow) in counts.iter_mut().zip(flow.counts) {
                *counts += of_flow;
            }
        }
        Ok::<(), Infallible>(())
    });
    assert!(totals.flows_shed.iter().all(|&shed| shed > 3_000));
    assert_eq!(totals.unseen, [0, 0]);
    for counts in counts {
        let DirectionCounts {
            lost,
            missed,
            unseen_upstream,
            ..
        } = counts;
        assert_eq!([lost, missed, unseen_upstream], [0; 3], "{counts:?}");
        assert!(counts.seen > 0, "{counts:?}");
    }
}
