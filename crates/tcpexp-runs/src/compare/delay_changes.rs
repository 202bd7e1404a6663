//! Delays of the path that vary during a run.

use std::iter;

use serde_json::Value;

use crate::record::{ChangeRecord, RunRecord};

/// The keys of a path that decide how long a packet takes without a queue.
const KEYS: [&str; 6] = [
    "delay",
    "jitter",
    "jitter_distribution",
    "jitter_reorders",
    "reorder",
    "flows",
];

/// The keys of a path that give its packets several delays: jitter adds to the delay of some packets and subtracts
/// from that of others, and a reordered packet passes without the delay (`sch_netem.c`, `netem_enqueue`).
const VARYING: [&str; 2] = ["jitter", "reorder"];

/// True if the plan of a run varies the delay of the path without a queue, so that the path has no single base
/// RTT: the smallest RTT is that of the fastest packets, and the others would seem to have queued.
///
/// A change counts too if the router did not report it: it may have been made.
pub(super) fn moves_delay(record: &RunRecord) -> bool {
    has_several_delays(&record.bottleneck) || changes_delay(record)
}

/// True for a chain of routers if one of them varies the delay.
fn has_several_delays(bottleneck: &Value) -> bool {
    let hops = bottleneck.get("hops").and_then(Value::as_object);
    let hops = hops.into_iter().flat_map(|hops| hops.values());
    iter::once(bottleneck).chain(hops).any(varies_delay)
}

/// True if packets of one direction of a router's path have several delays.
fn varies_delay(path: &Value) -> bool {
    let ways = ["forward", "reverse"]
        .iter()
        .filter_map(|way| path.get(way));
    let mut given = ways.flat_map(|way| VARYING.iter().filter_map(|key| way.get(key)));
    given.any(|value| match value {
        Value::Number(number) => number.as_f64() != Some(0.0),
        // Zero has units too, such as `0ms` and `0%`.
        Value::String(text) => text.contains(|c| matches!(c, '1'..='9')),
        _ => false,
    })
}

/// True if the plan changes the delay between the first and the last packet.
fn changes_delay(record: &RunRecord) -> bool {
    let moves = |change: &ChangeRecord| match &change.bottleneck {
        Some(after) => has_other_delay(&record.bottleneck, after),
        None => KEYS.iter().any(|key| change.what.contains(key)),
    };
    record.changes.iter().any(moves)
}

fn has_other_delay(before: &Value, after: &Value) -> bool {
    ["forward", "reverse"].iter().any(|way| {
        let of = |path: &Value, key| path.get(way).and_then(|way| way.get(key)).cloned();
        KEYS.iter().any(|key| of(before, key) != of(after, key))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Whether a run over a path of 10 ms has another delay after a change with this record.
    fn moves(change: &Value) -> bool {
        let path = json!({"delay": "10ms", "rate": "5mbit", "flows": []});
        let mut record = json!({
            "schema": 1, "run": "0001", "cell": "c0", "repetition": 1, "seed": 7,
            "plan_hash": "ab", "status": "complete", "reason": null, "parameters": {},
            "varied": [], "t0_ns": 0, "bottleneck": {"forward": path, "reverse": {"delay": "10ms"}},
            "calibration": null, "queue": null, "started_ns": 1, "finished_ns": 2,
        });
        record["changes"] = json!([change]);
        moves_delay(&serde_json::from_value(record).unwrap())
    }

    #[test]
    fn jitter_and_reordered_packets_give_the_path_several_delays() {
        let with = |key: &str, value: &str| {
            has_several_delays(&json!({"forward": {"delay": "10ms"}, "reverse": {key: value}}))
        };
        assert!(with("jitter", "2ms"));
        assert!(with("reorder", "0.5%"));
        assert!(!with("jitter", "0ms"));
        assert!(!with("reorder", "0%"));
        assert!(!with("loss", "1%"));
        let second = json!({"forward": {"jitter": "2ms"}, "reverse": {}});
        assert!(has_several_delays(
            &json!({"forward": {}, "reverse": {}, "hops": {"rtr2": second}})
        ));
    }

    #[test]
    fn only_changes_of_delays_move_the_base_rtt() {
        let to = |forward: Value| {
            moves(&json!({
                "at_s": 3.0, "executed_ns": null, "what": "",
                "bottleneck": {"forward": forward, "reverse": {"delay": "10ms"}},
            }))
        };
        let path = |delay: &str, rate: &str| json!({"delay": delay, "rate": rate, "flows": []});
        assert!(!to(path("10ms", "2mbit")));
        assert!(to(path("80ms", "5mbit")));
        let mut jitter = path("10ms", "5mbit");
        jitter["jitter"] = json!("2ms");
        assert!(to(jitter));
        let mut flows = path("10ms", "5mbit");
        flows["flows"] = json!([{"source": "10.0.0.1/32", "delay": "30ms"}]);
        assert!(to(flows));
        let named = |what: &str| moves(&json!({"at_s": 3.0, "executed_ns": 5, "what": what}));
        assert!(named("rate 2mbit, delay 80ms"));
        assert!(!named("rate 2mbit"));
    }
}
