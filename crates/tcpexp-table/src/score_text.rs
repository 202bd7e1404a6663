//! Scores of reconstructions, as text for a terminal.

use tcpexp_logs::score::{Clocks, LossScore, Score, ScoreRow, SenderScore};
use tcpexp_units::counted;

use crate::cells::{NO_VALUE, count, wrapped};

/// A sender's score with the name of its experiment.
#[derive(Clone, Debug)]
pub struct ScoredSender {
    /// Name of the experiment.
    pub name: String,
    /// The score.
    pub score: SenderScore,
}

/// The score of the losses between two captures.
#[derive(Clone, Debug)]
pub struct ScoredPath {
    /// Name of the experiment.
    pub name: String,
    /// The score.
    pub score: LossScore,
}

/// Senders with fewer true windows than this are omitted from the text.
const MIN_ACKS: u64 = 100;
/// Width of the name column in the table of several senders.
const NAME: usize = 27;

/// Formats all numbers of a single sender, or one line per sender.
///
/// If any sender has at least 100 rows of ground truth, senders with fewer are only counted.
pub fn score_text(scored: &[ScoredSender]) -> String {
    let (mut shown, mut few): (Vec<_>, Vec<_>) = scored
        .iter()
        .partition(|sender| acks(&sender.score.score) >= MIN_ACKS);
    if shown.is_empty() {
        std::mem::swap(&mut shown, &mut few);
    }
    let mut lines = match shown.as_slice() {
        [] => vec!["the truth contains no sender".to_owned()],
        [only] => single(only),
        _ => several(&shown),
    };
    if !few.is_empty() {
        let senders = counted(few.len(), "sender");
        lines.push(format!(
            "and {senders} with fewer than {MIN_ACKS} windows in the truth"
        ));
    }
    lines.extend(remarks_on_clocks(scored));
    lines.join("\n") + "\n"
}

/// Lines about the senders whose logs do not show the offset between their clock and the capture's.
fn remarks_on_clocks(scored: &[ScoredSender]) -> Vec<String> {
    let count = |clocks: Clocks| {
        let senders = scored.iter().filter(|sender| {
            let SenderScore {
                is_reconstructed,
                score,
                ..
            } = &sender.score;
            // The number of matched acknowledgments shows whether an assumed clock is right.
            let is_unseen = clocks == Clocks::Apart || acks(score) == 0;
            *is_reconstructed && score.clocks == clocks && is_unseen
        });
        senders.count()
    };
    let remarks = [
        (
            "one clock assumed",
            count(Clocks::Assumed),
            "no acknowledgments in the log",
        ),
        (
            "nothing compared",
            count(Clocks::Apart),
            "log and capture hardly overlap in time",
        ),
    ];
    let remarks = remarks.into_iter().filter(|(_, senders, _)| *senders > 0);
    remarks
        .map(|(what, senders, why)| format!("{what} for {}: {why}", counted(senders, "sender")))
        .collect()
}

/// Formats one line per pair of captures.
pub fn loss_score_text(scored: &[ScoredPath]) -> String {
    let line = |name: &str, precision: &str, recall: &str, counts: &str| {
        format!("{name:NAME$} {precision:>19} {recall:>13} {counts:>17}\n")
    };
    let show = |value: Option<f64>| value.map_or(NO_VALUE.to_owned(), share);
    let lines = scored.iter().map(|ScoredPath { name, score }| {
        let LossScore {
            matched,
            found,
            truth,
        } = score;
        line(
            &end_of(name, NAME),
            &show(score.precision()),
            &show(score.recall()),
            &format!("{matched}/{found}/{truth}"),
        )
    });
    let header = line("packets lost, %", "precision", "recall", "hit/found/is");
    std::iter::once(header).chain(lines).collect()
}

fn acks(score: &Score) -> u64 {
    score.cwnd.all.estimate.truth
}

fn single(sender: &ScoredSender) -> Vec<String> {
    let mut lines = title(sender);
    if !sender.score.is_reconstructed {
        lines.push("  not in the reconstruction, so that nothing matches".to_owned());
    }
    lines.push(row(
        "number",
        [
            "error", "<=5 %", "<=10%", "matched", "truth", "flight", "<=5 %",
        ]
        .map(str::to_owned),
    ));
    let numbers = sender.score.score.rows();
    // A mean error and the shares within 5 % and 10 % are on one line.
    for of in numbers.chunk_by(|_, next| next.metric.contains("_within_")) {
        if of[0].truth > 0 || of[0].matched > 0 {
            lines.push(line(of));
        }
    }
    lines
}

fn title(sender: &ScoredSender) -> Vec<String> {
    let name = sender.name.clone();
    match sender.score.ends {
        None => vec![name],
        Some((from, to)) => wrapped(&[name, from.to_string(), format!("> {to}")], 80),
    }
}

/// A number, followed by the shares within 5 % and 10 % if the number is an error.
fn line(of: &[ScoreRow]) -> String {
    let number = &of[0];
    let (name, unit) = [
        // `_error_ratio` also ends in `_ratio`, so the longer ending comes first.
        ("_error_ratio", " %"),
        ("_ratio", " %"),
        ("_ms", " ms"),
        ("_segments", ""),
    ]
    .into_iter()
    .find_map(|(ending, unit)| Some((number.metric.strip_suffix(ending)?, unit)))
    .unwrap_or((number.metric, ""));
    let value = number
        .value
        .map_or(NO_VALUE.to_owned(), |value| match unit {
            " %" if number.metric.ends_with("_error_ratio") => format!("{} %", error(value)),
            " %" => format!("{} %", share(value)),
            "" => format!("{value:+}"),
            _ => format!("{value:.1}{unit}"),
        });
    // The first row of a line has an error, or a number without a flight size; the others have shares.
    let cell = |place: usize, pick: fn(&ScoreRow) -> Option<f64>| {
        let show = if place == 0 { error } else { share };
        of.get(place).and_then(pick).map_or(String::new(), show)
    };
    let subset = match number.subset {
        "all" => String::new(),
        subset => format!(", {}", subset.replace('_', " ")),
    };
    row(
        &format!("{}{subset}", name.replace('_', " ")),
        [
            value,
            cell(1, |row| row.value),
            cell(2, |row| row.value),
            count(number.matched, 8),
            count(number.truth, 7),
            cell(0, |row| row.flight_size_value),
            cell(1, |row| row.flight_size_value),
        ],
    )
}

/// One line of numbers, 80 columns wide.
fn row(name: &str, cells: [String; 7]) -> String {
    let [
        value,
        within_5,
        within_10,
        matched,
        truth,
        flight_size,
        flight_size_within_5,
    ] = cells;
    let line = format!(
        "  {name:25} {value:>8} {within_5:>5} {within_10:>5} {matched:>8} {truth:>7} {flight_size:>7} {flight_size_within_5:>5}"
    );
    line.trim_end().to_owned()
}

fn several(shown: &[&ScoredSender]) -> Vec<String> {
    let mut lines = vec![
        summary(
            "error in %",
            ["ACKs", "known", "cwnd", "within", "flight", "SRTT"],
            "epochs",
        ),
        summary("", ["", "", "", "5 %", "size", ""], "hit/found/is"),
    ];
    for sender in shown {
        let Score {
            cwnd, epochs, srtt, ..
        } = &sender.score.score;
        let (ours, naive) = (&cwnd.all.estimate, &cwnd.all.flight_size);
        let show = |value: Option<f64>, as_text: fn(f64) -> String| {
            value.map_or(NO_VALUE.to_owned(), as_text)
        };
        let known = (ours.truth > 0).then(|| ours.matched as f64 / ours.truth as f64);
        lines.push(summary(
            &name_of(sender, shown),
            [
                &count(ours.truth, 7),
                &show(known, share),
                &show(ours.mean, error),
                &show(ours.within_5_percent, share),
                &show(naive.mean, error),
                &show(srtt.mean, error),
            ],
            // An epoch that an incomplete side lacks may have occurred all the same.
            &if epochs.is_complete {
                format!("{}/{}/{}", epochs.matched, epochs.found, epochs.truth)
            } else {
                NO_VALUE.to_owned()
            },
        ));
    }
    lines
}

/// The name of the experiment, with the sender's port if the experiment has several senders.
fn name_of(sender: &ScoredSender, shown: &[&ScoredSender]) -> String {
    let same = shown.iter().filter(|other| other.name == sender.name);
    let port = match sender.score.ends {
        Some((from, _)) if same.count() > 1 => format!(":{}", from.port()),
        _ => String::new(),
    };
    let room = NAME - port.chars().count();
    end_of(&sender.name, room) + &port
}

/// The part of a name that fits; the end of a path is more specific than its beginning.
fn end_of(name: &str, room: usize) -> String {
    let letters = name.chars().count();
    if letters <= room {
        return name.to_owned();
    }
    // The ellipsis takes one column.
    let end: String = name.chars().skip(letters - room + 1).collect();
    format!("…{end}")
}

/// One line of a summary, 80 columns wide.
fn summary(name: &str, cells: [&str; 6], epochs: &str) -> String {
    let [acks, known, cwnd, within, flight_size, srtt] = cells;
    let line = format!(
        "{name:NAME$} {acks:>7} {known:>5} {cwnd:>5} {within:>6} {flight_size:>6} {srtt:>4} {epochs:>12}"
    );
    line.trim_end().to_owned()
}

/// A share in percent, in at most five characters. Only a share of 100 % shows as 100, and only one of 0 % as 0.
fn share(ratio: f64) -> String {
    let percent = ratio * 100.0;
    match percent {
        0.0 => "0".to_owned(),
        ..0.005 => "<0.01".to_owned(),
        ..99.5 => error(ratio),
        // Without a decimal, these shares would round to 100 %.
        ..99.95 => format!("{percent:.1}"),
        ..100.0 => ">99.9".to_owned(),
        _ => format!("{percent:.0}"),
    }
}

/// A relative error in percent with two significant digits or one decimal, in at most five characters.
fn error(ratio: f64) -> String {
    let percent = ratio * 100.0;
    // Each limit is where rounding adds a digit: 9.95 shows as 10.
    match percent {
        0.0 | 9.95.. => format!("{percent:.0}"),
        ..0.995 => format!("{percent:.2}"),
        _ => format!("{percent:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_share_shows_as_100_percent_and_only_none_as_0() {
        let shares = [1.0, 0.999_999, 0.999_16, 0.9949, 0.5, 0.05, 0.000_01, 0.0].map(share);
        let shown = ["100", ">99.9", "99.9", "99", "50", "5.0", "<0.01", "0"];
        assert_eq!(shares, shown);
    }

    #[test]
    fn the_text_states_the_relation_of_the_clocks_if_no_acknowledgments_show_it() {
        let last_line = |clocks| {
            let score = Score {
                clocks,
                ..Score::default()
            };
            let mut seen = Score::default();
            seen.cwnd.all.estimate.truth = MIN_ACKS;
            let senders = [score, seen].map(|score| ScoredSender {
                name: "a".to_owned(),
                score: SenderScore {
                    ends: None,
                    is_reconstructed: true,
                    score,
                },
            });
            let text = score_text(&senders);
            text.lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(
            last_line(Clocks::Assumed),
            "one clock assumed for 1 sender: no acknowledgments in the log"
        );
        assert_eq!(
            last_line(Clocks::Apart),
            "nothing compared for 1 sender: log and capture hardly overlap in time"
        );
        assert!(last_line(Clocks::Aligned).starts_with("and 1 sender with fewer"));
    }
}
