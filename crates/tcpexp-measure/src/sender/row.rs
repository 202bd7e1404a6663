//! The rows that a reconstruction yields.

use super::recovery::RecoveryEpoch;
use super::retransmission::Retransmission;
use super::sample::SenderSample;
use super::summary::SenderSummary;

/// One row of a sender's reconstruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderRow {
    /// The state when an ACK arrived, before the sender processed it.
    Sample(SenderSample),
    /// A recovery, once it is over.
    Recovery(RecoveryEpoch),
    /// A retransmission.
    Retransmission(Retransmission),
    /// A sender's totals, at the end of its flow.
    Summary(SenderSummary),
}
