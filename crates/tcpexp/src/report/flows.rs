//! Lines and numbers of the flows of one run.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tcpexp_chart::Thinned;
use tcpexp_chart::page::{PageFlow, PageSeries, page_quantiles};
use tcpexp_metrics::pooling::{Lane, Pooling};
use tcpexp_runs::position::{completed, host_of, is_at_sender};
use tcpexp_table::dataset::StoredTables;
use tcpexp_table::{Frame, QUEUE_KEYS, TableFile, queue_rows};
use tcpexp_units::Timestamp;

use super::gaps::{at, end_at, unknown_times};
use crate::{DatasetError, Error};

/// Key, heading and axis label of each panel.
pub(super) const RTT: (&str, &str, &str) = ("rtt", "RTT", "RTT (ms)");
pub(super) const WINDOW: (&str, &str, &str) = ("cwnd", "Congestion window", "cwnd (segments)");
pub(super) const GOODPUT: (&str, &str, &str) = ("goodput", "Goodput", "goodput (Mbit/s)");
pub(super) const QUEUE: (&str, &str, &str) = ("queue", "Queue", "queue (packets)");

/// Maximum number of flows drawn per run.
pub(super) const MAX_FLOWS: usize = 8;
/// Maximum number of samples per thinned bin: first, smallest, largest and last.
const BIN_POINTS: usize = 4;

/// Columns of the table of flows: name in the dataset and definition.
pub(super) const NUMBERS: [(&str, &str); 6] = [
    (
        "arrived_goodput_bps",
        "Payload that arrived for the first time, per second; of a series of Flent, the mean that its tool reports.",
    ),
    (
        "rtt_median_ns",
        "Median round-trip time between the two captures; of a series of Flent, of its tool's samples.",
    ),
    ("rtt_p95_ns", "95th percentile of the round-trip time."),
    ("packets", "Packets that left."),
    ("path_lost_packets", "Of these, those that did not arrive."),
    ("retransmitted_packets", "Retransmitted packets."),
];

/// Columns of the table of flows that name and choose flows.
const CHOOSING: [&str; 6] = [
    "initiator",
    "responder",
    "traffic",
    "traffic_class",
    "unique_bytes",
    "vantage",
];

/// One direction of a flow, and the key to its rows.
#[derive(Clone, Debug)]
struct Chosen {
    label: String,
    /// Values of [`NUMBERS`].
    numbers: Vec<Value>,
    flow: i64,
    /// Traffic class of the flow in the plan.
    class: Option<String>,
    direction: String,
    /// Upstream capture of this direction.
    capture: String,
    bytes: i64,
    /// Host that sends.
    from: String,
    /// True if the capture is at or near that host; `None` if unknown.
    is_at_sender: Option<bool>,
}

impl Chosen {
    /// True if ACKs show the round trip of the data. A dataset of an early version does not state the
    /// position of its capture.
    fn has_rtt_of_acks(&self, flows: &Frame) -> bool {
        flows.column("vantage").is_none() || self.is_at_sender == Some(true)
    }
}

/// The flows of one run.
pub(super) struct RunFlows {
    /// The busiest flows.
    pub(super) flows: Vec<PageFlow>,
    /// Their [`NUMBERS`].
    pub(super) numbers: Vec<Vec<Value>>,
    /// Number of flows in the dataset.
    pub(super) all: usize,
    /// Number of flows that the rule chooses.
    pub(super) chosen: usize,
    /// The rule that chose the flows, in words.
    pub(super) rule: String,
}

/// The busiest flows of the dataset in `data`, with about `most_points` points per line at most.
pub(super) fn flows_of(data: &StoredTables, most_points: usize) -> Result<RunFlows, Error> {
    let tables = Tables::read(data)?;
    let (mut chosen, mut rule) = chosen(&tables.flows);
    let all_chosen = chosen.len();
    chosen.truncate(MAX_FLOWS);
    if chosen.iter().any(|chosen| tables.leaves_out_rtt(chosen)) {
        rule.push_str("; no RTT where the only capture is not near the sender of the data");
    }
    let lines = |chosen: &Chosen| tables.flow(chosen, most_points);
    let mut flows: Vec<PageFlow> = chosen.iter().map(lines).collect();
    // The queue belongs to the run and not to a flow, so the first flow's panel shows it.
    if let Some(first) = flows.first_mut() {
        add(
            &mut first.series,
            QUEUE,
            &fullest_queue(&tables.queue),
            most_points,
            1.0,
        );
    }
    let all: BTreeSet<_> = (0..tables.flows.rows())
        .filter_map(|row| number(&tables.flows, "flow_id", row))
        .collect();
    Ok(RunFlows {
        flows,
        numbers: chosen.into_iter().map(|chosen| chosen.numbers).collect(),
        all: all.len(),
        chosen: all_chosen,
        rule,
    })
}

/// Backlog over time of the queue with the largest backlogs: the bottleneck, of the two interfaces of each
/// router.
fn fullest_queue(queue: &Frame) -> Vec<(Timestamp, i64)> {
    let is_queue = queue_rows(queue);
    let name = |row| QUEUE_KEYS.map(|key| queue.text(key, row));
    let names: BTreeSet<_> = (0..queue.rows())
        .filter(|row| is_queue[*row])
        .map(name)
        .collect();
    let of_queue = |wanted| {
        values(queue, "backlog_packets", |row| {
            is_queue[row] && name(row) == wanted
        })
    };
    let total =
        |values: &Vec<(Timestamp, i64)>| values.iter().map(|(_, packets)| packets).sum::<i64>();
    names
        .into_iter()
        .map(of_queue)
        .max_by_key(total)
        .unwrap_or_default()
}

/// The tables of a run, reduced to the columns drawn.
#[derive(Default)]
struct Tables {
    flows: Frame,
    rtt: Frame,
    sender: Frame,
    throughput: Frame,
    queue: Frame,
}

impl Tables {
    fn read(data: &StoredTables) -> Result<Self, Error> {
        let read = |table: &str, columns: &[&str]| read_table(data, table, columns);
        let of_flow = ["flow_id", "direction", "time_s", "capture"];
        let with = |more: &[&'static str]| [&of_flow[..], more].concat();
        Ok(Self {
            flows: read(
                "flows",
                &with(&[&CHOOSING[..], &NUMBERS.map(|(name, _)| name)].concat()),
            )?,
            rtt: read(
                "rtt",
                &with(&["reference", "method", "ack_class", "rtt_ns"]),
            )?,
            sender: read("sender", &with(&["cwnd_segments"]))?,
            throughput: read("throughput", &with(&["goodput_bps", "width_ns"]))?,
            queue: read(
                "queue",
                &[&["time_s", "backlog_packets"], &QUEUE_KEYS[..]].concat(),
            )?,
        })
    }

    /// True if the round-trip times of the flow are left out because its only capture is elsewhere.
    fn leaves_out_rtt(&self, chosen: &Chosen) -> bool {
        let is_left_out = |row| {
            number(&self.rtt, "flow_id", row) == Some(chosen.flow)
                && self.rtt.text("direction", row) == Some(&chosen.direction)
                && self.rtt.text("method", row) == Some("sequence_ack")
        };
        !chosen.has_rtt_of_acks(&self.flows) && (0..self.rtt.rows()).any(is_left_out)
    }

    fn flow(&self, chosen: &Chosen, most_points: usize) -> PageFlow {
        let is_of = |frame: &Frame, row| {
            number(frame, "flow_id", row) == Some(chosen.flow)
                && frame.text("direction", row) == Some(&chosen.direction)
        };
        // The comparison of runs uses the same samples.
        let has_rtt_of_acks = chosen.has_rtt_of_acks(&self.flows);
        let rtt = values(&self.rtt, "rtt_ns", |row| {
            let of = |column| self.rtt.text(column, row);
            let is_of_data = match of("method") {
                Some("packet_pairs") => of("reference") == Some(&chosen.capture),
                Some("sequence_ack") => has_rtt_of_acks && of("ack_class") == Some("cumulative"),
                _ => false,
            };
            is_of(&self.rtt, row) && is_of_data
        });
        let cwnd = values(&self.sender, "cwnd_segments", |row| {
            is_of(&self.sender, row)
        });
        let bins = &self.throughput;
        let is_counted = |row, at_sender| {
            is_of(bins, row) && (bins.text("capture", row) == Some(&chosen.capture)) == at_sender
        };
        let goodput = |at_sender| values(bins, "goodput_bps", |row| is_counted(row, at_sender));
        // Goodput counts at the receiver's capture, if the run has one.
        let at_sender = goodput(false).is_empty();
        let unknown = unknown_times(bins, "goodput_bps", |row| is_counted(row, at_sender));
        let mut series = BTreeMap::new();
        add(&mut series, RTT, &rtt, most_points, 1e6);
        add(&mut series, WINDOW, &cwnd, most_points, 1.0);
        add(&mut series, GOODPUT, &goodput(at_sender), most_points, 1e6);
        end_at(&unknown, series.get_mut(GOODPUT.0));
        let samples = rtt.iter().map(|(_, nanos)| *nanos as f64 / 1e6).collect();
        let quantiles = page_quantiles(samples).map(|quantiles| (RTT.0.to_owned(), quantiles));
        PageFlow {
            label: chosen.label.clone(),
            series,
            quantiles: quantiles.into_iter().collect(),
        }
    }
}

/// Reads columns of a table. A table that the dataset need not have has no rows if it is missing.
pub(super) fn read_table(
    data: &StoredTables,
    table: &str,
    columns: &[&str],
) -> Result<Frame, Error> {
    let damaged = |source| DatasetError::Damaged {
        path: data.folder().to_owned(),
        source,
    };
    let Some(file) = data.open(table).map_err(damaged)? else {
        return Ok(Frame::default());
    };
    let frame = TableFile::open(file).and_then(|table| table.read(columns));
    frame.map_err(|source| Error::Table {
        path: data.path(table),
        source,
    })
}

/// The directions that [`pooling`](tcpexp_metrics::pooling) counts, busiest first, and its rule in
/// words.
fn chosen(flows: &Frame) -> (Vec<Chosen>, String) {
    let direction = |row| {
        let cell = |column| flows.text(column, row).map(str::to_owned);
        let direction = cell("direction")?;
        let (from, to) = match direction.as_str() {
            "forward" => ("initiator", "responder"),
            _ => ("responder", "initiator"),
        };
        let (from, to) = (cell(from)?, cell(to)?);
        let vantage = flows.text("vantage", row);
        Some(Chosen {
            label: cell("traffic").unwrap_or_else(|| format!("{from} > {to}")),
            from: host_of(&from),
            is_at_sender: is_at_sender(vantage, direction == "forward"),
            numbers: NUMBERS
                .iter()
                .map(|(column, _)| number(flows, column, row).map_or(Value::Null, Value::from))
                .collect(),
            flow: number(flows, "flow_id", row)?,
            direction,
            class: cell("traffic_class"),
            capture: cell("capture")?,
            bytes: number(flows, "unique_bytes", row).unwrap_or(0),
        })
    };
    let mut all: Vec<Chosen> = (0..flows.rows()).filter_map(direction).collect();
    let known = completed(all.iter().map(|one| (one.from.as_str(), one.is_at_sender)));
    for (one, is_at_sender) in all.iter_mut().zip(known) {
        one.is_at_sender = is_at_sender;
    }
    let lanes = all.iter().map(|chosen| Lane {
        run: "",
        flow: chosen.flow,
        is_forward: chosen.direction == "forward",
        class: chosen.class.as_deref(),
        payload_bytes: u64::try_from(chosen.bytes).unwrap_or(0),
    });
    let pooled = Pooling::default().choose(&lanes.collect::<Vec<_>>());
    let rule = pooled.words();
    let counted = all
        .into_iter()
        .zip(pooled.counts)
        .filter(|(_, counts)| *counts);
    let mut counted: Vec<Chosen> = counted.map(|(chosen, _)| chosen).collect();
    // The flow number decides between equal sizes, so that equal data gives an equal page.
    counted.sort_by_key(|chosen| (-chosen.bytes, chosen.flow));
    (counted, rule)
}

/// Time and value of the rows that have both.
fn values(frame: &Frame, column: &str, is_wanted: impl Fn(usize) -> bool) -> Vec<(Timestamp, i64)> {
    let Some((times, values)) = frame.column("time_s").zip(frame.column(column)) else {
        return Vec::new();
    };
    let value = |row| Some((at(times.number(row)?), values.whole(row)?));
    (0..frame.rows())
        .filter(|row| is_wanted(*row))
        .filter_map(value)
        .collect()
}

pub(super) fn add(
    all: &mut BTreeMap<String, PageSeries>,
    (key, ..): (&str, &str, &str),
    values: &[(Timestamp, i64)],
    most_points: usize,
    unit: f64,
) {
    let mut thinned = Thinned::default();
    for &(time, value) in values {
        thinned.add(time, value);
    }
    if !values.is_empty() {
        let start = Timestamp::from_nanos(0);
        let series = PageSeries::of(&thinned, start, most_points / BIN_POINTS, |value: i64| {
            value as f64 / unit
        });
        all.insert(key.to_owned(), series);
    }
}

fn number(frame: &Frame, column: &str, row: usize) -> Option<i64> {
    frame.column(column)?.whole(row)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn table(columns: &[&str], row: &str) -> Frame {
        let mut file = tempfile::tempfile().unwrap();
        write!(file, "{}\n{row}\n", columns.join(",")).unwrap();
        file.rewind().unwrap();
        TableFile::open(file).unwrap().read(columns).unwrap()
    }

    /// Whether the page draws the RTTs of a flow's ACKs in a capture with this vantage.
    fn is_rtt_drawn(vantage: &str) -> bool {
        let ends = ["flow_id", "direction", "capture", "initiator", "responder"];
        let flows = [&ends[..], &["unique_bytes", "vantage"]].concat();
        let samples = [
            "flow_id",
            "direction",
            "time_s",
            "method",
            "ack_class",
            "rtt_ns",
        ];
        let tables = Tables {
            flows: table(
                &flows,
                &format!("0,forward,dst,10.0.0.1:1,10.0.0.2:5,900,{vantage}"),
            ),
            rtt: table(&samples, "0,forward,1.5,sequence_ack,cumulative,6"),
            ..Tables::default()
        };
        let (chosen, _) = chosen(&tables.flows);
        let is_drawn = tables.flow(&chosen[0], 100).series.contains_key("rtt");
        assert_ne!(is_drawn, tables.leaves_out_rtt(&chosen[0]));
        is_drawn
    }

    #[test]
    fn page_draws_rtts_of_acks_only_if_the_capture_is_at_the_sender() {
        let drawn = ["initiator", "responder", "between", ""].map(is_rtt_drawn);
        assert_eq!(drawn, [true, false, false, false]);
    }
}
