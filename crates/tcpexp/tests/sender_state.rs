//! Reconstructed sender state against what the sender's kernel logged, for all captures at hand.

#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

#[path = "sender_state/score.rs"]
mod score;
#[path = "sender_state/truth.rs"]
mod truth;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use score::{Reconstruction, Score};
use tcpexp::Recording;
use tcpexp::measure::Position;
use tcpexp::measure::sender::{CongestionFamily, SenderOptions};
use tcpexp::units::TimeDelta;
use truth::KernelLog;

/// The most that may be lost of a flow's data for its receiver to tell the window within 3 %.
const LIGHT_LOSS_PERCENT: u64 = 1;

/// What a folder is about, by its name.
struct Experiment {
    folder: PathBuf,
    name: String,
}

impl Experiment {
    /// All folders with captures, in order; none where they are not at hand.
    fn all() -> Vec<Self> {
        let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
        let mut all = Vec::new();
        for parent in [captures.clone(), captures.join("short")] {
            let Ok(folders) = std::fs::read_dir(parent) else {
                continue;
            };
            for folder in folders {
                let folder = folder.unwrap().path();
                if folder.join("probe.csv.gz").exists() || folder.join("trace.txt.gz").exists() {
                    let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
                    all.push(Self { folder, name });
                }
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        if all.is_empty() {
            eprintln!("skipped: no captures at hand");
        }
        all
    }

    fn recording(&self, position: Position) -> Recording {
        let names = match position {
            Position::Sender => ["src.pcap.gz", "snd.pcap.gz"],
            _ => ["dst.pcap.gz", "rcv.pcap.gz"],
        };
        let path = names
            .map(|name| self.folder.join(name))
            .into_iter()
            .find(|path| path.exists());
        Recording::open(&path.unwrap()).unwrap()
    }

    /// Whether its window cannot be seen: BBR sends by a clock of its own.
    fn is_paced(&self) -> bool {
        self.name.starts_with("bbr")
    }

    fn is_window_limited(&self) -> bool {
        !self.name.ends_with("_app") && !self.name.ends_with("_idle")
    }

    fn has_sack(&self) -> bool {
        !self.name.contains("nosack")
    }

    fn has_timestamps(&self) -> bool {
        !self.name.contains("nots")
    }

    /// Random losses by its name; what a full queue drops comes on top.
    fn loss_percent(&self) -> u64 {
        match self.name.as_str() {
            "cubic_l15" => 15,
            "cubic_l5" => 5,
            _ => 1,
        }
    }

    fn found(&self, position: Position) -> Reconstruction {
        Reconstruction::of(&self.recording(position), SenderOptions::default())
    }

    fn score(&self, position: Position) -> Score {
        let found = self.found(position);
        let is_exact = position == Position::Sender;
        Score::of(&found, &KernelLog::read(&self.folder), is_exact)
    }
}

/// One line a folder, for the one who reads the test's output.
fn table(scores: &[(Experiment, Score)]) -> String {
    let mut text = String::from(
        "capture                     matched  null  cwnd %  within 5%  flight %  srtt %  ssthresh %  epochs true/found/matched\n",
    );
    for (experiment, score) in scores {
        let matched = format!("{}/{}", score.matched, score.probes);
        let epochs = [score.true_epochs, score.found_epochs, score.matched_epochs];
        writeln!(
            text,
            "{:26} {matched:>12} {:5} {:7.2} {:10.1} {:9.1} {:7.2} {:11.2}  {epochs:?}",
            experiment.name,
            score.abstained,
            score.cwnd.mean_percent(),
            score.cwnd.within_five_percent(),
            score.flight.mean_percent(),
            score.srtt.mean_percent(),
            score.ssthresh.mean_percent(),
        )
        .unwrap();
        for (source, errors) in score.sources() {
            let (mean, count) = (errors.mean_percent(), errors.count());
            writeln!(text, "    {:20} {count:6} {mean:7.2}", source.name()).unwrap();
        }
    }
    text
}

fn scores(position: Position) -> Vec<(Experiment, Score)> {
    let score = |experiment: Experiment| {
        let score = experiment.score(position);
        (experiment, score)
    };
    let scores: Vec<_> = Experiment::all().into_iter().map(score).collect();
    println!("{}", table(&scores));
    scores
}

#[test]
fn window_from_a_senders_capture_is_that_of_the_kernel() {
    for (experiment, score) in scores(Position::Sender) {
        let name = &experiment.name;
        assert_eq!(score.matched, score.probes, "{name}");
        if experiment.is_paced() {
            assert_eq!(score.abstained, score.probes, "{name}");
            continue;
        }
        assert_eq!(score.abstained, 0, "{name}");
        let most = match (experiment.has_sack(), experiment.is_window_limited()) {
            (true, true) => 0.7,
            (true, false) => 4.0,
            (false, _) => 3.0,
        };
        assert!(score.cwnd.mean_percent() <= most, "{name}");
        assert!(score.srtt.mean_percent() <= 0.5, "{name}");
    }
}

#[test]
fn recoveries_from_a_senders_capture_are_those_of_the_kernel() {
    for (experiment, score) in scores(Position::Sender) {
        let name = &experiment.name;
        if !experiment.has_sack() || experiment.is_paced() {
            continue;
        }
        // At 15 % loss a window is two or three segments, and one more or less is half of it.
        if score.ssthresh.count() > 0 && experiment.loss_percent() <= 5 {
            assert!(score.ssthresh.mean_percent() <= 2.0, "{name}");
        }
        if score.true_epochs > 0 {
            let [matched, found, truth] =
                [score.matched_epochs, score.found_epochs, score.true_epochs];
            assert!(matched * 100 >= found * 97, "{name}: precision");
            assert!(matched * 100 >= truth * 97, "{name}: recall");
            assert_eq!(score.right_kinds, matched, "{name}");
        }
    }
}

#[test]
fn times_that_limits_took_are_those_of_the_kernel() {
    for experiment in Experiment::all() {
        let Some(times) = KernelLog::read(&experiment.folder).times else {
            continue;
        };
        let found = experiment.found(Position::Sender);
        let summary = found
            .summaries
            .values()
            .max_by_key(|s| s.limited.busy)
            .unwrap();
        let off = |found: TimeDelta, truth: i64| (found.as_nanos() / 1_000 - truth).abs();
        let busy = off(summary.limited.busy, times.busy);
        let closed = off(summary.limited.receiver_window, times.rwnd_limited);
        // What was still queued was sent after the kernel was asked for the last time.
        let samples = found
            .samples
            .values()
            .max_by_key(|samples| samples.len())
            .unwrap();
        let after = (samples.last().unwrap().at.as_nanos() - times.at).max(0) / 1_000;
        println!(
            "{}: busy {busy} µs off, closed {closed} µs off",
            experiment.name
        );
        // 2 % of what each took, 15 s.
        assert!(busy <= 300_000 + after, "{}", experiment.name);
        assert!(closed <= 300_000, "{}", experiment.name);
    }
}

#[test]
fn hint_at_the_congestion_control_is_right_or_missing() {
    for experiment in Experiment::all() {
        let truth = match experiment.name.split(['-', '_']).next().unwrap() {
            "reno" | "adsl" => CongestionFamily::Reno,
            "cubic" | "two" => CongestionFamily::Cubic,
            "bbr" => CongestionFamily::ModelBased,
            _ => CongestionFamily::DelayBased,
        };
        for position in [Position::Sender, Position::Receiver] {
            for summary in experiment.found(position).summaries.values() {
                let hint = summary.hint.family;
                assert!(hint.is_none_or(|hint| hint == truth), "{}", experiment.name);
            }
        }
    }
}

#[test]
fn window_from_a_receivers_capture_is_close_to_that_of_the_kernel() {
    for (experiment, score) in scores(Position::Receiver) {
        let name = &experiment.name;
        if experiment.is_paced() || !experiment.has_timestamps() {
            assert_eq!(score.abstained, score.matched, "{name}");
            continue;
        }
        assert!(score.matched * 100 >= score.probes * 99, "{name}");
        let most = match experiment.loss_percent() {
            ..=LIGHT_LOSS_PERCENT => 3.0,
            5 => 6.0,
            // No gate: what is lost again on its way is not seen at the receiver.
            _ => 25.0,
        };
        assert!(score.cwnd.mean_percent() <= most, "{name}");
    }
}
