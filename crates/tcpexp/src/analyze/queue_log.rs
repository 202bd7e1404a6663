//! Log of a Linux router's queues.

use serde::Deserialize;
use serde_json::Value;
use tcpexp_host::Qdisc;
use tcpexp_table::dataset::QueueState;
use tcpexp_units::Timestamp;

/// One line: the output of `tc -s -j qdisc show` with its time.
#[derive(Deserialize)]
struct Line {
    time_ns: i64,
    interface: Option<String>,
    qdiscs: Vec<Value>,
}

/// Parses the states of the queues in a line; `None` for a line of another format.
pub(super) fn states(line: &str) -> Option<Vec<(Timestamp, QueueState)>> {
    let line: Line = serde_json::from_str(line).ok()?;
    let qdiscs: Vec<Qdisc> = tcpexp_host::from_values(line.qdiscs).ok()?;
    let at = Timestamp::from_nanos(line.time_ns);
    let interface = line.interface;
    let some = |text: String| (!text.is_empty()).then(|| text.into());
    let state = |queue: Qdisc| QueueState {
        ecn_marks: queue.marks(),
        // `tc qdisc show dev NAME` leaves the device out of its output, so the line names it.
        interface: queue.dev.or_else(|| interface.clone()).map(Into::into),
        kind: some(queue.kind),
        handle: some(queue.handle),
        parent: queue.parent.map(Into::into),
        backlog_bytes: queue.backlog,
        backlog_packets: queue.qlen,
        sent_bytes: queue.bytes,
        sent_packets: queue.packets,
        drops: queue.drops,
        overlimits: queue.overlimits,
        requeues: queue.requeues,
    };
    Some(qdiscs.into_iter().map(|queue| (at, state(queue))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_holds_the_states_of_all_queues_of_an_interface() {
        let line = r#"{"time_ns":1767225609000000001,"interface":"right","qdiscs":[
            {"kind":"htb","handle":"1:","dev":"right","root":true,"refcnt":2,"options":{"r2q":10},
             "bytes":1500,"packets":1,"drops":0,"overlimits":3,"requeues":0,"backlog":0,"qlen":0},
            {"kind":"fq_codel","handle":"10:","parent":"1:1","bytes":1500,"packets":1,"drops":2,
             "overlimits":0,"requeues":0,"backlog":4500,"qlen":3,"ecn_mark":7}]}"#;
        let states = states(line).unwrap();
        let lines: Vec<_> = states
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
        insta::assert_snapshot!(lines.join("\n"), @"
        1767225609000000001 right htb under -: Some(0) packets, Some(0) dropped, None marked
        1767225609000000001 right fq_codel under 1:1: Some(3) packets, Some(2) dropped, Some(7) marked
        ");
    }

    #[test]
    fn marks_of_all_tins_of_cake_are_counted() {
        let line = r#"{"time_ns":1,"interface":"right","qdiscs":[{"kind":"cake","handle":"1:",
            "root":true,"drops":4,"tins":[{"ecn_mark":0},{"ecn_mark":40},{"ecn_mark":2}]}]}"#;
        assert_eq!(states(line).unwrap()[0].1.ecn_marks, Some(42));
    }

    #[test]
    fn other_lines_are_ignored() {
        assert!(states("qdisc htb 1: dev right").is_none());
        assert!(states("{\"time_ns\": 1}").is_none());
    }
}
