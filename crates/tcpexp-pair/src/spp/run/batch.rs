//! Options and results of the measurement loop.

use tcpexp_units::{TimeDelta, Timestamp};

use crate::spp::clock::{Clocks, LeastDelays};
use crate::spp::linking::{PairedFlow, Unpaired};
use crate::spp::matching::PacketOutcome;
use crate::spp::pairing::{FlowSummary, RttSample};

/// Options of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Longest one-way delay. A packet that arrives later is not recognised.
    pub max_owd: TimeDelta,
    /// Whether to report the outcome of each packet.
    pub outcomes: bool,
    /// Whether to report round-trip times.
    pub samples: bool,
    /// Whether the fastest packets of both ways are known to have equal delays. Then only the
    /// resolution of the clocks limits the accuracy of the clock offset.
    pub symmetric: bool,
    /// What is known about the clocks of the captures.
    pub clocks: Clocks,
    /// Whether each capture is known to miss packets, by [`Point::index`](crate::spp::Point::index): then a packet that is
    /// not in it need not be lost.
    pub misses: [bool; 2],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_owd: TimeDelta::from_seconds(30),
            outcomes: false,
            samples: true,
            symmetric: false,
            clocks: Clocks::Separate,
            misses: [false; 2],
        }
    }
}

/// Results from one time range of both captures.
#[derive(Debug, Default)]
pub struct Batch {
    /// Flows found at both points; each flow precedes its samples.
    pub flows: Vec<PairedFlow>,
    /// Round-trip times, in order of the arrival of their second packet.
    pub samples: Vec<RttSample>,
    /// Outcome of each packet if [`Options::outcomes`] is set: received packets in order of
    /// arrival (within a flow: in order of the capture), others in order of departure once they are given up.
    pub outcomes: Vec<PacketOutcome>,
    /// Finished flows.
    pub ended: Vec<FlowSummary>,
}

/// Results available once both captures have been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Flows seen at only one point, by [`Point::index`](crate::spp::Point::index).
    pub unpaired: [Unpaired; 2],
    /// Number of flows ended early because too many were alive, by [`Point::index`](crate::spp::Point::index).
    pub flows_shed: [u32; 2],
    /// Number of packets given up before the longest one-way delay, because too many flows ended
    /// with packets in flight. Each may have arrived later.
    pub given_up_early: u64,
    /// Number of packets without an outcome, by [`Point::index`](crate::spp::Point::index): too many
    /// to hold back until their flow was found at the other point. They count as outside.
    pub not_held: [u64; 2],
    /// Number of packets and pairs not used because a clock step lies between their timestamps.
    pub across_steps: u64,
    /// Number of pairs not used because the error of the round-trip time may exceed it.
    pub uncertain: u64,
    /// Smallest one-way delays of all matched packets.
    pub least_delays: LeastDelays,
    /// Number of packets that the upstream capture missed while it was running, by
    /// [`Point::index`](crate::spp::Point::index).
    ///
    /// If a capture seems to have missed packets only at times that `contradicted` covers, this is 0.
    pub unseen: [u64; 2],
    /// First and last arrival, on the timeline, of the packets that the upstream capture seems to have missed.
    pub unseen_between: [Option<(Timestamp, Timestamp)>; 2],
    /// Times on the timeline between which packets seem to arrive before they leave: there, a clock was set, and
    /// the clock model lacks the step. `None` without such packets.
    pub contradicted: Option<(Timestamp, Timestamp)>,
}

impl Totals {
    /// The warning of a clock step that the clock model lacks; `None` if no packet shows one.
    pub fn contradiction_warning(&self) -> Option<&'static str> {
        self.contradicted.is_some().then_some(
            "packets seem to arrive before they leave: a clock was set and the step is unknown, so packets around it \
             that seem to be lost or missed may have passed both points",
        )
    }
}
