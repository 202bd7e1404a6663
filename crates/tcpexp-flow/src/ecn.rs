//! Explicit congestion notification: the feedback mode that two ends negotiated, and the marks it
//! reports.
//!
//! With RFC 3168, a receiver sets ECE from the first marked packet until the sender's CWR. With
//! Accurate ECN (RFC 9768), the bits AE, CWR and ECE are a counter of marked packets, so ECE is set
//! in half of all ACKs whether or not any packet was marked.

mod accurate;
mod classic;
mod handshake;
mod repeats;
mod reported;
mod sizes;

use tcpexp_wire::TcpFlags;

use crate::alpha::Alpha;
use crate::sent_packets::SentPackets;
use crate::{Segment, StreamOffset};
use accurate::SinceOption;
use classic::Echoes;
pub use handshake::{EcnHandshake, EcnMode};
use repeats::Repeats;
use reported::Reported;
use sizes::Sizes;

/// Returns AE, CWR and ECE as a number (RFC 9768, section 3.2.2).
#[inline]
pub fn ace(flags: TcpFlags) -> u8 {
    u8::from(flags.ae()) << 2 | u8::from(flags.cwr()) << 1 | u8::from(flags.ece())
}

/// Counts the packets of one direction that arrived marked, from the ACKs of the other direction.
#[derive(Clone, Debug)]
pub struct CeFeedback {
    mode: EcnMode,
    smss_bytes: u32,
    sizes: Sizes,
    state: Echo,
    /// Latest value of the marked-byte counter.
    echoed_bytes: Option<u32>,
    since_option: SinceOption,
    una: Option<StreamOffset>,
    /// False if the receiver cannot report data behind a gap.
    has_sack: bool,
    /// Without SACK: data before this offset may have arrived behind a gap.
    gap_until: Option<StreamOffset>,
    reported: Reported,
    sent: SentPackets,
    repeats: Repeats,
    /// `TSval` of the latest ACK, to recognize reordered ACKs.
    stamp: Option<u32>,
    packets: u64,
    is_ambiguous: bool,
    /// Accurate only: true if the latest ACKs may report marks that only a later ACK can count.
    is_undecided: bool,
    /// Classic only.
    echoes: Echoes,
    alpha: Alpha,
    /// Packets that the latest ACK newly acknowledges, and those that it reports as marked.
    latest: [u64; 2],
}

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
    /// Accurate: initial value of the counter, before the first ACK after the handshake.
    First(u8),
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
            sizes: Sizes::default(),
            state: match mode {
                EcnMode::Accurate => Echo::Unknown,
                EcnMode::NotEcn | EcnMode::Classic => Echo::Ece(false),
            },
            echoed_bytes: None,
            since_option: SinceOption::default(),
            una: None,
            has_sack: true,
            gap_until: None,
            reported: Reported::default(),
            sent: SentPackets::default(),
            repeats: Repeats::default(),
            stamp: None,
            packets: 0,
            is_ambiguous: false,
            is_undecided: false,
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

    /// Allows segments of up to `most_bytes`, the MSS option of the data's receiver, if the data shows that they
    /// are longer than `smss_bytes`. Options take `options_bytes` of each.
    #[must_use]
    pub fn up_to(mut self, most_bytes: u32, options_bytes: u32) -> Self {
        let full = |bytes: u32| bytes.saturating_sub(options_bytes).max(1);
        self.sizes = Sizes::new(full(self.smss_bytes), full(most_bytes));
        self
    }

    /// Declares that the receiver sends no SACK blocks: SACK was not agreed on.
    #[must_use]
    pub fn without_sack(mut self) -> Self {
        self.has_sack = false;
        self
    }

    /// Processes a segment of the marked direction.
    #[inline]
    pub fn send(&mut self, segment: &Segment) {
        if segment.seen.payload_bytes > self.smss_bytes {
            let longer = self.sizes.exceed(segment.seen.payload_bytes, segment.end());
            self.smss_bytes = longer.unwrap_or(self.smss_bytes);
        }
        let end = segment.payload_start().plus(segment.seen.payload_bytes);
        let is_new = segment.seen.payload_bytes > 0 && self.sent.nxt().is_none_or(|nxt| end > nxt);
        if !is_new && self.mode == EcnMode::Accurate {
            self.repeats.send(segment, self.smss_bytes);
        }
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
        self.has_sack |= segment.sack_block_count() > 0;
        if !self.has_sack && self.una == Some(ack) && !segment.is_numbered() {
            self.gap_until = self.sent.nxt();
        }
        let packets = self.sent.count(before, ack, self.smss_bytes);
        let reported = Reported::of(segment, ack);
        let marked = match self.mode {
            EcnMode::NotEcn => 0,
            EcnMode::Classic => self.classic(segment.flags.ece(), ack, packets),
            EcnMode::Accurate => {
                let new = self.newly_received(before, ack, &reported);
                if ticks == 0
                    && self.brings_nothing(before, ack, new)
                    && self.passes_over(segment, &reported, new)
                {
                    return 0;
                }
                self.accurate(segment, before, new)
            }
        };
        self.una = Some(ack);
        self.stamp = stamp.or(self.stamp);
        self.reported = reported;
        self.sent.acknowledge(ack);
        if let Some(nxt) = self.sent.nxt() {
            self.repeats.acknowledge(ack, nxt);
        }
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
    /// value 1. `None` if the feedback does not identify the marked packets: RFC 3168 feedback, a
    /// counter that may have wrapped unnoticed, or packets of an unknown number of segments.
    pub fn alpha(&self) -> Option<f64> {
        let is_exact = match self.mode {
            EcnMode::NotEcn => false,
            EcnMode::Classic => self.echoes.are_of_dctcp(),
            EcnMode::Accurate => !self.is_ambiguous && !self.is_undecided,
        };
        self.alpha
            .value()
            .filter(|_| is_exact && !self.sizes.are_unsure())
    }

    /// Number of packets reported as marked. With RFC 3168, the number of times that ECE became
    /// set: a lower bound. With DCTCP, whose receiver ends ECE without CWR, the packets that ACKs
    /// with ECE cover. `None` if the counter may have wrapped unnoticed, because many packets arrived before one
    /// ACK; if the counter and the marked bytes disagree; or if the number of segments in packets that count is
    /// unknown.
    pub fn packets(&self) -> Option<u64> {
        if self.echoes.are_of_dctcp() {
            return Some(self.echoes.packets).filter(|_| !self.sizes.are_unsure());
        }
        (!self.is_ambiguous && !self.is_undecided).then_some(self.packets)
    }

    /// Most data packets that an ACK of the data before `ack` newly reports as received, by the acknowledgment
    /// number and the SACK blocks (RFC 9768, appendix A.2).
    fn newly_received(&self, before: StreamOffset, ack: StreamOffset, reported: &Reported) -> u64 {
        let (sent, smss_bytes) = (&self.sent, self.smss_bytes);
        let acked = self.reported.unreported(sent, [before, ack], smss_bytes);
        let beyond = match self.hidden_end(before, ack, reported) {
            Some(end) => sent.count(ack, end, smss_bytes),
            None => self.reported.new_in(reported, ack, sent, smss_bytes),
        };
        acked + beyond
    }

    /// One past the data beyond `ack` that may have arrived, if the ACK cannot report it; `None` if it reports all
    /// arrived data. A receiver without SACK reports no data behind a gap before the gap is filled.
    fn hidden_end(
        &self,
        before: StreamOffset,
        ack: StreamOffset,
        reported: &Reported,
    ) -> Option<StreamOffset> {
        let nxt = self.sent.nxt().filter(|nxt| *nxt > ack)?;
        let has_gap = !self.has_sack && self.gap_until.is_some_and(|until| ack < until);
        let fills_gap = ack > before && self.repeats.may_fill_gaps();
        (reported.is_empty() && (has_gap || fills_gap)).then_some(nxt)
    }

    /// True if an ACK reports no data as newly received. Without SACK, `new` packets may be hidden behind a gap.
    fn brings_nothing(&self, before: StreamOffset, ack: StreamOffset, new: u64) -> bool {
        ack == before && (new == 0 || !self.has_sack)
    }
}
