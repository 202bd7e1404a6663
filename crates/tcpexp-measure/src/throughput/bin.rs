//! What is measured: the rows.

use std::ops::AddAssign;

use tcpexp_flow::{Direction, Flow, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// What a capture yields. The bins of one flow are in order of time, between its beginning and its
/// end; those of different flows are not in order with each other.
#[derive(Clone, Debug)]
pub enum ThroughputRow {
    /// A flow whose first packet was just seen.
    Began(Flow),
    /// One bin of one flow and direction, or of all together.
    Bin(ThroughputBin),
    /// A flow that is over.
    Ended(Box<ThroughputFlow>),
}

/// What passed in one bin.
///
/// A flow has a bin of each direction from that of its first packet to that of its last one, and so
/// has the whole capture; where nothing passed it is zero. The first and the last one are seldom
/// filled for their whole width, so their rates are too low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputBin {
    /// Which flow; `None` for all flows together.
    pub flow: Option<FlowId>,
    /// Which way; `None` for both together, which only the bins of all flows have. The direction of
    /// all flows together is that from their initiators or to them, whatever link that is.
    pub direction: Option<Direction>,
    /// When the bin starts, on the capture's clock.
    pub start: Timestamp,
    /// How long it is.
    pub width: TimeDelta,
    /// What passed.
    pub volume: Volume,
    /// Share of the link that the bytes on the wire take, in parts per million, rounded down; more
    /// than a million if they came in faster than the link is said to be. `None` if no link rate is
    /// given.
    pub utilisation_ppm: Option<u64>,
}

/// Packets and their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// How many packets.
    pub packets: u64,
    /// Bytes on the wire, link headers included.
    pub wire_bytes: u64,
    /// Bytes of IP packets, headers included.
    pub ip_bytes: u64,
    /// Bytes of payload that came for the first time.
    pub goodput_bytes: u64,
}

/// What is known of a flow when it is over.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputFlow {
    /// The flow.
    pub flow: Flow,
    /// All that passed, by direction; packets that came too late for their bins included.
    pub directions: [Volume; 2],
}

/// What is known when the capture is at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThroughputTotals {
    /// How many flows there were.
    pub flows: u32,
    /// All that is in bins.
    pub binned: Volume,
    /// Packets that are in no bin: their time lies before bins that were handed out already, or more
    /// than a day ahead of the packets around them.
    pub late: Volume,
}

impl ThroughputBin {
    /// Bits on the wire per second, link headers included, rounded down.
    pub fn wire_rate_bps(&self) -> u64 {
        rate_bps(self.volume.wire_bytes, self.width)
    }

    /// Bits of IP packets per second, rounded down.
    pub fn throughput_bps(&self) -> u64 {
        rate_bps(self.volume.ip_bytes, self.width)
    }

    /// Bits of payload per second that came for the first time, rounded down.
    pub fn goodput_bps(&self) -> u64 {
        rate_bps(self.volume.goodput_bytes, self.width)
    }
}

/// Bits per second, rounded down, of so many bytes in a positive time.
fn rate_bps(bytes: u64, width: TimeDelta) -> u64 {
    let nanos = u128::from(width.as_nanos().unsigned_abs().max(1));
    let bits = u128::from(bytes) * 8 * NANOS_PER_SECOND / nanos;
    u64::try_from(bits).unwrap_or(u64::MAX)
}

/// The share of a link that so many bytes take in a positive time, in parts per million, rounded
/// down. `None` for a link of no rate.
pub(super) fn utilisation_ppm(bytes: u64, width: TimeDelta, link_bps: u64) -> Option<u64> {
    let nanos = u128::from(width.as_nanos().unsigned_abs());
    // 2^64 bytes are 2^117 in these units.
    let sent = u128::from(bytes) * 8 * NANOS_PER_SECOND * 1_000_000;
    let room = nanos * u128::from(link_bps);
    let ppm = sent.checked_div(room)?;
    Some(u64::try_from(ppm).unwrap_or(u64::MAX))
}

impl AddAssign for Volume {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.wire_bytes += other.wire_bytes;
        self.ip_bytes += other.ip_bytes;
        self.goodput_bytes += other.goodput_bytes;
    }
}
