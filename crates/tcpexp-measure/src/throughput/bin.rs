//! Rows of the measurement.

use std::ops::AddAssign;

use tcpexp_flow::{Direction, Flow, FlowId};
use tcpexp_units::{BitRate, ByteCount, TimeDelta, Timestamp};

use crate::MissedData;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// A row.
///
/// The bins of a flow are in time order, between the flow's first and last row; bins of different
/// flows are not ordered.
#[derive(Clone, Debug)]
pub enum ThroughputRow {
    /// A flow whose first packet was just seen.
    Began(Flow),
    /// One bin of one flow and direction, or of all flows.
    Bin(ThroughputBin),
    /// A flow that has ended.
    Ended(Box<ThroughputFlow>),
}

/// One bin.
///
/// A flow has a bin per direction from its first packet to its last, and so does the whole capture;
/// bins without packets are zero.
///
/// The capture rarely covers the whole of the first and the last bin. Rates refer to the covered part of
/// the bin. A flow that begins or ends within a bin was silent for the rest of the bin, and its rate
/// includes this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThroughputBin {
    /// The flow; `None` for all flows together.
    pub flow: Option<FlowId>,
    /// Direction; `None` for the sum of both, only in bins of all flows. Forward is from each
    /// flow's initiator, whatever the link.
    pub direction: Option<Direction>,
    /// Start of the bin on the capture's clock.
    pub start: Timestamp,
    /// Width of the bin.
    pub width: TimeDelta,
    /// The part of the bin before the first packet of the capture.
    pub left_out: TimeDelta,
    /// The part of the bin between the first and the last packet of the capture; for a flow that
    /// ended before the bin did, up to the last packet before the bin was reported.
    pub covered: TimeDelta,
    /// Packets in the bin.
    pub volume: Volume,
    /// Share of the link rate used by the bytes on the wire, in parts per million, rounded down.
    /// Exceeds a million if the traffic exceeds the given link rate. `None` without a link rate or
    /// [`rated`](Self::rated) time.
    pub utilisation_ppm: Option<u64>,
}

/// Packets and their sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Number of packets.
    pub packets: u64,
    /// Bytes on the wire, link headers included.
    pub wire_bytes: u64,
    /// Bytes of IP packets, headers included.
    pub ip_bytes: u64,
    /// Bytes of payload captured for the first time, without those outside the receive window.
    pub goodput_bytes: u64,
    /// Number of packets with the ECN codepoint CE (RFC 3168, section 5).
    pub ce_packets: u64,
}

/// Totals of a flow that has ended.
#[derive(Clone, Copy, Debug)]
pub struct ThroughputFlow {
    /// The flow.
    pub flow: Flow,
    /// All packets by direction, including packets too late for their bins.
    pub directions: [Volume; 2],
}

/// Totals of the capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThroughputTotals {
    /// Number of flows.
    pub flows: u32,
    /// Number of flows that ended early because too many were alive.
    pub flows_shed: u32,
    /// Packets in bins.
    pub binned: Volume,
    /// Packets in no bin: their time is before a bin that was already reported, or more than a day
    /// ahead of the packets around them.
    pub late: Volume,
    /// Data that the capture missed.
    pub missed: MissedData,
}

impl ThroughputBin {
    /// Divisor of the bin's rates: the covered time, or `None` if it is less than half of the bin.
    ///
    /// A burst of packets in a small part of a bin would show the speed of the sender's network card,
    /// not a rate that can be compared with other bins. If at least half of the bin is covered, the
    /// rate is at most twice the rate of the same packets over the whole width.
    pub fn rated(&self) -> Option<TimeDelta> {
        rated(self.covered, self.width)
    }

    /// Bits on the wire per second, link headers included, rounded down; `None` without
    /// [`rated`](Self::rated) time.
    pub fn wire_rate_bps(&self) -> Option<u64> {
        self.rate_bps(self.volume.wire_bytes)
    }

    /// Bits of IP packets per second, rounded down; `None` without [`rated`](Self::rated) time.
    pub fn throughput_bps(&self) -> Option<u64> {
        self.rate_bps(self.volume.ip_bytes)
    }

    /// Bits of payload captured for the first time per second, rounded down; `None` without
    /// [`rated`](Self::rated) time.
    pub fn goodput_bps(&self) -> Option<u64> {
        self.rate_bps(self.volume.goodput_bytes)
    }

    fn rate_bps(&self, bytes: u64) -> Option<u64> {
        let rate = ByteCount::new(bytes).rate_over(self.rated()?);
        // The time is positive, so `None` is a rate beyond 64 bits.
        Some(rate.map_or(u64::MAX, BitRate::as_bps))
    }
}

/// See [`ThroughputBin::rated`].
pub(super) fn rated(covered: TimeDelta, width: TimeDelta) -> Option<TimeDelta> {
    (covered >= width - covered).then_some(covered)
}

/// Share of a link's capacity that bytes use in a positive time, in parts per million, rounded down.
/// `None` for a link rate of zero.
pub(super) fn utilisation_ppm(bytes: u64, width: TimeDelta, link_bps: u64) -> Option<u64> {
    let nanos = u128::from(width.as_nanos().unsigned_abs());
    // Fits: 2^64 bytes are 2^117 in these units.
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
        self.ce_packets += other.ce_packets;
    }
}
