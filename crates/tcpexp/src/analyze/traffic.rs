//! Assignment of flows to the traffic of a plan.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tcpexp_flow::{FlowId, FlowShard, Protocol};
use tcpexp_table::dataset::DatasetFlow;

/// One load generator between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Name of the generator.
    pub name: Arc<str>,
    /// Class, for grouping.
    pub class: Arc<str>,
    /// The two hosts.
    pub hosts: [IpAddr; 2],
    /// The server's port; `None` if the tool has none.
    pub port: Option<u16>,
    /// True if its first TCP connection carries no load but controls the test, as in iperf3.
    pub has_control_connection: bool,
}

/// Class of the control connections of load generators.
const CONTROL: &str = "control";

/// The traffic of a run, and the part of its flows whose rows are written.
#[derive(Debug, Default)]
pub(super) struct TrafficNames {
    traffic: Vec<Traffic>,
    /// By traffic: true once the control connection has been seen.
    is_steered: Vec<bool>,
    /// `None` for all flows.
    shard: Option<FlowShard>,
}

impl TrafficNames {
    pub(super) fn new(traffic: &[Traffic], shard: Option<FlowShard>) -> Self {
        Self {
            traffic: traffic.to_vec(),
            is_steered: vec![false; traffic.len()],
            shard,
        }
    }

    /// Describes the next flow in order of appearance. `ends` are initiator and responder.
    pub(super) fn flow(
        &mut self,
        flow: FlowId,
        protocol: Protocol,
        ends: [SocketAddr; 2],
    ) -> Arc<DatasetFlow> {
        // Connections of other parts count too: any may be the control connection.
        let (traffic, traffic_class) = self.of(protocol, ends);
        let [a, b] = ends;
        let is_own = self.shard.is_none_or(|shard| shard.holds(protocol, a, b));
        let [initiator, responder] = ends.map(|end| end.to_string().into());
        Arc::new(DatasetFlow {
            flow,
            protocol,
            initiator,
            responder,
            traffic,
            traffic_class,
            is_own,
        })
    }

    /// Returns name and class of the next flow's traffic.
    fn of(
        &mut self,
        protocol: Protocol,
        ends: [SocketAddr; 2],
    ) -> (Option<Arc<str>>, Option<Arc<str>>) {
        // A port is more specific than the hosts, so traffic without a port comes second.
        let by_port = self
            .traffic
            .iter()
            .position(|traffic| traffic.joins(ends) && traffic.has_port(protocol, ends));
        let by_hosts = || {
            let is_of = |traffic: &Traffic| traffic.port.is_none() && traffic.joins(ends);
            self.traffic.iter().position(is_of)
        };
        let Some(place) = by_port.or_else(by_hosts) else {
            return (None, None);
        };
        let traffic = &self.traffic[place];
        // The order of the conditions matters: the UDP data of a test must not take the place of
        // its control connection.
        let is_control = traffic.has_control_connection
            && protocol == Protocol::Tcp
            && !std::mem::replace(&mut self.is_steered[place], true);
        let class = if is_control {
            CONTROL.into()
        } else {
            Arc::clone(&traffic.class)
        };
        (Some(Arc::clone(&traffic.name)), Some(class))
    }
}

impl Traffic {
    /// True if the flow is between its hosts.
    fn joins(&self, ends: [SocketAddr; 2]) -> bool {
        let [a, b] = ends.map(|end| end.ip());
        // A capture that began late may have swapped initiator and responder.
        self.hosts == [a, b] || self.hosts == [b, a]
    }

    /// True if an end of the flow has its port. The identifier of an ICMP echo is no port.
    fn has_port(&self, protocol: Protocol, ends: [SocketAddr; 2]) -> bool {
        let has_ports = matches!(protocol, Protocol::Tcp | Protocol::Udp);
        let is_used = |port| ends.iter().any(|end| end.port() == port);
        has_ports && self.port.is_some_and(is_used)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traffic(name: &str, port: u16, has_control_connection: bool) -> Traffic {
        Traffic {
            name: name.into(),
            class: "bulk".into(),
            hosts: ["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()],
            port: Some(port),
            has_control_connection,
        }
    }

    fn named(names: &mut TrafficNames, protocol: Protocol, ends: [&str; 2]) -> String {
        match names.of(protocol, ends.map(|end| end.parse().unwrap())) {
            (Some(name), Some(class)) => format!("{name} {class}"),
            (None, None) => "none".to_owned(),
            _ => unreachable!("both or none"),
        }
    }

    #[test]
    fn a_flow_belongs_to_the_traffic_of_its_hosts_and_port() {
        let mut names = TrafficNames::new(
            &[traffic("up", 5201, true), traffic("web", 80, false)],
            None,
        );
        let tcp = Protocol::Tcp;
        let flows = [
            named(&mut names, tcp, ["10.0.0.1:40000", "10.0.0.2:5201"]),
            named(&mut names, tcp, ["10.0.0.1:40001", "10.0.0.2:5201"]),
            named(&mut names, tcp, ["10.0.0.2:50000", "10.0.0.1:80"]),
            named(&mut names, tcp, ["10.0.0.1:40002", "10.0.0.2:22"]),
            named(&mut names, tcp, ["10.0.0.3:40002", "10.0.0.2:80"]),
            named(
                &mut names,
                Protocol::Udp,
                ["10.0.0.1:40003", "10.0.0.2:5201"],
            ),
        ];
        assert_eq!(
            flows,
            [
                "up control",
                "up bulk",
                "web bulk",
                "none",
                "none",
                "up bulk"
            ]
        );
    }

    #[test]
    fn the_identifier_of_an_echo_is_not_the_port_of_a_server() {
        let ping = Traffic {
            port: None,
            ..traffic("ping", 0, false)
        };
        let mut names = TrafficNames::new(&[ping, traffic("up", 5201, false)], None);
        let ends = ["10.0.0.1:5201", "10.0.0.2:5201"];
        let icmp = Protocol::from_number(1);
        assert_eq!(named(&mut names, icmp, ends), "ping bulk");
        assert_eq!(named(&mut names, Protocol::Tcp, ends), "up bulk");
    }
}
