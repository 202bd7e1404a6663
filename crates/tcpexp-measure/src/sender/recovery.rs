//! Which phase of loss recovery a sender is in, and since when.

use std::ops::Range;

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::Timestamp;

use super::stamps::is_after;

/// What a sender does about losses: `tcpi_ca_state` without `Disorder`, which changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Open,
    /// Reducing after an ECN echo.
    Reducing,
    /// Fast recovery.
    Recovery,
    /// After a timeout.
    Loss,
}

/// Why a recovery began.
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
    /// Which flow.
    pub flow: FlowId,
    /// Which way the data goes.
    pub direction: Direction,
    /// Its number among this sender's recoveries, from 0.
    pub epoch: u32,
    /// Why it began.
    pub kind: RecoveryKind,
    /// When the ACK arrived, or the timer expired, that began it.
    pub began: Timestamp,
    /// When it was over; `None` if the capture ended before.
    pub ended: Option<Timestamp>,
    /// All sent before this is repaired when it is over, `high_seq`.
    pub high: StreamOffset,
    /// Congestion window before it, in segments, as estimated.
    pub cwnd_before_segments: Option<u32>,
    /// Slow start threshold that it set, in segments: what the sender filled right after it.
    pub ssthresh_segments: Option<u32>,
    /// Whether the sender learnt that nothing was lost, and took the reduction back.
    pub was_undone: bool,
    /// Packets truly lost on their way, of the data that it repaired and of the copies sent for it;
    /// `None` if no second capture tells. None lost means that the recovery was needless.
    pub lost_packets: Option<u64>,
}

/// What is going on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) epoch: u32,
    pub(super) kind: RecoveryKind,
    pub(super) began: Timestamp,
    pub(super) high: StreamOffset,
    /// What comes before it was acknowledged when the recovery began.
    marker: StreamOffset,
    pub(super) cwnd_before: u32,
    pub(super) ssthresh_before: Option<u32>,
    /// Whether the window before was seen, and not only replayed.
    pub(super) was_filled: bool,
    /// Segments sent again that no duplicate report has shown to be needless.
    unconfirmed: i64,
    /// `TSval` of the first segment sent again.
    first_stamp: Option<u32>,
    has_resent: bool,
}

/// The state machine.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    pub(super) state: State,
    pub(super) running: Option<Running>,
    epochs: u32,
}

impl Recovery {
    pub(super) fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Begins a recovery of what is outstanding.
    pub(super) fn begin(
        &mut self,
        kind: RecoveryKind,
        began: Timestamp,
        outstanding: Range<StreamOffset>,
        cwnd_before: (u32, bool),
        ssthresh_before: Option<u32>,
    ) {
        self.state = match kind {
            RecoveryKind::Fast => State::Recovery,
            RecoveryKind::Timeout => State::Loss,
            RecoveryKind::CongestionEcho => State::Reducing,
        };
        self.running = Some(Running {
            epoch: self.epochs,
            kind,
            began,
            marker: outstanding.start,
            high: outstanding.end,
            cwnd_before: cwnd_before.0,
            ssthresh_before,
            was_filled: cwnd_before.1,
            unconfirmed: 0,
            first_stamp: None,
            has_resent: false,
        });
        self.epochs += 1;
    }

    /// `segments` were sent again.
    pub(super) fn resent(&mut self, segments: u32, stamp: Option<u32>) {
        if let Some(running) = &mut self.running {
            if !running.has_resent {
                running.first_stamp = stamp;
            }
            running.has_resent = true;
            running.unconfirmed += i64::from(segments);
        }
    }

    /// The receiver reports that a segment that ends at `end` arrived twice.
    pub(super) fn duplicated(&mut self, end: StreamOffset) {
        if let Some(running) = &mut self.running
            && end > running.marker
        {
            running.unconfirmed -= 1;
        }
    }

    /// Whether all that was sent again is known to have been needless (RFC 3708).
    pub(super) fn is_refuted(&self) -> bool {
        self.running
            .is_some_and(|running| running.has_resent && running.unconfirmed <= 0)
    }

    /// Whether the ACK that echoes `echo` answers what was sent before the first segment was sent
    /// again (Eifel detection, RFC 3522).
    pub(super) fn answers_original(&self, echo: Option<u32>) -> bool {
        let first = self.running.and_then(|running| running.first_stamp);
        echo.zip(first)
            .is_some_and(|(echo, first)| echo != 0 && is_after(first, echo))
    }

    /// Ends the recovery; tells what it was.
    pub(super) fn end(&mut self) -> Option<Running> {
        self.state = State::Open;
        self.running.take()
    }
}
