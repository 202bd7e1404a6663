//! Judges a run by the packet counts of its captures.

use tcpexp_runs::record::{CaptureRecord, Role};
use tcpexp_units::counted;

use crate::plan::Setup;
use crate::site::Generator;

/// The generators whose packets pass the filter of the captures. Those of other tools and filters are unknown.
pub(super) fn covered<'a>(setup: &Setup, generators: &'a [Generator]) -> Vec<&'a Generator> {
    let is_captured = |generator: &&Generator| setup.is_captured(generator.tool);
    generators.iter().filter(is_captured).collect()
}

/// Why the run is invalid: captures lost packets, or have none of a generator in `covered`.
pub(super) fn faults(captures: &[CaptureRecord], covered: &[&Generator]) -> Vec<String> {
    let mut faults = Vec::new();
    let lost: u64 = captures.iter().map(missing_packets).sum();
    if lost > 0 {
        faults.push(format!("captures lost {}", counted(lost, "packet")));
    }
    let is_end = |capture: &&CaptureRecord| capture.role != Role::Router;
    let empty = captures.iter().filter(is_end);
    for capture in empty.filter(|capture| capture.packets_captured == Some(0)) {
        let host = &capture.host;
        let is_here = |generator: &&&Generator| {
            [&generator.client_host, &generator.server_host].contains(&host)
        };
        if let Some(generator) = covered.iter().find(is_here) {
            // A tool may exit with code 0 and send nothing.
            let name = &generator.record.name;
            faults.push(format!("the capture on {host} has no packet of {name}"));
        }
    }
    faults
}

/// Number of packets missing from a capture: dropped by the kernel, or unread at its end.
fn missing_packets(capture: &CaptureRecord) -> u64 {
    let dropped = capture.packets_dropped.unwrap_or(0);
    let unread = |received: u64| received.checked_sub(capture.packets_captured?);
    // The kernel counts dropped packets as received.
    let unread = capture.packets_received.and_then(unread).unwrap_or(0);
    dropped.max(unread)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::Plan;
    use crate::{schedule, site};

    fn faults_of(tools: &[&str], counts: [[u64; 3]; 2]) -> String {
        let traffic = tools.iter().zip(["a", "b"]).map(|(tool, name)| {
            format!("[[traffic]]\nname = \"{name}\"\ntool = \"{tool}\"\nduration = \"1s\"\n")
        });
        let traffic: String = traffic.collect();
        let text = format!("kind = \"lab\"\n[path.forward]\n{traffic}");
        let plan = Plan::parse(Path::new("plan.toml"), &text).unwrap();
        let generators = site::generators(&schedule::runs(&plan)[0]);
        let covered = covered(&plan.cells[0].setup, &generators);
        let capture = |(host, role), [captured, received, dropped]: [u64; 3]| CaptureRecord {
            host: String::from(host),
            role,
            file: "captures/a.pcap".into(),
            packets_captured: Some(captured),
            packets_received: Some(received),
            packets_dropped: Some(dropped),
        };
        let captures = [
            capture(("src1", Role::Source), counts[0]),
            capture(("dst1", Role::Sink), counts[1]),
        ];
        faults(&captures, &covered).join("; ")
    }

    #[test]
    fn lost_packets_are_dropped_or_unread() {
        assert_eq!(
            faults_of(&["iperf3"], [[9, 12, 3], [5, 7, 0]]),
            "captures lost 5 packets"
        );
        assert_eq!(faults_of(&["iperf3"], [[9, 9, 0], [5, 5, 0]]), "");
    }

    #[test]
    fn tool_that_ends_well_without_a_packet_makes_the_run_invalid() {
        assert_eq!(
            faults_of(&["iperf3"], [[0, 0, 0], [0, 0, 0]]),
            "the capture on src1 has no packet of a; the capture on dst1 has no packet of a"
        );
        assert_eq!(
            faults_of(&["iperf3"], [[9, 9, 0], [0, 0, 0]]),
            "the capture on dst1 has no packet of a"
        );
        // The default filter excludes ICMP beside other traffic.
        assert_eq!(
            faults_of(&["ping", "iperf3"], [[0, 0, 0], [9, 9, 0]]),
            "the capture on src1 has no packet of b"
        );
        assert_eq!(
            faults_of(&["ping"], [[0, 0, 0], [9, 9, 0]]),
            "the capture on src1 has no packet of a"
        );
    }
}
