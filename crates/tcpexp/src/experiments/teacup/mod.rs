//! Experiments of TEACUP: a directory with captures and logs of all hosts per series.

mod files;
mod hosts;
mod variables;

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use tcpexp_runs::captured::{NamedRun, records_of_runs};
use tcpexp_runs::folders::RUNS;
use tcpexp_runs::record::{CaptureRecord, LogRecord, RunRecord, Status};
use tcpexp_units::with_causes;

use self::files::Experiment;
use self::hosts::Host;
use super::ForeignRun;
use super::places::relative;
use crate::{Error, LogFile};

/// Reads the experiments below `dir`, and creates the directories of their runs in `out`.
///
/// Each experiment is a run: parameters from its log of variables, or else from its name; the captures of the hosts'
/// testbed interfaces; and the logs of SIFTR and web10g. Hosts that exchange packets are on different
/// sides of the bottleneck, and the host that sends most payload is a source. The traffic is not read:
/// a run has the flows that its captures show. TEACUP's clock offsets are not applied, so the clocks
/// of the hosts on one side must agree.
///
/// An experiment that did not end, or whose captures cannot be read, is a failed run with a reason.
pub fn teacup_runs(dir: &Path, out: &Path) -> Result<Vec<ForeignRun>, Error> {
    let cannot_open = |source| Error::Open {
        path: dir.to_owned(),
        source,
    };
    let experiments = files::experiments(dir).map_err(cannot_open)?;
    if experiments.is_empty() {
        return Err(Error::NoExperiments {
            path: dir.to_owned(),
            wanted: "ID_HOST.dmp.gz or ID_config_vars.log.gz of TEACUP",
        });
    }
    let mut described = Vec::new();
    for experiment in experiments {
        let (named, repetition) = named(&experiment)?;
        described.push((experiment, named, repetition));
    }
    // The log counts repetitions, which need not be complete or in order.
    described.sort_by_key(|(_, _, repetition)| *repetition);
    let records = records_of_runs(
        described
            .iter()
            .map(|(_, named, _)| named.clone())
            .collect(),
    );
    let runs = described.into_iter().zip(records);
    let mut runs: Vec<ForeignRun> = runs
        .map(|((experiment, _, repetition), mut record)| {
            if let Some(run) = repetition {
                record.repetition = run + 1;
            }
            run_of(&experiment, record, out)
        })
        .collect::<Result<_, Error>>()?;
    runs.sort_by(|a, b| a.record.run.cmp(&b.record.run));
    Ok(runs)
}

/// Name and parameters of an experiment, and its repetition from 0.
fn named(experiment: &Experiment) -> Result<(NamedRun, Option<u32>), Error> {
    let text = |path: &Option<PathBuf>| path.as_deref().map(text_of).transpose();
    let short_names = text(&experiment.short_names)?.unwrap_or_default();
    let short_names = variables::short_names(&short_names);
    // The log lacks the values of runs that TEACUP before 0.8 made.
    let prefix = format!("{}_", experiment.series);
    let name = experiment
        .id
        .strip_prefix(&prefix)
        .unwrap_or(&experiment.id);
    let mut values = variables::of_name(name, &short_names);
    if let Some(log) = text(&experiment.variables)? {
        values.extend(variables::of_log(&log));
    }
    let (parameters, repetition) = variables::parameters(&values);
    let named = NamedRun {
        run: experiment.id.clone(),
        parameters,
        t0_ns: None,
    };
    Ok((named, repetition))
}

fn run_of(experiment: &Experiment, record: RunRecord, out: &Path) -> Result<ForeignRun, Error> {
    let run_dir = out.join(RUNS).join(&record.run);
    let cannot = |source: io::Error| Error::Write {
        path: run_dir.clone(),
        source,
    };
    std::fs::create_dir_all(&run_dir).map_err(cannot)?;
    let mut run = ForeignRun {
        record,
        warnings: Vec::new(),
    };
    if experiment.is_completed == Some(false) {
        run.fail("it is not in the list of completed experiments".to_owned());
    }
    for (host, kind, file) in &experiment.logs {
        run.record.logs.push(LogRecord {
            host: host.clone(),
            kind: (*kind).to_owned(),
            file: relative(&run_dir, file).map_err(cannot)?,
            traffic: None,
        });
    }
    match hosts_of(experiment) {
        Ok(hosts) if hosts.is_empty() => run.fail("it has no capture of a host".to_owned()),
        Ok(hosts) => match hosts::roles(&hosts) {
            Ok(roles) => {
                for (host, role) in hosts.iter().zip(roles) {
                    run.record.captures.push(CaptureRecord {
                        host: host.name.clone(),
                        role,
                        file: relative(&run_dir, &host.path).map_err(cannot)?,
                        packets_dropped: None,
                        packets_received: None,
                        packets_captured: None,
                    });
                }
                run.start(&hosts);
            }
            Err(reason) => run.fail(reason),
        },
        Err(error) => run.fail(with_causes(&error)),
    }
    Ok(run)
}

fn hosts_of(experiment: &Experiment) -> Result<Vec<Host>, Error> {
    let host = |(name, path): (&String, &PathBuf)| {
        let log = experiment.addresses.get(name).map(|log| text_of(log));
        let addresses: BTreeSet<IpAddr> = match log {
            Some(text) => hosts::addresses(&text?),
            None => BTreeSet::new(),
        };
        Host::read(name, path, &addresses)
    };
    experiment.captures.iter().map(host).collect()
}

/// The text of a log, which may be compressed.
fn text_of(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    LogFile::open(path)?.each_line(|line| {
        text += line;
        Ok(())
    })?;
    Ok(text)
}

impl ForeignRun {
    fn fail(&mut self, reason: String) {
        self.record.status = Status::Failed;
        self.record.reason.get_or_insert(reason);
    }

    /// Sets the start of the traffic: the first packet of a capture at a source.
    fn start(&mut self, hosts: &[Host]) {
        let captures = self.record.captures.iter().zip(hosts);
        let first = captures
            .filter(|(capture, _)| capture.role == tcpexp_runs::record::Role::Source)
            .filter_map(|(_, host)| host.first)
            .min();
        // Without a source the only capture is of a sink.
        let first = first.or_else(|| hosts.iter().filter_map(|host| host.first).min());
        let at = first.map(tcpexp_units::Timestamp::as_nanos);
        self.record.t0_ns = at;
        self.record.started_ns = at.unwrap_or_default();
        self.record.finished_ns = at.unwrap_or_default();
    }
}
