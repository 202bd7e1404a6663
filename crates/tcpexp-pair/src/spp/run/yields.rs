//! What one round of a shard yields.

use crate::spp::clock::LeastDelays;
use crate::spp::matching::PacketOutcome;
use crate::spp::pairing::{FlowSummary, RttSample};
use tcpexp_units::Timestamp;

/// Results of a round.
#[derive(Debug, Default)]
pub(in crate::spp) struct Yield {
    /// Samples, each with the completion time of its pair on the timeline.
    pub(in crate::spp) samples: Vec<(Timestamp, RttSample)>,
    pub(in crate::spp) outcomes: Vec<PacketOutcome>,
    pub(in crate::spp) ended: Vec<FlowSummary>,
    /// Number of packets given up early because too many flows ended with packets in flight.
    pub(in crate::spp) given_up_early: u64,
    /// Number of packets and pairs not used because a clock step lies between their timestamps.
    pub(in crate::spp) across_steps: u64,
    /// Number of pairs not used because the error of the round-trip time may exceed it.
    pub(in crate::spp) uncertain: u64,
    /// First and last departure time among matched packets, by [`PathDirection::index`].
    pub(in crate::spp) proven: [Option<(Timestamp, Timestamp)>; 2],
    /// Number of packets that arrived but were not captured upstream, by [`Point::index`] of the
    /// upstream point.
    pub(in crate::spp) unseen: [u64; 2],
    /// First and last arrival of the packets in `unseen`.
    pub(in crate::spp) unseen_between: [Option<(Timestamp, Timestamp)>; 2],
    /// First and last time of packets that seem to arrive before they leave.
    pub(in crate::spp) contradicted: Option<(Timestamp, Timestamp)>,
    /// Smallest one-way delays.
    pub(in crate::spp) least_delays: LeastDelays,
}
