//! One recovery of a sender: from its cause (loss, timeout or congestion echo) until the data
//! outstanding at its start is acknowledged.

use std::ops::Range;

use tcpexp_flow::{Direction, FlowId, StreamOffset, is_after};
use tcpexp_units::Timestamp;

use super::event_id::{EventId, EventKind};
use super::lost::LostPackets;
use super::reduction::Reduction;

/// Cause of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecoveryKind {
    /// Duplicate or selective ACKs showed a loss (RFC 5681, RFC 6675, RFC 8985).
    Fast,
    /// The retransmission timer expired (RFC 6298, section 5).
    Timeout,
    /// The receiver echoed congestion (RFC 3168, section 6.1.2).
    CongestionEcho,
}

impl RecoveryKind {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Timeout => "timeout",
            Self::CongestionEcho => "congestion_echo",
        }
    }
}

/// One recovery of one sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecoveryEpoch {
    /// The flow.
    pub flow: FlowId,
    /// Direction of the data.
    pub direction: Direction,
    /// Index among this sender's recoveries, from 0.
    pub epoch: u32,
    /// Cause of the recovery.
    pub kind: RecoveryKind,
    /// Time of the ACK or timeout that began the recovery.
    pub began: Timestamp,
    /// End of the recovery; `None` if the capture ended first.
    pub ended: Option<Timestamp>,
    /// End of the data that the recovery repairs (`high_seq`).
    pub high: StreamOffset,
    /// Estimated congestion window before the recovery, in segments.
    pub cwnd_before_segments: Option<u32>,
    /// Slow start threshold set by the recovery, in segments: the pipe that the sender filled right
    /// after it.
    pub ssthresh_segments: Option<u32>,
    /// The threshold as the flight after the recovery showed it, before a known rule within one segment of it
    /// replaced it; `None` if nothing showed it.
    pub seen_ssthresh_segments: Option<u32>,
    /// True if the sender learnt that nothing was lost and undid the reduction.
    pub was_undone: bool,
    /// Lost packets, of the repaired data and its retransmissions; `None` without a second capture.
    /// Exactly zero means that the recovery was spurious.
    pub lost: Option<LostPackets>,
}

impl RecoveryEpoch {
    /// Name of the event.
    pub const fn event_id(&self) -> EventId {
        EventId {
            direction: self.direction,
            kind: EventKind::Recovery,
            number: self.epoch as u64,
        }
    }
}

/// A recovery in progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    pub(super) epoch: u32,
    pub(super) kind: RecoveryKind,
    pub(super) began: Timestamp,
    /// `snd_nxt` when the recovery began; the recovery is over once this is acknowledged.
    pub(super) high: StreamOffset,
    /// `snd_una` when the recovery began.
    low: StreamOffset,
    pub(super) before: Before,
    pub(super) reduction: Reduction,
    /// Retransmitted segments, minus those that a D-SACK reported as duplicates.
    unconfirmed: i64,
    has_retransmitted: bool,
    /// True once the sender retransmits more than the segment whose timer expired.
    pub(super) goes_on_repairing: bool,
    /// True if the receiver's window was closed at the latest ACK that showed a window.
    was_closed: bool,
    /// The largest window that the pipe has shown since the latest timeout, in segments; 0 if none.
    pub(super) filled: u32,
    /// `TSval` of the first retransmission.
    first_stamp: Option<u32>,
    /// Number of lost packets that it has repaired, once it is over.
    pub(super) lost: LostPackets,
}

/// The window at the beginning of a recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub(super) cwnd: u32,
    pub(super) ssthresh: Option<u32>,
    /// True if the sender filled the window, so that the window was observed and not only replayed.
    pub(super) was_filled: bool,
    /// Segments outstanding.
    pub(super) outstanding: u32,
    /// False if nothing has shown the window since the last reduction; `cwnd` is a guess then.
    pub(super) is_known: bool,
}

impl Before {
    /// The window; `None` if it is a guess.
    pub(super) fn known_cwnd(&self) -> Option<u32> {
        self.is_known.then_some(self.cwnd)
    }
}

impl Recovery {
    /// Begins a recovery of `outstanding` data. `threshold` is the `ssthresh` that earlier
    /// recoveries of the sender suggest.
    pub(super) fn new(
        epoch: u32,
        kind: RecoveryKind,
        began: Timestamp,
        outstanding: Range<StreamOffset>,
        before: Before,
        threshold: Option<u32>,
    ) -> Self {
        Self {
            epoch,
            kind,
            began,
            low: outstanding.start,
            high: outstanding.end,
            before,
            reduction: Reduction::new(before.cwnd, threshold),
            unconfirmed: 0,
            has_retransmitted: false,
            goes_on_repairing: false,
            was_closed: false,
            filled: 0,
            first_stamp: None,
            lost: LostPackets::default(),
        }
    }

    /// Counts a tail loss probe in the network (`tcp_init_undo`), so that a D-SACK for one of two copies does not
    /// refute the recovery.
    pub(super) fn await_probe(&mut self) {
        self.unconfirmed += 1;
    }

    /// Counts `segments` retransmitted segments.
    pub(super) fn retransmit(&mut self, segments: u32, stamp: Option<u32>) {
        // Eifel detection compares with the first retransmission (RFC 3522, section 3.2).
        if !self.has_retransmitted {
            self.first_stamp = stamp;
        }
        self.has_retransmitted = true;
        self.unconfirmed += i64::from(segments);
        self.reduction.send(segments);
    }

    /// Counts `segments` of new data, sent when `una` was acknowledged.
    pub(super) fn send_new(&mut self, segments: u32, una: StreamOffset) {
        // Once all is repaired, a sender without SACK may be out of data.
        if una < self.high {
            self.reduction.send_new(segments);
        } else {
            self.reduction.send(segments);
        }
    }

    /// Records a D-SACK for a segment that ends at `end` (RFC 2883).
    pub(super) fn duplicated(&mut self, end: StreamOffset) {
        // A D-SACK below `low` reports a retransmission of an earlier recovery.
        if end > self.low {
            self.unconfirmed -= 1;
        }
    }

    /// True if D-SACKs show that every retransmission was spurious (RFC 3708).
    pub(super) fn is_refuted(&self) -> bool {
        self.has_retransmitted && self.unconfirmed <= 0
    }

    /// True if an ACK that echoes `echo` acknowledges data sent before the first retransmission
    /// (Eifel detection, RFC 3522).
    pub(super) fn answers_original(&self, echo: Option<u32>) -> bool {
        // An echo of 0 is no echo (`tcp_tsopt_ecr_before`).
        echo.zip(self.first_stamp)
            .is_some_and(|(echo, first)| echo != 0 && is_after(first, echo))
    }

    /// True if `una` covers all data outstanding at the start of the recovery.
    ///
    /// Without SACK, the ACK must cover more than this data; otherwise duplicate ACKs with the same
    /// number would begin another recovery (RFC 6582, section 4). After a congestion echo, Linux
    /// also waits for more, until its CWR has reached the receiver (`tcp_fastretrans_alert`).
    pub(super) fn is_repaired_by(&self, una: StreamOffset, has_sack: bool) -> bool {
        let needs_more = !has_sack || self.kind == RecoveryKind::CongestionEcho;
        una > self.high || una == self.high && !needs_more
    }

    /// True if the pipe of the recovery shows the window: the window limited the sender.
    pub(super) fn shows_window(&self) -> bool {
        let before = self.before;
        // A window that the ACK before the loss has grown is one segment larger.
        let was_full = before.was_filled || before.outstanding + 1 >= before.cwnd;
        self.reduction.shows_window(was_full)
    }

    /// The lowest threshold in use (RFC 5681, equation 4).
    pub(super) fn least_threshold(&self) -> u32 {
        self.before.outstanding.min(self.before.cwnd) / 2
    }

    /// True if the latest window of the recovery is its threshold. No factor in use is below 1/2 (RFC 5681, equation
    /// 4), so a sender with less in flight at the end had lost more, or had no more data. A closed receiver window
    /// hides how much more the threshold allows.
    pub(super) fn shows_threshold(&self) -> bool {
        let least = self.least_threshold();
        let latest = self.reduction.latest();
        let is_limiting = !self.was_closed && self.reduction.has_caught_up();
        self.shows_window() && latest + 1 >= least && is_limiting
    }

    /// The window when an ACK arrives with `pipe` segments in the network; `None` if it is unknown.
    pub(super) fn cwnd(
        &mut self,
        una: StreamOffset,
        pipe: u32,
        is_closed: bool,
        has_sack: bool,
        sees_sent: bool,
    ) -> Option<u32> {
        // The ACK covers exactly the repaired data: a sender without SACK waits here, and the
        // segments that duplicate ACKs stood for are counted as outstanding.
        if !has_sack && una == self.high {
            let is_known = self.reduction.has_threshold() || self.shows_window();
            return is_known.then_some(self.reduction.latest());
        }
        self.was_closed = is_closed;
        self.reduction.look(pipe, is_closed, has_sack, sees_sent)
    }

    /// As [`cwnd`](Self::cwnd), after a timeout, which slow start follows without a proportional reduction. `owes`
    /// is true if segments marked lost are not retransmitted yet, so that the window limits the sender. Without
    /// them, a sender with less in flight than before has no more data, because the window does not fall.
    pub(super) fn cwnd_after_timeout(
        &mut self,
        pipe: u32,
        owes: bool,
        has_sent: bool,
    ) -> Option<u32> {
        let is_shown = owes || has_sent && pipe >= self.filled;
        if is_shown {
            self.filled = self.filled.max(pipe);
        }
        is_shown.then_some(pipe)
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    /// A recovery of 20 segments in which the sender answers each of these numbers of deliveries with one segment.
    fn recovery(deliveries: &[u32]) -> Recovery {
        let before = Before {
            cwnd: 20,
            ssthresh: None,
            was_filled: true,
            outstanding: 20,
            is_known: true,
        };
        let start = StreamOffset::first(SeqNum(1));
        let (began, outstanding) = (Timestamp::from_nanos(0), start..start.plus(20_000));
        let mut recovery = Recovery::new(0, RecoveryKind::Fast, began, outstanding, before, None);
        let mut pipe = 19;
        for delivered in deliveries {
            pipe -= delivered;
            recovery.reduction.deliver(*delivered, pipe, false);
            recovery.reduction.look(pipe, false, false, true);
            recovery.reduction.send_new(1);
            pipe += 1;
            recovery.reduction.look(pipe, false, false, true);
        }
        recovery
    }

    #[test]
    fn window_of_a_recovery_below_half_of_the_flight_before_is_no_threshold() {
        // A factor of 1/2, then a segment for each delivery.
        assert!(recovery(&[2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1]).shows_threshold());
        assert!(!recovery(&[2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]).shows_threshold());
    }

    #[test]
    fn window_of_a_sender_that_was_held_back_in_a_recovery_is_no_threshold() {
        assert!(recovery(&[2, 2, 2]).shows_threshold());
        assert!(!recovery(&[10, 1, 1]).shows_threshold());
    }

    #[test]
    fn less_in_flight_does_not_lower_the_window_shown_since_a_timeout() {
        let mut recovery = recovery(&[]);
        assert_eq!(recovery.cwnd_after_timeout(8, true, true), Some(8));
        assert_eq!(recovery.cwnd_after_timeout(5, true, true), Some(5));
        assert_eq!(recovery.cwnd_after_timeout(6, false, true), None);
        assert_eq!(recovery.cwnd_after_timeout(8, false, true), Some(8));
    }

    #[test]
    fn window_of_a_sender_at_a_closed_receiver_window_is_no_threshold() {
        let mut recovery = recovery(&[2, 2, 2]);
        let pipe = recovery.reduction.latest();
        recovery.cwnd(recovery.low, pipe, true, true, true);
        assert!(!recovery.shows_threshold());
    }
}
