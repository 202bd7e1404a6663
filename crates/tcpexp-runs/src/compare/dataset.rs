//! Joins the tables of one run to the input of a comparison.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use tcpexp_metrics::compare::{Fate, Link, Run, Segment, Sender, Transfer, Window};
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::{BitRate, TimeDelta, Timestamp};

use super::bins::Bins;
use super::cells::RunDir;
use super::delay_changes::moves_delay;
use super::flows::{self, FlowRow, Lane};
use super::marks::marks;
use super::samples::{Rtts, echoes, echoes_of, fates, retransmissions, rtts};
use super::unseen::{self, is_unseen};
use super::{CompareError, Counts, PING};
use crate::record::{ChangeRecord, RunRecord, TrafficRecord};

/// Tools whose senders always have data to send.
const BULK: [&str; 2] = ["iperf3", "iperf"];

/// True if the shares of a tool's senders are compared over all classes. The load of a dataset counts too,
/// although it may not always have data to send.
fn is_bulk(tool: &str) -> bool {
    BULK.contains(&tool) || tool == flows::UNKNOWN
}

/// The tool whose packets are UDP at a constant rate.
const CALL: &str = "udp";

/// Reads the dataset of a run; `None` if the run ended before its traffic started.
pub(super) fn read(
    run: &RunDir,
    data: &StoredTables,
    counts: Counts,
) -> Result<Option<Run>, CompareError> {
    let record = &run.record;
    let Some(origin) = record.t0_ns.map(Timestamp::from_nanos) else {
        return Ok(None);
    };
    let flows = flows::read(data)?;
    let lanes: HashMap<Lane, &FlowRow> = flows.iter().map(|flow| (flow.lane, flow)).collect();
    let mut links = ["forward", "reverse"].map(|direction| Link {
        capacity: capacity(record, direction, origin),
        ..Link::default()
    });
    let tables = Tables {
        bins: Bins::read(data, &lanes, counts)?,
        rtts: rtts(data, &lanes)?,
        retransmissions: retransmissions(data, &lanes)?,
        fates: fates(data, &lanes)?,
    };
    for (direction, link) in links.iter_mut().enumerate() {
        // A link carries the packets of all flows, those outside the plan included.
        let through = || flows.iter().filter(|flow| flow.link == direction);
        link.arrived = tables.bins.arrived(through());
        link.seen = seen(through());
    }
    let echoes = echoes(data)?;
    let traffic: Vec<(TrafficRecord, Vec<&FlowRow>)> = if run.has_plan {
        let planned = record.traffic.iter();
        planned
            .map(|traffic| (traffic.clone(), flows::data_of(&flows, traffic)))
            .collect()
    } else {
        flows::load(&flows, origin)
    };
    let sender = |(traffic, data): &(TrafficRecord, Vec<&FlowRow>)| {
        let mut sender = tables.sender(traffic, data, origin, counts);
        // The log has the round-trip time of each echo, the captures only that of paired packets.
        if sender.is_probe {
            sender.rtts = echoes_of(&echoes, record, traffic);
            sender.base_rtt = sender.rtts.iter().map(|(_, rtt)| *rtt).min();
        }
        sender
    };
    let mut senders: Vec<Sender> = traffic.iter().map(sender).collect();
    if run.has_plan {
        let all: Vec<_> = traffic.iter().map(|(one, _)| one).zip(&senders).collect();
        let unseen: Vec<bool> = all.iter().map(|one| is_unseen(*one, &all)).collect();
        let unseen = senders
            .iter_mut()
            .zip(unseen)
            .filter(|(_, is_unseen)| *is_unseen);
        unseen.for_each(|(sender, _)| unseen::mark(sender));
    }
    let ends = traffic
        .iter()
        .map(|(one, _)| (one.from.as_str(), one.to.as_str()));
    let ends: Vec<_> = ends.collect();
    share_bases(&mut senders, &ends, record);
    give_bases_to_calls(&mut senders, &ends);
    if moves_delay(record) {
        // The difference to the smallest RTT of the run would count the longer path as a queue.
        for sender in &mut senders {
            sender.base_rtt = None;
        }
    }
    Ok(Some(Run {
        origin,
        links,
        senders,
        changes: changes(record, origin),
        marks: marks(data)?,
    }))
}

/// The tables of a run, by direction of a flow.
struct Tables {
    bins: Bins,
    rtts: Rtts,
    retransmissions: HashMap<Lane, Vec<(Timestamp, u64)>>,
    fates: HashMap<Lane, Vec<Fate>>,
}

impl Tables {
    fn sender(
        &self,
        traffic: &TrafficRecord,
        flows: &[&FlowRow],
        origin: Timestamp,
        counts: Counts,
    ) -> Sender {
        let lanes = || flows.iter().map(|flow| flow.lane);
        // `all` is true without flows, where retransmissions and fates are unknown and not zero.
        let has_sender = flows.iter().all(|flow| flow.has_sender) && !flows.is_empty();
        let has_path = flows.iter().all(|flow| flow.has_path) && !flows.is_empty();
        let rtts: Vec<_> = all(&self.rtts.known, lanes());
        Sender {
            class: Arc::from(traffic.class.as_str()),
            is_bulk: is_bulk(&traffic.tool),
            is_probe: traffic.tool == PING,
            is_call: traffic.tool == CALL,
            link: flows.first().map_or(0, |flow| flow.link),
            active: active(traffic, flows, origin),
            seen: seen(flows.iter().copied()),
            is_unseen: false,
            segment: flows
                .first()
                .and_then(|flow| flow.segment)
                .map(|segment| Segment {
                    payload_bytes: segment.0,
                    link_bytes: segment.1 + counts.link_header_bytes(),
                }),
            base_rtt: lanes()
                .filter_map(|(flow, _)| self.rtts.least.get(&flow))
                .min()
                .copied(),
            arrived: self.bins.arrived(flows.iter().copied()),
            unknown: Vec::new(),
            resolution: TimeDelta::ZERO,
            counts_duplicates: flows.iter().any(|flow| self.bins.may_repeat(flow)),
            reported_goodput_bps: None,
            sent: self.bins.sent(flows.iter().copied()),
            retransmitted: has_sender.then(|| all(&self.retransmissions, lanes())),
            fates: has_path.then(|| all(&self.fates, lanes())),
            untimed_packets: flows.iter().map(|flow| flow.missed_packets).sum(),
            unknown_packets: flows.iter().map(|flow| flow.unknown_packets).sum(),
            outside_packets: flows.iter().map(|flow| flow.outside_packets).sum(),
            rtts,
            is_captured_elsewhere: lanes().any(|lane| self.rtts.partial.contains(&lane)),
            transfers: transfers(traffic, flows),
            media_time: traffic.segment_s.map(TimeDelta::from_seconds_f64),
        }
    }
}

fn all<T: Clone>(of: &HashMap<Lane, Vec<T>>, lanes: impl Iterator<Item = Lane>) -> Vec<T> {
    lanes
        .filter_map(|lane| of.get(&lane))
        .flatten()
        .cloned()
        .collect()
}

/// From the first to the last packet of the flows; `None` without flows.
fn seen<'a>(flows: impl Iterator<Item = &'a FlowRow>) -> Option<Window> {
    flows
        .map(|flow| Window::with_both(flow.first, flow.last))
        .reduce(Window::span_with)
}

fn active(traffic: &TrafficRecord, flows: &[&FlowRow], origin: Timestamp) -> Window {
    let from = origin + TimeDelta::from_seconds_f64(traffic.start_s);
    let until = match traffic.duration_s {
        Some(duration) => from + TimeDelta::from_seconds_f64(duration),
        None => seen(flows.iter().copied()).map_or(from, |seen| seen.until),
    };
    Window { from, until }
}

fn transfers(traffic: &TrafficRecord, flows: &[&FlowRow]) -> Vec<Transfer> {
    // The plan ends this traffic, so its completion time is a parameter and no measurement.
    if traffic.duration_s.is_some() {
        return Vec::new();
    }
    let transfer = |flow: &&FlowRow| Transfer {
        at: flow.first,
        bytes: flow.unique_bytes,
        completion: flow.completion,
    };
    flows
        .iter()
        // The ending of a UDP flow is null, which would count as a completed transfer.
        .filter(|flow| flow.is_tcp)
        .map(transfer)
        .collect()
}

/// True if any path of a bottleneck, of the first router or of a later hop, has flows of their own.
fn delays_flows(bottleneck: &Value) -> bool {
    let has_flows = |path: &Value| {
        let flows = path.get("flows").and_then(Value::as_array);
        flows.is_some_and(|flows| !flows.is_empty())
    };
    let both = |of: &Value| {
        ["forward", "reverse"]
            .iter()
            .any(|way| of.get(way).is_some_and(has_flows))
    };
    let hops = bottleneck.get("hops").and_then(Value::as_object);
    both(bottleneck) || hops.is_some_and(|hops| hops.values().any(both))
}

/// Gives senders between the same two hosts, in either direction, the smallest base RTT among them.
///
/// They share a round trip unless the bottleneck delays flows individually. Probes are excluded because
/// ping rounds its output, and calls because the only answer that they get waited in the queue.
fn share_bases(senders: &mut [Sender], ends: &[(&str, &str)], record: &RunRecord) {
    if delays_flows(&record.bottleneck) {
        return;
    }
    let is_measured = |sender: &Sender| !sender.is_probe && !sender.is_call;
    let mut least: HashMap<(&str, &str), TimeDelta> = HashMap::new();
    for (sender, ends) in senders.iter().zip(ends) {
        if let Some(own) = sender.base_rtt.filter(|_| is_measured(sender)) {
            let known = least.entry(hosts(ends)).or_insert(own);
            *known = own.min(*known);
        }
    }
    let with_ends = senders.iter_mut().zip(ends);
    for (sender, ends) in with_ends.filter(|(sender, _)| is_measured(sender)) {
        sender.base_rtt = least.get(&hosts(ends)).copied();
    }
}

/// The two hosts of a round trip, which has the same links from both ends.
fn hosts<'a>(&(from, to): &(&'a str, &'a str)) -> (&'a str, &'a str) {
    (from.min(to), from.max(to))
}

/// Gives calls the smallest base RTT of the other senders between the same two hosts, probes included; a call
/// without other senders keeps its own, or gets that of another call.
///
/// The data of a call gets no answers. The only round trip of a call is the report of the server of iperf 2 to its
/// last packet, which waited in the queue like the others. What ping rounds does not matter to the score.
fn give_bases_to_calls(senders: &mut [Sender], ends: &[(&str, &str)]) {
    let bases: Vec<_> = (0..senders.len())
        .map(|place| base_of_call(senders, ends, place))
        .collect();
    for (sender, base) in senders.iter_mut().zip(bases) {
        if sender.is_call {
            sender.base_rtt = base;
        }
    }
}

fn base_of_call(senders: &[Sender], ends: &[(&str, &str)], place: usize) -> Option<TimeDelta> {
    let own = hosts(&ends[place]);
    let least = |are_calls: bool| {
        let all = senders.iter().zip(ends);
        let same = all.filter(|(other, ends)| other.is_call == are_calls && hosts(ends) == own);
        same.filter_map(|(other, _)| other.base_rtt).min()
    };
    least(false)
        .or(senders[place].base_rtt)
        .or_else(|| least(true))
}

/// The capacity of a direction over time: the lower of the rates of the bottleneck and of its policer.
fn capacity(
    record: &RunRecord,
    direction: &str,
    origin: Timestamp,
) -> Vec<(Timestamp, Option<u64>)> {
    let places = |keys: [&str; 2]| keys.map(|key| format!("/{direction}/{key}"));
    let rates = places(["rate", "police"]);
    let timed = places(["slot", "trace"]);
    let link = places(["linklayer", "overhead"]);
    let rate = |path: &Value| -> Option<u64> {
        // Of several routers in a row, the narrowest for a flow depends on the cross traffic.
        if path.get("hops").is_some() {
            return None;
        }
        // The rate counts bytes of the link, which sums over many packets do not determine.
        if link.iter().any(|key| path.pointer(key).is_some()) {
            return None;
        }
        // The times at which a slotted link or a trace may send determine its rate, which is not here.
        if timed.iter().any(|key| path.pointer(key).is_some()) {
            return None;
        }
        // The policer comes before the queue, and passes no more than its own rate.
        let rates = rates.iter().filter_map(|key| path.pointer(key));
        let rates: Option<Vec<BitRate>> = rates.map(|rate| rate.as_str()?.parse().ok()).collect();
        rates?.into_iter().map(BitRate::as_bps).min()
    };
    let first = rate(&record.bottleneck);
    let mut steps = vec![(Timestamp::MIN, first)];
    // Further routers in a row are in the first path only. A change that the router did not report may
    // not have been made.
    let after = |change: &ChangeRecord| {
        first.and(change.executed_ns)?;
        rate(change.bottleneck.as_ref()?)
    };
    let mut later: Vec<_> = record
        .changes
        .iter()
        .map(|change| (time_of(change, origin), after(change)))
        .collect();
    later.sort_by_key(|(at, _)| *at);
    steps.extend(later);
    steps
}

/// Actual time of a change, or else the planned one.
fn time_of(change: &ChangeRecord, origin: Timestamp) -> Timestamp {
    match change.executed_ns {
        Some(executed) => Timestamp::from_nanos(executed),
        None => origin + TimeDelta::from_seconds_f64(change.at_s),
    }
}

fn changes(record: &RunRecord, origin: Timestamp) -> Vec<Timestamp> {
    let at = record.changes.iter().map(|change| time_of(change, origin));
    let mut at: Vec<Timestamp> = at.collect();
    // `Run::changes` and `Link::capacity` ascend, and a plan may list changes in another order.
    at.sort_unstable();
    at
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sender(tool: &str, base_ms: Option<i64>) -> Sender {
        let never = Window {
            from: Timestamp::MIN,
            until: Timestamp::MIN,
        };
        Sender {
            is_bulk: is_bulk(tool),
            is_probe: tool == PING,
            is_call: tool == CALL,
            base_rtt: base_ms.map(TimeDelta::from_millis),
            ..Sender::idle(Arc::from(tool), never)
        }
    }

    /// The base RTTs in ms, once calls have theirs.
    fn bases(all: &[(&str, Option<i64>, (&str, &str))]) -> Vec<Option<i64>> {
        let mut senders: Vec<Sender> = all
            .iter()
            .map(|(tool, own, _)| sender(tool, *own))
            .collect();
        let ends: Vec<_> = all.iter().map(|(.., ends)| *ends).collect();
        let record = record(&json!({"forward": {}}), &[]);
        share_bases(&mut senders, &ends, &record);
        give_bases_to_calls(&mut senders, &ends);
        let bases = senders.iter().map(|sender| sender.base_rtt);
        bases
            .map(|base| base.map(|base| base.as_nanos() / 1_000_000))
            .collect()
    }

    #[test]
    fn report_to_a_call_is_not_its_base_rtt_if_another_sender_has_one() {
        let (there, back, other) = (("a", "b"), ("b", "a"), ("c", "b"));
        let call = (CALL, Some(860), there);
        for tool in ["iperf3", PING] {
            for ends in [there, back] {
                let found = bases(&[call, (tool, Some(20), ends)]);
                assert_eq!(found, [Some(20), Some(20)], "{tool} {ends:?}");
            }
        }
        // The answer to a call says nothing about other senders, however fast it was.
        let fast = (CALL, Some(15), there);
        assert_eq!(
            bases(&[fast, ("iperf3", Some(20), there)]),
            [Some(20), Some(20)]
        );
        assert_eq!(
            bases(&[call, (CALL, None, back), ("iperf3", Some(20), other)]),
            [Some(860), Some(860), Some(20)]
        );
    }

    #[test]
    fn senders_of_both_directions_between_two_hosts_share_a_base_rtt() {
        let (there, back, other) = (("a", "b"), ("b", "a"), ("a", "c"));
        let senders = [
            ("iperf3", Some(20), there),
            ("http", Some(47), back),
            ("iperf3", Some(60), other),
            // Ping rounds its output.
            (PING, Some(19), there),
        ];
        assert_eq!(bases(&senders), [Some(20), Some(20), Some(60), Some(19)]);
    }

    /// The record of a run over a path with these changes.
    fn record(bottleneck: &Value, changes: &[Value]) -> RunRecord {
        let record = json!({
            "schema": 1, "run": "0001", "cell": "c0", "repetition": 1, "seed": 7,
            "plan_hash": "ab", "status": "complete", "reason": null, "parameters": {},
            "varied": [], "t0_ns": 0, "bottleneck": bottleneck, "calibration": null,
            "queue": null, "changes": changes, "started_ns": 1, "finished_ns": 2,
        });
        serde_json::from_value(record).unwrap()
    }

    #[test]
    fn capacity_follows_the_changes_that_were_made() {
        let path = |rate: &str| json!({"forward": {"rate": rate}});
        let change = |at_s: f64, executed_ns: Option<i64>, bottleneck: Value| json!({"at_s": at_s, "executed_ns": executed_ns, "what": "rate", "bottleneck": bottleneck});
        let capacity_of = |changes: Vec<Value>, bottleneck: Value| {
            let record = record(&bottleneck, &changes);
            capacity(&record, "forward", Timestamp::from_nanos(0))
        };
        let at = Timestamp::from_nanos;
        let made = change(1.0, Some(1_000_000_300), path("2mbit"));
        let unknown = change(2.0, None, path("4mbit"));
        assert_eq!(
            capacity_of(vec![made.clone(), unknown], path("8mbit")),
            [
                (Timestamp::MIN, Some(8_000_000)),
                (at(1_000_000_300), Some(2_000_000)),
                (at(2_000_000_000), None),
            ]
        );
        let mut in_a_row = path("8mbit");
        in_a_row["hops"] = json!({"rtr2": {}});
        assert_eq!(
            capacity_of(vec![made], in_a_row),
            [(Timestamp::MIN, None), (at(1_000_000_300), None)]
        );
    }

    #[test]
    fn capacity_is_the_lower_of_the_rates_of_bottleneck_and_policer() {
        let of = |path: Value| {
            let record = record(&json!({"forward": path}), &[]);
            capacity(&record, "forward", Timestamp::MIN)[0].1
        };
        assert_eq!(
            of(json!({"rate": "8mbit", "police": "2mbit"})),
            Some(2_000_000)
        );
        assert_eq!(
            of(json!({"rate": "1mbit", "police": "2mbit"})),
            Some(1_000_000)
        );
        assert_eq!(of(json!({"police": "2mbit"})), Some(2_000_000));
        // A slotted link or a trace may be narrower than the policer.
        assert_eq!(of(json!({"slot": "5ms", "police": "2mbit"})), None);
        assert_eq!(of(json!({"delay": "5ms"})), None);
    }
}
