//! Samples of each direction of a flow, from the tables of a dataset.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use tcpexp_metrics::compare::Fate;
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::{TimeDelta, Timestamp};

use super::columns::Columns;
use super::flows::{FlowRow, Lane, Lanes};
use super::{CompareError, PING};
use crate::record::{LogRecord, RunRecord, TrafficRecord};

/// Round-trip times of each direction of a flow.
#[derive(Default)]
pub(super) struct Rtts {
    /// Send times and round-trip times, measured from the host that sends.
    pub(super) known: HashMap<Lane, Vec<(Timestamp, TimeDelta)>>,
    /// The smallest of them by flow, of both directions: a round trip that starts with an ACK has the same links,
    /// and may find the queues empty if none of the data does.
    pub(super) least: HashMap<u32, TimeDelta>,
    /// The directions whose round-trip times are incomplete, because the only capture was not taken at or
    /// near the sender.
    pub(super) partial: HashSet<Lane>,
}

/// Reads the round-trip times of the data.
pub(super) fn rtts(
    data: &StoredTables,
    lanes: &HashMap<Lane, &FlowRow>,
) -> Result<Rtts, CompareError> {
    let columns = [
        "flow_id",
        "direction",
        "time",
        "rtt_ns",
        "method",
        "reference",
        "ack_class",
    ];
    let table = Columns::read(data, "rtt", &columns)?;
    let lanes = Lanes::of(&table, lanes);
    let [_, _, at, rtt, method, reference, class] = columns.map(|name| table.column(name));
    let mut rtts = Rtts::default();
    for row in 0..table.rows() {
        let Some(flow) = lanes.flow(row) else {
            continue;
        };
        let is_pair = method.is(row, "packet_pairs") && reference.is(row, &flow.sent_at);
        let is_answer = method.is(row, "sequence_ack") && class.is(row, "cumulative");
        if let (true, Some(at), Some(rtt)) = (is_pair || is_answer, at.time(row), rtt.span(row)) {
            // An ACK shows the round trip from the capture to the receiver and back.
            if is_answer && flow.is_at_sender != Some(true) {
                rtts.partial.insert(flow.lane);
            } else {
                rtts.known.entry(flow.lane).or_default().push((at, rtt));
                let least = rtts.least.entry(flow.lane.0).or_insert(rtt);
                *least = rtt.min(*least);
            }
        }
    }
    Ok(rtts)
}

/// A round-trip time of ping: log file, time, round-trip time.
pub(super) type Echo = (String, Timestamp, TimeDelta);

/// Round-trip times in the logs of ping.
pub(super) fn echoes(data: &StoredTables) -> Result<Vec<Echo>, CompareError> {
    let columns = ["kind", "log", "time", "rtt_ns"];
    let table = Columns::read(data, "logs", &columns)?;
    let [kind, log, at, rtt] = columns.map(|name| table.column(name));
    let echo = |row| Some((log.text(row)?.to_owned(), at.time(row)?, rtt.span(row)?));
    let pings = (0..table.rows()).filter(|row| kind.is(*row, PING));
    Ok(pings.filter_map(echo).collect())
}

/// The echoes of one traffic generator, found by the file name of its log.
///
/// Datasets name the log with or without its folder.
pub(super) fn echoes_of(
    echoes: &[Echo],
    record: &RunRecord,
    traffic: &TrafficRecord,
) -> Vec<(Timestamp, TimeDelta)> {
    let is_its = |log: &&LogRecord| log.traffic.as_ref() == Some(&traffic.name);
    let logs = record.logs.iter().filter(is_its);
    let files: Vec<_> = logs.filter_map(|log| log.file.file_name()).collect();
    let is_of_generator = |name: &str| {
        Path::new(name)
            .file_name()
            .is_some_and(|file| files.contains(&file))
    };
    let its = echoes.iter().filter(|(log, _, _)| is_of_generator(log));
    its.map(|(_, at, rtt)| (*at, *rtt)).collect()
}

/// Time and payload bytes of each retransmission at the sending capture.
pub(super) fn retransmissions(
    data: &StoredTables,
    lanes: &HashMap<Lane, &FlowRow>,
) -> Result<HashMap<Lane, Vec<(Timestamp, u64)>>, CompareError> {
    let columns = [
        "flow_id",
        "direction",
        "time",
        "event",
        "capture",
        "start_seq",
        "end_seq",
    ];
    let table = Columns::read(data, "events", &columns)?;
    let lanes = Lanes::of(&table, lanes);
    let [_, _, at, event, capture, start, end] = columns.map(|name| table.column(name));
    let mut retransmissions: HashMap<Lane, Vec<_>> = HashMap::new();
    for row in 0..table.rows() {
        let Some(flow) = lanes.flow(row) else {
            continue;
        };
        if !event.is(row, "retransmission") || !capture.is(row, &flow.sent_at) {
            continue;
        }
        // Events of a log have neither a capture nor a range, so none counts twice.
        let range = start.count::<u32>(row).zip(end.count::<u32>(row));
        if let (Some(at), Some((start, end))) = (at.time(row), range) {
            // The columns have sequence numbers of the wire, which wrap (RFC 9293, section 3.4).
            let bytes = u64::from(end.wrapping_sub(start));
            retransmissions
                .entry(flow.lane)
                .or_default()
                .push((at, bytes));
        }
    }
    Ok(retransmissions)
}

/// Fates of packets: delivered ones from the table `owd`, lost ones from `loss`.
pub(super) fn fates(
    data: &StoredTables,
    lanes: &HashMap<Lane, &FlowRow>,
) -> Result<HashMap<Lane, Vec<Fate>>, CompareError> {
    let mut fates: HashMap<Lane, Vec<Fate>> = HashMap::new();
    for (name, is_lost) in [("owd", false), ("loss", true)] {
        let columns = ["flow_id", "direction", "time", "packets", "owd_ns"];
        let table = Columns::read(data, name, &columns)?;
        let lanes = Lanes::of(&table, lanes);
        let [_, _, at, packets, delay] = columns.map(|name| table.column(name));
        for row in 0..table.rows() {
            let cells = (lanes.flow(row), at.time(row), packets.count(row));
            if let (Some(flow), Some(at), Some(packets)) = cells {
                let fate = Fate {
                    at,
                    packets,
                    is_lost,
                    one_way_delay: delay.span(row),
                };
                fates.entry(flow.lane).or_default().push(fate);
            }
        }
    }
    Ok(fates)
}
