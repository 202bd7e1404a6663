//! Feedback of RFC 3168: ECE from a marked packet until CWR, or, from DCTCP's receiver, for each marked
//! packet.

use super::{CeFeedback, Echo};
use crate::StreamOffset;

/// Evidence for the kind of a classic receiver.
///
/// A receiver of RFC 3168 sets ECE until CWR arrives. A DCTCP receiver ignores CWR: ECE reports whether
/// the packets covered by this ACK were marked (RFC 8257, section 3.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echoes {
    /// Start of the first segment with CWR since ECE was set. A capture at the sender shows this
    /// segment long before it reaches the receiver, so only an ACK beyond the segment can be a
    /// response to it.
    cwr: Option<StreamOffset>,
    /// Number of times that ECE ended after CWR, and without it.
    ended: u64,
    ended_early: u64,
    /// Packets covered by ACKs with ECE.
    pub(super) packets: u64,
}

impl Echoes {
    /// True if the receiver ends ECE without CWR, as DCTCP's does.
    pub(super) fn are_of_dctcp(self) -> bool {
        self.ended_early > MISSED_ENDS && self.ended_early > self.ended
    }
}

/// Number of ends of ECE without CWR that may be due to segments with CWR that the capture missed. The value is
/// an assumption, not a measurement.
const MISSED_ENDS: u64 = 2;

impl CeFeedback {
    /// Records a CWR flag in a segment of the marked direction.
    #[cold]
    pub fn on_cwr(&mut self, start: StreamOffset) {
        self.echoes.cwr.get_or_insert(start);
    }

    /// Processes the ECE flag of an ACK that newly acknowledges `packets` packets; returns 1 if it is set.
    pub(super) fn classic(&mut self, ece: bool, ack: StreamOffset, packets: u64) -> u64 {
        let was_set = matches!(self.state, Echo::Ece(true));
        let echoes = &mut self.echoes;
        if ece {
            echoes.packets += packets;
            echoes.cwr = echoes.cwr.filter(|_| was_set);
        } else if was_set && echoes.cwr.is_some_and(|start| start < ack) {
            echoes.ended += 1;
        } else if was_set {
            echoes.ended_early += 1;
        }
        // ECE stays set until CWR, so only its start counts (RFC 3168, section 6.1.3).
        self.packets += u64::from(ece && !was_set);
        self.state = Echo::Ece(ece);
        u64::from(ece)
    }
}
