//! A log of a Linux router's queues.

use serde::Deserialize;
use tcpexp_table::dataset::QueueState;
use tcpexp_units::Timestamp;

/// One line: what `tc -s -j qdisc show` printed, and when.
#[derive(Deserialize)]
struct Line {
    time_ns: i64,
    interface: Option<String>,
    qdiscs: Vec<Queue>,
}

/// As much of a queue as all kinds of them tell.
#[derive(Deserialize)]
struct Queue {
    kind: Option<String>,
    handle: Option<String>,
    parent: Option<String>,
    dev: Option<String>,
    bytes: Option<u64>,
    packets: Option<u64>,
    drops: Option<u64>,
    overlimits: Option<u64>,
    requeues: Option<u64>,
    backlog: Option<u64>,
    qlen: Option<u64>,
    ecn_mark: Option<u64>,
    marked: Option<u64>,
}

/// The states of the queues that a line tells; `None` if it is no such line.
pub(super) fn states(line: &str) -> Option<Vec<(Timestamp, QueueState)>> {
    let line: Line = serde_json::from_str(line).ok()?;
    let at = Timestamp::from_nanos(line.time_ns);
    let interface = line.interface;
    let state = |queue: Queue| QueueState {
        interface: queue.dev.or_else(|| interface.clone()).map(Into::into),
        kind: queue.kind.map(Into::into),
        handle: queue.handle.map(Into::into),
        parent: queue.parent.map(Into::into),
        backlog_bytes: queue.backlog,
        backlog_packets: queue.qlen,
        sent_bytes: queue.bytes,
        sent_packets: queue.packets,
        drops: queue.drops,
        overlimits: queue.overlimits,
        requeues: queue.requeues,
        // Each kind has its own word for it.
        ecn_marks: queue.ecn_mark.or(queue.marked),
    };
    Some(
        line.qdiscs
            .into_iter()
            .map(|queue| (at, state(queue)))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_all_queues_of_an_interface() {
        let line = r#"{"time_ns":1767225609000000001,"interface":"right","qdiscs":[
            {"kind":"htb","handle":"1:","dev":"right","root":true,"refcnt":2,"options":{"r2q":10},
             "bytes":1500,"packets":1,"drops":0,"overlimits":3,"requeues":0,"backlog":0,"qlen":0},
            {"kind":"fq_codel","handle":"10:","parent":"1:1","bytes":1500,"packets":1,"drops":2,
             "overlimits":0,"requeues":0,"backlog":4500,"qlen":3,"ecn_mark":7}]}"#;
        let states = states(line).unwrap();
        let told: Vec<_> = states
            .iter()
            .map(|(at, state)| {
                let text =
                    |text: &Option<std::sync::Arc<str>>| text.as_deref().unwrap_or("-").to_owned();
                format!(
                    "{} {} {} under {}: {:?} packets, {:?} dropped, {:?} marked",
                    at.as_nanos(),
                    text(&state.interface),
                    text(&state.kind),
                    text(&state.parent),
                    state.backlog_packets,
                    state.drops,
                    state.ecn_marks
                )
            })
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        1767225609000000001 right htb under -: Some(0) packets, Some(0) dropped, None marked
        1767225609000000001 right fq_codel under 1:1: Some(3) packets, Some(2) dropped, Some(7) marked
        ");
    }

    #[test]
    fn other_lines_are_none() {
        assert!(states("qdisc htb 1: dev right").is_none());
        assert!(states("{\"time_ns\": 1}").is_none());
    }
}
