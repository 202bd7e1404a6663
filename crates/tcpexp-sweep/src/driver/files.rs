//! Reads facts of hosts before a run, the exit of its processes, and its files.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use netem_ctl::Script;

use tcpexp_runs::record::{LogRecord, Role};
use tcpexp_units::{TimeDelta, with_causes};

use super::clock;
use super::context::Run;
use super::crew::{Crew, PATIENCE};
use super::error::Trouble;
use super::unfinished;
use crate::plan::{self, Cell};
use crate::site::{self, Generator};

/// The ends of generators, by name.
pub(super) type Ends = BTreeMap<String, End>;

/// The end of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    #[expect(
        dead_code,
        reason = "the status file that is fetched has it for readers"
    )]
    pub(super) began_ns: i64,
}

/// A host as it was seen before a run.
pub(super) struct Seen {
    pub(super) host: String,
    /// The lead of its clock over ours; 0 if the difference is within the error of the measurement.
    pub(super) lead_ns: i64,
    /// The release of its kernel.
    pub(super) kernel: Option<String>,
}

/// The hosts, and the problems found.
pub(super) fn look(
    crew: &Crew<'_>,
    cell: &Cell,
    generators: &[Generator],
    owner: &str,
) -> (Vec<Seen>, Vec<String>) {
    let one = |name: &String| look_at(crew, cell, generators, owner, name);
    let looks: Vec<_> = thread::scope(|scope| {
        let one = &one;
        let jobs: Vec<_> = crew
            .names
            .iter()
            .map(|name| (name, scope.spawn(move || one(name))))
            .collect();
        let join = |(name, job): (&String, thread::ScopedJoinHandle<'_, _>)| {
            (name.clone(), job.join().unwrap_or(Err(Trouble::Panic)))
        };
        jobs.into_iter().map(join).collect()
    });
    let (mut hosts, mut problems) = (Vec::new(), Vec::new());
    for (name, look) in looks {
        match look {
            Ok((seen, found)) => {
                hosts.push(seen);
                problems.extend(found);
            }
            // A host that cannot be checked is a further problem, so the message lists all hosts.
            Err(Trouble::Host { source, .. }) => problems.push(line(&name, source.as_ref())),
            Err(Trouble::Router { source, .. }) => problems.push(line(&name, source.as_ref())),
            Err(error) => problems.push(format!("{name}: {}", with_causes(&error))),
        }
    }
    (hosts, problems)
}

/// One host, and the problems found.
fn look_at(
    crew: &Crew<'_>,
    cell: &Cell,
    generators: &[Generator],
    owner: &str,
    name: &str,
) -> Result<(Seen, Vec<String>), Trouble> {
    let host = cell.setup.hosts.get(name);
    let host = host.ok_or_else(|| Trouble::Unknown(name.to_owned()))?;
    let script = site::preflight(&cell.setup, (name, host), generators, owner);
    let script = Script::new(script).as_root().within(PATIENCE);
    let output = crew.run(name, "preflight", &script)?;
    let text = output.text();
    let facts = |key: &'static str| text.lines().filter_map(move |line| line.strip_prefix(key));
    let mut problems: Vec<String> = facts("problem=")
        .map(|text| format!("{name}: {text}"))
        .collect();
    // As in NTP (RFC 5905), the host's clock is compared with the middle of the exchange. The error is
    // at most half the round trip.
    let (sent, back) = (output.started.as_nanos(), output.finished.as_nanos());
    let error = (back - sent) / 2;
    let there = facts("clock_ns=").next();
    let there = there.and_then(|text| text.parse::<i64>().ok());
    if there.is_none() {
        problems.push(format!("{name}: cannot read its clock"));
    }
    let offset = there.map_or(0, |there| there - (sent + error));
    let within = cell.setup.run.clock_within.as_nanos();
    // Only a difference beyond the error of the measurement is certain.
    if offset.abs() > within + error {
        let seconds = offset as f64 / 1e9;
        problems.push(format!(
            "{name}: its clock differs from ours by {seconds:+.3} s"
        ));
    }
    problems.extend(held(crew, (name, host), owner)?);
    let seen = Seen {
        host: name.to_owned(),
        lead_ns: if offset.abs() > error { offset } else { 0 },
        kernel: facts("kernel=").next().map(str::to_owned),
    };
    Ok((seen, problems))
}

/// A message if another owner holds the router. Fails if the router cannot emulate.
fn held(
    crew: &Crew<'_>,
    (name, host): site::Named<'_>,
    owner: &str,
) -> Result<Option<String>, Trouble> {
    if host.role != Role::Router {
        return Ok(None);
    }
    let router = plan::router(host).map_err(Trouble::Path)?;
    crew.control(name, "preflight", owner, |control| {
        let holder = control.preflight(&router)?.map(|holder| holder.owner);
        let another = holder.filter(|holder| holder != control.owner());
        Ok(another.map(|holder| format!("{name}: held by {holder}")))
    })
}

/// Prefixes an error with the name of the host, unless it begins with it already.
fn line(name: &str, error: &dyn Error) -> String {
    let text = with_causes(error);
    if text.starts_with(&format!("{name}:")) {
        text
    } else {
        format!("{name}: {text}")
    }
}

/// The generators that ended. Fails if one failed, or if a capture or logger ended early.
pub(super) fn ends(crew: &Crew<'_>, generators: &[Generator]) -> Result<Ends, Trouble> {
    // Only the hosts of clients are polled; the output of `gather` has the ends on all hosts.
    let said = crew.each("status", |name| {
        let sends = |generator: &Generator| generator.client_host == name;
        generators.iter().any(sends).then(|| site::status(name))
    })?;
    judge_ends(&said, generators)
}

/// Like `ends`, but from output that the hosts printed before the other processes were stopped.
pub(super) fn judge_ends(
    said: &[(String, String)],
    generators: &[Generator],
) -> Result<Ends, Trouble> {
    let mut ends = Ends::new();
    for (host, text) in said {
        for line in text.lines().filter_map(|line| line.strip_prefix("ended ")) {
            let mut words = line.split(' ');
            let (Some(name), Some(began), Some(ended), Some(code)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let said: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            let mut all = generators.iter();
            let generator = all.find(|generator| generator.record.name == name);
            let mut all = generators.iter();
            let is_server = all.any(|generator| generator.server_name() == name);
            if code != "0" {
                let why = match said.join(" ") {
                    said if said.is_empty() => said,
                    said => format!(": {said}"),
                };
                let text = format!("{name} on {host} ended with code {code}{why}");
                return Err(Trouble::Process(text));
            }
            // A server may end after its only test (`iperf3 -1`), and a change ends when it is
            // made. Captures and loggers run until they are stopped.
            if generator.is_none() && !is_server && !name.starts_with("change-") {
                return Err(Trouble::Process(format!("{name} on {host} ended early")));
            }
            if let Some(generator) = generator {
                let began_ns = began.parse().unwrap_or_default();
                let ended_ns = ended.parse::<i64>().ok();
                let ran = ended_ns.map(|ended_ns| TimeDelta::from_nanos(ended_ns - began_ns));
                if let Some(why) = unfinished::fault(generator, ran, text) {
                    return Err(Trouble::Process(format!("{name} on {host} {why}")));
                }
                ends.insert(name.to_owned(), End { began_ns });
            }
        }
    }
    Ok(ends)
}

/// Fetches all files and completes the record. `gathered` is the output of the hosts. On failure the
/// files are removed, because the record needs their room on a full disk.
pub(super) fn fetch(
    run: &mut Run<'_>,
    ends: &Ends,
    gathered: &[(String, String)],
) -> Result<(), Trouble> {
    let fetched = fetch_all(run, ends, gathered);
    if fetched.is_err() {
        for folder in ["captures", "logs"] {
            drop(fs::remove_dir_all(run.dir.join(folder)));
        }
    }
    fetched
}

fn fetch_all(run: &mut Run<'_>, ends: &Ends, gathered: &[(String, String)]) -> Result<(), Trouble> {
    let mut said: BTreeMap<String, String> = BTreeMap::new();
    for (host, text) in gathered {
        for line in text.lines() {
            if let Some((file, text)) = line
                .strip_prefix("said ")
                .and_then(|line| line.split_once(' '))
            {
                let said = said.entry(file.to_owned()).or_default();
                said.push_str(text);
                said.push('\n');
            }
        }
        unpack(run, host)?;
    }
    for capture in &mut run.record.captures {
        if !run.dir.join(&capture.file).exists() {
            let text = format!("{} has no {}", capture.host, capture.file.display());
            return Err(Trouble::Process(text));
        }
        let said = said.get(&format!("logs/{}.err", site::capture_name(capture)));
        // tcpdump prints its report on exit; a killed tcpdump may not have written all packets.
        let missing = || format!("the capture on {} did not end cleanly", capture.host);
        let counts = said.and_then(|text| CaptureCounts::parse(text));
        let counts = counts.ok_or_else(|| Trouble::Process(missing()))?;
        capture.packets_captured = Some(counts.captured);
        capture.packets_received = Some(counts.received);
        capture.packets_dropped = Some(counts.dropped);
    }
    for generator in run
        .generators
        .iter()
        .filter(|generator| ends.contains_key(&generator.record.name))
    {
        run.record.logs.push(LogRecord {
            host: generator.client_host.clone(),
            kind: generator.record.tool.clone(),
            file: Path::new("logs").join(generator.log_file()),
            traffic: Some(generator.record.name.clone()),
        });
    }
    let dir = run.dir;
    // `gather` leaves out empty files.
    run.record.logs.retain(|log| dir.join(&log.file).exists());
    Ok(())
}

/// Fetches the archive of a host and unpacks it.
fn unpack(run: &Run<'_>, host: &str) -> Result<(), Trouble> {
    let archive = run.dir.join(format!(".{host}.tar"));
    let failed = |source| Trouble::File {
        path: archive.clone(),
        source,
    };
    run.crew
        .fetch(host, &format!("{}/out.tar", site::dir(host)), &archive)?;
    if is_too_large(&archive, run.dir).map_err(failed)? {
        fs::remove_file(&archive).map_err(failed)?;
        // tar would report the number of bytes, not the cause.
        return Err(failed(rustix::io::Errno::NOSPC.into()));
    }
    let output = Command::new("tar")
        // tar as root would restore the owners' numbers, which may belong to other users here.
        .args(["--no-same-owner", "-xf"])
        .arg(&archive)
        .arg("-C")
        .arg(run.dir)
        .output()
        .map_err(failed)?;
    fs::remove_file(&archive).map_err(failed)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().next().unwrap_or_default();
    Err(Trouble::Process(format!(
        "cannot unpack what {host} sent: {line}"
    )))
}

/// True if the directory has less room than the archive needs.
fn is_too_large(archive: &Path, dir: &Path) -> io::Result<bool> {
    let room = rustix::fs::statvfs(dir)?;
    Ok(room.f_bavail * room.f_frsize < fs::metadata(archive)?.len())
}

/// Counters that `tcpdump` prints on exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CaptureCounts {
    /// Number of packets written to the file.
    captured: u64,
    /// Number of packets that passed the filter in the kernel, including packets dropped for lack
    /// of room.
    received: u64,
    /// Number of packets dropped by the kernel's buffer and by the interface.
    dropped: u64,
}

impl CaptureCounts {
    /// Parses standard error of `tcpdump`. Uses the last report, because earlier ones may have been
    /// requested.
    fn parse(text: &str) -> Option<Self> {
        let count = |what: &str| {
            let line = text.lines().rfind(|line| line.contains(what))?;
            let (before, _) = line.split_once(what)?;
            // A report on request has all counts on one line, so the nearest number before the
            // words counts.
            let mut words = before.split_ascii_whitespace().rev();
            words.find_map(|word| word.parse::<u64>().ok())
        };
        Some(Self {
            captured: count("captured")?,
            received: count("received by filter")?,
            // tcpdump prints the drops of the interface only if there are any.
            dropped: count("dropped by kernel")? + count("dropped by interface").unwrap_or(0),
        })
    }
}

/// Sleeps unless interrupted.
pub(super) fn pause(run: &Run<'_>, time: Duration) -> Result<(), Trouble> {
    if clock::sleep(time, run.around.interrupt) {
        Ok(())
    } else {
        Err(Trouble::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capture_counts_come_from_the_last_report() {
        let asked = "tcpdump: listening on data\ntcpdump: 9 packets captured, 14 packets received by filter, 0 packets dropped by kernel\n";
        let end = "12 packets captured\n14 packets received by filter\n2 packets dropped by kernel\n1 packet dropped by interface\n";
        let counts = CaptureCounts {
            captured: 12,
            received: 14,
            dropped: 3,
        };
        assert_eq!(CaptureCounts::parse(&format!("{asked}{end}")), Some(counts));
        assert_eq!(CaptureCounts::parse("tcpdump: listening on data\n"), None);
    }
}
