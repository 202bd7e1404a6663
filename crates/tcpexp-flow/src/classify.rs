//! The class of a segment: new, retransmitted, reordered on the path, duplicated, or a probe.
//!
//! A sender's counters (IPv4 Identification, `TSval`) take precedence over time. They show the
//! order of sending, and so whether a segment below the highest sequence number was sent late (a
//! retransmission) or arrived late (reordering). Time decides only where the counters do not, and
//! for the cause of a retransmission, which no field carries.

mod acked;
mod behind;
mod class;
mod gaps;
mod probes;
mod repeats;
#[cfg(test)]
mod tests;

use tcpexp_units::Timestamp;

use crate::acceptance::Acceptance;
use crate::cause::PathTimes;
use crate::coverage::{Beginning, missed};
use crate::identity::{Counters, Identity};
use crate::{DoubtedAck, FirstCopies, Holes, Segment, StreamOffset};
use acked::Acked;
pub(crate) use behind::COPY_DELAY;
use behind::Recovery;
pub use class::{Behind, Class};
use gaps::{Gap, Gaps};

/// Classifies the segments of one direction, from the segments of both directions.
#[derive(Clone, Debug, Default)]
pub struct Classifier {
    copies: FirstCopies,
    sent: Option<Sent>,
    acked: Option<Acked>,
    identity: Identity,
    beginning: Beginning,
    acceptance: Acceptance,
    /// `None` for most streams: they have no gaps.
    disorder: Option<Box<Disorder>>,
}

/// Progress of the direction's data.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// One past the highest sequence number captured.
    nxt: StreamOffset,
    /// The latest segment in sending order, and the one before it.
    latest: Transmission,
    before: Transmission,
    /// Time of the last transmission of the oldest outstanding segment, if `una` has not advanced
    /// since.
    head_at: Timestamp,
}

impl Sent {
    /// True if the latest segment is a FIN that the receiver must have dropped (RFC 9293, section 3.10.7.4),
    /// because the `fresh_bytes` of `segment` begin at its number.
    fn has_dropped_fin(&self, segment: &Segment, fresh_bytes: u32) -> bool {
        let is_alone = self.latest.numbers == 1 && self.latest.end() == self.nxt;
        let is_syn = self.latest.is_bare_syn || segment.flags.syn();
        // No data was captured there, so the number is of a FIN. One byte may be a keep-alive (section 3.8.4).
        is_alone
            && !is_syn
            && self.latest.start == segment.start
            && fresh_bytes > 1
            && fresh_bytes == segment.seen.payload_bytes
    }
}

/// Range and capture time of one segment.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: StreamOffset,
    at: Timestamp,
    /// Number of sequence numbers that it takes.
    numbers: u32,
    /// True if it is a SYN without ACK.
    is_bare_syn: bool,
}

impl Transmission {
    #[inline]
    fn of(segment: &Segment) -> Self {
        Self {
            start: segment.start,
            at: segment.seen.at,
            numbers: segment.numbers_taken(),
            is_bare_syn: segment.flags.syn() && segment.ack.is_none(),
        }
    }

    fn end(&self) -> StreamOffset {
        self.start.plus(self.numbers)
    }

    /// True if `segment` has the same range.
    fn has_range_of(&self, segment: &Segment) -> bool {
        self.start == segment.start && self.numbers == segment.numbers_taken()
    }
}

/// State of a stream with gaps or with segments that start below `nxt`.
#[derive(Clone, Debug, Default)]
struct Disorder {
    gaps: Gaps,
    /// Sequence number of a FIN that left a gap.
    fin: Option<StreamOffset>,
    recovery: Option<Recovery>,
    /// The latest segment that started below `nxt`, and its counters.
    behind: Option<(Transmission, Counters)>,
    doubted: Option<DoubtedAck>,
    /// Bytes whose first captured transmission was not the sender's first: their originals may still
    /// arrive.
    repaired: FirstCopies,
    /// Data of a SYN that the responder did not acknowledge and that was not sent again yet: its first byte, and
    /// one past its last.
    refused: Option<(StreamOffset, StreamOffset)>,
    /// `una` at the last tail loss probe.
    probed_at_una: Option<StreamOffset>,
    /// One past a byte that probed a closed window. The stream continues before this byte unless
    /// the receiver accepts it.
    window_probe_end: Option<StreamOffset>,
}

impl Disorder {
    /// True if the responder refused the data in a SYN, and it was not sent again yet.
    fn is_refused(&self, segment: &Segment) -> bool {
        self.refused
            .is_some_and(|(start, end)| start <= segment.start && segment.start < end)
    }
}

impl Classifier {
    /// Classifies the direction's next segment; returns its class and the number of its payload
    /// bytes that were captured for the first time. The number includes the bytes of an earlier segment that
    /// seemed to be outside the receive window, if this segment shows that it was not.
    ///
    /// `times` is called only for segments that start below `nxt`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for each segment, with little to do for most"
    )]
    pub fn segment(
        &mut self,
        segment: &Segment,
        times: impl FnOnce() -> PathTimes,
    ) -> (Class, u32) {
        if segment.flags.syn() || segment.flags.rst() {
            // The sequence number of a RST is copied from the segment it refuses, or forged, and its text is
            // none of the stream (RFC 9293, section 3.5.3).
            if segment.flags.rst() {
                return (Class::Empty, 0);
            }
            if self.opens_anew() {
                self.sent = None;
            }
        }
        if let Some(sent) = self.sent
            && segment.is_numbered()
            && segment.start > sent.nxt
        {
            return self.ahead(sent, segment, times);
        }
        self.accepted(segment, times)
    }

    /// Classifies a segment that starts above `nxt`.
    #[cold]
    fn ahead(
        &mut self,
        sent: Sent,
        segment: &Segment,
        times: impl FnOnce() -> PathTimes,
    ) -> (Class, u32) {
        let confirmed = self
            .acceptance
            .take_confirmed(segment, sent.nxt, self.una());
        let mut confirmed_bytes = 0;
        if let Some(aside) = confirmed {
            confirmed_bytes = self.take(&aside);
            self.in_sequence(Some(sent), &aside);
        }
        let una = self.una();
        let is_outside = self
            .sent
            .is_some_and(|sent| self.acceptance.puts_aside(segment, sent.nxt, una));
        if is_outside {
            return (Class::Empty, confirmed_bytes);
        }
        let (class, fresh_bytes) = self.accepted(segment, times);
        (class, fresh_bytes + confirmed_bytes)
    }

    /// Classifies a segment that is not above the receive window.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for nearly each segment, from one place"
    )]
    fn accepted(&mut self, segment: &Segment, times: impl FnOnce() -> PathTimes) -> (Class, u32) {
        if let Some(sent) = self.sent
            && segment.is_numbered()
            && segment.start < sent.nxt
        {
            // The second SYN-ACK of a server that sends cookies may have a lower number.
            self.beginning.leave_gap(segment);
            if self.beginning.is_after(segment.start) {
                return (Class::Empty, 0);
            }
            // The byte of a keep-alive is none of the stream (RFC 9293, section 3.8.4), also at the
            // sequence number of the SYN.
            if let Some(probe) = self.as_probe(sent, segment) {
                return (probe, 0);
            }
            let fresh_bytes = self.take(segment);
            if sent.has_dropped_fin(segment, fresh_bytes) {
                self.go_on(segment);
                return (Class::New, fresh_bytes);
            }
            let class = self.behind(sent, segment, fresh_bytes, &times());
            return (class, fresh_bytes);
        }
        let fresh_bytes = self.take(segment);
        (self.in_sequence(self.sent, segment), fresh_bytes)
    }

    /// Records the payload of a segment, and returns the number of bytes that were captured for the first
    /// time.
    #[inline]
    fn take(&mut self, segment: &Segment) -> u32 {
        let start = segment.payload_start();
        let end = start.plus(segment.seen.payload_bytes);
        self.copies.take(start, end)
    }

    /// True if only pure ACKs were sent. Before a SYN they belong to an earlier connection, which one end has
    /// forgotten: the other end answers its SYN with them (RFC 9293, section 3.5.1, figure 9).
    #[cold]
    fn opens_anew(&self) -> bool {
        !self.copies.has_any() && !self.beginning.is_known()
    }

    /// Classifies a segment that does not start below `nxt`.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "called for nearly each segment, from one place"
    )]
    fn in_sequence(&mut self, sent: Option<Sent>, segment: &Segment) -> Class {
        let ahead = sent.map_or(0, |sent| segment.start.since(sent.nxt));
        if !segment.is_numbered() {
            // The sequence number of a pure ACK before any data shows where the stream begins.
            if sent.is_none() {
                self.go_on(segment);
            }
            return match sent {
                Some(sent) if ahead == -1 => self.before_nxt(sent, segment),
                _ => Class::Empty,
            };
        }
        if sent.is_none() {
            self.beginning.send(segment);
        }
        let is_next = sent.is_some() && ahead == 0;
        if is_next && segment.seen.payload_bytes == 1 && self.is_window_closed() {
            return self.window_probe(segment);
        }
        if ahead > 0
            && let Some(sent) = sent
        {
            self.leave_gap(sent, segment);
        }
        self.go_on(segment);
        Class::New
    }

    /// One past the highest sequence number captured.
    #[inline]
    pub fn nxt(&self) -> Option<StreamOffset> {
        self.sent.map(|sent| sent.nxt)
    }

    /// True if all data from `from` up to but not including `to` was captured; false if there is none.
    pub fn has_captured(&self, from: StreamOffset, to: StreamOffset) -> bool {
        self.copies.has(from, to)
    }

    /// The bytes that the capture missed: see [`Coverage`](crate::Coverage).
    pub fn missed(&self) -> Holes {
        if let Some((sent, aside)) = self.sent.zip(self.confirmed()) {
            let mut whole = self.clone();
            whole.acceptance = Acceptance::default();
            whole.take(aside);
            whole.in_sequence(Some(sent), aside);
            return whole.missed();
        }
        let fin = self.disorder.as_deref().and_then(|disorder| disorder.fin);
        match (self.sent, self.una()) {
            // Without data and SYN, a pure ACK has set `nxt`, and data may have been sent before the
            // capture began. After a SYN alone, one acknowledged number may be that of a FIN.
            (Some(sent), Some(una))
                if self.copies.has_any()
                    || (self.beginning.is_known() && (fin.is_some() || una > sent.nxt.plus(1))) =>
            {
                missed(&self.copies, sent.nxt, fin, una, self.beginning)
            }
            _ => Holes::default(),
        }
    }

    /// The latest segment that was outside the receive window, if it is acknowledged.
    fn confirmed(&self) -> Option<&Segment> {
        self.acceptance.acknowledged(self.nxt()?, self.una())
    }

    /// Number of payload bytes of a segment that seemed to be outside the receive window, and is acknowledged:
    /// [`segment`](Self::segment) has not counted them.
    pub fn confirmed_bytes(&self) -> u32 {
        self.confirmed().map_or(0, |aside| aside.seen.payload_bytes)
    }

    /// True if the segment, the latest of this direction, is outside the receive window, as far as known: it does
    /// not belong to the connection.
    pub fn is_outside(&self, segment: &Segment) -> bool {
        self.acceptance.has_aside(segment) || self.beginning.is_after(segment.start)
    }

    /// True if a FIN left a gap, or seemed to be outside the receive window and is acknowledged.
    pub fn has_late_fin(&self) -> bool {
        let disorder = self.disorder.as_deref();
        disorder.is_some_and(|disorder| disorder.fin.is_some())
            || self.confirmed().is_some_and(|aside| aside.flags.fin())
    }

    fn una(&self) -> Option<StreamOffset> {
        self.acked.map(|acked| acked.una)
    }

    fn is_window_closed(&self) -> bool {
        self.acked.is_some_and(|acked| acked.is_window_closed)
    }

    /// Records a byte that probes a closed window. The receiver may drop it. The sender then
    /// transmits it again, alone or with the data after it; neither is a retransmission.
    #[cold]
    fn window_probe(&mut self, segment: &Segment) -> Class {
        self.disorder().window_probe_end = Some(segment.end());
        Class::WindowProbe
    }

    /// Records the gap before `segment`, unless an earlier window probe fills it.
    #[cold]
    fn leave_gap(&mut self, sent: Sent, segment: &Segment) {
        let una = self.una();
        self.beginning.leave_gap(segment);
        let disorder = self.disorder();
        disorder.fin = segment.fin().or(disorder.fin);
        if disorder.window_probe_end != Some(segment.start) {
            let gap = Gap {
                start: sent.nxt,
                end: segment.start,
                at: segment.seen.at,
                beyond: Counters::of(segment),
                is_after_retransmission: sent.latest.end() < sent.nxt,
            };
            disorder.gaps.leave(gap, una);
        }
    }

    #[cold]
    fn disorder(&mut self) -> &mut Disorder {
        self.disorder.get_or_insert_default()
    }

    #[inline]
    fn go_on(&mut self, segment: &Segment) {
        let at = segment.seen.at;
        let is_outstanding = |sent: &Sent| self.acked.is_some_and(|acked| acked.una < sent.nxt);
        // With nothing known to be outstanding, the segment counts as the head and starts the timer
        // (RFC 6298, section 5.1).
        let head_at = self
            .sent
            .filter(is_outstanding)
            .map_or(at, |sent| sent.head_at);
        let latest = Transmission::of(segment);
        self.sent = Some(Sent {
            nxt: segment.end(),
            latest,
            before: self.sent.map_or(latest, |sent| sent.latest),
            head_at,
        });
        if segment.is_numbered() {
            self.identity.in_order(segment);
        }
    }
}
