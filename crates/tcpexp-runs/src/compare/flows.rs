//! Which flows carry the data of which traffic, and which way.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use tcpexp_units::{TimeDelta, Timestamp};

use super::CompareError;
use super::columns::Columns;
use crate::record::TrafficRecord;

/// A flow and one of its directions, by the names that tables have for it.
pub(super) type Lane = (u32, Way);

/// A direction of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    /// From the initiator.
    Forward,
    /// To it.
    Reverse,
}

/// One direction of a flow, as the table `flows` has it.
#[derive(Clone, Debug)]
pub(super) struct FlowRow {
    pub(super) lane: Lane,
    pub(super) is_tcp: bool,
    /// Where its packets come from, and where they go.
    pub(super) from: SocketAddr,
    to: SocketAddr,
    pub(super) traffic: Option<String>,
    /// The capture that it passes first, and the one where it arrives, by their names.
    pub(super) sent_at: String,
    pub(super) arrives_at: &'static str,
    /// 0 to the sinks, 1 back.
    pub(super) link: usize,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// From its first packet to its last, if it ended.
    pub(super) completion: Option<TimeDelta>,
    pub(super) unique_bytes: u64,
    /// Payload and, headers from IP on included, length of a full segment.
    pub(super) segment: Option<(u32, u32)>,
    /// Whether retransmissions are told.
    pub(super) has_sender: bool,
    /// Whether losses are told.
    pub(super) has_path: bool,
}

/// All directions of all flows of a run.
pub(super) fn read(data: &Path) -> Result<Vec<FlowRow>, CompareError> {
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
            "time_ns",
            "duration_ns",
            "ending",
            "timestamps",
            "mss_bytes",
            "unique_bytes",
            "recoveries",
            "path_sent_packets",
        ],
    )?;
    let mut mss: HashMap<u32, u32> = HashMap::new();
    let (id, own_mss) = (table.column("flow_id"), table.column("mss_bytes"));
    for row in 0..table.rows() {
        if let (Some(flow), Some(bytes)) = (id.count(row), own_mss.count(row)) {
            let least = mss.entry(flow).or_insert(bytes);
            *least = bytes.min(*least);
        }
    }
    Ok((0..table.rows())
        .filter_map(|row| flow(&table, row, &mss))
        .collect())
}

fn flow(table: &Columns, row: usize, mss: &HashMap<u32, u32>) -> Option<FlowRow> {
    let flow = table.column("flow_id").count(row)?;
    let way = Way::named(table.column("direction").text(row)?)?;
    let end = |column| -> Option<SocketAddr> { table.column(column).text(row)?.parse().ok() };
    let (initiator, responder) = (end("initiator")?, end("responder")?);
    let (from, to) = match way {
        Way::Forward => (initiator, responder),
        Way::Reverse => (responder, initiator),
    };
    let is_tcp = table.column("protocol").is(row, "tcp");
    let has_path = table.column("path_sent_packets").whole(row).is_some();
    let sent_at = table.column("capture").text(row)?.to_owned();
    let arrives_at = match (has_path, sent_at.as_str()) {
        (true, "src") | (false, "dst") => "dst",
        _ => "src",
    };
    let stamps = table.column("timestamps").is(row, "true");
    let first = table.column("time_ns").time(row)?;
    let duration = table.column("duration_ns").span(row)?;
    let ending = table.column("ending");
    // A reset is an end: iperf3 resets what it has transferred whole.
    let ended = !ending.is(row, "open") && !ending.is(row, "unanswered");
    Some(FlowRow {
        lane: (flow, way),
        is_tcp,
        from,
        to,
        traffic: table.column("traffic").text(row).map(str::to_owned),
        arrives_at,
        link: usize::from(table.column("way").is(row, "back")),
        first,
        last: first + duration,
        completion: ended.then_some(duration),
        unique_bytes: table.column("unique_bytes").count(row)?,
        segment: mss
            .get(&flow)
            .filter(|_| is_tcp)
            .map(|mss| segment(*mss, stamps, from.ip())),
        has_sender: table.column("recoveries").whole(row).is_some(),
        has_path,
        sent_at,
    })
}

/// The MSS counts neither IP nor TCP headers without options (RFC 9293, section 3.7.1); timestamps
/// take 12 bytes of it (RFC 7323, appendix A).
fn segment(mss: u32, stamps: bool, address: IpAddr) -> (u32, u32) {
    let headers = if address.is_ipv6() { 60 } else { 40 };
    let options = if stamps { 12 } else { 0 };
    (mss.saturating_sub(options), mss.saturating_add(headers))
}

/// The directions that carry the data of `traffic`, in order of their beginning.
pub(super) fn data_of<'a>(flows: &'a [FlowRow], traffic: &TrafficRecord) -> Vec<&'a FlowRow> {
    let is_data = |flow: &&FlowRow| match &flow.traffic {
        Some(name) => *name == traffic.name && is_from(flow, traffic),
        // A dataset that was made without the plan.
        None => is_from(flow, traffic) && is_between(flow, traffic),
    };
    let mut data: Vec<&FlowRow> = flows.iter().filter(is_data).collect();
    data.sort_by_key(|flow| (flow.first, flow.lane.0));
    // iperf3 talks about the test over a connection of its own, which it opens first.
    if traffic.tool == "iperf3" && data.iter().filter(|flow| flow.is_tcp).count() > 1 {
        data.remove(0);
    }
    data
}

fn is_from(flow: &FlowRow, traffic: &TrafficRecord) -> bool {
    traffic.from.parse() == Ok(flow.from.ip())
}

fn is_between(flow: &FlowRow, traffic: &TrafficRecord) -> bool {
    let ports = [flow.from.port(), flow.to.port()];
    traffic.to.parse() == Ok(flow.to.ip()) && traffic.port.is_some_and(|port| ports.contains(&port))
}

impl Way {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "forward" => Some(Self::Forward),
            "reverse" => Some(Self::Reverse),
            _ => None,
        }
    }
}
