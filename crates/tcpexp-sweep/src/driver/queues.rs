//! Judges a run by the counters of its routers' queues.

use netem_ctl::{Bottleneck, Path};
use tcpexp_units::counted;

use crate::plan::Host;
use crate::site::{self, Counters};

/// The interfaces of a router that have a planned queue or rate.
pub(super) fn needed<'a>(host: &'a Host, path: &Bottleneck) -> Vec<&'a str> {
    let path = path.resolved();
    let has_queue = |path: &Path| path.queue.is_some() || path.police.is_some();
    let sides = [(&path.forward, &host.right), (&path.reverse, &host.left)];
    let needed = sides.into_iter().filter(|(path, _)| has_queue(path));
    needed.filter_map(|(_, side)| side.as_deref()).collect()
}

/// Why the run is invalid: packets bypassed the rate of a `needed` interface, a delay stage dropped packets, or a
/// queue was replaced, so that its counters do not show this.
pub(super) fn faults(
    before: &Counters,
    after: &Counters,
    needed: &[&str],
    is_lossless: bool,
) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(queue) = after.replaced(before, needed) {
        faults.push(format!("the queue {queue} was replaced during the run"));
    }
    let unshaped: u64 = needed.iter().map(|side| after.unshaped(before, side)).sum();
    if unshaped > 0 {
        faults.push(counted(unshaped, "packet") + " bypassed the rate of the bottleneck");
    }
    let drops = after.drops(before).into_iter();
    let delayed = drops.filter(|(queue, _)| site::is_delay_stage(queue));
    let lost: u64 = delayed.map(|(_, drops)| drops).sum();
    if is_lossless && lost > 0 {
        let lost = counted(lost, "packet");
        faults.push(format!("the delay stage dropped {lost}"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDED: [&str; 2] = ["right", "left"];

    fn counters([unshaped, lost, sent]: [u64; 3]) -> Counters {
        let text = format!(
            r#"counters_at 1
queues right [{{"kind":"pfifo","handle":"10:","parent":"1:10","packets":{sent},"drops":0}}]
queues left [{{"kind":"htb","handle":"2:","root":true,"options":{{"direct_packets_stat":{unshaped}}}}}]
queues tcxd-f0 [{{"kind":"netem","handle":"3:","root":true,"packets":9,"drops":{lost}}}]
"#
        );
        Counters::parse(&text, &NEEDED).unwrap()
    }

    fn faults_of(before: [u64; 3], after: [u64; 3], needed: &[&str], is_lossless: bool) -> String {
        faults(&counters(before), &counters(after), needed, is_lossless).join("; ")
    }

    #[test]
    fn queues_that_did_not_treat_all_packets_as_planned_are_faults() {
        let (before, after) = ([1, 1, 10], [3, 2, 20]);
        assert_eq!(faults_of(before, before, &NEEDED, true), "");
        assert_eq!(
            faults_of(before, after, &NEEDED, true),
            "2 packets bypassed the rate of the bottleneck; the delay stage dropped 1 packet"
        );
        assert_eq!(faults_of(before, after, &["right"], false), "");
    }

    #[test]
    fn queue_whose_counters_began_again_is_a_fault() {
        let faults = |needed| faults_of([0, 0, 10], [0, 0, 4], needed, true);
        assert_eq!(
            faults(&["right"]),
            "the queue right pfifo 10: was replaced during the run"
        );
        assert_eq!(faults(&["left"]), "");
    }

    #[test]
    fn counters_are_needed_where_the_plan_has_a_rate() {
        let router = serde_json::json!({ "role": "router", "left": "l", "right": "r" });
        let router: Host = serde_json::from_value(router).unwrap();
        let of = |path: &str| needed(&router, &Bottleneck::from_toml(path).unwrap());
        assert_eq!(of("[forward]\ndelay = '1ms'").len(), 0);
        assert_eq!(of("[forward]\nrate = '1mbit'\nbuffer = '9p'"), ["r"]);
        assert_eq!(
            of("[forward]\n[reverse]\nrate = '1mbit'\nbuffer = '9p'"),
            ["l"]
        );
    }
}
