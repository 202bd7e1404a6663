//! The tables of one run to what a comparison needs of it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tcpexp_metrics::compare::{Bin, Fate, Link, Run, Segment, Sender, Transfer, Window};
use tcpexp_units::{BitRate, TimeDelta, Timestamp};

use super::columns::{Column, Columns};
use super::flows::{self, FlowRow, Lane, Way};
use super::{CompareError, Counts};
use crate::record::{LogRecord, RunRecord, TrafficRecord};

/// Tools that send all that TCP lets them.
const BULK: [&str; 2] = ["iperf3", "iperf"];
/// The tool that only asks for round-trip times.
const PING: &str = "ping";

/// Reads the dataset of a run. A run without a start of traffic has none.
pub(super) fn read(
    data: &Path,
    record: &RunRecord,
    counts: Counts,
) -> Result<Option<Run>, CompareError> {
    let Some(origin) = record.t0_ns.map(Timestamp::from_nanos) else {
        return Ok(None);
    };
    let flows = flows::read(data)?;
    let lanes: HashMap<Lane, &FlowRow> = flows.iter().map(|flow| (flow.lane, flow)).collect();
    let mut links = ["forward", "reverse"].map(|way| Link {
        capacity: capacity(record, way, origin),
        arrived: Vec::new(),
    });
    let tables = Tables {
        bins: Bins::read(data, &lanes, counts)?,
        rtts: rtts(data, &lanes)?,
        resent: resent(data, &lanes)?,
        fates: fates(data, &lanes)?,
    };
    for (way, link) in links.iter_mut().enumerate() {
        let through = flows.iter().filter(|flow| flow.link == way);
        link.arrived = tables.bins.arrived(through);
    }
    let echoes = echoes(data)?;
    let sender = |traffic: &TrafficRecord| {
        let data = flows::data_of(&flows, traffic);
        let mut sender = tables.sender(traffic, &data, origin, counts);
        if sender.is_probe {
            sender.rtts = echoes_of(&echoes, record, traffic);
            sender.base_rtt = sender.rtts.iter().map(|(_, rtt)| *rtt).min();
        }
        sender
    };
    let mut senders: Vec<Sender> = record.traffic.iter().map(sender).collect();
    share_bases(&mut senders, record);
    Ok(Some(Run {
        origin,
        links,
        senders,
        changes: changes(record, origin),
    }))
}

/// What the tables of a run tell, by direction of a flow.
struct Tables {
    bins: Bins,
    rtts: HashMap<Lane, Vec<(Timestamp, TimeDelta)>>,
    resent: HashMap<Lane, Vec<(Timestamp, u64)>>,
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
        let resent = flows.iter().all(|flow| flow.has_sender) && !flows.is_empty();
        let fates = flows.iter().all(|flow| flow.has_path) && !flows.is_empty();
        let rtts: Vec<_> = all(&self.rtts, lanes());
        Sender {
            class: Arc::from(traffic.class.as_str()),
            is_bulk: BULK.contains(&traffic.tool.as_str()),
            is_probe: traffic.tool == PING,
            link: flows.first().map_or(0, |flow| flow.link),
            active: active(traffic, flows, origin),
            segment: flows
                .first()
                .and_then(|flow| flow.segment)
                .map(|segment| Segment {
                    payload_bytes: segment.0,
                    link_bytes: segment.1 + counts.link_header_bytes(),
                }),
            base_rtt: rtts.iter().map(|(_, rtt)| *rtt).min(),
            arrived: self.bins.arrived(flows.iter().copied()),
            sent: self.bins.sent(flows.iter().copied()),
            resent: resent.then(|| all(&self.resent, lanes())),
            fates: fates.then(|| all(&self.fates, lanes())),
            rtts,
            transfers: transfers(traffic, flows),
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

fn active(traffic: &TrafficRecord, flows: &[&FlowRow], origin: Timestamp) -> Window {
    let from = origin + seconds(traffic.start_s);
    let last = flows.iter().map(|flow| flow.last).max();
    let until = match traffic.duration_s {
        Some(duration) => from + seconds(duration),
        None => last.unwrap_or(from),
    };
    Window { from, until }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a plan's seconds; what is too long saturates"
)]
fn seconds(seconds: f64) -> TimeDelta {
    TimeDelta::from_nanos((seconds * 1e9).round() as i64)
}

fn transfers(traffic: &TrafficRecord, flows: &[&FlowRow]) -> Vec<Transfer> {
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
        .filter(|flow| flow.is_tcp)
        .map(transfer)
        .collect()
}

/// Senders between the same two hosts have the same path, unless the path tells their ports apart.
/// Probes stay by themselves: ping rounds what it prints.
fn share_bases(senders: &mut [Sender], record: &RunRecord) {
    let own_delays = record.bottleneck.pointer("/forward/flows");
    if own_delays
        .and_then(Value::as_array)
        .is_some_and(|flows| !flows.is_empty())
    {
        return;
    }
    let ends = record
        .traffic
        .iter()
        .map(|one| (one.from.as_str(), one.to.as_str()));
    let ends: Vec<(&str, &str)> = ends.collect();
    let mut least: HashMap<(&str, &str), TimeDelta> = HashMap::new();
    for (sender, ends) in senders.iter().zip(&ends) {
        if let Some(own) = sender.base_rtt.filter(|_| !sender.is_probe) {
            let known = least.entry(*ends).or_insert(own);
            *known = own.min(*known);
        }
    }
    let with_ends = senders.iter_mut().zip(&ends);
    for (sender, ends) in with_ends.filter(|(sender, _)| !sender.is_probe) {
        sender.base_rtt = least.get(ends).copied();
    }
}

/// The capacity of a direction over time.
fn capacity(record: &RunRecord, way: &str, origin: Timestamp) -> Vec<(Timestamp, Option<u64>)> {
    let place = format!("/{way}/rate");
    let rate = |path: &Value| -> Option<u64> {
        let rate: BitRate = path.pointer(&place)?.as_str()?.parse().ok()?;
        Some(rate.as_bps())
    };
    let mut steps = vec![(Timestamp::MIN, rate(&record.bottleneck))];
    // What a change leaves of the rate is not in the record.
    steps.extend(changes(record, origin).into_iter().map(|at| (at, None)));
    steps
}

fn changes(record: &RunRecord, origin: Timestamp) -> Vec<Timestamp> {
    let at = record
        .changes
        .iter()
        .map(|change| match change.executed_ns {
            Some(executed) => Timestamp::from_nanos(executed),
            None => origin + seconds(change.at_s),
        });
    let mut at: Vec<Timestamp> = at.collect();
    at.sort_unstable();
    at
}

/// Bins of each direction of each flow, by where they were counted.
struct Bins(HashMap<(Lane, String), Vec<Bin>>);

impl Bins {
    fn read(
        data: &Path,
        lanes: &HashMap<Lane, &FlowRow>,
        counts: Counts,
    ) -> Result<Self, CompareError> {
        let columns = [
            "capture",
            "flow_id",
            "direction",
            "time_ns",
            "width_ns",
            "packets",
            "ip_bytes",
            "goodput_bytes",
        ];
        let table = Columns::read(data, "throughput", &columns)?;
        let lanes = Lanes::of(&table, lanes);
        let [capture, _, _, at, width, packets, ip, goodput] =
            columns.map(|name| table.column(name));
        let mut bins: HashMap<(Lane, String), Vec<Bin>> = HashMap::new();
        for row in 0..table.rows() {
            let bin = || {
                let packets: u64 = packets.count(row)?;
                let headers = packets * u64::from(counts.link_header_bytes());
                let bin = Bin {
                    start: at.time(row)?,
                    width: width.span(row)?,
                    link_bytes: ip.count::<u64>(row)? + headers,
                    goodput_bytes: goodput.count(row)?,
                };
                Some(((lanes.flow(row)?.lane, capture.text(row)?.to_owned()), bin))
            };
            if let Some((key, bin)) = bin() {
                bins.entry(key).or_default().push(bin);
            }
        }
        Ok(Self(bins))
    }

    /// What arrived of some flows, bins of the same time as one.
    fn arrived<'a>(&self, flows: impl Iterator<Item = &'a FlowRow>) -> Vec<Bin> {
        self.together(flows.map(|flow| (flow.lane, flow.arrives_at.to_owned())))
    }

    fn sent<'a>(&self, flows: impl Iterator<Item = &'a FlowRow>) -> Vec<Bin> {
        self.together(flows.map(|flow| (flow.lane, flow.sent_at.clone())))
    }

    fn together(&self, keys: impl Iterator<Item = (Lane, String)>) -> Vec<Bin> {
        let mut all: BTreeMap<Timestamp, Bin> = BTreeMap::new();
        for bin in keys.filter_map(|key| self.0.get(&key)).flatten() {
            let sum = all.entry(bin.start).or_insert(Bin {
                link_bytes: 0,
                goodput_bytes: 0,
                ..*bin
            });
            sum.link_bytes += bin.link_bytes;
            sum.goodput_bytes += bin.goodput_bytes;
        }
        all.into_values().collect()
    }
}

/// Whose row of a table it is.
struct Lanes<'a> {
    flow: Column<'a>,
    direction: Column<'a>,
    known: &'a HashMap<Lane, &'a FlowRow>,
}

impl<'a> Lanes<'a> {
    fn of(table: &'a Columns, known: &'a HashMap<Lane, &'a FlowRow>) -> Self {
        Self {
            flow: table.column("flow_id"),
            direction: table.column("direction"),
            known,
        }
    }

    fn flow(&self, row: usize) -> Option<&'a FlowRow> {
        let way = Way::named(self.direction.text(row)?)?;
        self.known.get(&(self.flow.count(row)?, way)).copied()
    }
}

/// Round-trip times that begin where a direction's packets are sent.
fn rtts(
    data: &Path,
    lanes: &HashMap<Lane, &FlowRow>,
) -> Result<HashMap<Lane, Vec<(Timestamp, TimeDelta)>>, CompareError> {
    let columns = [
        "flow_id",
        "direction",
        "time_ns",
        "rtt_ns",
        "method",
        "reference",
        "ack_class",
    ];
    let table = Columns::read(data, "rtt", &columns)?;
    let lanes = Lanes::of(&table, lanes);
    let [_, _, at, rtt, method, reference, class] = columns.map(|name| table.column(name));
    let mut rtts: HashMap<Lane, Vec<_>> = HashMap::new();
    for row in 0..table.rows() {
        let Some(flow) = lanes.flow(row) else {
            continue;
        };
        let is_pair = method.is(row, "packet_pairs") && reference.is(row, &flow.sent_at);
        let is_answer = method.is(row, "sequence_ack") && class.is(row, "cumulative");
        if let (true, Some(at), Some(rtt)) = (is_pair || is_answer, at.time(row), rtt.span(row)) {
            rtts.entry(flow.lane).or_default().push((at, rtt));
        }
    }
    Ok(rtts)
}

/// A round-trip time that ping told, with the log that tells it.
type Echo = (String, Timestamp, TimeDelta);

fn echoes(data: &Path) -> Result<Vec<Echo>, CompareError> {
    let columns = ["kind", "log", "time_ns", "rtt_ns"];
    let table = Columns::read(data, "logs", &columns)?;
    let [kind, log, at, rtt] = columns.map(|name| table.column(name));
    let echo = |row| Some((log.text(row)?.to_owned(), at.time(row)?, rtt.span(row)?));
    let pings = (0..table.rows()).filter(|row| kind.is(*row, PING));
    Ok(pings.filter_map(echo).collect())
}

/// Those of one traffic, by the name of its log's file. Datasets name it with or without folders.
fn echoes_of(
    echoes: &[Echo],
    record: &RunRecord,
    traffic: &TrafficRecord,
) -> Vec<(Timestamp, TimeDelta)> {
    let is_its = |log: &&LogRecord| log.traffic.as_ref() == Some(&traffic.name);
    let logs = record.logs.iter().filter(is_its);
    let files: Vec<_> = logs.filter_map(|log| log.file.file_name()).collect();
    let is_told = |name: &str| {
        Path::new(name)
            .file_name()
            .is_some_and(|file| files.contains(&file))
    };
    let its = echoes.iter().filter(|(log, _, _)| is_told(log));
    its.map(|(_, at, rtt)| (*at, *rtt)).collect()
}

/// When data was sent again, as captured, and how much of it.
fn resent(
    data: &Path,
    lanes: &HashMap<Lane, &FlowRow>,
) -> Result<HashMap<Lane, Vec<(Timestamp, u64)>>, CompareError> {
    let columns = [
        "flow_id",
        "direction",
        "time_ns",
        "event",
        "capture",
        "start_seq",
        "end_seq",
    ];
    let table = Columns::read(data, "events", &columns)?;
    let lanes = Lanes::of(&table, lanes);
    let [_, _, at, event, capture, start, end] = columns.map(|name| table.column(name));
    let mut resent: HashMap<Lane, Vec<_>> = HashMap::new();
    for row in 0..table.rows() {
        let Some(flow) = lanes.flow(row) else {
            continue;
        };
        if !event.is(row, "retransmission") || !capture.is(row, &flow.sent_at) {
            continue;
        }
        let range = start.count::<u32>(row).zip(end.count::<u32>(row));
        if let (Some(at), Some((start, end))) = (at.time(row), range) {
            let bytes = u64::from(end.wrapping_sub(start));
            resent.entry(flow.lane).or_default().push((at, bytes));
        }
    }
    Ok(resent)
}

/// What became of packets.
fn fates(
    data: &Path,
    lanes: &HashMap<Lane, &FlowRow>,
) -> Result<HashMap<Lane, Vec<Fate>>, CompareError> {
    let mut fates: HashMap<Lane, Vec<Fate>> = HashMap::new();
    for (name, is_lost) in [("owd", false), ("loss", true)] {
        let columns = ["flow_id", "direction", "time_ns", "packets"];
        let table = Columns::read(data, name, &columns)?;
        let lanes = Lanes::of(&table, lanes);
        let [_, _, at, packets] = columns.map(|name| table.column(name));
        for row in 0..table.rows() {
            let cells = (lanes.flow(row), at.time(row), packets.count(row));
            if let (Some(flow), Some(at), Some(packets)) = cells {
                let fate = Fate {
                    at,
                    packets,
                    is_lost,
                };
                fates.entry(flow.lane).or_default().push(fate);
            }
        }
    }
    Ok(fates)
}
