//! What a measurement between two points yields.

use std::fmt;
use std::net::SocketAddr;
use std::ops::AddAssign;

use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_units::{TimeDelta, Timestamp};

use tcpexp_metrics::RttSummary;

/// One of the two measurement points, named by the order of the captures on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Where the first capture was taken.
    Src,
    /// Where the second capture was taken.
    Dst,
}

impl Point {
    /// Both, in order of their [`index`](Self::index).
    pub const BOTH: [Self; 2] = [Self::Src, Self::Dst];

    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Src => Self::Dst,
            Self::Dst => Self::Src,
        }
    }

    /// 0 or 1, for arrays with one place per point.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Src => "src",
            Self::Dst => "dst",
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One round-trip time, from one packet that went out and one that came back.
///
/// The pair is synthetic: the second packet need not answer the first, it only left the far point
/// after the first had arrived there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// The flow both packets belong to.
    pub flow: FlowId,
    /// Which way the pair's first packet went within the flow.
    pub direction: Direction,
    /// Where the pair starts and ends; `time` is on this point's clock.
    pub reference: Point,
    /// When the pair's first packet passed the reference point, on that point's clock.
    pub time: Timestamp,
    /// Time on the path between the points, out and back, without the turnaround; clock skew
    /// removed where it was detected. Never clamped: a negative one is a finding.
    pub rtt: TimeDelta,
    /// Time between the two packets at the far point, on its clock: no part of `rtt`.
    pub turnaround: TimeDelta,
    /// Time of the first packet from the reference point to the far one, clock offset included.
    pub owd_out: TimeDelta,
    /// Time of the second packet back, clock offset included; `owd_out + owd_back` is `rtt`
    /// before the skew is removed.
    pub owd_back: TimeDelta,
}

/// A flow that was found at both points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairedFlow {
    /// Its number in this run.
    pub flow: FlowId,
    /// TCP or UDP.
    pub protocol: Protocol,
    /// Address and port of the initiator as seen at the source point.
    pub initiator: SocketAddr,
    /// Address and port of the responder as seen at the source point.
    pub responder: SocketAddr,
    /// Initiator and responder as seen at the destination point, where an address or a port was
    /// translated on the way.
    pub translated: Option<(SocketAddr, SocketAddr)>,
    /// What either capture calls it, by [`Point::index`].
    pub local: [LocalFlow; 2],
}

/// A flow as one capture by itself numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalFlow {
    /// Its number in the capture, as every measurement of this capture alone has it.
    pub flow: FlowId,
    /// What the capture's forward direction is in the pair: the capture may have missed who began.
    pub forward_is: Direction,
}

/// What became of one direction's packets.
///
/// At the upstream point `seen = matched + ambiguous + copies + lost + outside`; at the
/// downstream point `arrived = arrivals_matched + arrivals_ambiguous + arrivals_copies +
/// unseen_upstream + arrivals_outside`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionCounts {
    /// Packets at the point that this direction passes first.
    pub seen: u64,
    /// Of these, found again downstream.
    pub matched: u64,
    /// Of these, like another packet in every field that identifies one; not used.
    pub ambiguous: u64,
    /// Of these, second captures of one packet.
    pub copies: u64,
    /// Of these, never seen downstream though the downstream capture was running.
    pub lost: u64,
    /// Of these, sent while the downstream capture was not running.
    pub outside: u64,
    /// Packets at the point that this direction passes last.
    pub arrived: u64,
    /// Of these, found upstream too.
    pub arrivals_matched: u64,
    /// Of these, like another packet in every field that identifies one; not used.
    pub arrivals_ambiguous: u64,
    /// Of these, second captures or copies made on the path.
    pub arrivals_copies: u64,
    /// Of these, not seen upstream though the upstream capture was running.
    pub unseen_upstream: u64,
    /// Of these, sent while the upstream capture was not running.
    pub arrivals_outside: u64,
}

impl AddAssign for DirectionCounts {
    fn add_assign(&mut self, other: Self) {
        self.seen += other.seen;
        self.matched += other.matched;
        self.ambiguous += other.ambiguous;
        self.copies += other.copies;
        self.lost += other.lost;
        self.outside += other.outside;
        self.arrived += other.arrived;
        self.arrivals_matched += other.arrivals_matched;
        self.arrivals_ambiguous += other.arrivals_ambiguous;
        self.arrivals_copies += other.arrivals_copies;
        self.unseen_upstream += other.unseen_upstream;
        self.arrivals_outside += other.arrivals_outside;
    }
}

/// One finished flow: what was seen of it and the distribution of its round-trip times.
#[derive(Clone, Debug)]
pub struct FlowSummary {
    /// Which flow.
    pub flow: PairedFlow,
    /// Time from its first packet to its last, at the source point.
    pub duration: TimeDelta,
    /// Packet counts, by [`Direction::index`].
    pub counts: [DirectionCounts; 2],
    /// Round-trip times of the pairs whose first packet went this way, by [`Direction::index`];
    /// `None` where there is no sample.
    pub rtt: [Option<RttSummary>; 2],
}

impl FlowSummary {
    /// Samples of both directions.
    pub fn samples(&self) -> u64 {
        self.rtt.iter().flatten().map(|rtt| rtt.samples).sum()
    }
}
