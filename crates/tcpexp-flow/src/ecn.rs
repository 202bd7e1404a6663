//! Explicit congestion notification: the feedback mode that two ends negotiated, and the marks it
//! reports.
//!
//! With RFC 3168, a receiver sets ECE from the first marked packet until the sender's CWR. With
//! Accurate ECN (RFC 9768), the bits AE, CWR and ECE are a counter of marked packets, so ECE is set
//! in half of all ACKs whether or not any packet was marked.

use tcpexp_wire::TcpFlags;

use crate::alpha::Alpha;
use crate::sent_packets::{Alike, SentPackets};
use crate::{Segment, StreamOffset};

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

/// Returns AE, CWR and ECE as a number (RFC 9768, section 3.2.2).
#[inline]
pub fn ace(flags: TcpFlags) -> u8 {
    u8::from(flags.ae()) << 2 | u8::from(flags.cwr()) << 1 | u8::from(flags.ece())
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
const HANDSHAKE_CE: u8 = 0b110;

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
    fn offer(self) -> Option<EcnMode> {
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
    fn was_syn_marked(self) -> bool {
        self.withdrawn.or(self.answer) == Some(HANDSHAKE_CE)
    }
}

/// Initial value of the ACE counter (RFC 9768, section 3.2.1).
const FIRST_COUNT: u8 = 5;
/// Modulus of the three-bit ACE counter.
const COUNTS: u32 = 8;
/// Mask of the 24-bit byte counters in the `AccECN` option (RFC 9768, section 3.2.3).
const BYTE_COUNTER_MASK: u32 = 0xff_ffff;

/// Counts the packets of one direction that arrived marked, from the ACKs of the other direction.
#[derive(Clone, Debug)]
pub struct CeFeedback {
    mode: EcnMode,
    smss_bytes: u32,
    state: Echo,
    /// Latest value of the marked-byte counter.
    echoed_bytes: Option<u32>,
    una: Option<StreamOffset>,
    /// The highest offset that an ACK reports as received.
    highest_received: Option<StreamOffset>,
    sent: SentPackets,
    /// `TSval` of the latest ACK, to recognize reordered ACKs.
    stamp: Option<u32>,
    packets: u64,
    is_ambiguous: bool,
    /// Classic only.
    echoes: Echoes,
    alpha: Alpha,
    /// Packets that the latest ACK newly acknowledges, and those that it reports as marked.
    latest: [u64; 2],
}

/// Evidence for the kind of a classic receiver.
///
/// A receiver of RFC 3168 sets ECE until CWR arrives. A DCTCP receiver ignores CWR: ECE reports whether
/// the packets covered by this ACK were marked (RFC 8257, section 3.2).
#[derive(Clone, Copy, Debug, Default)]
struct Echoes {
    /// Start of the first segment with CWR since ECE was set. A capture at the sender shows this
    /// segment long before it reaches the receiver, so only an ACK beyond the segment can be a
    /// response to it.
    cwr: Option<StreamOffset>,
    /// Number of times that ECE ended after CWR, and without it.
    ended: u64,
    ended_early: u64,
    /// Packets covered by ACKs with ECE.
    packets: u64,
}

impl Echoes {
    /// True if the receiver ends ECE without CWR, as DCTCP's does.
    fn are_of_dctcp(self) -> bool {
        self.ended_early > MISSED_ENDS && self.ended_early > self.ended
    }
}

/// Number of ends of ECE without CWR that may be due to segments with CWR that the capture missed. The value is
/// an assumption, not a measurement.
const MISSED_ENDS: u64 = 2;

/// ECN feedback of the latest ACK.
#[derive(Clone, Copy, Debug)]
enum Echo {
    /// No counter was read yet and its initial value is unknown.
    Unknown,
    /// The next segment acknowledges the SYN-ACK: its flags report the codepoint of the SYN-ACK
    /// instead of a count.
    Handshake,
    /// Classic: true if ECE was set.
    Ece(bool),
    /// Accurate: value of the counter.
    Count(u8),
}

impl CeFeedback {
    /// Creates feedback for a connection without a captured handshake; data segments have up to
    /// `smss_bytes` bytes.
    pub fn from_the_middle(mode: EcnMode, smss_bytes: u32) -> Self {
        Self {
            mode,
            smss_bytes: smss_bytes.max(1),
            state: match mode {
                EcnMode::Accurate => Echo::Unknown,
                EcnMode::NotEcn | EcnMode::Classic => Echo::Ece(false),
            },
            echoed_bytes: None,
            una: None,
            highest_received: None,
            sent: SentPackets::default(),
            stamp: None,
            packets: 0,
            is_ambiguous: false,
            echoes: Echoes::default(),
            alpha: Alpha::default(),
            latest: [0; 2],
        }
    }

    /// Creates feedback for a connection with this handshake; `is_by_client` is true if the client
    /// sends the feedback. `None` unless the handshake was captured.
    pub fn new(handshake: &EcnHandshake, is_by_client: bool, smss_bytes: u32) -> Option<Self> {
        let mode = handshake.offer()?;
        let mut feedback = Self::from_the_middle(mode, smss_bytes);
        if mode == EcnMode::Accurate {
            // The marked-byte counter starts at 0 here.
            feedback.echoed_bytes = Some(0);
            if is_by_client {
                feedback.state = Echo::Handshake;
            } else {
                feedback.start(handshake.was_syn_marked());
            }
        }
        Some(feedback)
    }

    /// Processes a segment of the marked direction.
    #[inline]
    pub fn send(&mut self, segment: &Segment) {
        if segment.is_numbered() {
            self.sent.send(segment, self.smss_bytes);
        }
    }

    /// Processes an ACK; returns the number of packets that it newly reports as marked. RFC 3168
    /// has no count: the result is 1 for each ACK with ECE.
    pub fn on_ack(&mut self, segment: &Segment) -> u64 {
        self.latest = [0; 2];
        let Some(ack) = segment.ack.filter(|_| !segment.flags.rst()) else {
            return 0;
        };
        // The flags of a SYN-ACK negotiate; its acknowledgment number starts the count of packets.
        if segment.flags.syn() {
            self.una = Some(ack);
            return 0;
        }
        let before = self.una.unwrap_or(ack);
        let stamp = segment.timestamps.map(|(stamp, _)| stamp);
        let ticks = stamp.zip(self.stamp).map_or(0, |(stamp, latest)| {
            stamp.wrapping_sub(latest).cast_signed()
        });
        // An overtaken ACK carries an older counter, and the difference would look like a wrap.
        if ack < before || ticks < 0 {
            return 0;
        }
        let packets = self.sent.count(before, ack, self.smss_bytes);
        let arrived = self.arrived(before, ack, segment);
        let is_newer = ack > before || ticks > 0;
        if !is_newer && self.is_overtaken(segment, arrived) {
            return 0;
        }
        let marked = match self.mode {
            EcnMode::NotEcn => 0,
            EcnMode::Classic => self.classic(segment.flags.ece(), ack, packets),
            EcnMode::Accurate => self.accurate(segment, before, arrived),
        };
        self.una = Some(ack);
        self.stamp = stamp.or(self.stamp);
        self.highest_received = self.highest_received.max(Some(highest(ack, segment)));
        self.sent.acknowledge(ack);
        let is_echo = self.mode == EcnMode::Classic && segment.flags.ece();
        self.latest = [packets, if is_echo { packets } else { marked }];
        marked
    }

    /// Number of packets that the latest ACK reports as marked. If a classic receiver sets ECE, every
    /// newly acknowledged packet counts, as in DCTCP (RFC 8257, section 3.2).
    pub fn latest_marked_packets(&self) -> u64 {
        self.latest[1]
    }

    /// Adds the latest ACK to the estimate α; the sender has sent the data before `nxt`.
    pub fn estimate(&mut self, nxt: StreamOffset) {
        let [acked, marked] = self.latest;
        if let Some(una) = self.una.filter(|_| acked > 0) {
            self.alpha.on_ack(una, nxt, acked, marked);
        }
    }

    /// DCTCP's estimate α of the share of marked packets (RFC 8257, section 3.3), with the initial
    /// value 1. `None` if the feedback does not identify the marked packets: RFC 3168 feedback, or a
    /// counter that may have wrapped unnoticed.
    pub fn alpha(&self) -> Option<f64> {
        let is_exact = match self.mode {
            EcnMode::NotEcn => false,
            EcnMode::Classic => self.echoes.are_of_dctcp(),
            EcnMode::Accurate => !self.is_ambiguous,
        };
        self.alpha.value().filter(|_| is_exact)
    }

    /// Number of packets that may have arrived since the latest ACK, by the acknowledgment number and the
    /// SACK blocks (RFC 9768, appendix A.2).
    fn arrived(&self, before: StreamOffset, ack: StreamOffset, segment: &Segment) -> u64 {
        let acked = self.sent.count(before, ack, self.smss_bytes);
        if self.mode != EcnMode::Accurate || segment.sack_block_count() == 0 {
            return acked;
        }
        let from = self
            .highest_received
            .map_or(ack, |highest| highest.max(ack));
        acked
            + self
                .sent
                .count(from, highest(ack, segment), self.smss_bytes)
    }

    /// True if the counter of an ACK that is not known to be newer than the latest went back: it would have
    /// to go up by more packets than arrived (RFC 9768, section 3.2.2.5).
    fn is_overtaken(&self, segment: &Segment, arrived: u64) -> bool {
        let Echo::Count(before) = self.state else {
            return false;
        };
        let least = increase(before, ace(segment.flags));
        self.mode == EcnMode::Accurate && least > u64::from(COUNTS / 2) && least > arrived
    }

    /// Records a CWR flag in a segment of the marked direction.
    #[cold]
    pub fn on_cwr(&mut self, start: StreamOffset) {
        self.echoes.cwr.get_or_insert(start);
    }

    fn classic(&mut self, ece: bool, ack: StreamOffset, packets: u64) -> u64 {
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

    fn accurate(&mut self, segment: &Segment, una: StreamOffset, arrived: u64) -> u64 {
        let count = ace(segment.flags);
        let bytes = segment.echoed_ce_bytes;
        let new_bytes = bytes.zip(self.echoed_bytes);
        let new_bytes = new_bytes.map(|(now, then)| now.wrapping_sub(then) & BYTE_COUNTER_MASK);
        self.echoed_bytes = bytes.or(self.echoed_bytes);
        let before = match self.state {
            Echo::Count(before) => before,
            // RFC 9768, section 3.2.2.1, table 4.
            Echo::Handshake => return self.start(count == HANDSHAKE_CE),
            Echo::Unknown | Echo::Ece(_) => {
                self.state = Echo::Count(count);
                return 0;
            }
        };
        self.state = Echo::Count(count);
        let least = increase(before, count);
        // Without the data, the sizes of its packets are unknown.
        let is_covered = self.sent.has_any() || segment.ack.is_none_or(|ack| ack <= una);
        // The counter cannot have wrapped if fewer packets arrived (RFC 9768, appendix A.2).
        let marked = if is_covered && arrived < u64::from(COUNTS) {
            Some(least)
        } else {
            new_bytes
                .filter(|_| self.sent.has_any())
                .and_then(|bytes| self.of_bytes(least, u64::from(bytes), una, segment))
        };
        self.is_ambiguous |= marked.is_none();
        let marked = marked.unwrap_or(least);
        self.packets += marked;
        marked
    }

    /// Starts the counter; returns the number of packets reported as marked: 1 if the handshake packet of
    /// this direction was marked.
    fn start(&mut self, is_marked: bool) -> u64 {
        self.state = Echo::Count(FIRST_COUNT + u8::from(is_marked));
        self.packets = u64::from(is_marked);
        self.packets
    }

    /// Returns the packet count nearest to the number of packets that have `bytes` of payload, among
    /// `least` plus whole wraps of the counter. `None` if packets of different sizes allow two counts.
    #[cold]
    fn of_bytes(
        &self,
        least: u64,
        bytes: u64,
        una: StreamOffset,
        segment: &Segment,
    ) -> Option<u64> {
        let to = highest(segment.ack?, segment);
        let mut sizes = Vec::new();
        self.sent
            .each(una, to, self.smss_bytes, |alike| sizes.push(alike));
        sizes.sort_by_key(|alike| alike.packet_bytes);
        let most = packets_with(bytes, sizes.iter());
        let fewest = packets_with(bytes, sizes.iter().rev());
        let [fewest, most] = [fewest, most].map(|packets| nearest(least, packets));
        (fewest == most).then_some(fewest)
    }

    /// Number of packets reported as marked. With RFC 3168, the number of times that ECE became
    /// set: a lower bound. With DCTCP, whose receiver ends ECE without CWR, the packets that ACKs
    /// with ECE cover. `None` if an ACK covered so many packets that the counter may have wrapped
    /// unnoticed.
    pub fn packets(&self) -> Option<u64> {
        if self.echoes.are_of_dctcp() {
            return Some(self.echoes.packets);
        }
        (!self.is_ambiguous).then_some(self.packets)
    }
}

/// Increase of the ACE counter from `before` to `now`, if it did not wrap more than once.
fn increase(before: u8, now: u8) -> u64 {
    // 2^32 is a multiple of `COUNTS`, so a wrapped difference has the right remainder.
    u64::from(u32::from(now).wrapping_sub(u32::from(before)) % COUNTS)
}

/// The highest offset that an ACK of all data before `ack` reports as received.
fn highest(ack: StreamOffset, segment: &Segment) -> StreamOffset {
    segment
        .sack_blocks()
        .map(|block| block.1)
        .fold(ack, StreamOffset::max)
}

/// Number of packets, taken in order, whose payload reaches `bytes`.
fn packets_with<'a>(bytes: u64, sizes: impl Iterator<Item = &'a Alike>) -> u64 {
    let mut left = bytes;
    let mut packets = 0;
    for alike in sizes {
        let taken = left
            .div_ceil(u64::from(alike.packet_bytes))
            .min(alike.packets);
        packets += taken;
        left = left.saturating_sub(taken * u64::from(alike.packet_bytes));
    }
    packets
}

/// Returns the count nearest to `packets`, among `least` plus whole wraps of the counter.
fn nearest(least: u64, packets: u64) -> u64 {
    let wrap = u64::from(COUNTS);
    let beyond = packets.saturating_sub(least);
    least + (beyond + wrap / 2) / wrap * wrap
}
