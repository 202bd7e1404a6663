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
        .name("direction", "Direction of the sender's data: forward (initiator to responder) or reverse.", |row| row.row.direction().name())
        .name("event", "Kind of event: recovery (the window is reduced and losses are repaired), retransmission, or, from a log, state (congestion control changes its state).", |row| row.row.name())
        .time("time", "Time or start of the event. A log without dates starts at 1970-01-01.", |row| row.row.at());
    event_details(columns, |row| Some(&row.row)).done()
}

/// Adds the columns of an event other than its time.
pub(crate) fn event_details<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> Option<&SenderEvent>,
) -> Builder<R> {
    columns
        .maybe_text("event_id", "Name of the event in its flow, for `tcpexp explain --event`: direction, kind and number, as forward.recovery.0. Null for events of a log.", move |row| of(row)?.id())
        .maybe_time("end_time", "End of a recovery, on the clock of the column time. Null for other events, and if the capture ended earlier.", move |row| of(row)?.recovery()?.ended)
        .maybe_text("kind", "Cause of a recovery: fast (duplicate or selective ACKs), timeout or congestion_echo. Cause of a retransmission: fast_retransmit, reordering_timer, timeout, after_timeout, tail_loss_probe, path_mtu, refused_syn_data (Fast Open) or spurious. New state: open, disorder, window_reduction, recovery or loss. Null if a log has no such value.", move |row| of(row)?.kind())
        .maybe_id("recovery_epoch", "Number of the recovery among this sender's, from 0. Null for other events.", move |row| of(row)?.recovery().map(|recovery| recovery.epoch))
        .maybe_id("start_seq", "First retransmitted sequence number, as on the wire. Null for other events and for events of a log.", move |row| of(row)?.retransmitted().map(|retransmitted| wire(retransmitted.start)))
        .maybe_id("end_seq", "Sequence number after the last retransmitted one; for a recovery, the one whose acknowledgment ends it. Null for other events and for events of a log.", move |row| of(row)?.end().map(wire))
        .maybe_id("cwnd_before_segments", "Congestion window before the recovery in segments, an estimate. Null for other events and if unknown.", move |row| of(row)?.recovery()?.cwnd_before_segments)
        .maybe_id("ssthresh_segments", "Slow start threshold that the recovery set, in segments. Null for other events and if unknown.", move |row| of(row)?.recovery()?.ssthresh_segments)
        .maybe_flag("was_undone", "Whether the sender undid the reduction because nothing was lost. Null for other events.", move |row| of(row)?.recovery().map(|recovery| recovery.was_undone))
        .maybe_count("lost_packets", "For a recovery, packets lost on the path: of the repaired data and of its retransmissions; 0 if it was spurious. Null for other events, without a second capture, and if the fate of some of this data is unknown.", move |row| of(row)?.recovery()?.lost?.exact())
        .maybe_text("earlier_copy", "For a retransmission, the fate of the earlier copy: lost, overtaken (spurious: it arrived after later data) or arrived (spurious: ACKs were late or lost). Null for other events, and without a second capture.", move |row| of(row)?.retransmitted()?.earlier_copy.map(EarlierCopy::name))
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

    fn id(&self) -> Option<String> {
        let id = match self {
            Self::Recovery(recovery) => recovery.event_id(),
            Self::Retransmission(retransmitted) => retransmitted.event_id(),
            Self::StateChange(_) | Self::Retransmit(_) => return None,
        };
        Some(id.to_string())
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
