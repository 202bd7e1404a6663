//! Epochs from logged congestion states.

use tcpexp_measure::sender::{Phase, SenderSample};

use super::record::Epoch;
use crate::import::{CongestionState, StateChange};

/// Turns each stay in a window-reducing state into an epoch; a repeated entry for the same state
/// continues the epoch.
///
/// Disorder ends an epoch: a sender that goes from a recovery to Disorder has undone the reduction,
/// and its next recovery is a new reduction, even at the same ACK. This occurs where duplicate ACKs
/// are the only sign of losses.
pub(super) fn from_states(states: &[StateChange]) -> Vec<Epoch> {
    let mut epochs: Vec<Epoch> = Vec::new();
    let mut current = None;
    for change in states {
        if current == Some(change.state) {
            continue;
        }
        current = Some(change.state);
        if let Some(epoch) = epochs.last_mut() {
            // A later change, such as from Disorder to Open, does not move the end of the epoch.
            epoch.ended = epoch.ended.or(Some(change.at));
        }
        if change.state.is_reducing() {
            epochs.push(Epoch {
                began: change.at,
                ended: None,
                kind: kind(change.state),
                ssthresh_segments: None,
            });
        }
    }
    epochs
}

const fn kind(state: CongestionState) -> Option<Phase> {
    match state {
        CongestionState::Open | CongestionState::Disorder => None,
        CongestionState::WindowReduction => Some(Phase::WindowReduction),
        CongestionState::Recovery => Some(Phase::FastRecovery),
        CongestionState::Loss => Some(Phase::LossRecovery),
    }
}

/// Returns the threshold after an epoch: the first one known after its end, or else the last one within it.
pub(super) fn threshold_after(
    samples: &[SenderSample],
    epoch: &Epoch,
    next: Option<Epoch>,
) -> Option<u32> {
    // A row of `tcp_probe` precedes the processing of its ACK, so the row at the start of an epoch
    // still has the old threshold.
    let begin = samples.partition_point(|row| row.at <= epoch.began);
    let end = next.map_or(samples.len(), |next| {
        samples.partition_point(|row| row.at <= next.began)
    });
    let rows = samples.get(begin..end)?;
    let behind = epoch.ended.map_or(rows.len(), |ended| {
        rows.partition_point(|row| row.at <= ended)
    });
    let (within, behind) = rows.split_at(behind);
    behind
        .iter()
        .chain(within.iter().rev())
        .find_map(|row| row.ssthresh_segments)
}
