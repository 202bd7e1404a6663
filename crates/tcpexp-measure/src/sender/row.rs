//! The output rows of a reconstruction.

use super::recovery::RecoveryEpoch;
use super::retransmission::Retransmission;
use super::sample::SenderSample;
use super::summary::SenderSummary;

/// One row of a sender's reconstruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderRow {
    /// The state at the arrival of an ACK, before the sender processed it.
    Sample(SenderSample),
    /// A completed recovery.
    Recovery(RecoveryEpoch),
    /// A retransmission.
    Retransmission(Retransmission),
    /// Totals of a sender, at the end of its flow.
    Summary(SenderSummary),
}
