//! Selects the flows, and the rows of each flow, that a chart pools.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp::{FLOW_COLUMN, Query, SOURCE_COLUMN};
use tcpexp_chart::RUN_COLUMNS;
use tcpexp_metrics::pooling::{Lane, PooledDirection, PooledFlows, Pooling};
use tcpexp_table::{Cell, Frame};

/// Columns that identify the flow, the direction and the measurement point of a row.
const OF_LANE: [&str; 6] = [
    "flow_id",
    "direction",
    "capture",
    "reference",
    "method",
    "ack_class",
];

/// What counts in a chart that makes one figure of many rows.
#[derive(Clone, clap::Args)]
pub(crate) struct PoolArgs {
    /// The flows that count: `load` (the bulk class of a plan, else all its classes but control;
    /// without a plan those with at least 1 % of the payload), `all`, a share such as `5%`, or a
    /// traffic class
    #[arg(long, value_name = "FLOWS", default_value = "load")]
    #[arg(help_heading = "What is pooled")]
    flows: PooledFlows,

    /// The direction of each flow that counts
    #[arg(long, value_name = "DIRECTION", default_value = "payload")]
    #[arg(help_heading = "What is pooled")]
    direction: DirectionArg,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum DirectionArg {
    /// The one with more payload
    Payload,
    /// Both, as rows of their own
    Both,
}

/// Properties of a flow direction that counts.
struct Counted {
    /// The capture that the direction passes first.
    capture: Option<String>,
}

/// Key of a flow direction in tables: file, flow number, direction.
type Key = (String, i64, String);

impl PoolArgs {
    /// Returns the pooling rule; it does not restrict columns that a filter or a group names.
    fn pooling(&self, named: &BTreeSet<&str>) -> Pooling {
        const CHOOSE_FLOWS: [&str; 7] = [
            "flow",
            "flow_id",
            "traffic",
            "traffic_class",
            "initiator",
            "responder",
            "protocol",
        ];
        let names_flows = CHOOSE_FLOWS.iter().any(|column| named.contains(column));
        let is_usual = self.flows == PooledFlows::Load;
        let names_direction = named.contains("direction") || named.contains("way");
        Pooling {
            flows: if is_usual && names_flows {
                PooledFlows::All
            } else {
                self.flows.clone()
            },
            direction: match self.direction {
                DirectionArg::Payload if !names_direction => PooledDirection::Payload,
                _ => PooledDirection::Both,
            },
        }
    }
}

/// Returns the optional columns that [`pool`] uses.
pub(crate) fn optional_columns() -> Vec<String> {
    let columns = RUN_COLUMNS.iter().chain(&OF_LANE).chain(&["unique_bytes"]);
    columns.map(|name| (*name).to_owned()).collect()
}

/// Keeps the rows that count, and returns their description for the note under the chart.
///
/// Columns that a filter or a group names are not restricted further.
pub(crate) fn pool<'a>(
    args: &PoolArgs,
    filtered: impl Iterator<Item = &'a str>,
    groups: &[&'a str],
    flows: &Frame,
    rows: &mut Frame,
) -> anyhow::Result<String> {
    let mut named: BTreeSet<&str> = filtered.collect();
    // Grouping by flow is the default, and does not ask for all flows.
    named.extend(groups.iter().filter(|column| **column != FLOW_COLUMN));
    let lanes: Vec<(Key, Lane<'_>)> = (0..flows.rows())
        .filter_map(|row| lane(flows, row))
        .collect();
    let plain: Vec<Lane<'_>> = lanes.iter().map(|(_, lane)| lane.clone()).collect();
    let pooled = args.pooling(&named).choose(&plain);
    let mut counted: BTreeMap<Key, Counted> = BTreeMap::new();
    for (row, ((key, _), counts)) in lanes.into_iter().zip(&pooled.counts).enumerate() {
        if *counts {
            let capture = text(flows, "capture", row).map(str::to_owned);
            counted.insert(key, Counted { capture });
        }
    }
    let named_point = named.contains("capture") || named.contains("reference");
    let keep = kept(rows, &counted, named_point);
    *rows = rows.filtered(&keep);
    anyhow::ensure!(
        rows.rows() > 0,
        "no row is left of {}: choose others with --flows and --direction",
        pooled.words()
    );
    let directions: BTreeSet<&str> = (0..rows.rows())
        .filter_map(|row| text(rows, "direction", row))
        .collect();
    // A filter may leave only one direction.
    let words = match directions.into_iter().collect::<Vec<_>>().as_slice() {
        [only] => format!("{}, {only}", pooled.flows),
        _ => pooled.words(),
    };
    Ok(words)
}

/// Selects the columns of the table of flows from which [`pool`] chooses.
pub(crate) fn flows_query() -> Query {
    Query {
        tables: vec!["flows".to_owned()],
        required: ["flow_id", "direction", "unique_bytes"]
            .map(str::to_owned)
            .to_vec(),
        optional: ["traffic_class", "capture"].map(str::to_owned).to_vec(),
        ..Query::default()
    }
}

fn key(frame: &Frame, row: usize) -> Option<Key> {
    Some((
        text(frame, SOURCE_COLUMN, row)?.to_owned(),
        frame.column("flow_id")?.whole(row)?,
        text(frame, "direction", row)?.to_owned(),
    ))
}

fn lane(flows: &Frame, row: usize) -> Option<(Key, Lane<'_>)> {
    let key = key(flows, row)?;
    let bytes = flows.column("unique_bytes")?.whole(row)?;
    let lane = Lane {
        run: text(flows, SOURCE_COLUMN, row)?,
        flow: key.1,
        is_forward: key.2 == "forward",
        class: text(flows, "traffic_class", row),
        payload_bytes: u64::try_from(bytes).unwrap_or(0),
    };
    Some((key, lane))
}

/// Marks the rows to keep. For each flow direction that counts, these are the rows of one point:
/// round-trip times where the data is sent, rate bins where it arrives. Rows of files without flows
/// are kept.
fn kept(frame: &Frame, counted: &BTreeMap<Key, Counted>, named_point: bool) -> Vec<bool> {
    let files: BTreeSet<&str> = counted.keys().map(|(file, ..)| file.as_str()).collect();
    let lane = |row| counted.get(&key(frame, row)?);
    // True for a row of the far capture of its direction; `None` if the table has no captures.
    let is_far =
        |row: usize, lane: &Counted| Some(text(frame, "capture", row)? != lane.capture.as_deref()?);
    let has_width = frame.column("capture").is_some() && frame.column("unique_bytes").is_none();
    let with_far: BTreeSet<Key> = (0..frame.rows())
        .filter(|row| lane(*row).and_then(|lane| is_far(*row, lane)) == Some(true))
        .filter_map(|row| key(frame, row))
        .collect();
    let counts = |row: usize| {
        if !text(frame, SOURCE_COLUMN, row).is_some_and(|file| files.contains(file)) {
            return true;
        }
        let (Some(lane), Some(key)) = (lane(row), key(frame, row)) else {
            return false;
        };
        if named_point {
            return true;
        }
        let is_bin_there =
            !has_width || is_far(row, lane).is_none_or(|is_far| is_far == with_far.contains(&key));
        is_bin_there && is_rtt_of_data(frame, row, lane)
    };
    (0..frame.rows()).map(counts).collect()
}

/// True if a round-trip time belongs to the data direction: from packet pairs at the sending side,
/// or from cumulative acknowledgments. Also true for rows that are not round-trip times.
fn is_rtt_of_data(frame: &Frame, row: usize, lane: &Counted) -> bool {
    let reference = text(frame, "reference", row);
    let is_sender = || match (reference, lane.capture.as_deref()) {
        (Some(reference), Some(capture)) => reference == capture,
        _ => true,
    };
    match text(frame, "method", row) {
        Some("packet_pairs") | None => is_sender(),
        Some("sequence_ack") => text(frame, "ack_class", row) == Some("cumulative"),
        Some(_) => false,
    }
}

fn text<'f>(frame: &'f Frame, column: &str, row: usize) -> Option<&'f str> {
    match frame.column(column)?.cell(row) {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}
