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
/// ACE fields of SYN-ACKs that accept RFC 3168 and RFC 3540; no host uses the nonce of the latter.
const CLASSIC_ANSWERS: [u8; 2] = [0b001, 0b101];
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
        let asks = self.asks_accurate || self.asks_classic;
        Some(match answer {
            _ if asks && CLASSIC_ANSWERS.contains(&answer) => EcnMode::Classic,
            // 111 is the SYN's own field, reflected by a broken host.
            1..ALL_SET if self.asks_accurate => EcnMode::Accurate,
            _ => EcnMode::NotEcn,
        })
    }

    /// True if the SYN-ACK reports that the SYN arrived marked. The server's counter then starts
    /// one higher.
    pub(super) fn was_syn_marked(self) -> bool {
        self.withdrawn.or(self.answer) == Some(HANDSHAKE_CE)
    }
}
