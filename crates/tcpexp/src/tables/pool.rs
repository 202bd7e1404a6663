//! The flows, and the rows of each flow, that a pooled figure counts.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_chart::RUN_COLUMNS;
use tcpexp_metrics::pooling::{Lane, PooledDirection, PooledFlows, Pooling};
use tcpexp_table::{Cell, Frame};

use super::{Query, SOURCE_COLUMN};
use crate::{Error, TablesError};

/// Columns that identify the flow, the direction and the measurement point of a row.
const OF_LANE: [&str; 6] = [
    "flow_id",
    "direction",
    "capture",
    "reference",
    "method",
    "ack_class",
];

/// Properties of a flow direction that counts.
struct Counted {
    /// The capture that the direction passes first.
    capture: Option<String>,
}

/// Key of a flow direction in tables: file, flow number, direction.
type Key = (String, i64, String);

/// Columns that choose flows.
const CHOOSE_FLOWS: [&str; 7] = [
    "flow",
    "flow_id",
    "traffic",
    "traffic_class",
    "initiator",
    "responder",
    "protocol",
];

/// Columns of the traffic class. Groups by class compare classes, and the default rule may leave one class.
const OF_CLASS: [&str; 2] = ["traffic", "traffic_class"];

/// Returns the rule without the defaults that a filter on flows, a group by class, or a filter or group on
/// the direction replaces.
fn unless_named(pooling: &Pooling, filtered: &BTreeSet<&str>, groups: &[&str]) -> Pooling {
    let names_flows = CHOOSE_FLOWS.iter().any(|column| filtered.contains(column))
        || OF_CLASS.iter().any(|column| groups.contains(column));
    let names_direction = ["direction", "way"]
        .iter()
        .any(|column| filtered.contains(column) || groups.contains(column));
    Pooling {
        flows: match &pooling.flows {
            PooledFlows::Load if names_flows && !pooling.are_flows_requested => PooledFlows::All,
            flows => flows.clone(),
        },
        direction: match pooling.direction {
            PooledDirection::Payload if !names_direction => PooledDirection::Payload,
            _ => PooledDirection::Both,
        },
        ..pooling.clone()
    }
}

/// Returns the optional columns that [`pool`] uses.
pub(super) fn optional_columns() -> Vec<String> {
    let columns = RUN_COLUMNS.iter().chain(&OF_LANE).chain(&["unique_bytes"]);
    columns.map(|name| (*name).to_owned()).collect()
}

/// Keeps the rows that count, and returns their description for the note under the chart.
///
/// A filter on flows replaces the default rule for flows, and a filter or a group on a direction or a
/// measurement point replaces the rule for it.
pub(super) fn pool<'a>(
    pooling: &Pooling,
    filtered: impl Iterator<Item = &'a str>,
    groups: &[&'a str],
    flows: &Frame,
    rows: &mut Frame,
) -> Result<String, Error> {
    let filtered: BTreeSet<&str> = filtered.collect();
    let is_selection = CHOOSE_FLOWS.iter().any(|column| filtered.contains(column));
    // The flows of other files are not in the chart, and a note about them would be wrong.
    let in_chart = sources(rows);
    let of_chart: Vec<bool> = (0..flows.rows())
        .map(|row| text(flows, SOURCE_COLUMN, row).is_some_and(|file| in_chart.contains(file)))
        .collect();
    let flows = flows.filtered(&of_chart);
    let lanes: Vec<(Key, Lane<'_>)> = (0..flows.rows())
        .filter_map(|row| lane(&flows, row))
        .collect();
    let plain: Vec<Lane<'_>> = lanes.iter().map(|(_, lane)| lane.clone()).collect();
    let pooling = unless_named(pooling, &filtered, groups);
    let mut pooled = pooling.choose(&plain);
    if is_selection && pooling.flows == PooledFlows::All {
        "selected flows".clone_into(&mut pooled.flows);
    }
    let mut counted: BTreeMap<Key, Counted> = BTreeMap::new();
    for (row, ((key, _), counts)) in lanes.into_iter().zip(&pooled.counts).enumerate() {
        if *counts {
            let capture = text(&flows, "capture", row).map(str::to_owned);
            counted.insert(key, Counted { capture });
        }
    }
    let named_point = ["capture", "reference"]
        .iter()
        .any(|column| filtered.contains(column) || groups.contains(column));
    let keep = kept(rows, &sources(&flows), &counted, named_point);
    *rows = rows.filtered(&keep);
    if rows.rows() == 0 {
        return Err(TablesError::NoPooledRows {
            pooled: pooled.words(),
        }
        .into());
    }
    let directions: BTreeSet<&str> = (0..rows.rows())
        .filter_map(|row| text(rows, "direction", row))
        .collect();
    let directions: Vec<&str> = directions.into_iter().collect();
    // The words name a rule; without one, a filter may leave only one direction.
    let words = match (pooling.direction, directions.as_slice()) {
        (PooledDirection::Both, [only]) => format!("{}, {only}", pooled.flows),
        _ => pooled.words(),
    };
    Ok(words)
}

/// Selects the columns of the table of flows from which [`pool`] chooses.
pub(super) fn flows_query() -> Query {
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
/// are kept; `with_flows` has the other files.
fn kept(
    frame: &Frame,
    with_flows: &BTreeSet<String>,
    counted: &BTreeMap<Key, Counted>,
    named_point: bool,
) -> Vec<bool> {
    let lane = |row| counted.get(&key(frame, row)?);
    // True for a row of the far capture of its direction; `None` if the table has no captures.
    let is_far =
        |row: usize, lane: &Counted| Some(text(frame, "capture", row)? != lane.capture.as_deref()?);
    // The table of flows also has the column `capture`. Its `unique_bytes` distinguishes it from
    // tables with rows of each capture.
    let has_width = frame.column("capture").is_some() && frame.column("unique_bytes").is_none();
    let with_far: BTreeSet<Key> = (0..frame.rows())
        .filter(|row| lane(*row).and_then(|lane| is_far(*row, lane)) == Some(true))
        .filter_map(|row| key(frame, row))
        .collect();
    let flows: BTreeSet<(&str, i64)> = counted
        .keys()
        .map(|(file, flow, _)| (file.as_str(), *flow))
        .collect();
    let flow_of = |row| {
        Some((
            text(frame, SOURCE_COLUMN, row)?,
            frame.column("flow_id")?.whole(row)?,
        ))
    };
    let counts = |row: usize| {
        if !text(frame, SOURCE_COLUMN, row).is_some_and(|file| with_flows.contains(file)) {
            return true;
        }
        // The spin bit shows the whole round trip of a flow in whichever direction (RFC 9000, section
        // 17.4).
        if text(frame, "method", row) == Some("spin_bit") {
            return flow_of(row).is_some_and(|flow| flows.contains(&flow));
        }
        let (Some(lane), Some(key)) = (lane(row), key(frame, row)) else {
            return false;
        };
        // A filter or a group on the point has already decided which rows count.
        if named_point {
            return true;
        }
        // Bins of the far capture count where there are any, otherwise bins of the near capture.
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

/// The files of the rows.
fn sources(frame: &Frame) -> BTreeSet<String> {
    (0..frame.rows())
        .filter_map(|row| text(frame, SOURCE_COLUMN, row).map(str::to_owned))
        .collect()
}

fn text<'f>(frame: &'f Frame, column: &str, row: usize) -> Option<&'f str> {
    match frame.column(column)?.cell(row) {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}
