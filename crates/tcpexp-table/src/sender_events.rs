//! The table of sender events: recoveries, retransmissions, state changes.

use tcpexp_flow::{Direction, StreamOffset};
use tcpexp_logs::import::{RetransmitEvent, StateChange};
use tcpexp_measure::sender::{EarlierCopy, RecoveryEpoch, Retransmission};
use tcpexp_units::Timestamp;

use crate::columns::{Builder, Columns};
use crate::labels::{Labelled, SenderLabel, sender_label_columns};
use crate::sender::wire;

/// An event of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderEvent {
    /// A recovery epoch, reconstructed.
    Recovery(RecoveryEpoch),
    /// Retransmitted data, as captured.
    Retransmission(Retransmission),
    /// A state change of a kernel's congestion control.
    StateChange(StateChange),
    /// A kernel retransmits data.
    Retransmit(RetransmitEvent),
}

/// An event with its sender.
pub type SenderEventRow = Labelled<SenderEvent, SenderLabel>;

/// The columns of the table that `--events` writes.
pub fn sender_event_columns() -> Columns<SenderEventRow> {
    let columns = sender_label_columns(Columns::named("sender_events"), |row: &SenderEventRow| &row.flow)
        .text("direction", "Which way the sender's data goes: forward (initiator to responder) or reverse.", |row| row.row.direction().name())
        .text("event", "What happens: recovery (the window is reduced, losses are repaired), retransmission (data is sent again), or, from a log, state (congestion control sets its state).", |row| row.row.name())
        .time("time_ns", "When, or when it began: nanoseconds since 1970-01-01 UTC, or since what a log counts from.", |row| row.row.at());
    event_details(columns, |row| Some(&row.row)).done()
}

/// Adds the columns of an event other than its time.
pub(crate) fn event_details<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> Option<&SenderEvent>,
) -> Builder<R> {
    columns
        .maybe_signed("ended_ns", "When a recovery was over. Null for other events, and if the capture ended before.", move |row| of(row)?.recovery()?.ended.map(Timestamp::as_nanos))
        .maybe_text("kind", "Of a recovery why it began: fast (duplicate or selective ACKs), timeout or congestion_echo. Of a retransmission: fast_retransmit, reordering_timer, timeout, after_timeout, tail_loss_probe or spurious. Of a state: open, disorder, window_reduction, recovery or loss. Null where a log does not tell.", move |row| of(row)?.kind())
        .maybe_id("recovery_epoch", "The recovery's number among this sender's, counted from 0. Null for other events.", move |row| of(row)?.recovery().map(|recovery| recovery.epoch))
        .maybe_id("start_seq", "First sequence number sent again, as it is on the wire. Null for other events and for a log's.", move |row| of(row)?.retransmitted().map(|retransmitted| wire(retransmitted.start)))
        .maybe_id("end_seq", "The sequence number after the last one sent again; of a recovery, the one at which all before it is repaired. Null for other events and for a log's.", move |row| of(row)?.end().map(wire))
        .maybe_id("cwnd_before_segments", "Congestion window before the recovery in segments, an estimate. Null for other events and where it is not known.", move |row| of(row)?.recovery()?.cwnd_before_segments)
        .maybe_id("ssthresh_segments", "Slow start threshold that the recovery set, in segments. Null for other events and where it is not known.", move |row| of(row)?.recovery()?.ssthresh_segments)
        .maybe_flag("was_undone", "Whether the sender learnt that nothing was lost and took the reduction back. Null for other events.", move |row| of(row)?.recovery().map(|recovery| recovery.was_undone))
        .maybe_count("lost_packets", "Of a recovery, the packets truly lost on their way: of the data that it repaired, and of what was sent again for it. 0 if it was spurious. Null for other events, and where no second capture tells.", move |row| of(row)?.recovery()?.lost_packets)
        .maybe_text("earlier_copy", "Of a retransmission, what had become of what was sent before: lost (it had to be sent again), overtaken (spurious: it arrived behind data sent later) or arrived (spurious: ACKs were late or lost). Null for other events, and where no second capture tells.", move |row| of(row)?.retransmitted()?.earlier_copy.map(EarlierCopy::name))
}

impl SenderEvent {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Recovery(_) => "recovery",
            Self::Retransmission(_) | Self::Retransmit(_) => "retransmission",
            Self::StateChange(_) => "state",
        }
    }

    pub(crate) const fn direction(&self) -> Direction {
        match self {
            Self::Recovery(recovery) => recovery.direction,
            Self::Retransmission(retransmitted) => retransmitted.direction,
            Self::StateChange(change) => change.direction,
            Self::Retransmit(retransmit) => retransmit.direction,
        }
    }

    pub(crate) const fn at(&self) -> Timestamp {
        match self {
            Self::Recovery(recovery) => recovery.began,
            Self::Retransmission(retransmitted) => retransmitted.at,
            Self::StateChange(change) => change.at,
            Self::Retransmit(retransmit) => retransmit.at,
        }
    }

    const fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Recovery(recovery) => Some(recovery.kind.name()),
            Self::Retransmission(retransmitted) => Some(retransmitted.cause.name()),
            Self::StateChange(change) => Some(change.state.name()),
            Self::Retransmit(_) => None,
        }
    }

    const fn recovery(&self) -> Option<&RecoveryEpoch> {
        match self {
            Self::Recovery(recovery) => Some(recovery),
            _ => None,
        }
    }

    const fn retransmitted(&self) -> Option<&Retransmission> {
        match self {
            Self::Retransmission(retransmitted) => Some(retransmitted),
            _ => None,
        }
    }

    fn end(&self) -> Option<StreamOffset> {
        let recovered = self.recovery().map(|recovery| recovery.high);
        recovered.or(self.retransmitted().map(|retransmitted| retransmitted.end))
    }
}
