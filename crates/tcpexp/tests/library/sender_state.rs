//! Reconstructed sender state against the log of the sender's kernel, for the captures of this
//! repository and all other available captures.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::common::{captures_in, fixture, shared};
use tcpexp::{CwndOptions, Error, Recording, cwnd, logged_senders, reconstructed_senders};
use tcpexp_logs::score::{NamedRecord, Options, Score, score_all};
use tcpexp_measure::Position;
use tcpexp_measure::sender::{CongestionFamily, SenderRow, SenderSummary};
use tcpexp_testkit::{Scenario, simulate};
use tcpexp_units::TimeDelta;

/// Minimum number of ACKs of a scored sender. Control connections have fewer.
const MIN_ACKS: u64 = 100;
/// The two start times of a matched epoch differ by at most this tolerance.
const OPTIONS: fn() -> Options = || Options {
    epoch_tolerance: Some(TimeDelta::from_millis(20)),
    ..Options::default()
};

/// A folder with captures and logs. Its name describes the experiment.
struct Experiment {
    folder: PathBuf,
    name: String,
}

/// A capture, and the score of each sender of data in it.
struct Scored {
    experiment: Experiment,
    scores: Vec<Score>,
}

static AT_SENDER: LazyLock<Vec<Scored>> = LazyLock::new(|| Scored::all(Position::Sender));
static AT_RECEIVER: LazyLock<Vec<Scored>> = LazyLock::new(|| Scored::all(Position::Receiver));

impl Experiment {
    fn all() -> Vec<Self> {
        let elsewhere = ["captures", "captures/short"].map(shared);
        if elsewhere.iter().all(Option::is_none) {
            eprintln!("skipped: captures that are not in this repository");
        }
        let mut all = Vec::new();
        for parent in [Some(fixture(""))].into_iter().chain(elsewhere).flatten() {
            let entries = fs::read_dir(parent).unwrap();
            let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
            folders.sort();
            all.extend(folders.into_iter().filter_map(Self::in_folder));
        }
        assert!(!all.is_empty());
        all
    }

    fn in_folder(folder: PathBuf) -> Option<Self> {
        let name = folder.file_name()?.to_str()?.to_owned();
        let experiment = Self { folder, name };
        (!experiment.logs().is_empty()).then_some(experiment)
    }

    fn logs(&self) -> Vec<PathBuf> {
        let names = ["probe.csv.gz", "trace.txt.gz", "tcpinfo.csv.gz"];
        let paths = names.map(|name| self.folder.join(name)).into_iter();
        paths.filter(|path| path.exists()).collect()
    }

    fn truth(&self) -> Vec<NamedRecord> {
        let truth = logged_senders(&self.logs(), None).unwrap();
        for (path, log) in truth.logs {
            assert_eq!(log.lines.unusable(), 0, "{}", path.display());
        }
        truth.senders
    }

    fn capture(&self, position: Position) -> Recording {
        let (src, dst) = captures_in(&self.folder).unwrap();
        let path = match position {
            Position::Sender => src,
            _ => dst,
        };
        Recording::open(&path).unwrap()
    }

    fn summaries(&self, position: Position) -> Vec<SenderSummary> {
        let (capture, options) = (self.capture(position), CwndOptions::default());
        let mut summaries = Vec::new();
        cwnd(&capture, None, &options, |rows| {
            summaries.extend(rows.iter().filter_map(|labelled| match labelled.row {
                SenderRow::Summary(summary) => Some(summary),
                _ => None,
            }));
            Ok::<(), Error>(())
        })
        .unwrap();
        summaries
    }

    fn has(&self, word: &str) -> bool {
        self.name.split(['-', '_']).any(|part| part == word)
    }

    /// Congestion control family; `None` for kinds without a hint.
    fn family(&self) -> Option<CongestionFamily> {
        let families = [
            ("reno", Some(CongestionFamily::Reno)),
            ("adsl", Some(CongestionFamily::Reno)),
            ("cubic", Some(CongestionFamily::Cubic)),
            ("bbr", Some(CongestionFamily::ModelBased)),
            ("cdg", Some(CongestionFamily::DelayBased)),
            ("vegas", Some(CongestionFamily::DelayBased)),
            // Veno reduces to 80 % at random losses, and to half if it detects a queue.
            ("veno", None),
        ];
        let named = families.into_iter().find(|(word, _)| self.has(word));
        named
            .expect("folders are named after what they are about")
            .1
    }

    /// True if packets do not show the window: BBR paces its packets.
    fn is_paced(&self) -> bool {
        self.family() == Some(CongestionFamily::ModelBased)
    }

    fn is_window_limited(&self) -> bool {
        !self.has("app") && !self.has("idle")
    }

    fn has_sack(&self) -> bool {
        !self.has("nosack") && !self.name.ends_with("without-sack")
    }

    fn has_timestamps(&self) -> bool {
        !self.has("nots")
    }

    /// Random losses in percent, at least 1. Drops of a full queue are extra.
    fn loss_percent(&self) -> u64 {
        if self.has("l15") || self.name.ends_with("15-percent-loss") {
            15
        } else if self.has("l5") {
            5
        } else {
            1
        }
    }
}

impl Scored {
    fn all(position: Position) -> Vec<Self> {
        let experiments = Experiment::all().into_iter();
        let all = experiments.map(|experiment| Self::of(experiment, position));
        let all: Vec<Self> = all.collect();
        println!("{}", table(&all));
        all
    }

    fn of(experiment: Experiment, position: Position) -> Self {
        let (capture, options) = (experiment.capture(position), CwndOptions::default());
        let (found, _) = reconstructed_senders(&capture, &options).unwrap();
        let scores = score_all(&found, &experiment.truth(), OPTIONS());
        let scores = scores.into_iter().map(|sender| sender.score);
        let scores: Vec<Score> = scores
            .filter(|score| score.cwnd.all.estimate.truth > MIN_ACKS)
            .collect();
        assert!(!scores.is_empty(), "{}", experiment.name);
        Self { experiment, scores }
    }
}

/// Each sender with its experiment.
fn senders(all: &[Scored]) -> impl Iterator<Item = (&Experiment, &Score)> {
    all.iter().flat_map(|scored| {
        let scores = scored.scores.iter();
        scores.map(|score| (&scored.experiment, score))
    })
}

/// One line per sender, and one per source of its window. Errors are in percent.
fn table(all: &[Scored]) -> String {
    let mut text = String::from(
        "sender                           ACKs   found   cwnd  within 5 %  flight   srtt  ssthresh    busy   rwnd  epochs true/found/matched\n",
    );
    for (experiment, score) in senders(all) {
        let (cwnd, epochs) = (&score.cwnd.all, &score.epochs);
        let percents = [
            (6, cwnd.estimate.mean),
            (11, cwnd.estimate.within_5_percent),
            (7, cwnd.flight_size.mean),
            (6, score.srtt.mean),
            (9, epochs.ssthresh.mean),
            (7, score.busy.error()),
            (6, score.receiver_limited.error()),
        ];
        let percents = percents.map(|(width, ratio)| format!("{:>width$}", percent(ratio)));
        writeln!(
            text,
            "{:28} {:8} {:7} {}  {}{}/{}/{}",
            experiment.name,
            cwnd.estimate.truth,
            cwnd.flight_size.matched,
            percents.join(" "),
            if epochs.is_complete { "" } else { "of falls: " },
            epochs.truth,
            epochs.found,
            epochs.matched,
        )
        .unwrap();
        if score.causes.all() > 0 {
            writeln!(text, "    {:?}", score.causes).unwrap();
        }
        for of in &score.cwnd.by_source {
            let errors = &of.errors.estimate;
            let (name, mean) = (of.source.name(), percent(errors.mean));
            writeln!(text, "    {name:32} {:8} {mean:>6}", errors.matched).unwrap();
        }
    }
    text
}

fn percent(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{:.2}", 100.0 * ratio))
}

fn assert_within(percent: f64, error: Option<f64>, what: &str, experiment: &Experiment) {
    let name = &experiment.name;
    let error = error.unwrap_or_else(|| panic!("{name}: no {what}"));
    assert!(100.0 * error <= percent, "{name}: {what} is off by {error}");
}

#[test]
fn window_from_a_sender_capture_matches_the_kernel() {
    for (experiment, score) in senders(&AT_SENDER) {
        let (name, all) = (&experiment.name, &score.cwnd.all);
        assert_eq!(all.flight_size.matched, all.flight_size.truth, "{name}");
        if experiment.is_paced() {
            assert_eq!(all.estimate.matched, 0, "{name}");
            continue;
        }
        // A sender that the receiver limits at the end of a recovery shows its window only later.
        let undecided = all.estimate.truth - all.estimate.matched;
        assert!(
            undecided <= all.estimate.truth / 1_000,
            "{name}: {undecided}"
        );
        let most = match (experiment.has_sack(), experiment.is_window_limited()) {
            (true, true) => 0.7,
            (true, false) => 4.0,
            (false, _) => 3.0,
        };
        assert_within(most, all.estimate.mean, "window", experiment);
        assert_within(0.5, score.srtt.mean, "SRTT", experiment);
    }
}

#[test]
fn recoveries_from_a_sender_capture_match_the_kernel() {
    let mut compared = 0;
    for (experiment, score) in senders(&AT_SENDER) {
        let (name, epochs) = (&experiment.name, &score.epochs);
        // Without logged states, the true epochs come from the windows and are incomplete.
        if !epochs.is_complete || epochs.truth + epochs.found == 0 {
            continue;
        }
        compared += epochs.matched;
        assert_eq!(epochs.kind_right, epochs.matched, "{name}");
        assert!(epochs.precision() >= Some(0.97), "{name}: {epochs:?}");
        assert!(epochs.recall() >= Some(0.97), "{name}: {epochs:?}");
    }
    assert!(compared > 0);
}

#[test]
fn thresholds_from_a_sender_capture_match_the_kernel() {
    let mut compared = 0;
    for (experiment, score) in senders(&AT_SENDER) {
        let ssthresh = &score.epochs.ssthresh;
        if experiment.is_paced() || ssthresh.matched == 0 {
            continue;
        }
        compared += ssthresh.matched;
        assert_within(2.0, ssthresh.mean, "threshold", experiment);
    }
    assert!(compared > 0);
}

#[test]
fn causes_of_retransmissions_match_the_kernel_states() {
    let mut compared = 0;
    for (experiment, score) in senders(&AT_SENDER) {
        compared += score.causes.all();
        if score.causes.all() > 0 {
            let name = &experiment.name;
            assert!(
                score.causes.accuracy() >= Some(0.98),
                "{name}: {:?}",
                score.causes
            );
        }
    }
    assert!(compared > 0);
}

#[test]
fn limited_times_match_the_kernel() {
    let mut compared = 0;
    for (experiment, score) in senders(&AT_SENDER) {
        // Shares of the time covered by the kernel's log.
        if score.busy.truth.is_some() {
            compared += 1;
            assert_within(2.0, score.busy.error(), "busy time", experiment);
            let closed = score.receiver_limited.error();
            assert_within(2.0, closed, "time with a closed window", experiment);
        }
    }
    assert!(compared > 0);
}

#[test]
fn congestion_control_hint_is_correct_or_missing() {
    for experiment in Experiment::all() {
        for position in [Position::Sender, Position::Receiver] {
            for summary in experiment.summaries(position) {
                let hint = summary.hint.family;
                let truth = experiment.family();
                assert!(
                    hint.is_none_or(|hint| Some(hint) == truth),
                    "{}",
                    experiment.name
                );
            }
        }
    }
}

#[test]
fn window_from_a_receiver_capture_is_close_to_the_kernel() {
    for (experiment, score) in senders(&AT_RECEIVER) {
        let (name, all) = (&experiment.name, &score.cwnd.all);
        if experiment.is_paced() || !experiment.has_timestamps() {
            assert_eq!(all.estimate.matched, 0, "{name}");
            continue;
        }
        let matched = all.estimate.matched * 100;
        assert!(matched >= all.estimate.truth * 99, "{name}");
        let most = match experiment.loss_percent() {
            ..=1 => 3.0,
            5 => 6.0,
            // Loose bound: the receiver does not see a retransmission that is lost too.
            _ => 25.0,
        };
        assert_within(most, all.estimate.mean, "window", experiment);
    }
}

/// At the receiver, the time from a SYN to its acknowledgment does not include the path.
#[test]
fn the_handshake_at_the_receiver_does_not_shorten_the_smoothed_round_trip_time() {
    let scenario = Scenario {
        delay: TimeDelta::from_millis(30),
        ..Scenario::default()
    };
    let captures = simulate(&scenario);
    let dst = Recording::spool("dst".into(), captures.dst.as_slice()).unwrap();
    let mut samples = 0;
    cwnd(&dst, None, &CwndOptions::default(), |rows| {
        for labelled in rows {
            if let SenderRow::Sample(sample) = labelled.row {
                samples += 1;
                let srtt = sample.srtt.unwrap();
                assert!(srtt >= TimeDelta::from_millis(59), "{srtt:?} at {samples}");
            }
        }
        Ok::<(), Error>(())
    })
    .unwrap();
    assert!(samples > 100);
}
