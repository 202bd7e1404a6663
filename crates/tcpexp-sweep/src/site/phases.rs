//! The scripts of a run, one for each host and phase.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use netem_ctl::{Os, Script};
use tcpexp_host::{command_line, quote};
use tcpexp_runs::record::{LogRecord, Role};
use tcpexp_units::TimeDelta;

use super::Named;
use super::files::{capture_name, captures, command_logs, usual_logs};
use super::generator::Generator;
use crate::plan::{self, Capture, Kernel, Setup, processes, seconds};

/// The functions that all scripts of a run need.
pub(crate) const RUN_SH: &str = include_str!("run.sh");
/// The functions that change settings of a host.
pub(crate) const SETTINGS_SH: &str = include_str!("settings.sh");
/// The functions that are commands of processes.
pub(crate) const COMMANDS_SH: &str = include_str!("commands.sh");
/// The files of functions.
pub(crate) const LIBRARY: [(&str, &str); 4] = [
    ("host.sh", netem_ctl::HOST_SH),
    ("run.sh", RUN_SH),
    ("settings.sh", SETTINGS_SH),
    ("commands.sh", COMMANDS_SH),
];
/// Returns the directory of a run on a host, which is also the lease of its sweep. Its name
/// contains the host's, because hosts may be namespaces with the same files.
pub(crate) fn dir(host: &str) -> String {
    format!("/tmp/tcpexp-{host}")
}

/// The first lines of each script of a run.
fn start(host: &str) -> String {
    let dir = dir(host);
    format!("dir={dir} lease={dir}\n. \"$dir/run.sh\"\n")
}

/// Takes the lease of a host. Clears the remains of an earlier run of the same owner or of an
/// expired lease, and creates the run's directory. The host clears itself after `keep_s` seconds.
pub(crate) fn begin(host: &str, owner: &str, keep_s: u64) -> String {
    let dir = dir(host);
    let keep_s = keep_s.to_string();
    // `begin` stores the library in the directory, so later scripts need not bring it.
    let mut script = format!(
        "dir={dir} lease={dir}\nlibrary() {{\ncat <<'END_OF_LIBRARY'\n{}{RUN_SH}END_OF_LIBRARY\n}}\n\
         eval \"$(library)\"\n{}\n",
        netem_ctl::HOST_SH,
        command_line(["begin", owner, &keep_s])
    );
    // Few scripts need these, and a shell takes longer to read them than to start a program.
    for (file, functions) in [("settings.sh", SETTINGS_SH), ("commands.sh", COMMANDS_SH)] {
        let _ = write!(
            script,
            "cat >\"$dir/{file}\" <<'END_OF_FILE'\n{functions}END_OF_FILE\n"
        );
    }
    script
}

/// Applies the settings of a host for the run.
pub(crate) fn prepare(setup: &Setup, (name, host): Named<'_>, generators: &[Generator]) -> String {
    let mut script = start(name) + ". \"$dir/settings.sh\"\n";
    let mut line = |line: String| script.push_str(&(line + "\n"));
    if !setup.prepare.keep_offloads {
        for interface in host.interfaces() {
            line(command_line(["offloads_off", interface]));
        }
    }
    let is_end = host.role != Role::Router;
    let mine = || {
        let mine = |generator: &&Generator| generator.source_host == name;
        generators.iter().filter(mine)
    };
    if is_end && host.os == Os::Linux {
        // Metrics cached from earlier connections must not affect later ones.
        line("set_sysctl net.ipv4.tcp_no_metrics_save 1".to_owned());
        line("ip tcp_metrics flush all >/dev/null 2>&1 || :".to_owned());
        let ccs: BTreeSet<&str> = mine()
            .filter_map(|generator| generator.record.cc.as_deref())
            .collect();
        // A congestion control that is built in has no module. The preflight refuses unknown names.
        for cc in ccs {
            let module = quote(&format!("tcp_{cc}"));
            line(format!("modprobe {module} 2>/dev/null || :"));
        }
    }
    if is_end && let (Some(mtu), Some(interface)) = (setup.prepare.mtu, &host.interface) {
        line(command_line(["set_mtu", interface, &mtu.to_string()]));
    }
    if is_end && let Some(segments) = setup.prepare.initcwnd {
        let others = setup.hosts.values().filter(|other| other.role != host.role);
        let others = others.filter_map(|other| other.address.map(|address| address.to_string()));
        let words = ["set_initcwnd".to_owned(), segments.to_string()];
        line(command_line(words.into_iter().chain(others)));
    }
    // All generators of a host ask for the same default (`together`).
    if let Some(cc) = mine().find_map(|generator| generator.default_cc.as_deref()) {
        line(command_line(["set_sysctl", cc_key(host.os), cc]));
    }
    let kernel = plan::kernel_of(setup, host);
    for (key, value) in &kernel.sysctl {
        line(command_line(["set_sysctl", key, value]));
    }
    for (module, name, value) in parameters(&kernel) {
        line(command_line(["set_parameter", module, name, value]));
    }
    script
}

/// The parameters of kernel modules: module, parameter and value.
pub(super) fn parameters(kernel: &Kernel) -> impl Iterator<Item = (&str, &str, &str)> {
    let all = kernel.module.iter();
    all.filter_map(|(key, value)| {
        let (module, name) = key.split_once('.')?;
        Some((module, name, value.as_str()))
    })
}

/// The settings that a script of [`prepare`] read back, by key.
pub(crate) fn settings(said: &str) -> BTreeMap<String, String> {
    let lines = said
        .lines()
        .filter_map(|line| line.strip_prefix("setting "));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// The kernel setting of the default congestion control.
const fn cc_key(os: Os) -> &'static str {
    match os {
        Os::Linux => "net.ipv4.tcp_congestion_control",
        Os::FreeBsd => "net.inet.tcp.cc.algorithm",
    }
}

/// Runs commands on a host.
pub(crate) fn plain(host: &str, commands: &str) -> String {
    start(host) + commands
}

/// Starts captures and loggers, and waits until they run.
pub(crate) fn record(setup: &Setup, named: Named<'_>) -> String {
    let (name, _) = named;
    let mut script = start(name);
    let mut line = |line: String| script.push_str(&(line + "\n"));
    let Capture {
        snaplen,
        buffer_kib,
        ..
    } = &setup.capture;
    let filter = setup.capture_filter();
    for (record, interface) in captures(&setup.capture, named) {
        let (snaplen, buffer) = (snaplen.to_string(), buffer_kib.to_string());
        let capture = capture_name(&record);
        line(command_line([
            "capture", &capture, &interface, &snaplen, &buffer, filter,
        ]));
    }
    for (log, _) in command_logs(setup, named) {
        let process = processes::command_log(name, &log.name);
        let (file, header) = (format!("{process}.txt"), log.header());
        let every = log.interval.map_or_else(|| "0".to_owned(), seconds);
        let before = [
            "spawn",
            &process,
            &file,
            "0",
            "log_command",
            &header,
            &every,
        ];
        let command = log.command.iter().map(String::as_str);
        line(command_line(before.into_iter().chain(command)));
    }
    for log in usual_logs(setup, named) {
        line(logger(setup, named, &log));
    }
    script
}

/// The command that starts a logger of the driver.
fn logger(setup: &Setup, (name, host): Named<'_>, log: &LogRecord) -> String {
    let process = processes::logger(name, &log.kind);
    let file = log
        .file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let every = |time: &Option<TimeDelta>| time.map_or_else(|| "1".to_owned(), seconds);
    let spawn = |command: &[&str]| {
        let before = ["spawn", &process, &file, "0"];
        command_line(before.iter().chain(command))
    };
    match log.kind.as_str() {
        // The tracepoint reports the connections of all namespaces, so the log is filtered by
        // address.
        "tcp_probe" => {
            let address = host.address.map(|address| address.to_string());
            let address = address.unwrap_or_default();
            command_line(["trace_tcp_probe", &process, &file, &address])
        }
        "siftr" => command_line(["trace_siftr", &process, &file]),
        "ss" => spawn(&["poll_sockets", &every(&setup.loggers.ss)]),
        "ping" => {
            let sink = setup.first(Role::Sink).and_then(|(_, sink)| sink.address);
            let sink = sink.map(|sink| sink.to_string()).unwrap_or_default();
            spawn(&["ping", "-D", "-n", "-i", &every(&setup.loggers.ping), &sink])
        }
        _ => {
            let interfaces = host.interfaces();
            let poll = ["poll_queues", &every(&setup.loggers.queue)];
            let command: Vec<&str> = poll.iter().copied().chain(interfaces).collect();
            spawn(&command)
        }
    }
}

/// Starts the servers of a host, and waits until they listen.
pub(crate) fn servers(host: &str, generators: &[Generator]) -> String {
    let mut script = start(host);
    for generator in generators
        .iter()
        .filter(|generator| generator.server_host == host)
    {
        if let Some(server) = &generator.server {
            let name = generator.server_name();
            let before = ["spawn", &name, &format!("{name}.txt"), "0"].map(str::to_owned);
            script.push_str(&(command_line(before.iter().chain(server)) + "\n"));
            if let Some(port) = generator.record.port {
                let await_it = command_line(["await_server", &name, &port.to_string()]);
                script.push_str(&(await_it + "\n"));
            }
        }
    }
    script
}

/// Starts the clients of a host; each client waits for its start after `t0_ns` on the host's clock.
pub(crate) fn clients(host: &str, generators: &[Generator], t0_ns: i64) -> String {
    let mut script = start(host);
    for generator in generators
        .iter()
        .filter(|generator| generator.client_host == host)
    {
        // Each client waits for an absolute time, so the delay of its script does not matter.
        let at = (t0_ns + generator.start.as_nanos()).to_string();
        let before = [
            "spawn".to_owned(),
            generator.record.name.clone(),
            generator.log_file(),
            at,
        ];
        script.push_str(&(command_line(before.iter().chain(&generator.client)) + "\n"));
    }
    script
}

/// Prints a line for each ended process: `ended NAME BEGAN ENDED CODE`, and the last message of a
/// failed one.
pub(crate) fn status(host: &str) -> String {
    start(host) + "ended\n"
}

/// Stops all remaining processes and packs the files of the run.
pub(crate) fn gather(host: &str) -> String {
    start(host) + "gather\n"
}

/// The host clears itself no earlier than in `keep_s` seconds.
pub(crate) fn keep(host: &str, keep_s: u64) -> String {
    format!("{}lease_extend {keep_s}\n", start(host))
}

/// Undoes all changes that a run of this owner made to a host. Another owner's run is left alone.
pub(crate) fn undo(host: &str, owner: &str) -> String {
    // The script brings the functions, because `run.sh` is missing if `begin` failed.
    let library = netem_ctl::HOST_SH;
    let release = command_line(["lease_release", owner]);
    format!("lease={}\n{library}{release}\n", dir(host))
}

/// Stops a process that is not part of the run's record.
pub(crate) fn forget(host: &str, process: &str) -> String {
    start(host) + &command_line(["forget", process]) + "\n"
}

/// Starts processes on the router that each run one of `scripts`, which wait for their time.
pub(crate) fn changes(host: &str, scripts: &[Script]) -> String {
    let mut text = start(host);
    for (index, change) in scripts.iter().enumerate() {
        let name = processes::change(index);
        let _ = write!(
            text,
            "cat >\"$dir/{name}.sh\" <<'END_OF_CHANGE'\n{}END_OF_CHANGE\n\
             spawn {name} {name}.txt 0 sh -eu \"$dir/{name}.sh\"\n",
            change.text
        );
    }
    text
}
