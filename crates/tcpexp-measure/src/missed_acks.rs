//! Detection of acknowledgments that a capture missed.
//!
//! Every ACK that reaches a sender passes the capture before, wherever the capture is. So data that only
//! an ACK outside the capture explains proves that the capture missed the ACK. Without such data, a
//! missed ACK stays unnoticed.

use tcpexp_flow::{Direction, MAX_ANSWER_DELAY, Segment, StreamOffset, SynOptions, is_after};
use tcpexp_units::Timestamp;

/// Longest payload that a sender may send beyond the receiver's window: a zero-window probe (RFC 9293,
/// section 3.8.6.1).
const PROBE_BYTES: u32 = 1;

/// Longest time by which a capture may record two packets in the wrong order, such as data before the ACK that it
/// answers, where the directions pass different queues of an interface.
pub(crate) const MAX_SWAP: tcpexp_units::TimeDelta = MAX_ANSWER_DELAY;

/// The ACKs that one sender's data shows, beyond the captured ACKs.
///
/// Data proves a missed ACK if it echoes a later timestamp than the capture has of the other end (RFC
/// 7323, section 4.3), or if it ends above the right edge of every captured window.
#[derive(Debug, Default)]
pub(crate) struct AckWatch {
    /// First and latest timestamp of the other end.
    stamps: Option<(u32, u32)>,
    /// True once data echoed a captured timestamp. Behind a middlebox that changes the timestamps or
    /// their echoes, no echo matches.
    has_echoed: bool,
    /// Scale of the other end's window; `None` without the SYNs.
    shift: Option<u8>,
    /// The highest right edge of the other end's window.
    edge: Option<StreamOffset>,
    /// In a box, because most flows have none, and there may be a million flows.
    proof: Option<Box<Proof>>,
}

/// Data that no captured ACK explains yet.
#[derive(Clone, Copy, Debug)]
struct Proof {
    /// Time of the first data.
    since: Timestamp,
    /// First of the unknown timestamps echoed, and the latest with the time of the data that echoes it.
    echoes: Option<(u32, (Timestamp, u32))>,
    /// End of the furthest data beyond the window.
    beyond: Option<StreamOffset>,
}

impl Proof {
    fn new(since: Timestamp) -> Self {
        Self {
            since,
            echoes: None,
            beyond: None,
        }
    }
}

impl AckWatch {
    /// Takes data of the sender.
    #[inline]
    pub(crate) fn send(&mut self, segment: &Segment) {
        if let (Some((_, echo)), Some((first, latest))) = (segment.timestamps, self.stamps) {
            if is_after(echo, latest) {
                self.echo_unknown(segment.seen.at, echo);
            } else if !self.has_echoed {
                self.has_echoed = !is_after(first, echo);
            }
        }
        let bytes = segment.seen.payload_bytes;
        let end = segment.payload_start().plus(bytes);
        if bytes > PROBE_BYTES && self.edge.is_some_and(|edge| end > edge) {
            self.exceed(segment.seen.at, end);
        }
    }

    /// Takes an ACK of the other end. Returns true if the capture missed ACKs between this one and the
    /// one before.
    #[inline]
    pub(crate) fn on_ack(&mut self, segment: &Segment, ack: StreamOffset) -> bool {
        let edge = self.edge_of(segment, ack);
        let stamp = segment.timestamps.map(|(stamp, _)| stamp);
        let has_missed = self.proof.is_some() && self.confirm(segment.seen.at, stamp, edge);
        self.edge = self.edge.max(edge);
        if let Some(stamp) = stamp {
            let (_, latest) = self.stamps.get_or_insert((stamp, stamp));
            if is_after(stamp, *latest) {
                *latest = stamp;
            }
        }
        has_missed
    }

    /// Takes the options of both ends' SYNs; `direction` is that of the sender's data.
    pub(crate) fn open(&mut self, syns: [Option<SynOptions>; 2], direction: Direction) {
        let (own, other) = (direction.index(), direction.opposite().index());
        let both = syns[own].zip(syns[other]);
        self.shift = both.map(|(own, other)| other.agreed_shift(&own));
    }

    /// True if data since the latest captured ACK answers an ACK that was not captured.
    #[inline]
    pub(crate) fn misses_acks(&self) -> bool {
        self.proof.is_some()
    }

    fn edge_of(&self, segment: &Segment, ack: StreamOffset) -> Option<StreamOffset> {
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        let shift = if segment.flags.syn() { 0 } else { self.shift? };
        Some(ack.plus(u32::from(segment.window) << shift))
    }

    #[cold]
    fn echo_unknown(&mut self, at: Timestamp, echo: u32) {
        if self.has_echoed {
            let proof = self.proof.get_or_insert_with(|| Box::new(Proof::new(at)));
            proof.echoes.get_or_insert((echo, (at, echo))).1 = (at, echo);
        }
    }

    #[cold]
    fn exceed(&mut self, at: Timestamp, end: StreamOffset) {
        // A SYN alone has a window without a scale.
        if self.shift.is_some() {
            let proof = self.proof.get_or_insert_with(|| Box::new(Proof::new(at)));
            proof.beyond = Some(proof.beyond.map_or(end, |furthest| furthest.max(end)));
        }
    }

    /// Returns true if this ACK proves that the capture missed an ACK before it.
    ///
    /// A capture may record the data before the ACK that the data answers, and before ACKs that came
    /// earlier. So an ACK that explains the data disproves the gap, and an earlier one proves nothing.
    #[cold]
    fn confirm(&mut self, at: Timestamp, stamp: Option<u32>, edge: Option<StreamOffset>) -> bool {
        let Some(proof) = self.proof.take() else {
            return false;
        };
        let may_be_late = at - proof.since < MAX_SWAP;
        if let Some((first, (since, latest))) = proof.echoes {
            if stamp == Some(first) {
                // The next ACK may be recorded late as well.
                self.proof = (latest != first).then(|| {
                    Box::new(Proof {
                        since,
                        echoes: Some((latest, (since, latest))),
                        beyond: None,
                    })
                });
                return false;
            }
            let is_earlier = stamp.is_some_and(|stamp| is_after(first, stamp));
            self.proof = Some(proof).filter(|_| may_be_late && is_earlier);
            return self.proof.is_none();
        }
        let is_explained = proof
            .beyond
            .zip(edge)
            .is_some_and(|(end, edge)| end <= edge);
        self.proof = Some(proof).filter(|_| may_be_late && !is_explained);
        !may_be_late
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::scripted::segments;

    use super::*;

    const OPEN: &str = "
        0.000 > S 0 win 1000 mss 1000 ts 1 0
        0.040 < S. 0 ack 1 win 4000 mss 1000 ts 900 1
        0.040 > . 1 ack 1 win 1000 ts 41 900
    ";

    /// Number of ACKs before which the capture of a client's data, after a handshake, missed others.
    fn gaps(text: &str) -> usize {
        let mut watch = AckWatch::default();
        let mut syns = [None; 2];
        let mut gaps = 0;
        for segment in segments(&format!("{OPEN}{text}")) {
            if segment.flags.syn() {
                syns[segment.seen.direction.index()] = segment.syn;
                watch.open(syns, Direction::Forward);
            }
            match (segment.seen.direction, segment.ack) {
                (Direction::Reverse, Some(ack)) => gaps += usize::from(watch.on_ack(&segment, ack)),
                (Direction::Forward, _) if segment.is_numbered() => watch.send(&segment),
                _ => {}
            }
        }
        gaps + usize::from(watch.misses_acks())
    }

    #[test]
    fn data_that_echoes_an_unknown_timestamp_proves_a_missed_ack() {
        let sent = "
            0.041 > 1:1001(1000) ts 41 900
            0.085 > 1001:2001(1000) ts 85 941
        ";
        assert_eq!(gaps(sent), 1);
        assert_eq!(
            gaps(&format!("{sent} 0.130 < . 1 ack 2001 win 4000 ts 985 85")),
            1
        );
        // The capture recorded the ACK behind the data that answers it.
        assert_eq!(
            gaps(&format!("{sent} 0.086 < . 1 ack 1001 win 4000 ts 941 41")),
            0
        );
    }

    #[test]
    fn data_beyond_each_captured_window_proves_a_missed_ack() {
        let sent = "0.041 > 1:4001(4000)";
        assert_eq!(gaps(sent), 0);
        let beyond = "0.041 > 1:4001(4000)\n0.090 > 4001:5001(1000)";
        assert_eq!(gaps(beyond), 1);
        assert_eq!(gaps(&format!("{beyond}\n0.200 < . 1 ack 5001 win 4000")), 1);
        assert_eq!(
            gaps(&format!("{beyond}\n0.0902 < . 1 ack 4001 win 4000")),
            0
        );
        // A probe of a closed window has one byte.
        assert_eq!(gaps("0.041 > 1:4001(4000)\n0.300 > 4001:4002(1)"), 0);
        // A shrunk window does not take back what it allowed.
        let shrunk = "0.041 > 1:1001(1000)\n0.082 < . 1 ack 1001 win 500\n0.083 > 1001:4001(3000)";
        assert_eq!(gaps(shrunk), 0);
    }

    #[test]
    fn two_acks_recorded_behind_their_answer_are_not_missed() {
        let sent = "
            0.041000 > 1:1001(1000) ts 41 900
            0.041010 > 1001:2001(1000) ts 41 900
            0.085000 > 2001:3001(1000) ts 85 942
            0.085010 < . 1 ack 1001 win 4000 ts 941 41
        ";
        assert_eq!(
            gaps(&format!(
                "{sent} 0.085020 < . 1 ack 2001 win 4000 ts 942 41"
            )),
            0
        );
        assert_eq!(
            gaps(&format!("{sent} 0.130 < . 1 ack 3001 win 4000 ts 985 85")),
            1
        );
        let beyond = "
            0.041000 > 1:4001(4000)
            0.090000 > 4001:6001(2000)
            0.090010 < . 1 ack 1001 win 4000
        ";
        assert_eq!(
            gaps(&format!("{beyond} 0.090020 < . 1 ack 2001 win 4000")),
            0
        );
        assert_eq!(gaps(&format!("{beyond} 0.130 < . 1 ack 6001 win 4000")), 1);
    }

    #[test]
    fn echoes_that_never_match_prove_nothing() {
        let text = "
            0.041 > 1:1001(1000) ts 41 7000
            0.082 < . 1 ack 1001 win 4000 ts 941 41
            0.083 > 1001:2001(1000) ts 83 7041
            0.123 < . 1 ack 2001 win 4000 ts 982 83
        ";
        assert_eq!(gaps(text), 0);
    }
}
