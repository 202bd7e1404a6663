//! The first packets that differ between two captures of the same experiment.
//!
//! Ports, initial sequence numbers and timestamps are random, so flows are matched by their addresses,
//! their responder's port and their order, and packets by their place in their direction. Sequence
//! numbers count from the first packet of their direction, and times from the first packet of the flow.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use tcpexp::{Direction, Recording, TimeDelta, Timestamp, Tunnels};
use tcpexp_flow::{FlowId, FlowPacket, FlowTable, Packets, Segment, StreamOffset, SynOptions};
use tcpexp_wire::{Ecn, TcpFlags};

/// Largest difference of times that is not reported.
///
/// The clock of a guest counts instructions, and two kernels need different numbers of instructions
/// for the same work. As long as applications write at the same times, equal packets differ by up to
/// 0.02 ms between the kernels 6.1 and 6.12. A packet of 1500 bytes takes 1.2 ms at 10 Mbit/s.
pub(crate) const TOLERANCE: TimeDelta = TimeDelta::from_millis(1);

/// The flows of a capture in order of their beginning.
pub(crate) struct Trace {
    pub(crate) flows: Vec<TracedFlow>,
}

/// The packets of one flow.
pub(crate) struct TracedFlow {
    pub(crate) id: FlowId,
    pub(crate) initiator: SocketAddr,
    pub(crate) responder: SocketAddr,
    pub(crate) began: Timestamp,
    /// By direction, in order of capture.
    pub(crate) packets: [Vec<Sent>; 2],
    /// One past the last byte so far, by direction.
    nxt: [Option<i64>; 2],
}

/// The properties of a packet that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Time since the first packet of the flow.
    pub(crate) after: TimeDelta,
    /// First byte, from the first of the direction.
    pub(crate) start: i64,
    pub(crate) payload_bytes: u32,
    /// Acknowledgment number, from the first byte of the other direction.
    pub(crate) ack: Option<i64>,
    pub(crate) flags: TcpFlags,
    pub(crate) window: u16,
    /// ECN field of the IP header.
    pub(crate) ecn: Ecn,
    pub(crate) sack_blocks: usize,
    pub(crate) syn: Option<SynOptions>,
    /// True if all its payload was sent before.
    pub(crate) is_again: bool,
}

/// A property in which two packets differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Property {
    /// One capture has no such packet.
    Presence,
    Options,
    Flags,
    /// First byte or length of the payload.
    Payload,
    Ack,
    Sack,
    Ecn,
    Window,
    Time,
}

/// The first packet of a flow and direction that differs in some property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) direction: Direction,
    /// Place of the packet in its direction, from 1.
    pub(crate) number: usize,
    pub(crate) property: Property,
    /// The packets; `None` if the direction ended before.
    pub(crate) packets: [Option<Sent>; 2],
}

impl Difference {
    /// Time of the earlier packet since the beginning of the flow.
    pub(crate) fn at(&self) -> TimeDelta {
        let times = self.packets.iter().flatten().map(|packet| packet.after);
        times.min().unwrap_or(TimeDelta::ZERO)
    }
}

impl Trace {
    /// Reads the TCP flows of a capture.
    pub(crate) fn read(recording: &Recording) -> Result<Self, tcpexp::Error> {
        let mut walk = recording.walk(Tunnels::Closed)?;
        let mut table = FlowTable::default();
        let mut flows: Vec<TracedFlow> = Vec::new();
        let mut places: HashMap<FlowId, (usize, [Option<StreamOffset>; 2])> = HashMap::new();
        while walk.show(usize::MAX, |sighted| {
            let mut arrival = sighted.arrival();
            let tracked = table.place(&mut arrival);
            let FlowPacket::Tcp(segment) = arrival.packet() else {
                return;
            };
            let flow = table.flow(tracked.slot);
            let (place, bases) = places.entry(flow.id).or_insert_with(|| {
                flows.push(TracedFlow {
                    id: flow.id,
                    initiator: flow.initiator(),
                    responder: flow.responder(),
                    began: sighted.at,
                    packets: [Vec::new(), Vec::new()],
                    nxt: [None; 2],
                });
                (flows.len() - 1, [None; 2])
            });
            if let Some(traced) = flows.get_mut(*place) {
                traced.add(segment, bases);
            }
        }) > 0
        {}
        Ok(Self { flows })
    }

    /// The flows that are the same in both runs of the experiment.
    pub(crate) fn pairs<'a>(&'a self, other: &'a Self) -> Vec<(&'a TracedFlow, &'a TracedFlow)> {
        let mut theirs = other.by_name();
        let pair = |flow: &'a TracedFlow| {
            let same = theirs.get_mut(&flow.name())?;
            same.next().map(|other| (flow, other))
        };
        self.flows.iter().filter_map(pair).collect()
    }

    fn by_name(&self) -> BTreeMap<(IpAddr, SocketAddr), std::vec::IntoIter<&TracedFlow>> {
        let mut names: BTreeMap<_, Vec<&TracedFlow>> = BTreeMap::new();
        for flow in &self.flows {
            names.entry(flow.name()).or_default().push(flow);
        }
        let flows = names.into_iter();
        flows
            .map(|(name, flows)| (name, flows.into_iter()))
            .collect()
    }
}

impl TracedFlow {
    fn name(&self) -> (IpAddr, SocketAddr) {
        (self.initiator.ip(), self.responder)
    }

    fn add(&mut self, segment: &Segment, bases: &mut [Option<StreamOffset>; 2]) {
        let direction = segment.seen.direction;
        let (own, other) = (direction.index(), direction.opposite().index());
        let base = *bases[own].get_or_insert(segment.start);
        let start = segment.start.since(base);
        let payload_bytes = segment.seen.payload_bytes;
        let sent = &mut self.packets[own];
        let end = start + i64::from(payload_bytes);
        let nxt = &mut self.nxt[own];
        let is_again = payload_bytes > 0 && nxt.is_some_and(|nxt| end <= nxt);
        *nxt = (*nxt).max(Some(end));
        sent.push(Sent {
            after: segment.seen.at - self.began,
            start,
            payload_bytes,
            ack: segment.ack.map(|ack| {
                let base = *bases[other].get_or_insert(ack);
                ack.since(base)
            }),
            flags: segment.flags,
            window: segment.window,
            ecn: Ecn::of(segment.seen.traffic_class),
            sack_blocks: segment.sack_block_count(),
            syn: segment.syn,
            is_again,
        });
    }

    /// Direction of most of the payload.
    pub(crate) fn data_direction(&self) -> Direction {
        let bytes = |direction: Direction| {
            let packets = self.packets[direction.index()].iter();
            packets
                .map(|packet| u64::from(packet.payload_bytes))
                .sum::<u64>()
        };
        if bytes(Direction::Reverse) > bytes(Direction::Forward) {
            Direction::Reverse
        } else {
            Direction::Forward
        }
    }
}

/// The first packet that differs in each property, in order of time.
///
/// A direction is compared up to its first packet with other payload or flags: later packets no
/// longer correspond to each other.
pub(crate) fn differences(a: &TracedFlow, b: &TracedFlow) -> Vec<Difference> {
    let mut found: Vec<Difference> = Vec::new();
    for direction in Direction::BOTH {
        let [ours, theirs] = [a, b].map(|flow| &flow.packets[direction.index()]);
        for at in 0..ours.len().max(theirs.len()) {
            let packets = [ours, theirs].map(|packets| packets.get(at).copied());
            let properties = unlike(packets);
            for &property in &properties {
                let is_known =
                    |known: &Difference| known.direction == direction && known.property == property;
                if !found.iter().any(is_known) {
                    found.push(Difference {
                        direction,
                        number: at + 1,
                        property,
                        packets,
                    });
                }
            }
            let ends = [Property::Presence, Property::Flags, Property::Payload];
            if properties.iter().any(|property| ends.contains(property)) {
                break;
            }
        }
    }
    found.sort_by_key(|difference| (difference.at(), difference.property));
    found
}

fn unlike(packets: [Option<Sent>; 2]) -> Vec<Property> {
    let (Some(a), Some(b)) = (packets[0], packets[1]) else {
        return vec![Property::Presence];
    };
    let lag = a.after - b.after;
    [
        (Property::Options, a.syn != b.syn),
        (Property::Flags, a.flags != b.flags),
        (
            Property::Payload,
            (a.start, a.payload_bytes) != (b.start, b.payload_bytes),
        ),
        (Property::Ack, a.ack != b.ack),
        (Property::Sack, a.sack_blocks != b.sack_blocks),
        (Property::Ecn, a.ecn != b.ecn),
        (Property::Window, a.window != b.window),
        (Property::Time, lag.as_nanos().abs() > TOLERANCE.as_nanos()),
    ]
    .into_iter()
    .filter_map(|(property, differs)| differs.then_some(property))
    .collect()
}

impl Property {
    /// The property's value in a packet.
    pub(crate) fn of(self, packet: Option<&Sent>) -> String {
        let Some(packet) = packet else {
            return "no packet".to_owned();
        };
        match self {
            Self::Presence => format!("{packet}"),
            Self::Options => packet.syn.map_or_else(|| "none".to_owned(), options),
            Self::Flags => packet.flags.to_string(),
            Self::Payload => payload(packet),
            Self::Ack => packet
                .ack
                .map_or_else(|| "none".to_owned(), |ack| ack.to_string()),
            Self::Sack => format!("{} blocks", packet.sack_blocks),
            Self::Ecn => codepoint(packet.ecn).to_owned(),
            Self::Window => packet.window.to_string(),
            Self::Time => format!("{:.3} ms", packet.after.as_nanos() as f64 / 1e6),
        }
    }

    /// The property's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Presence => "end",
            Self::Options => "options of the SYN",
            Self::Flags => "flags",
            Self::Payload => "payload",
            Self::Ack => "acknowledgment",
            Self::Sack => "SACK blocks",
            Self::Ecn => "ECN field",
            Self::Window => "window",
            Self::Time => "time",
        }
    }
}

fn options(syn: SynOptions) -> String {
    let number =
        |name: &str, value: Option<u32>| value.map(|value| format!("{name} {value}")).into_iter();
    let word = |name: &str, is_there: bool| is_there.then(|| name.to_owned()).into_iter();
    let words = number("mss", syn.mss.map(u32::from))
        .chain(number("wscale", syn.window_scale.map(u32::from)))
        .chain(word("sack", syn.sack_permitted))
        .chain(word("timestamps", syn.timestamps));
    words.collect::<Vec<_>>().join(", ")
}

/// Name of a codepoint (RFC 3168, section 5).
const fn codepoint(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "Not-ECT",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ce => "CE",
    }
}

fn payload(packet: &Sent) -> String {
    if packet.payload_bytes == 0 {
        return format!("none at {}", packet.start);
    }
    let end = packet.start + i64::from(packet.payload_bytes);
    let again = if packet.is_again { " again" } else { "" };
    format!("{}:{end}{again}", packet.start)
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flags, payload(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(packets: &[(Direction, i64, i64, u32)]) -> TracedFlow {
        let address = SocketAddr::from(([10, 0, 0, 1], 80));
        let mut flow = TracedFlow {
            id: FlowId(0),
            initiator: address,
            responder: address,
            began: Timestamp::from_nanos(0),
            packets: [Vec::new(), Vec::new()],
            nxt: [None; 2],
        };
        for &(direction, micros, start, payload_bytes) in packets {
            flow.packets[direction.index()].push(Sent {
                after: TimeDelta::from_micros(micros),
                start,
                payload_bytes,
                ack: None,
                flags: TcpFlags::ACK,
                window: 100,
                ecn: Ecn::NotEct,
                sack_blocks: 0,
                syn: None,
                is_again: false,
            });
        }
        flow
    }

    use Direction::{Forward, Reverse};

    fn properties(a: &TracedFlow, b: &TracedFlow) -> Vec<(Property, usize)> {
        let found = differences(a, b).into_iter();
        found.map(|found| (found.property, found.number)).collect()
    }

    #[test]
    fn equal_packets_within_the_tolerance_are_no_difference() {
        let a = flow(&[
            (Forward, 0, 0, 0),
            (Forward, 5_000, 0, 1000),
            (Reverse, 9_000, 0, 0),
        ]);
        let b = flow(&[
            (Forward, 0, 0, 0),
            (Forward, 5_900, 0, 1000),
            (Reverse, 8_200, 0, 0),
        ]);
        assert!(differences(&a, &b).is_empty());
    }

    #[test]
    fn direction_is_compared_up_to_other_payload() {
        let a = flow(&[
            (Forward, 0, 0, 1000),
            (Forward, 100, 1000, 1000),
            (Forward, 200, 2000, 1000),
        ]);
        let b = flow(&[
            (Forward, 0, 0, 1000),
            (Forward, 100, 1000, 500),
            (Forward, 9_000, 1500, 500),
        ]);
        assert_eq!(properties(&a, &b), [(Property::Payload, 2)]);
    }

    #[test]
    fn earliest_difference_comes_first() {
        let a = flow(&[
            (Forward, 0, 0, 0),
            (Forward, 10_000, 0, 9),
            (Reverse, 5_000, 0, 0),
        ]);
        let mut b = flow(&[
            (Forward, 0, 0, 0),
            (Forward, 12_000, 0, 9),
            (Reverse, 5_000, 0, 0),
        ]);
        b.packets[Reverse.index()][0].window = 7;
        assert_eq!(
            properties(&a, &b),
            [(Property::Window, 1), (Property::Time, 2)]
        );
    }

    #[test]
    fn missing_packet_ends_a_direction() {
        let a = flow(&[(Forward, 0, 0, 0), (Forward, 1, 0, 10)]);
        let b = flow(&[(Forward, 0, 0, 0)]);
        assert_eq!(properties(&a, &b), [(Property::Presence, 2)]);
    }
}
