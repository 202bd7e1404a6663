//! The results of the first pass over one flow.

use std::net::SocketAddr;

use tcpexp_flow::CeFeedback;
use tcpexp_units::{TimeDelta, Timestamp};

use super::ack_gaps::AckGaps;
use super::data_gaps::DataGaps;
use super::retransmissions::Retransmissions;
use super::scale::WindowScale;
use super::unseen::Unseen;
use super::unsent_acks::UnsentAcks;
use crate::Position;

/// Least round-trip time, in ticks of the receiver's timestamps, that these timestamps show away from
/// the sender. A round-trip time measured by them is too short by up to half a tick, here 5 %.
const MIN_TICKS: i64 = 10;

/// First-pass results for one flow.
#[derive(Clone, Debug)]
pub(super) struct Surveyed {
    pub(super) initiator: SocketAddr,
    pub(super) responder: SocketAddr,
    /// `None` with hardly any data. Boxed, because most flows of a scan or a flood have none.
    pub(super) sides: [Option<Box<Side>>; 2],
}

/// First-pass results for one direction's data and its sender.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Side {
    pub(super) smss_bytes: u32,
    /// False if the data may consist of super-packets only, so that the number of its segments is unknown.
    pub(super) is_smss_known: bool,
    pub(super) position: Option<Position>,
    pub(super) has_sack: bool,
    pub(super) has_timestamps: bool,
    /// Scale of the receiver's window.
    pub(super) window_scale: WindowScale,
    pub(super) retransmissions: Retransmissions,
    /// Data lost before it reached a capture away from the sender.
    pub(super) unseen: Unseen,
    /// Where the capture missed ACKs of the data.
    pub(super) ack_gaps: AckGaps,
    /// Where a capture at the sender missed data.
    pub(super) data_gaps: DataGaps,
    /// ACKs of data that was never sent.
    pub(super) unsent_acks: UnsentAcks,
    /// Shortest time from an ACK to the data that echoes it; in a capture at the receiver, the
    /// round-trip time.
    pub(super) least_echo: Option<TimeDelta>,
    pub(super) is_paced: bool,
    /// True if captured packets hold several segments (TSO or GSO).
    pub(super) is_bursty: bool,
    /// Tick length of the sender's timestamps.
    pub(super) tick: Option<TimeDelta>,
    /// The first timestamp of the sender, and the latest possible start of its tick by the capture's clock;
    /// `None` if the tick length is unknown.
    pub(super) first_tick: Option<(u32, Timestamp)>,
    /// Tick length of the receiver's timestamps, or more if they hardly advance.
    pub(super) acks_tick: Option<TimeDelta>,
    /// Shortest round-trip time between the ends; `None` if unknown.
    pub(super) whole_rtt: Option<TimeDelta>,
    /// How the receiver reports congestion marks; `None` if unknown, or if it reports none.
    ///
    /// In a box, because there may be a million flows, and few of them use ECN.
    pub(super) feedback: Option<Box<CeFeedback>>,
}

impl Side {
    /// True if the timestamps of ACKs show the order of the sender's events away from the sender. With ticks
    /// longer than a round trip, most ACKs carry the same timestamp as those of the round before.
    pub(super) fn shows_order(&self) -> bool {
        self.acks_tick
            .zip(self.whole_rtt)
            .is_none_or(|(tick, rtt)| rtt >= tick)
    }

    /// True if the timestamps of ACKs show a round-trip time of this length away from the sender.
    pub(super) fn shows_time(&self, span: TimeDelta) -> bool {
        self.acks_tick
            .is_none_or(|tick| span.as_nanos() / MIN_TICKS >= tick.as_nanos())
    }
}
