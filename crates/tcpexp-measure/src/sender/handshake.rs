//! The handshake of a connection.

use tcpexp_flow::{Direction, EcnHandshake, Segment};
use tcpexp_units::{TimeDelta, Timestamp};

/// Times and ECN flags of the handshake.
#[derive(Default)]
pub(super) struct Handshake {
    syn: Option<Timestamp>,
    syn_ack: Option<Timestamp>,
    third: Option<Timestamp>,
    pub(super) ecn: EcnHandshake,
}

impl Handshake {
    pub(super) fn take(&mut self, segment: &Segment) {
        let is_forward = segment.seen.direction == Direction::Forward;
        if segment.flags.syn() || is_forward {
            self.ecn.observe(segment.flags);
        }
        let at = Some(segment.seen.at);
        match (segment.flags.syn(), segment.flags.ack()) {
            // Use the latest SYN and SYN-ACK: an earlier one may have been lost.
            (true, false) => self.syn = at,
            (true, true) => self.syn_ack = at,
            (false, _) => {
                if is_forward && self.third.is_none() && self.syn_ack.is_some() {
                    self.third = at;
                }
            }
        }
    }

    pub(super) fn has_syn_ack(&self) -> bool {
        self.syn_ack.is_some()
    }

    /// Time that the end which sends in `direction` took to answer in the handshake, as the capture sees
    /// it; `None` if a segment was not captured.
    pub(super) fn answer(&self, direction: Direction) -> Option<TimeDelta> {
        let (asked, answered) = match direction {
            Direction::Forward => (self.syn_ack?, self.third?),
            Direction::Reverse => (self.syn?, self.syn_ack?),
        };
        Some(answered - asked)
    }
}
