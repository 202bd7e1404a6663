//! The generators of a run: one for each instance of a plan's traffic.

use std::collections::BTreeMap;

use tcpexp_runs::record::TrafficRecord;
use tcpexp_units::TimeDelta;

use crate::plan::{Ends, FIRST_PORT, Program, ServerPort, Setup, Tool, Traffic, processes, text};
use crate::schedule::Planned;

/// One sender and its receiver.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    /// Its record.
    pub(crate) record: TrafficRecord,
    /// Its tool.
    pub(crate) tool: Tool,
    /// The host that sends the data.
    pub(crate) source_host: String,
    /// The host where [`Self::client`] runs.
    pub(crate) client_host: String,
    /// Command of the client, which runs from the start on.
    pub(crate) client: Vec<String>,
    /// The host where [`Self::server`] runs.
    pub(crate) server_host: String,
    /// Command of the server, which runs from before the start to the end.
    pub(crate) server: Option<Vec<String>>,
    /// Its start, after the start of all traffic.
    pub(crate) start: TimeDelta,
    /// Duration of sending, if the plan gives one.
    pub(crate) duration: Option<TimeDelta>,
    /// Default congestion control that the sending host needs, if the tool cannot choose one.
    pub(crate) default_cc: Option<String>,
    /// The programs of client and server.
    programs: [Program; 2],
    /// Extension of its log.
    log: &'static str,
}

/// The generators of a run, in the order of the plan.
pub(crate) fn generators(run: &Planned<'_>) -> Vec<Generator> {
    let setup = &run.cell.setup;
    let named: Vec<u16> = setup.traffic.iter().flat_map(Traffic::ports).collect();
    // The ports that the plan names are kept free, because all servers may run on the same host.
    let mut free = (FIRST_PORT..=u16::MAX).filter(|port| !named.contains(port));
    let mut all = Vec::new();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for traffic in &setup.traffic {
        let mut named = traffic.ports();
        for index in 0..traffic.count {
            let number = numbers.entry(traffic.name.as_str()).or_default();
            *number += 1;
            let port = match traffic.tool.port() {
                ServerPort::Shared(port) => traffic.port.or(Some(port)),
                ServerPort::Nothing => None,
                ServerPort::Own => named.next().or_else(|| free.next()),
            };
            all.push(generator(run, setup, traffic, (index, *number), port));
        }
    }
    all
}

fn generator(
    run: &Planned<'_>,
    setup: &Setup,
    traffic: &Traffic,
    (index, number): (u32, u32),
    port: Option<u16>,
) -> Generator {
    let name = processes::instance(setup, traffic, number);
    let (from, to) = (setup.source_of(traffic), setup.sink_of(traffic));
    let stagger = TimeDelta::from_nanos(traffic.stagger.as_nanos() * i64::from(index));
    let start = traffic.start + stagger + run.jitter(&name, setup.run.start_jitter);
    let address = |host: &str| setup.hosts.get(host).and_then(|host| host.address);
    let at = Ends {
        from: address(from),
        to: address(to),
        receiver: setup
            .hosts
            .get(to)
            .and_then(|host| host.ssh.as_deref())
            .unwrap_or(to),
        port: port.unwrap_or_default(),
    };
    let (client, server) = traffic.tool.commands(&traffic.parameters(), &at);
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
            start_s: start.as_seconds_f64(),
            duration_s: traffic.duration.map(TimeDelta::as_seconds_f64),
            cc: traffic.cc.clone(),
            segment_s: traffic.segment.map(TimeDelta::as_seconds_f64),
            is_captured: setup.is_captured(traffic.tool),
        },
        tool: traffic.tool,
        source_host: from.to_owned(),
        client_host: client_host.to_owned(),
        client,
        server_host: server_host.to_owned(),
        server,
        start,
        duration: traffic.duration,
        default_cc: traffic.cc.clone().filter(|_| !traffic.tool.sets_cc()),
        programs: traffic.tool.programs(),
        log: traffic.tool.log(),
    }
}

impl Generator {
    /// The programs that it requires on a host.
    pub(crate) fn programs_on(&self, host: &str) -> Vec<&str> {
        let [client, server] = self.programs;
        let is_here = [self.client_host == host, self.server_host == host];
        let server_words = self.server.as_deref().unwrap_or_default();
        let ends = [
            (client, self.client.first()),
            (server, server_words.first()),
        ];
        let here = ends
            .into_iter()
            .zip(is_here)
            .filter(|(_, is_here)| *is_here);
        here.filter_map(|((program, first_word), _)| match program {
            // An end without a command needs no program.
            Program::Named(name) => first_word.map(|_| name),
            Program::FirstWord => first_word.map(String::as_str),
            Program::Any => None,
        })
        .collect()
    }

    /// Returns the name of its log.
    pub(crate) fn log_file(&self) -> String {
        format!("{}.{}", self.record.name, self.log)
    }

    /// Returns the name of its server's process.
    pub(crate) fn server_name(&self) -> String {
        processes::server_of(&self.record.name)
    }

    /// Returns the planned end; `None` if it depends on the path.
    pub(crate) fn end(&self) -> Option<TimeDelta> {
        Some(self.start + self.duration?)
    }
}
