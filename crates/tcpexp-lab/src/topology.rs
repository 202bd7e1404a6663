//! The networks of a lab as commands: namespaces, links, addresses and routes.
//!
//! ```text
//! src1 data ─┐                                  ┌─ data dst1
//! src2 data ─┴─ bridge ─ left  rtr  right ─ bridge ─┴─ data dst2
//! ```
//!
//! Several routers form a row of networks, each with a source and a sink of the cross traffic of its
//! routers. All sources are on the side of the router's interface `left` and all sinks on the side of
//! `right`, so that one queue on `right` serves all traffic from sources to sinks. A side with one
//! host has no bridge. The data networks carry packets of the experiment only: neighbours and
//! bridge ports are fixed, so no packet waits for ARP or is flooded, and IPv6 is off.

use crate::shape::{DRIVER, Host, Interface, Role, Shape, prefixes};
use crate::step::Step;

/// The networks of a lab.
#[derive(Clone, Debug)]
pub struct Topology {
    shape: Shape,
    prefix: String,
}

/// Namespace of the bridges of sides with several hosts.
const SWITCH: &str = "switch";

/// IPv6 is off, because it sends router solicitations and duplicate address detection.
const QUIET_SETTINGS: [&str; 2] = [
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv6.conf.default.disable_ipv6=1",
];

/// Settings of hosts with IPv6. Hosts have the addresses of the data networks only, and send no
/// unsolicited packets.
const IPV6_SETTINGS: [&str; 4] = [
    "net.ipv6.conf.default.addr_gen_mode=1",
    "net.ipv6.conf.default.accept_dad=0",
    "net.ipv6.conf.default.accept_ra=0",
    "net.ipv6.conf.default.router_solicitations=0",
];

/// Setting of a router with IPv6.
const IPV6_FORWARDING: &str = "net.ipv6.conf.all.forwarding=1";

/// TCP settings of each host: no metrics cached from earlier connections, and buffers for windows of
/// 16 MB.
const HOST_SETTINGS: [&str; 3] = [
    "net.ipv4.tcp_no_metrics_save=1",
    "net.ipv4.tcp_rmem=4096 131072 33554432",
    "net.ipv4.tcp_wmem=4096 65536 33554432",
];

/// Settings of the router: it forwards and sends no redirects.
const ROUTER_SETTINGS: [&str; 5] = [
    "net.ipv4.ip_forward=1",
    "net.ipv4.conf.all.send_redirects=0",
    "net.ipv4.conf.default.send_redirects=0",
    "net.ipv4.conf.left.send_redirects=0",
    "net.ipv4.conf.right.send_redirects=0",
];

/// Offloads to turn off, so that each packet of a sender is one packet on the wire and in a capture,
/// with its checksum.
const OFFLOADS: &str = "tso off gso off gro off tx off rx off";

impl Topology {
    /// Creates the networks of a virtual machine; its namespaces have the names of the hosts.
    pub fn new(shape: Shape) -> Self {
        Self::with_prefix(shape, "")
    }

    /// Creates the networks of a machine with other namespaces: the names of ours begin with
    /// `prefix`.
    pub fn with_prefix(shape: Shape, prefix: &str) -> Self {
        Self {
            shape,
            prefix: prefix.to_owned(),
        }
    }

    /// The namespace of the host `name`.
    pub fn namespace(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Creates hosts and data networks.
    pub fn create(&self) -> Vec<Step> {
        let hosts = self.shape.hosts();
        let mut steps = Vec::new();
        for host in &hosts {
            steps.extend(self.namespace_of(&host.name));
        }
        let networks = self.networks();
        if networks.iter().any(|members| members.len() > 2) {
            steps.extend(self.namespace_of(SWITCH));
        }
        for members in &networks {
            match &members[..] {
                [(router, port), (host, data)] => {
                    steps.push(self.link(&host.name, data.name, &router.name, port.name));
                }
                several => steps.extend(self.bridge(several)),
            }
        }
        for host in &hosts {
            for interface in &host.interfaces {
                steps.extend(self.interface(&host.name, *interface));
            }
            steps.extend(self.ways_out_of(host));
        }
        steps
    }

    /// Removes all that [`Self::create`] made, even if incomplete.
    pub fn remove(&self) -> Vec<Step> {
        let hosts = self.shape.hosts();
        let names = hosts.iter().map(|host| host.name.as_str());
        let removal = |name| Step::that_may_fail(&format!("ip netns del {}", self.namespace(name)));
        names.chain([SWITCH]).map(removal).collect()
    }

    /// Creates the control network, over which the machine itself reaches every host.
    ///
    /// Run [`Self::create`] first.
    pub fn control(&self) -> Vec<Step> {
        let mut steps = vec![
            Step::new("ip link add control type bridge"),
            Step::new(&format!("ip addr add {DRIVER}/24 dev control")),
            Step::new("ip link set control up"),
        ];
        for Host { name, control, .. } in self.shape.hosts() {
            let namespace = self.namespace(&name);
            steps.extend([
                // Created outside, so that the name cannot clash with the bridge.
                Step::new(&format!(
                    "ip link add {name} type veth peer name control netns {namespace}"
                )),
                Step::new(&format!("ip link set {name} master control up")),
                Step::new(&format!(
                    "ip -n {namespace} addr add {control}/24 dev control"
                )),
                Step::new(&format!("ip -n {namespace} link set control up")),
            ]);
        }
        steps
    }

    /// The members of each data network, from left to right: the routers, then the hosts.
    fn networks(&self) -> Vec<Vec<(Host, Interface)>> {
        let hosts = self.shape.hosts();
        let members = |network: u8| {
            let of_role = |is_router: bool| {
                hosts
                    .iter()
                    .filter(move |host| (host.role == Role::Router) == is_router)
                    .flat_map(|host| host.interfaces.iter().map(move |it| (host.clone(), *it)))
                    .filter(move |(_, interface)| interface.network() == network)
            };
            of_role(true).chain(of_role(false)).collect()
        };
        (0..self.shape.networks()).map(members).collect()
    }

    fn namespace_of(&self, name: &str) -> [Step; 3] {
        let namespace = self.namespace(name);
        let quiet: &[&str] = if self.shape.is_ipv6() {
            &IPV6_SETTINGS
        } else {
            &QUIET_SETTINGS
        };
        [
            Step::new(&format!("ip netns add {namespace}")),
            Step::new(&format!("ip netns exec {namespace} sysctl -qew")).with(quiet),
            Step::new(&format!("ip -n {namespace} link set lo up")),
        ]
    }

    fn link(&self, host: &str, interface: &str, other: &str, others: &str) -> Step {
        let (host, other) = (self.namespace(host), self.namespace(other));
        Step::new(&format!(
            "ip -n {host} link add {interface} type veth peer name {others} netns {other}"
        ))
    }

    /// A bridge between the members of a network, with a static forwarding table.
    fn bridge(&self, members: &[(Host, Interface)]) -> Vec<Step> {
        let switch = self.namespace(SWITCH);
        let network = members.first().map_or(0, |(_, port)| port.network());
        let is_one = self.shape.networks() == 2;
        let bridge = match network {
            0 => "lefts".to_owned(),
            last if last + 1 == self.shape.networks() => "rights".to_owned(),
            middle => format!("middles{middle}"),
        };
        let mut steps = vec![
            Step::new(&format!(
                "ip -n {switch} link add {bridge} type bridge forward_delay 0 mcast_snooping 0"
            )),
            Step::new(&format!("ip -n {switch} link set {bridge} up")),
        ];
        for (host, interface) in members {
            let mac = interface.mac();
            let port = match host.role {
                Role::Router if is_one => interface.name.to_owned(),
                Role::Router => format!("{}-{}", host.name, interface.name),
                Role::Source | Role::Sink => host.name.clone(),
            };
            steps.extend([
                self.link(&host.name, interface.name, SWITCH, &port),
                Step::new(&format!(
                    "ip -n {switch} link set {port} master {bridge} up"
                )),
                Step::new(&format!(
                    "bridge -n {switch} fdb replace {mac} dev {port} master static"
                )),
                Step::new(&format!(
                    "ip netns exec {switch} ethtool -K {port} {OFFLOADS}"
                )),
            ]);
        }
        steps
    }

    fn interface(&self, host: &str, interface: Interface) -> Vec<Step> {
        let namespace = self.namespace(host);
        let Interface { name, address } = interface;
        let mac = interface.mac();
        let mut steps = vec![
            Step::new(&format!(
                "ip netns exec {namespace} ethtool -K {name} {OFFLOADS}"
            )),
            Step::new(&format!(
                "ip -n {namespace} addr add {address}/24 dev {name}"
            )),
            Step::new(&format!(
                "ip -n {namespace} link set {name} address {mac} up"
            )),
        ];
        if self.shape.is_ipv6() {
            let address = interface.ipv6();
            steps.push(Step::new(&format!(
                "ip -n {namespace} addr add {address}/64 dev {name} nodad"
            )));
        }
        steps
    }

    /// Routes, neighbours and settings of a host whose interfaces are up.
    fn ways_out_of(&self, host: &Host) -> Vec<Step> {
        let namespace = self.namespace(&host.name);
        let settings = |settings: &[&str]| {
            Step::new(&format!("ip netns exec {namespace} sysctl -qw")).with(settings)
        };
        let mut steps = vec![settings(&HOST_SETTINGS)];
        let networks = self.networks();
        for own in &host.interfaces {
            let Some(members) = networks.get(usize::from(own.network())) else {
                continue;
            };
            let others = members.iter().filter(|(other, _)| other != host);
            let gateways = others
                .clone()
                .filter(|(other, _)| other.role == Role::Router)
                .map(|(_, port)| *port);
            for gateway in gateways {
                steps.extend(self.routes(&namespace, host, gateway));
            }
            // Neighbours are fixed: hosts of one network reach each other without the router.
            steps.extend(others.flat_map(|(_, port)| self.neighbour(&namespace, own, *port)));
        }
        if host.role == Role::Router {
            steps.push(settings(&ROUTER_SETTINGS));
            if self.shape.is_ipv6() {
                steps.push(settings(&[IPV6_FORWARDING]));
            }
        }
        steps
    }

    /// The routes of a host by the interface of a router in one of its networks. A router's interface
    /// `left` leads to the networks on its right, and the reverse.
    fn routes(&self, namespace: &str, host: &Host, gateway: Interface) -> Vec<Step> {
        let here = gateway.network();
        let last = self.shape.networks() - 1;
        let leads_right = gateway.name == "left";
        let add = |to: &str, via: &dyn std::fmt::Display| {
            Step::new(&format!("ip -n {namespace} route add {to} via {via}"))
        };
        let mut steps = Vec::new();
        // At the ends of the row, all routes are one.
        let is_at_end = host.role != Role::Router && (here == 0 || here == last);
        let networks = match (is_at_end, leads_right) {
            (true, _) => {
                steps.push(add("default", &gateway.address));
                if self.shape.is_ipv6() {
                    steps.push(Step::new(&format!(
                        "ip -n {namespace} -6 route add default via {}",
                        gateway.ipv6()
                    )));
                }
                return steps;
            }
            (false, true) => here + 1..last + 1,
            (false, false) => 0..here,
        };
        for network in networks {
            let [ipv4, ipv6] = prefixes(network);
            steps.push(add(&ipv4, &gateway.address));
            if self.shape.is_ipv6() {
                steps.push(add(&ipv6, &gateway.ipv6()));
            }
        }
        steps
    }

    fn neighbour(&self, namespace: &str, own: &Interface, other: Interface) -> Vec<Step> {
        let replace = |address: &dyn std::fmt::Display| {
            Step::new(&format!(
                "ip -n {namespace} neigh replace {address} lladdr {} dev {} nud permanent",
                other.mac(),
                own.name
            ))
        };
        let mut steps = vec![replace(&other.address)];
        if self.shape.is_ipv6() {
            steps.push(replace(&other.ipv6()));
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(steps: &[Step]) -> String {
        let lines: Vec<String> = steps.iter().map(|step| step.argv.join(" ")).collect();
        lines.join("\n")
    }

    #[test]
    fn smallest_lab_is_two_links() {
        let topology = Topology::new(Shape::default());
        insta::assert_snapshot!(typed(&topology.create()), @r"
        ip netns add src1
        ip netns exec src1 sysctl -qew net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n src1 link set lo up
        ip netns add rtr
        ip netns exec rtr sysctl -qew net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n rtr link set lo up
        ip netns add dst1
        ip netns exec dst1 sysctl -qew net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n dst1 link set lo up
        ip -n src1 link add data type veth peer name left netns rtr
        ip -n dst1 link add data type veth peer name right netns rtr
        ip netns exec src1 ethtool -K data tso off gso off gro off tx off rx off
        ip -n src1 addr add 172.16.10.3/24 dev data
        ip -n src1 link set data address 02:00:ac:10:0a:03 up
        ip netns exec src1 sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_rmem=4096 131072 33554432 net.ipv4.tcp_wmem=4096 65536 33554432
        ip -n src1 route add default via 172.16.10.1
        ip -n src1 neigh replace 172.16.10.1 lladdr 02:00:ac:10:0a:01 dev data nud permanent
        ip netns exec rtr ethtool -K left tso off gso off gro off tx off rx off
        ip -n rtr addr add 172.16.10.1/24 dev left
        ip -n rtr link set left address 02:00:ac:10:0a:01 up
        ip netns exec rtr ethtool -K right tso off gso off gro off tx off rx off
        ip -n rtr addr add 172.16.11.1/24 dev right
        ip -n rtr link set right address 02:00:ac:10:0b:01 up
        ip netns exec rtr sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_rmem=4096 131072 33554432 net.ipv4.tcp_wmem=4096 65536 33554432
        ip -n rtr neigh replace 172.16.10.3 lladdr 02:00:ac:10:0a:03 dev left nud permanent
        ip -n rtr neigh replace 172.16.11.2 lladdr 02:00:ac:10:0b:02 dev right nud permanent
        ip netns exec rtr sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0 net.ipv4.conf.left.send_redirects=0 net.ipv4.conf.right.send_redirects=0
        ip netns exec dst1 ethtool -K data tso off gso off gro off tx off rx off
        ip -n dst1 addr add 172.16.11.2/24 dev data
        ip -n dst1 link set data address 02:00:ac:10:0b:02 up
        ip netns exec dst1 sysctl -qw net.ipv4.tcp_no_metrics_save=1 net.ipv4.tcp_rmem=4096 131072 33554432 net.ipv4.tcp_wmem=4096 65536 33554432
        ip -n dst1 route add default via 172.16.11.1
        ip -n dst1 neigh replace 172.16.11.1 lladdr 02:00:ac:10:0b:01 dev data nud permanent
        ");
    }

    #[test]
    fn control_network_reaches_every_host() {
        let topology = Topology::new(Shape::default());
        insta::assert_snapshot!(typed(&topology.control()), @r"
        ip link add control type bridge
        ip addr add 10.99.0.1/24 dev control
        ip link set control up
        ip link add src1 type veth peer name control netns src1
        ip link set src1 master control up
        ip -n src1 addr add 10.99.0.11/24 dev control
        ip -n src1 link set control up
        ip link add rtr type veth peer name control netns rtr
        ip link set rtr master control up
        ip -n rtr addr add 10.99.0.2/24 dev control
        ip -n rtr link set control up
        ip link add dst1 type veth peer name control netns dst1
        ip link set dst1 master control up
        ip -n dst1 addr add 10.99.0.101/24 dev control
        ip -n dst1 link set control up
        ");
    }

    #[test]
    fn side_with_several_hosts_has_a_bridge_with_static_entries() {
        let shape = Shape::new(2, 1).unwrap();
        let text = typed(&Topology::with_prefix(shape, "lab-").create());
        let bridge = text.lines().filter(|line| line.contains("lab-switch"));
        let bridge: Vec<&str> = bridge.filter(|line| !line.contains("ethtool")).collect();
        insta::assert_snapshot!(bridge.join("\n"), @r"
        ip netns add lab-switch
        ip netns exec lab-switch sysctl -qew net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
        ip -n lab-switch link set lo up
        ip -n lab-switch link add lefts type bridge forward_delay 0 mcast_snooping 0
        ip -n lab-switch link set lefts up
        ip -n lab-rtr link add left type veth peer name left netns lab-switch
        ip -n lab-switch link set left master lefts up
        bridge -n lab-switch fdb replace 02:00:ac:10:0a:01 dev left master static
        ip -n lab-src1 link add data type veth peer name src1 netns lab-switch
        ip -n lab-switch link set src1 master lefts up
        bridge -n lab-switch fdb replace 02:00:ac:10:0a:03 dev src1 master static
        ip -n lab-src2 link add data type veth peer name src2 netns lab-switch
        ip -n lab-switch link set src2 master lefts up
        bridge -n lab-switch fdb replace 02:00:ac:10:0a:04 dev src2 master static
        ");
    }

    #[test]
    fn routers_in_a_row_have_routes_to_the_networks_of_each_other() {
        let shape = Shape::default().with_routers(3).unwrap();
        let topology = Topology::new(shape.with_ipv6(true));
        let made = typed(&topology.create());
        let routes = |host: &str| {
            let begin = format!("ip -n {host} ");
            let lines = made.lines().filter_map(|line| line.strip_prefix(&begin));
            let lines = lines.filter(|line| line.contains("route add"));
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(routes("src1"), @r"
        route add default via 172.16.10.1
        -6 route add default via fd00:16:10::1
        ");
        insta::assert_snapshot!(routes("xsrc2"), @r"
        route add 172.16.10.0/24 via 172.16.11.1
        route add fd00:16:10::/64 via fd00:16:11::1
        route add 172.16.12.0/24 via 172.16.11.2
        route add fd00:16:12::/64 via fd00:16:11::2
        route add 172.16.13.0/24 via 172.16.11.2
        route add fd00:16:13::/64 via fd00:16:11::2
        ");
        insta::assert_snapshot!(routes("rtr2"), @r"
        route add 172.16.10.0/24 via 172.16.11.1
        route add fd00:16:10::/64 via fd00:16:11::1
        route add 172.16.13.0/24 via 172.16.12.2
        route add fd00:16:13::/64 via fd00:16:12::2
        ");
        insta::assert_snapshot!(routes("xdst3"), @r"
        route add default via 172.16.13.1
        -6 route add default via fd00:16:13::1
        ");
    }

    #[test]
    fn everything_created_is_removed_and_may_be_missing() {
        for hosts in [1, 2] {
            let shape = Shape::new(hosts, hosts).unwrap();
            let shape = shape.with_routers(hosts).unwrap();
            let topology = Topology::with_prefix(shape, "lab-");
            let removed = topology.remove();
            assert!(removed.iter().all(|step| step.may_fail));
            let removed = typed(&removed);
            let made = typed(&topology.create());
            for namespace in made
                .lines()
                .filter_map(|line| line.strip_prefix("ip netns add "))
            {
                assert!(
                    removed
                        .lines()
                        .any(|line| line == format!("ip netns del {namespace}"))
                );
            }
        }
    }
}
