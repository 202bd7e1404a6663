//! Which traffic of a cell the filter of its captures passes.

use super::tool::Sends;
use super::{Capture, Setup, Tool};

/// The default filter and ICMP. Captures without a packet cannot be analyzed.
const WITH_ICMP: &str = "tcp or udp or icmp or icmp6";

/// The protocols whose names are filter expressions.
const NAMES: [(&str, Sends); 4] = [
    ("tcp", Sends::Tcp),
    ("udp", Sends::Udp),
    ("icmp", Sends::Icmp),
    ("icmp6", Sends::Icmp),
];

impl Setup {
    /// Filter expression of the captures. If all traffic is ICMP, the default includes it.
    pub(crate) fn capture_filter(&self) -> &str {
        let filter = &self.capture.filter;
        let is_default = *filter == Capture::default().filter;
        if is_default && self.running().all(|tool| tool.sends() == Sends::Icmp) {
            WITH_ICMP
        } else {
            filter
        }
    }

    /// True if the captures have all packets of a tool's traffic, as far as its protocol and the filter are known.
    pub(crate) fn is_captured(&self, tool: Tool) -> bool {
        passes(self.capture_filter(), tool.sends()) == Some(true)
    }

    /// Why the captures have no packet of any traffic, if the filter excludes it.
    pub(super) fn filter_fault(&self) -> Option<String> {
        let filter = self.capture_filter();
        let is_excluded = |tool: Tool| passes(filter, tool.sends()) == Some(false);
        if !self.running().all(is_excluded) {
            return None;
        }
        let tool = self.running().next()?.name();
        Some(format!(
            "expected a filter that passes the traffic: it excludes all packets of {tool}"
        ))
    }

    fn running(&self) -> impl Iterator<Item = Tool> {
        let running = self.traffic.iter().filter(|traffic| traffic.count > 0);
        running.map(|traffic| traffic.tool)
    }
}

/// True if the filter passes all packets of a protocol, false if it passes none; `None` if it depends on the
/// packet or is not known.
fn passes(filter: &str, protocol: Sends) -> Option<bool> {
    if protocol == Sends::Unknown {
        return None;
    }
    let of_name = |name: &str| NAMES.into_iter().find(|(known, _)| *known == name.trim());
    let passed: Option<Vec<Sends>> = filter
        .split(" or ")
        .map(|name| of_name(name).map(|(_, protocol)| protocol))
        .collect();
    Some(passed?.contains(&protocol))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use insta::assert_snapshot;

    use super::super::Plan;

    /// A plan whose captures have this filter, with traffic of these tools.
    fn plan(filter: Option<&str>, tools: &[&str]) -> Result<Plan, String> {
        let filter = filter.map_or_else(String::new, |text| format!("capture.filter = {text:?}\n"));
        let traffic = tools.iter().enumerate().map(|(index, tool)| {
            let rate = if *tool == "udp" { "rate = \"1mbit\"\n" } else { "" };
            let command = if *tool == "command" { "command = [\"hping3\"]\n" } else { "" };
            format!("[[traffic]]\nname = \"t{index}\"\ntool = \"{tool}\"\nduration = \"1s\"\n{rate}{command}")
        });
        let traffic: String = traffic.collect();
        let text = format!("kind = \"lab\"\n{filter}[path.forward]\n{traffic}");
        Plan::parse(Path::new("plan.toml"), &text).map_err(|error| error.to_string())
    }

    #[test]
    fn the_default_filter_of_a_plan_with_ping_alone_passes_icmp() {
        let filter = |tools: &[&str]| {
            let plan = plan(None, tools).unwrap();
            plan.cells[0].setup.capture_filter().to_owned()
        };
        assert_eq!(filter(&["ping"]), "tcp or udp or icmp or icmp6");
        for tools in [&["ping", "iperf3"][..], &["udp"], &["ping", "command"]] {
            assert_eq!(filter(tools), "tcp or udp", "{tools:?}");
        }
    }

    #[test]
    fn a_filter_that_excludes_all_traffic_is_refused() {
        let refusal = |filter, tools: &[&str]| plan(Some(filter), tools).unwrap_err();
        assert_snapshot!(refusal("udp", &["iperf3", "ping"]), @"plan.toml:2: capture.filter: expected a filter that passes the traffic: it excludes all packets of iperf3");
        assert_snapshot!(refusal("tcp", &["udp"]), @"plan.toml:2: capture.filter: expected a filter that passes the traffic: it excludes all packets of udp");
        for (filter, tools) in [
            ("tcp", &["iperf3", "udp"][..]),
            ("port 5201", &["iperf3"]),
            ("icmp", &["ping"]),
            ("udp", &["command"]),
        ] {
            assert!(plan(Some(filter), tools).is_ok(), "{filter}");
        }
    }
}
