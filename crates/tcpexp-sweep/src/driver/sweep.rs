//! A sweep: the remaining runs of a plan.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::Serialize;
use serde_json::json;
use tcpexp_runs::folders::DATASET;
use tcpexp_runs::record::{RunRecord, Status};
use tcpexp_runs::varied::settings;
use tcpexp_units::with_causes;

use super::clock::{self, positive};
use super::context::Around;
use super::crew::Crew;
use super::error::{SweepError, Trouble};
use super::options::{Event, On, Options};
use super::place::Place;
use super::run::{self, preflight};
use super::{load_times, testbed};
use crate::plan::{Kind, OnFailure, Plan};
use crate::schedule::{self, Planned};
use crate::site;

/// Number of runs by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Runs that ran as planned.
    pub complete: usize,
    /// Runs on a path that differed from the plan.
    pub invalid: usize,
    /// Runs that failed.
    pub failed: usize,
    /// Complete runs whose analysis failed.
    pub not_analyzed: usize,
}

/// Carries out the runs of `plan` that are not done yet.
pub fn sweep(plan: &Plan, options: &Options<'_>) -> Result<Summary, SweepError> {
    let place = Place::open(plan, options)?;
    let runs = schedule::runs(plan);
    let wanted = |run: &&Planned<'_>| options.only.is_none_or(|only| only.contains(&run.name()));
    let mut done = place.done(options.repeat_invalid)?;
    if place.is_shared {
        // Other tasks analyse their own runs.
        done.retain(|record| runs.iter().filter(wanted).any(|run| is_of(record, run)));
    }
    let mut summary = Summary::default();
    let mut left = Vec::new();
    for run in runs.iter().filter(wanted) {
        match done.iter().find(|record| is_of(record, run)) {
            Some(record) => summary.count(record.status),
            None => left.push(run),
        }
    }
    (options.on_event)(&Event::Planned {
        left: left.len(),
        all: runs.len(),
    });
    if left.is_empty() {
        return Ok(analyze_rest(&place, options, &done, summary));
    }
    begin(plan, &place, options, &left)?;
    let (sender, receiver) = mpsc::channel::<RunRecord>();
    let result = thread::scope(|scope| {
        let place = &place;
        let analyst = scope.spawn(move || {
            let mut failed = 0;
            for record in receiver {
                failed += usize::from(!analyze(place, options, &record));
            }
            failed
        });
        for record in done
            .iter()
            .filter(|record| record.status == Status::Complete)
        {
            // Runs that ended before may lack their analysis; `analyze` skips the others.
            drop(sender.send(record.clone()));
        }
        let result = all(plan, &left, place, options, &sender);
        // The analyst ends when the last sender is gone.
        drop(sender);
        summary.not_analyzed = match analyst.join() {
            Ok(not_analyzed) => not_analyzed,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        result
    });
    summary.add(result?);
    place.journal.note("end", json!({"summary": summary}));
    Ok(summary)
}

/// True if the record is that of the run. The hash identifies a cell, because the number of a cell, and
/// therefore the name of its run, changes if the grid grows.
fn is_of(record: &RunRecord, run: &Planned<'_>) -> bool {
    record.cell == run.cell.hash && record.repetition == run.repetition
}

/// Runs that were done before may still lack their analysis.
fn analyze_rest(
    place: &Place,
    options: &Options<'_>,
    done: &[RunRecord],
    mut summary: Summary,
) -> Summary {
    for record in done
        .iter()
        .filter(|record| record.status == Status::Complete)
    {
        summary.not_analyzed += usize::from(!analyze(place, options, record));
    }
    summary
}

/// Carries out the remaining runs, as many at a time as `options` allow.
fn all(
    plan: &Plan,
    left: &[&Planned<'_>],
    place: &Place,
    options: &Options<'_>,
    done: &mpsc::Sender<RunRecord>,
) -> Result<Summary, SweepError> {
    let jobs = match options.on {
        // Two runs on the same hosts would share the path.
        On::Hosts(_) => 1,
        On::Testbeds { jobs, .. } => jobs.max(1),
    };
    // Both atomics guard no other memory, so relaxed ordering is sufficient.
    let next = AtomicUsize::new(0);
    let must_stop = AtomicBool::new(false);
    let work = |done: &mpsc::Sender<RunRecord>| -> Result<Summary, SweepError> {
        let mut summary = Summary::default();
        while !must_stop.load(Ordering::Relaxed) {
            let Some(run) = left.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            if (options.interrupt)() {
                return Err(SweepError::Interrupted);
            }
            let record = with_retries(plan, run, place, options)?;
            (options.on_event)(&Event::Ends { record: &record });
            summary.count(record.status);
            if record.status == Status::Complete {
                drop(done.send(record.clone()));
            }
            if record.status == Status::Failed && plan.run.on_failure == OnFailure::Stop {
                let reason = record.reason.unwrap_or_default();
                return Err(SweepError::Failed {
                    run: record.run,
                    reason,
                });
            }
            // The pause separates two runs, so none follows the last run.
            let is_last = next.load(Ordering::Relaxed) >= left.len();
            if !is_last && !clock::sleep(positive(plan.run.cooldown), options.interrupt) {
                return Err(SweepError::Interrupted);
            }
        }
        Ok(summary)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.min(left.len()))
            .map(|_| {
                let done = done.clone();
                let (work, must_stop) = (&work, &must_stop);
                scope.spawn(move || {
                    let result = work(&done);
                    // The other workers finish their run and begin no further run.
                    must_stop.fetch_or(result.is_err(), Ordering::Relaxed);
                    result
                })
            })
            .collect();
        let mut sum = Summary::default();
        for worker in workers {
            sum.add(worker.join().unwrap_or(Err(SweepError::Panic))?);
        }
        Ok(sum)
    })
}

fn with_retries(
    plan: &Plan,
    run: &Planned<'_>,
    place: &Place,
    options: &Options<'_>,
) -> Result<RunRecord, SweepError> {
    let name = run.name();
    let what = describe(plan, run);
    (options.on_event)(&Event::Begins {
        run: &name,
        what: &what,
    });
    let _lock = place.lock(&name)?;
    let mut tries = 0;
    loop {
        let dir = place.fresh(run)?;
        place
            .journal
            .note("run", json!({"run": name, "what": what}));
        let record = match options.on {
            On::Hosts(reach) => {
                let phase = |phase: &str| (options.on_event)(&Event::Phase { run: &name, phase });
                let around = Around {
                    plan,
                    owner: &place.owner,
                    reach,
                    interrupt: options.interrupt,
                    phase: &phase,
                };
                run::carry_out(run, &dir, &around)?
            }
            On::Testbeds { carry_out, .. } => {
                testbed::carry_out(plan, run, &dir, carry_out, options.interrupt)?
            }
        };
        let status = json!({"run": name, "status": record.status, "reason": record.reason});
        place.journal.note("ran", status);
        if record.status != Status::Failed || tries >= plan.run.retries {
            return Ok(record);
        }
        tries += 1;
    }
}

/// The varied parameters of a run, as text.
pub(crate) fn describe(plan: &Plan, run: &Planned<'_>) -> String {
    let mut words = settings(&plan.varied, &run.cell.parameters);
    if plan.run.repetitions > 1 {
        words.push(format!("repetition {}", run.repetition));
    }
    words.join(" ")
}

/// Checks all hosts for the needs of all runs before any host is changed.
fn begin(
    plan: &Plan,
    place: &Place,
    options: &Options<'_>,
    left: &[&Planned<'_>],
) -> Result<(), SweepError> {
    place.journal.note(
        "begin",
        json!({
            "plan_hash": plan.hash, "version": env!("CARGO_PKG_VERSION"), "runs": left.len(),
        }),
    );
    // A testbed is made for each run, so there are no hosts to check yet.
    let (On::Hosts(reach), Some(first)) = (options.on, left.first()) else {
        return Ok(());
    };
    let generators: Vec<_> = left.iter().flat_map(|run| site::generators(run)).collect();
    let crew = Crew {
        names: first.cell.setup.hosts.keys().cloned().collect(),
        reach,
        journal: &place.journal,
    };
    let is_guest = plan.kind == Kind::Lab;
    // The only run of a guest checks its hosts itself, before it changes any.
    if !is_guest || left.len() > 1 {
        match preflight(&crew, first.cell, &generators, &place.owner) {
            Ok(_) => {}
            Err(Trouble::Problems(problems)) => return Err(SweepError::Hosts(problems)),
            Err(error) => return Err(SweepError::Hosts(vec![with_causes(&error)])),
        }
    }
    // For later readers of the results. A failure here does not matter. The hosts of a guest have the
    // same files.
    let asked = |name: &str| !is_guest || crew.names.first().is_some_and(|first| first == name);
    drop(crew.each("versions", |name| {
        asked(name).then(|| site::VERSIONS.to_owned())
    }));
    Ok(())
}

fn analyze(place: &Place, options: &Options<'_>, record: &RunRecord) -> bool {
    let Some(analyze) = options.analyze else {
        return true;
    };
    let dir = place.runs.join(&record.run);
    if dir.join(DATASET).join("manifest.json").exists() {
        return true;
    }
    let failure = analyze(&dir).err();
    let reason = failure.as_deref();
    (options.on_event)(&Event::Analyzed {
        run: &record.run,
        failure: reason,
    });
    place
        .journal
        .note("analyzed", json!({"run": record.run, "failure": reason}));
    failure.is_none()
}

impl Summary {
    fn add(&mut self, other: Self) {
        self.complete += other.complete;
        self.invalid += other.invalid;
        self.failed += other.failed;
        self.not_analyzed += other.not_analyzed;
    }

    fn count(&mut self, status: Status) {
        match status {
            Status::Complete => self.complete += 1,
            Status::Invalid => self.invalid += 1,
            Status::Failed => self.failed += 1,
        }
    }
}

/// Estimated time of the runs.
pub(crate) fn estimate(runs: &[Planned<'_>]) -> Duration {
    runs.iter().map(run_time).sum()
}

fn run_time(run: &Planned<'_>) -> Duration {
    let setup = &run.cell.setup;
    let ends = site::generators(run);
    let traffic = ends.iter().filter_map(site::Generator::end).max();
    let overhead = Duration::from_secs(4) + load_times::shortest(setup);
    traffic.map_or(Duration::ZERO, positive) + overhead + positive(setup.run.cooldown)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::driver::context;
    use tcpexp_runs::folders::RUNS;

    const PLAN: &str = "kind = \"lab\"\n[matrix]\ncc = [\"cubic\", \"reno\"]\n[path.forward]\n\
        [[traffic]]\nname = \"a\"\ntool = \"iperf3\"\nduration = \"1s\"\n";

    /// Carries out the plan on a testbed whose runs end with `status`. Returns the summary and the
    /// number of runs that were carried out.
    fn swept(dir: &Path, status: Status, resume: bool, repeat_invalid: bool) -> (Summary, usize) {
        swept_by(PLAN, dir, status, resume, repeat_invalid)
    }

    fn swept_by(
        plan: &str,
        dir: &Path,
        status: Status,
        resume: bool,
        repeat_invalid: bool,
    ) -> (Summary, usize) {
        let plan = Plan::parse(Path::new("plan.toml"), plan).unwrap();
        let carried = AtomicUsize::new(0);
        let carry_out = |run: &Planned<'_>, out: &Path| {
            carried.fetch_add(1, Ordering::Relaxed);
            let mut record = context::blank(run, &plan);
            record.status = status;
            let dir = out.join(RUNS).join(run.name());
            std::fs::create_dir_all(&dir).unwrap();
            record.write(&dir).map_err(|error| error.to_string())
        };
        let options = Options {
            dir,
            resume,
            repeat_invalid,
            only: None,
            task: None,
            on: On::Testbeds {
                jobs: 1,
                carry_out: &carry_out,
            },
            interrupt: &|| false,
            analyze: None,
            on_event: &|_| {},
        };
        let summary = sweep(&plan, &options).unwrap();
        (summary, carried.into_inner())
    }

    #[test]
    fn a_resumed_sweep_repeats_invalid_runs_only_if_asked() {
        let dir = tempfile::tempdir().unwrap();
        let (summary, carried) = swept(dir.path(), Status::Invalid, false, false);
        assert_eq!((summary.invalid, carried), (2, 2));
        let (summary, carried) = swept(dir.path(), Status::Complete, true, false);
        assert_eq!((summary.invalid, summary.complete, carried), (2, 0, 0));
        let (summary, carried) = swept(dir.path(), Status::Complete, true, true);
        assert_eq!((summary.invalid, summary.complete, carried), (0, 2, 2));
        let journal = std::fs::read_to_string(dir.path().join("journal.jsonl")).unwrap();
        let end: serde_json::Value = serde_json::from_str(journal.lines().last().unwrap()).unwrap();
        let counts = json!({"complete": 2, "invalid": 0, "failed": 0, "not_analyzed": 0});
        assert_eq!(end["summary"], counts, "{journal}");
        let (summary, carried) = swept(dir.path(), Status::Complete, true, true);
        assert_eq!((summary.complete, carried), (2, 0));
    }

    #[test]
    fn a_repetition_under_another_number_replaces_the_failed_run() {
        let dir = tempfile::tempdir().unwrap();
        let names = || {
            let runs = tcpexp_runs::folders::run_dirs(dir.path()).unwrap();
            let name = |run: &std::path::PathBuf| run.file_name().unwrap().to_owned();
            runs.iter().map(name).collect::<Vec<_>>()
        };
        swept(dir.path(), Status::Failed, false, false);
        let before = names();
        assert_eq!(before.len(), 2);
        // The cells of cubic and reno become the second and the third.
        let grown = PLAN.replace("[\"cubic\"", "[\"bbr\", \"cubic\"");
        let (summary, _) = swept_by(&grown, dir.path(), Status::Complete, true, false);
        assert_eq!((summary.complete, names().len()), (3, 3));
        assert!(before.iter().all(|name| !names().contains(name)));
        // A complete run keeps its number.
        let (_, carried) = swept(dir.path(), Status::Complete, true, false);
        assert_eq!((carried, names().len()), (0, 3));
    }
}
