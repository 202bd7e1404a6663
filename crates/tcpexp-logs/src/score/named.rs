//! Which record of one side is about the same sender as which of the other.

use std::net::SocketAddr;

use super::record::SenderRecord;
use super::sum::{Options, Score};

/// A record and whom it is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NamedRecord {
    /// Address and port of the sender and of the receiver; `None` where a log does not name them.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// What is told.
    pub record: SenderRecord,
}

/// The score of one sender.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderScore {
    /// Address and port of the sender and of the receiver, if one side names them.
    pub ends: Option<(SocketAddr, SocketAddr)>,
    /// Whether there is a reconstruction of it at all.
    pub is_reconstructed: bool,
    /// How good it is.
    pub score: Score,
}

/// Scores each sender of the truth; one that is not reconstructed matches nothing.
///
/// Senders are the same if their endpoints are. A truth without endpoints is about the only sender
/// that is reconstructed; where there are several, it is about none.
pub fn score_all(
    reconstructed: &[NamedRecord],
    truth: &[NamedRecord],
    options: Options,
) -> Vec<SenderScore> {
    truth
        .iter()
        .map(|truth| {
            let ours = match (truth.ends, reconstructed) {
                (None, [only]) => Some(only),
                (None, _) => None,
                (ends, all) => all.iter().find(|ours| ours.ends == ends),
            };
            let nothing = SenderRecord::default();
            let record = ours.map_or(&nothing, |ours| &ours.record);
            SenderScore {
                ends: truth.ends.or_else(|| ours?.ends),
                is_reconstructed: ours.is_some(),
                score: Score::of(record, &truth.record, options),
            }
        })
        .collect()
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
    fn senders_are_told_by_their_endpoints() {
        let ours = [named(Some(B), 10), named(Some(A), 20)];
        let truth = [named(Some(A), 20), named(Some(B), 20), named(None, 20)];
        assert_eq!(
            errors(&ours, &truth),
            [(true, Some(0.0)), (true, Some(0.5)), (false, None)]
        );
    }

    #[test]
    fn a_log_without_endpoints_is_about_the_only_sender() {
        assert_eq!(
            errors(&[named(Some(A), 10)], &[named(None, 20)]),
            [(true, Some(0.5))]
        );
    }
}
