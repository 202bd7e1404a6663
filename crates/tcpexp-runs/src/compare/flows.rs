//! Flows of a run, and the directions that carry the data of each traffic generator.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use tcpexp_metrics::compare::Completion;
use tcpexp_metrics::pooling::{self, Pooling};
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::{TimeDelta, Timestamp};

use super::columns::{Column, Columns};
use super::{CompareError, LOAD};
use crate::position::{completed, is_at_sender};
use crate::record::TrafficRecord;

/// Timeout of a first SYN: 1 s, or 3 s by the older rule (RFC 6298, section 2.1 and appendix A).
const FIRST_SYN_TIMEOUT: TimeDelta = TimeDelta::from_seconds(3);

/// One direction of a flow, by `flow_id` and `direction`.
pub(super) type Lane = (u32, Direction);

/// A direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Direction {
    /// From initiator to responder.
    Forward,
    /// From responder to initiator.
    Reverse,
}

/// A row of the table `flows`.
#[derive(Clone, Debug)]
pub(super) struct FlowRow {
    pub(super) lane: Lane,
    pub(super) is_tcp: bool,
    /// Source and destination of its packets.
    pub(super) from: SocketAddr,
    to: SocketAddr,
    pub(super) traffic: Option<String>,
    /// Names of the sending and the receiving capture.
    pub(super) sent_at: String,
    pub(super) arrives_at: &'static str,
    /// Index of its link: 0 towards the sinks, 1 reverse.
    pub(super) link: usize,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// Time from its first to its last packet, as far as the connection was captured.
    pub(super) completion: Completion,
    pub(super) unique_bytes: u64,
    /// Full-sized segment: payload bytes, and bytes of the IP packet.
    pub(super) segment: Option<(u32, u32)>,
    /// True if its capture is at or near the host that sends this direction; `None` if unknown.
    pub(super) is_at_sender: Option<bool>,
    /// True if the dataset has its retransmissions.
    pub(super) has_sender: bool,
    /// True if the dataset has the fates of its packets.
    pub(super) has_path: bool,
    /// Packets that arrived, but that the capture at the receiver missed.
    pub(super) missed_packets: u64,
    /// Packets with an unknown fate.
    pub(super) unknown_packets: u64,
    /// Packets of `unknown_packets` sent while the capture at the receiver may not have been running.
    pub(super) outside_packets: u64,
    /// Packets that arrived a second time.
    pub(super) duplicate_packets: u64,
}

/// Finds the flow and direction that a row of any table belongs to.
pub(super) struct Lanes<'a> {
    flow: Column<'a>,
    direction: Column<'a>,
    known: &'a HashMap<Lane, &'a FlowRow>,
}

impl<'a> Lanes<'a> {
    pub(super) fn of(table: &'a Columns, known: &'a HashMap<Lane, &'a FlowRow>) -> Self {
        Self {
            flow: table.column("flow_id"),
            direction: table.column("direction"),
            known,
        }
    }

    pub(super) fn flow(&self, row: usize) -> Option<&'a FlowRow> {
        let direction = Direction::named(self.direction.text(row)?)?;
        self.known.get(&(self.flow.count(row)?, direction)).copied()
    }
}

/// All directions of all flows of a run.
pub(super) fn read(data: &StoredTables) -> Result<Vec<FlowRow>, CompareError> {
    let table = Columns::read(
        data,
        "flows",
        &[
            "flow_id",
            "protocol",
            "initiator",
            "responder",
            "traffic",
            "direction",
            "capture",
            "way",
            "time",
            "duration_ns",
            "initiator_known",
            "ending",
            "vantage",
            "timestamps",
            "mss_bytes",
            "unique_bytes",
            "recoveries",
            "path_sent_packets",
            "path_missed_packets",
            "path_lost_or_missed_packets",
            "path_ambiguous_packets",
            "path_outside_packets",
            "path_duplicate_packets",
        ],
    )?;
    let mut mss: HashMap<u32, u32> = HashMap::new();
    let (id, own_mss) = (table.column("flow_id"), table.column("mss_bytes"));
    for row in 0..table.rows() {
        if let (Some(flow), Some(bytes)) = (id.count(row), own_mss.count(row)) {
            // A segment is limited by the receiver's MSS and by the sender's own MTU, which the
            // sender's own MSS option reflects (RFC 9293, section 3.7.1).
            let least = mss.entry(flow).or_insert(bytes);
            *least = bytes.min(*least);
        }
    }
    let (first, duration) = (table.column("time"), table.column("duration_ns"));
    let last = |row| Some(first.time(row)? + duration.span(row)?);
    let until = (0..table.rows()).filter_map(last).max();
    let mut flows: Vec<FlowRow> = (0..table.rows())
        .filter_map(|row| flow(&table, row, &mss, until?))
        .collect();
    let known = completed(flows.iter().map(|flow| (flow.from.ip(), flow.is_at_sender)));
    for (flow, is_at_sender) in flows.iter_mut().zip(known) {
        flow.is_at_sender = is_at_sender;
    }
    Ok(flows)
}

/// `until` is the time of the last packet of all flows: the capture ends no earlier.
fn flow(table: &Columns, row: usize, mss: &HashMap<u32, u32>, until: Timestamp) -> Option<FlowRow> {
    let flow = table.column("flow_id").count(row)?;
    let direction = Direction::named(table.column("direction").text(row)?)?;
    let end = |column| -> Option<SocketAddr> { table.column(column).text(row)?.parse().ok() };
    let (initiator, responder) = (end("initiator")?, end("responder")?);
    let (from, to) = match direction {
        Direction::Forward => (initiator, responder),
        Direction::Reverse => (responder, initiator),
    };
    let is_tcp = table.column("protocol").is(row, "tcp");
    // Datasets of earlier versions lack some of the counts.
    let packets = |column: &str| table.column(column).count(row).unwrap_or(0);
    let unknown = ["lost_or_missed", "ambiguous", "outside"];
    let unknown = unknown.map(|fate| packets(&format!("path_{fate}_packets")));
    let has_path = table.column("path_sent_packets").whole(row).is_some();
    let sent_at = table.column("capture").text(row)?.to_owned();
    // A flow without a path is in one capture only, which then is both the first and the last.
    let arrives_at = match (has_path, sent_at.as_str()) {
        (true, "src") | (false, "dst") => "dst",
        _ => "src",
    };
    let stamps = table.column("timestamps").is(row, "true");
    let first = table.column("time").time(row)?;
    let duration = table.column("duration_ns").span(row)?;
    Some(FlowRow {
        lane: (flow, direction),
        is_tcp,
        from,
        to,
        traffic: table.column("traffic").text(row).map(str::to_owned),
        arrives_at,
        link: usize::from(table.column("way").is(row, "back")),
        first,
        last: first + duration,
        completion: completion(
            table,
            row,
            direction,
            [duration, until - (first + duration)],
        ),
        unique_bytes: table.column("unique_bytes").count(row)?,
        segment: mss
            .get(&flow)
            .filter(|_| is_tcp)
            .map(|mss| segment(*mss, stamps, from.ip())),
        is_at_sender: is_at_sender(
            table.column("vantage").text(row),
            direction == Direction::Forward,
        ),
        has_sender: table.column("recoveries").whole(row).is_some(),
        has_path,
        missed_packets: packets("path_missed_packets"),
        unknown_packets: unknown.iter().sum(),
        outside_packets: packets("path_outside_packets"),
        duplicate_packets: packets("path_duplicate_packets"),
        sent_at,
    })
}

/// Time of a transfer, from a connection's `duration` between its first and its last packet; after the last, the
/// capture goes on for `rest` at least.
fn completion(
    table: &Columns,
    row: usize,
    data: Direction,
    [duration, rest]: [TimeDelta; 2],
) -> Completion {
    let ends = match table.column("ending").text(row) {
        // Data may follow a FIN of the end that receives it.
        Some("half_closed_by_initiator") => data == Direction::Forward,
        Some("half_closed_by_responder") => data == Direction::Reverse,
        // The wait after a retransmission is at most twice the wait before it, so an initiator that still
        // tries sends its next SYN within the time that it has tried, and its first timeout.
        Some("unanswered") if rest > duration + FIRST_SYN_TIMEOUT => return Completion::Never,
        Some("open" | "unanswered") => false,
        // A reset ends a connection too: iperf3 resets connections after a complete transfer.
        _ => true,
    };
    let known = table.column("initiator_known").text(row);
    let has_start = !matches!(known, Some("first_packet" | "syn_ack"));
    if ends && has_start {
        Completion::Took(duration)
    } else {
        Completion::AtLeast(duration)
    }
}

/// Payload and IP packet size of a full-sized segment.
///
/// The MSS excludes the fixed IP and TCP headers (RFC 9293, section 3.7.1): 20 + 20 bytes, or 40 + 20
/// with IPv6. Timestamps take 12 bytes of the MSS (RFC 7323, appendix A).
fn segment(mss: u32, stamps: bool, address: IpAddr) -> (u32, u32) {
    let headers = if address.is_ipv6() { 60 } else { 40 };
    let options = if stamps { 12 } else { 0 };
    (mss.saturating_sub(options), mss.saturating_add(headers))
}

/// The directions that carry the data of `traffic`, by start time.
pub(super) fn data_of<'a>(flows: &'a [FlowRow], traffic: &TrafficRecord) -> Vec<&'a FlowRow> {
    let is_data = |flow: &&FlowRow| match &flow.traffic {
        Some(name) => *name == traffic.name && is_from(flow, traffic),
        // The dataset was made without the plan, so addresses and ports decide.
        None => is_from(flow, traffic) && is_between(flow, traffic),
    };
    let mut data: Vec<&FlowRow> = flows.iter().filter(is_data).collect();
    data.sort_by_key(|flow| (flow.first, flow.lane.0));
    // The first connection of iperf3 is its control connection.
    if traffic.tool == "iperf3" && data.iter().filter(|flow| flow.is_tcp).count() > 1 {
        data.remove(0);
    }
    data
}

/// The tool of the load of a dataset, which does not state it.
pub(super) const UNKNOWN: &str = "unknown";

/// The flows that carry the load of a dataset without a plan, each as traffic of its own, in the
/// direction of its payload.
pub(super) fn load(flows: &[FlowRow], origin: Timestamp) -> Vec<(TrafficRecord, Vec<&FlowRow>)> {
    let lanes = flows.iter().map(|flow| pooling::Lane {
        run: "",
        flow: flow.lane.0.into(),
        is_forward: flow.lane.1 == Direction::Forward,
        class: None,
        payload_bytes: flow.unique_bytes,
    });
    let pooled = Pooling::default().choose(&lanes.collect::<Vec<_>>());
    let counted = flows
        .iter()
        .zip(&pooled.counts)
        .filter(|(_, counts)| **counts);
    let traffic = |flow: &FlowRow| TrafficRecord {
        name: format!("flow {}", flow.lane.0),
        class: LOAD.to_owned(),
        tool: UNKNOWN.to_owned(),
        from: flow.from.ip().to_string(),
        to: flow.to.ip().to_string(),
        port: None,
        start_s: (flow.first - origin).as_seconds_f64(),
        duration_s: None,
        cc: None,
        segment_s: None,
        is_captured: false,
    };
    counted
        .map(|(flow, _)| (traffic(flow), vec![flow]))
        .collect()
}

fn is_from(flow: &FlowRow, traffic: &TrafficRecord) -> bool {
    traffic.from.parse() == Ok(flow.from.ip())
}

fn is_between(flow: &FlowRow, traffic: &TrafficRecord) -> bool {
    // The server may send or receive the data, so its port may be at either end.
    let ports = [flow.from.port(), flow.to.port()];
    traffic.to.parse() == Ok(flow.to.ip()) && traffic.port.is_some_and(|port| ports.contains(&port))
}

impl Direction {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "forward" => Some(Self::Forward),
            "reverse" => Some(Self::Reverse),
            _ => None,
        }
    }
}
