//! Pairs of records of the same sender, one from each side.

use std::net::SocketAddr;

use tcpexp_units::TimeDelta;

use super::record::SenderRecord;
use super::sum::{Options, Score};

/// A record and the endpoints of its sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedRecord {
    /// Address and port of the sender and of the receiver; `None` if the log does not name them.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// The record.
    pub record: SenderRecord,
}

/// The score of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderScore {
    /// Address and port of the sender and of the receiver; `None` if neither side names them.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// True if there is a reconstruction of this sender.
    pub is_reconstructed: bool,
    /// The score.
    pub score: Score,
}

/// Scores each sender of the truth; a sender without a reconstruction matches nothing.
///
/// Senders are paired by their endpoints. Of several connections between the same endpoints, those
/// that overlap longest in time are paired. A truth without endpoints is paired with the only
/// reconstructed sender; if there are several, it has no partner.
pub fn score_all(
    reconstructed: &[NamedRecord],
    truth: &[NamedRecord],
    options: Options,
) -> Vec<SenderScore> {
    let all_truth = truth;
    truth
        .iter()
        .map(|truth| {
            let is_alone =
                |all: &[NamedRecord]| all.iter().filter(|one| one.ends == truth.ends).count() == 1;
            let ours = match (truth.ends, reconstructed) {
                (None, [only]) => Some(only),
                (None, _) => None,
                (ends, all) if is_alone(all) && is_alone(all_truth) => {
                    all.iter().find(|ours| ours.ends == ends)
                }
                (ends, all) => all
                    .iter()
                    .filter(|ours| ours.ends == ends)
                    .filter_map(|ours| Some((overlap(ours, truth)?, ours)))
                    // If overlaps are equal, the first one counts.
                    .rev()
                    .max_by_key(|(overlap, _)| *overlap)
                    .map(|(_, ours)| ours),
            };
            // A sender that was not reconstructed has none of the truth's epochs.
            let nothing = SenderRecord {
                epochs_complete: true,
                ..SenderRecord::default()
            };
            let record = ours.map_or(&nothing, |ours| &ours.record);
            SenderScore {
                ends: truth.ends.or_else(|| ours?.ends),
                is_reconstructed: ours.is_some(),
                score: Score::of(record, &truth.record, options),
            }
        })
        .collect()
}

/// Time that two records have in common; `None` if one ends before the other begins.
fn overlap(one: &NamedRecord, other: &NamedRecord) -> Option<TimeDelta> {
    let span = |named: &NamedRecord| {
        let samples = &named.record.samples;
        Some((samples.first()?.at, samples.last()?.at))
    };
    let ((first, last), (other_first, other_last)) = span(one).zip(span(other))?;
    let common = last.min(other_last) - first.max(other_first);
    (common >= TimeDelta::ZERO).then_some(common)
}

#[cfg(test)]
mod tests {
    use super::super::script::{Row, record};
    use super::*;
    use tcpexp_measure::sender::CwndSource::Measured;

    fn named(ends: Option<(&str, &str)>, cwnd: u32) -> NamedRecord {
        NamedRecord {
            ends: ends.map(|(from, to)| (from.parse().unwrap(), to.parse().unwrap())),
            record: record(&[Row::at(0).seq(1, 2).cwnd(cwnd, Measured)]),
        }
    }

    const A: (&str, &str) = ("10.0.0.1:4", "10.0.0.2:5");
    const B: (&str, &str) = ("10.0.0.2:5", "10.0.0.1:4");

    fn errors(ours: &[NamedRecord], truth: &[NamedRecord]) -> Vec<(bool, Option<f64>)> {
        score_all(ours, truth, Options::default())
            .iter()
            .map(|sender| (sender.is_reconstructed, sender.score.cwnd.all.estimate.mean))
            .collect()
    }

    #[test]
    fn senders_are_identified_by_their_endpoints() {
        let ours = [named(Some(B), 10), named(Some(A), 20)];
        let truth = [named(Some(A), 20), named(Some(B), 20), named(None, 20)];
        assert_eq!(
            errors(&ours, &truth),
            [(true, Some(0.0)), (true, Some(0.5)), (false, None)]
        );
    }

    #[test]
    fn connections_on_the_same_ports_are_paired_by_time() {
        let during = |millis: [i64; 2], cwnd: u32| NamedRecord {
            record: record(&millis.map(|at| Row::at(at).seq(1, 2).cwnd(cwnd, Measured))),
            ..named(Some(A), cwnd)
        };
        let ours = [during([0, 90], 10), during([200, 290], 20)];
        let truth = [
            during([201, 291], 20),
            during([400, 490], 30),
            during([1, 91], 10),
        ];
        let found: Vec<bool> = errors(&ours, &truth).iter().map(|(is, _)| *is).collect();
        assert_eq!(found, [true, false, true]);
        let both = score_all(&ours, &truth, Options::default());
        let windows = |score: &SenderScore| score.score.cwnd.all.estimate.mean;
        assert!(windows(&both[0]).is_none_or(|error| error == 0.0));
        assert!(windows(&both[2]).is_none_or(|error| error == 0.0));
    }

    #[test]
    fn a_log_without_endpoints_belongs_to_the_only_sender() {
        assert_eq!(
            errors(&[named(Some(A), 10)], &[named(None, 20)]),
            [(true, Some(0.5))]
        );
    }
}
