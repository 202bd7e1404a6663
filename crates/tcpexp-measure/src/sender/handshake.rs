//! The handshake of a connection.

use tcpexp_flow::{Direction, EcnHandshake, Segment};
use tcpexp_units::{TimeDelta, Timestamp};

/// Times and ECN flags of the handshake.
#[derive(Default)]
pub(super) struct Handshake {
    /// Latest SYN without an answer so far.
    syn: Option<Timestamp>,
    /// Latest SYN-ACK before the initiator's answer.
    syn_ack: Option<Timestamp>,
    /// Answer times, indexed by the direction of the answer.
    answers: [Option<TimeDelta>; 2],
    /// True if the responder sent a SYN of its own (RFC 9293, section 3.5): then the SYN-ACKs cross, and
    /// no ACK follows.
    is_simultaneous: bool,
    pub(super) ecn: EcnHandshake,
}

impl Handshake {
    pub(super) fn take(&mut self, segment: &Segment) {
        let is_forward = segment.seen.direction == Direction::Forward;
        if segment.flags.syn() || is_forward {
            self.ecn.observe(segment.flags);
        }
        let at = segment.seen.at;
        let [initiator, responder] = &mut self.answers;
        match (
            segment.seen.direction,
            segment.flags.syn(),
            segment.flags.ack(),
        ) {
            // The latest SYN: an earlier one may have been lost.
            (Direction::Forward, true, false) => self.syn = Some(at),
            (Direction::Reverse, true, false) => self.is_simultaneous = true,
            (Direction::Reverse, true, true) => {
                // A second SYN-ACK comes from the timer, unless another SYN asked for it.
                let answer = self.syn.take().map(|syn| at - syn);
                *responder = answer.into_iter().chain(*responder).min();
                if initiator.is_none() {
                    self.syn_ack = Some(at);
                }
            }
            (Direction::Forward, false, _) if initiator.is_none() => {
                *initiator = self.syn_ack.map(|syn_ack| at - syn_ack);
            }
            _ => {}
        }
    }

    pub(super) fn has_syn_ack(&self) -> bool {
        self.syn_ack.is_some()
    }

    /// Time that the end which sends in `direction` took to answer in the handshake, as the capture sees
    /// it; `None` if a segment was not captured.
    pub(super) fn answer(&self, direction: Direction) -> Option<TimeDelta> {
        self.answers[direction.index()].filter(|_| !self.is_simultaneous)
    }
}
