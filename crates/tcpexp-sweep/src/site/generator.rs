//! What sends, as commands: one [`Generator`] for each of a plan's traffic, as often as it counts.

use tcpexp_runs::record::TrafficRecord;
use tcpexp_units::TimeDelta;

use super::tools::{End, commands, text};
use crate::plan::{Setup, Tool, Traffic};
use crate::schedule::Planned;

/// One sender and its receiver.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    /// What it is.
    pub(crate) record: TrafficRecord,
    /// The host that data comes from.
    pub(crate) source_host: String,
    /// The host where [`Self::client`] runs.
    pub(crate) client_host: String,
    /// The words of what runs from its start on.
    pub(crate) client: Vec<String>,
    /// The host where [`Self::server`] runs.
    pub(crate) server_host: String,
    /// The words of what runs there from before the start to the end, if anything does.
    pub(crate) server: Option<Vec<String>>,
    /// When it starts, after the start of all traffic.
    pub(crate) start: TimeDelta,
    /// For how long it sends, if the plan says.
    pub(crate) duration: Option<TimeDelta>,
    /// What the host that data comes from must have as its own congestion control, since the tool
    /// cannot ask for one.
    pub(crate) default_cc: Option<String>,
    /// Ending of its log's name.
    log: &'static str,
}

/// The first port that is given to a server.
const FIRST_PORT: u16 = 5201;
/// Where `sshd` listens.
const SSH_PORT: u16 = 22;

/// The generators of a run, in the plan's order.
pub(crate) fn generators(run: &Planned<'_>) -> Vec<Generator> {
    let setup = &run.cell.setup;
    let named: Vec<u16> = setup.traffic.iter().flat_map(Traffic::ports).collect();
    let mut free = (FIRST_PORT..=u16::MAX).filter(|port| !named.contains(port));
    let mut all = Vec::new();
    for traffic in &setup.traffic {
        let mut named = traffic.ports();
        for index in 0..traffic.count {
            let port = match traffic.tool {
                Tool::Scp => traffic.port.or(Some(SSH_PORT)),
                Tool::Ping | Tool::Command => None,
                _ => named.next().or_else(|| free.next()),
            };
            all.push(generator(run, setup, traffic, index, port));
        }
    }
    all
}

fn generator(
    run: &Planned<'_>,
    setup: &Setup,
    traffic: &Traffic,
    index: u32,
    port: Option<u16>,
) -> Generator {
    let name = match traffic.count {
        1 => traffic.name.clone(),
        _ => format!("{}-{}", traffic.name, index + 1),
    };
    let (from, to) = (setup.source_of(traffic), setup.sink_of(traffic));
    let stagger = TimeDelta::from_nanos(traffic.stagger.as_nanos() * i64::from(index));
    let start = traffic.start + stagger + run.jitter(&name, setup.run.start_jitter);
    let address = |host: &str| setup.hosts.get(host).and_then(|host| host.address);
    let at = End {
        from: address(from),
        to: address(to),
        server_host: setup
            .hosts
            .get(to)
            .and_then(|host| host.ssh.as_deref())
            .unwrap_or(to),
        port: port.unwrap_or_default(),
    };
    let (client, server) = commands(traffic, &at);
    let is_pulled = traffic.tool.is_pulled();
    let (client_host, server_host) = if is_pulled { (to, from) } else { (from, to) };
    Generator {
        record: TrafficRecord {
            name,
            class: traffic.name.clone(),
            tool: traffic.tool.name().to_owned(),
            from: text(at.from),
            to: text(at.to),
            port,
            start_s: start.as_nanos() as f64 / 1e9,
            duration_s: traffic.duration.map(|span| span.as_nanos() as f64 / 1e9),
            cc: traffic.cc.clone(),
        },
        source_host: from.to_owned(),
        client_host: client_host.to_owned(),
        client,
        server_host: server_host.to_owned(),
        server,
        start,
        duration: traffic.duration,
        default_cc: traffic.cc.clone().filter(|_| !traffic.tool.sets_cc()),
        log: if traffic.tool == Tool::Iperf3 {
            "json"
        } else {
            "txt"
        },
    }
}

impl Generator {
    /// The programs that it needs on a host.
    pub(crate) fn programs_on(&self, host: &str) -> Vec<&str> {
        let client = self.client.first().filter(|_| self.client_host == host);
        let server = self.server.as_ref().and_then(|server| server.first());
        let server = server.filter(|_| self.server_host == host);
        let both = client.into_iter().chain(server);
        both.filter_map(|program| match program.as_str() {
            // Functions of ours.
            "pull_with_rsync" | "serve_rsync" => Some("rsync"),
            "push_with_scp" => Some("scp"),
            "download" | "serve_files" => None,
            program => Some(program),
        })
        .collect()
    }

    /// The name of its log.
    pub(crate) fn log_file(&self) -> String {
        format!("{}.{}", self.record.name, self.log)
    }

    /// The name of its server's process.
    pub(crate) fn server_name(&self) -> String {
        format!("{}-server", self.record.name)
    }

    /// When it ends; `None` if that depends on the path.
    pub(crate) fn end(&self) -> Option<TimeDelta> {
        Some(self.start + self.duration?)
    }
}
