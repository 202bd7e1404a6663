//! The three-way handshake and the round-trip times in it.

use tcpexp_flow::{Direction, EcnHandshake, Segment, StreamOffset, SynOptions};
use tcpexp_units::{TimeDelta, Timestamp};

/// State of the handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    /// Options of the latest SYN if they were captured in full, indexed by direction.
    pub(super) offers: [Option<SynOptions>; 2],
    /// True once a SYN was captured, indexed by direction.
    has_syn: [bool; 2],
    syn_at: Option<Timestamp>,
    /// Time and end of the SYN-ACK.
    syn_ack: Option<(Timestamp, StreamOffset)>,
    /// Time from the SYN to the SYN-ACK; after the handshake, to the acknowledgment of the SYN-ACK.
    elapsed: Option<TimeDelta>,
    pub(super) ecn: EcnHandshake,
    is_over: bool,
}

impl Handshake {
    /// Processes a segment. The SYN-ACK shows the round trip from the capture to the responder, its
    /// acknowledgment the round trip to the initiator.
    #[inline]
    pub(super) fn observe(&mut self, segment: &Segment) -> Option<TimeDelta> {
        if self.is_over {
            return None;
        }
        self.open(segment)
    }

    #[cold]
    fn open(&mut self, segment: &Segment) -> Option<TimeDelta> {
        let at = segment.seen.at;
        let flags = segment.flags;
        match (segment.seen.direction, flags.syn()) {
            (Direction::Forward, true) if !flags.ack() => {
                // Karn's algorithm: the answer to a retransmitted SYN is ambiguous (RFC 6298, section 3).
                let is_first = !std::mem::replace(&mut self.has_syn[0], true);
                self.syn_at = is_first.then_some(at);
                self.offers[0] = segment.syn;
                self.ecn.observe(flags);
                None
            }
            (Direction::Reverse, true) => {
                let is_first = !std::mem::replace(&mut self.has_syn[1], true);
                // A SYN without ACK answers nothing (simultaneous open, RFC 9293, section 3.5).
                let is_answer = is_first && flags.ack();
                let far = self.syn_at.filter(|_| is_answer);
                let far = far.and_then(|syn_at| at.checked_since(syn_at));
                self.syn_ack = is_answer.then_some((at, segment.end()));
                self.offers[1] = segment.syn;
                self.ecn.observe(flags);
                self.elapsed = far;
                far
            }
            (Direction::Forward, false) if flags.ack() => {
                self.ecn.observe(flags);
                // A segment with data, or an ACK of more than the SYN-ACK, may follow an ACK that the
                // capture missed, after any time.
                let near = self.syn_ack.filter(|&(_, end)| {
                    let is_answer = segment.ack.is_some_and(|ack| ack <= end);
                    is_answer && !segment.is_numbered()
                });
                let near = near.and_then(|(syn_ack_at, _)| at.checked_since(syn_ack_at));
                // The two parts sum to the whole round trip wherever the capture is.
                self.elapsed = self.elapsed.zip(near).map(|(far, near)| far + near);
                self.is_over = true;
                near
            }
            (Direction::Forward, _) => None,
            (Direction::Reverse, false) => {
                self.elapsed = None;
                // With Fast Open, the responder may send data at once (RFC 7413), and the path may lose or
                // reorder the SYN-ACK before it. The SYN-ACK still has the options, but it may be a
                // retransmission, which shows no time. Otherwise, the capture started after the handshake.
                self.syn_at = None;
                self.is_over = self.has_syn != [true, false];
                None
            }
        }
    }

    /// Time from the SYN to the acknowledgment of the SYN-ACK: the whole round trip, independent of
    /// the capture position.
    pub(super) fn rtt(&self) -> Option<TimeDelta> {
        self.elapsed.filter(|_| self.is_over)
    }

    /// True if both ends offered an option; `None` without both SYNs.
    pub(super) fn agreed(&self, has: impl Fn(&SynOptions) -> bool) -> Option<bool> {
        let (forward, reverse) = (self.offers[0]?, self.offers[1]?);
        Some(has(&forward) && has(&reverse))
    }
}
