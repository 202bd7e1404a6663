//! The negotiation of ECN by the SYN, the SYN-ACK and the client's first ACK.

use tcpexp_wire::TcpFlags;

use super::ace;

/// Feedback mode that two ends negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EcnMode {
    /// No ECN: the flags have no meaning.
    NotEcn,
    /// RFC 3168: ECE until CWR (section 6.1).
    Classic,
    /// The ACE counter (RFC 9768, section 3.2.2).
    Accurate,
}

impl EcnMode {
    /// Returns the name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotEcn => "none",
            Self::Classic => "classic",
            Self::Accurate => "accurate",
        }
    }
}

/// State of the negotiation, from the flags of the SYN and the SYN-ACK (RFC 9768, section 3.1,
/// table 2).
#[derive(Clone, Copy, Debug, Default)]
pub struct EcnHandshake {
    has_asked: bool,
    asks_accurate: bool,
    asks_classic: bool,
    /// ACE field of the SYN-ACK; `None` before it.
    answer: Option<u8>,
    /// ACE field of an earlier SYN-ACK that accepts Accurate ECN, if `answer` has no flags: the client's
    /// first ACK shows which of them it received.
    withdrawn: Option<u8>,
}

/// ACE field of a SYN that requests Accurate ECN, and of a SYN-ACK from a host that reflects the
/// flags.
const ALL_SET: u8 = 0b111;
/// ACE field of a SYN that requests RFC 3168.
const CLASSIC_SYN: u8 = 0b011;
/// ACE field of a SYN-ACK that accepts RFC 3168.
const CLASSIC_ANSWER: u8 = 0b001;
/// ACE field of a SYN-ACK that accepts RFC 3540, whose nonce no host uses. As the answer to a SYN that requests
/// Accurate ECN, it is reserved, and the client enables Accurate ECN (RFC 9768, section 3.1.3).
const NONCE_ANSWER: u8 = 0b101;
/// ACE field of a handshake segment that reports a CE mark on the packet it answers.
pub(super) const HANDSHAKE_CE: u8 = 0b110;

impl EcnHandshake {
    /// Processes a SYN, a SYN-ACK or the client's first ACK. A client that falls back sends another SYN
    /// without the flags (RFC 9768, section 3.1.4), so the SYN-ACK decides. If a server falls back, the
    /// client's ACK decides: its ACE field is 0 unless the client accepted Accurate ECN (section 3.2.2.1).
    pub fn observe(&mut self, flags: TcpFlags) {
        let ace = ace(flags);
        match (flags.syn(), flags.ack()) {
            (true, false) => {
                self.has_asked = true;
                self.asks_accurate |= ace == ALL_SET;
                self.asks_classic |= ace == CLASSIC_SYN;
            }
            (true, true) => {
                let is_accurate = self.offer() == Some(EcnMode::Accurate);
                let before = self.withdrawn.or(self.answer);
                self.withdrawn = before.filter(|_| ace == 0 && is_accurate);
                self.answer = Some(ace);
            }
            (false, true) => {
                let accepted = self.withdrawn.take().filter(|_| ace != 0);
                self.answer = accepted.or(self.answer);
            }
            (false, false) => {}
        }
    }

    /// Returns the negotiated mode; `None` unless a SYN and its SYN-ACK were seen, and while it depends on
    /// the client's first ACK.
    pub fn mode(&self) -> Option<EcnMode> {
        self.offer().filter(|_| self.withdrawn.is_none())
    }

    /// The mode that the SYN-ACKs offer, which the client's first ACK may refuse.
    pub(super) fn offer(self) -> Option<EcnMode> {
        let answer = self.withdrawn.or(self.answer);
        let answer = answer.filter(|_| self.has_asked)?;
        Some(match (answer, self.asks_accurate, self.asks_classic) {
            (_, false, false) => EcnMode::NotEcn,
            // The mode depends on the SYN that the server received.
            (NONCE_ANSWER, true, true) => return None,
            (CLASSIC_ANSWER, _, _) | (NONCE_ANSWER, false, true) => EcnMode::Classic,
            // 111 is the SYN's own field, reflected by a broken host.
            (1..ALL_SET, true, _) => EcnMode::Accurate,
            _ => EcnMode::NotEcn,
        })
    }

    /// True if the SYN-ACK reports that the SYN arrived marked. The server's counter then starts
    /// one higher.
    pub(super) fn was_syn_marked(self) -> bool {
        self.withdrawn.or(self.answer) == Some(HANDSHAKE_CE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mode after segments of the handshake with these ACE fields: SYNs, and a SYN-ACK.
    fn mode(syns: &[u8], answer: u8) -> Option<EcnMode> {
        let segment = |ace: u8, has_ack: bool| {
            TcpFlags::from_bits(2 | u16::from(has_ack) << 4 | u16::from(ace) << 6)
        };
        let mut handshake = EcnHandshake::default();
        for ace in syns {
            handshake.observe(segment(*ace, false));
        }
        handshake.observe(segment(answer, true));
        handshake.mode()
    }

    #[test]
    fn the_reserved_answer_enables_accurate_ecn_after_a_syn_that_requests_it() {
        assert_eq!(mode(&[ALL_SET], NONCE_ANSWER), Some(EcnMode::Accurate));
        assert_eq!(mode(&[CLASSIC_SYN], NONCE_ANSWER), Some(EcnMode::Classic));
        assert_eq!(mode(&[ALL_SET, CLASSIC_SYN], NONCE_ANSWER), None);
        assert_eq!(mode(&[0], NONCE_ANSWER), Some(EcnMode::NotEcn));
        assert_eq!(mode(&[ALL_SET], CLASSIC_ANSWER), Some(EcnMode::Classic));
    }
}
