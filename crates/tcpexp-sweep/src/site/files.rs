//! The captures and logs of a run.

use netem_ctl::Os;
use tcpexp_runs::record::{CaptureRecord, LogRecord, Role};

use super::Named;
use crate::plan::{COLUMNS, Capture, CommandLog, Loggers, Setup, processes};

/// The captures of a host, each with its interface.
pub(crate) fn captures(capture: &Capture, (name, host): Named<'_>) -> Vec<(CaptureRecord, String)> {
    let record = |file: &str| CaptureRecord {
        host: name.to_owned(),
        role: host.role,
        file: format!("captures/{file}.pcap").into(),
        packets_dropped: None,
        packets_received: None,
        packets_captured: None,
    };
    match host.role {
        Role::Router if !capture.router => Vec::new(),
        Role::Router => host
            .interfaces()
            .into_iter()
            .map(|interface| {
                let capture = processes::router_capture(name, interface);
                (record(&capture), interface.to_owned())
            })
            .collect(),
        Role::Source | Role::Sink => host
            .interface
            .iter()
            .map(|interface| (record(name), interface.clone()))
            .collect(),
    }
}

/// Name of the process of a capture.
pub(crate) fn capture_name(record: &CaptureRecord) -> String {
    let stem = record.file.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The logs of a host.
pub(crate) fn logs(setup: &Setup, named: Named<'_>) -> Vec<LogRecord> {
    let of_commands = command_logs(setup, named).map(|(_, record)| record);
    usual_logs(setup, named)
        .into_iter()
        .chain(of_commands)
        .collect()
}

/// The logs of the plan's own commands on a host.
pub(super) fn command_logs<'a>(
    setup: &'a Setup,
    (name, _): Named<'a>,
) -> impl Iterator<Item = (&'a CommandLog, LogRecord)> {
    let here = setup.log.iter().filter(move |log| log.host == name);
    here.map(move |log| {
        let record = LogRecord {
            host: name.to_owned(),
            kind: COLUMNS.to_owned(),
            file: format!("logs/{}.txt", processes::command_log(name, &log.name)).into(),
            traffic: None,
        };
        (log, record)
    })
}

/// The logs of the driver's own loggers on a host.
pub(super) fn usual_logs(setup: &Setup, (name, host): Named<'_>) -> Vec<LogRecord> {
    let Loggers {
        tcp_probe,
        siftr,
        ss,
        queue,
        ping,
    } = &setup.loggers;
    let is_first = setup
        .first(Role::Source)
        .is_some_and(|(first, _)| first == name);
    let log = |kind: &str, ending: &str| LogRecord {
        host: name.to_owned(),
        kind: kind.to_owned(),
        file: format!("logs/{name}-{kind}.{ending}").into(),
        traffic: None,
    };
    let is_linux = host.os == Os::Linux;
    let mut all = Vec::new();
    match host.role {
        Role::Source => {
            all.extend((*tcp_probe && is_linux).then(|| log("tcp_probe", "txt")));
            all.extend((*siftr && !is_linux).then(|| log("siftr", "txt")));
            all.extend((ss.is_some() && is_linux).then(|| log("ss", "txt")));
            all.extend((ping.is_some() && is_first).then(|| log("ping", "txt")));
        }
        Role::Router => all.extend(queue.is_some().then(|| log("queue", "jsonl"))),
        Role::Sink => {}
    }
    all
}
