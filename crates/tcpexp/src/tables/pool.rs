//! The flows, and the rows of each flow, that a pooled figure counts.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_chart::RUN_COLUMNS;
use tcpexp_metrics::pooling::{Lane, PooledDirection, PooledFlows, Pooling};
use tcpexp_runs::position::{completed, host_of, is_at_sender};
use tcpexp_table::Frame;

use super::{Query, SIZE_COLUMN, SOURCE_COLUMN};
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
    /// True if ACKs show the round trip of the data: the capture is at its sender.
    has_rtt_of_acks: bool,
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
    let columns = RUN_COLUMNS.iter().chain(&OF_LANE).chain(&[SIZE_COLUMN]);
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
        .map(|row| {
            flows
                .text(SOURCE_COLUMN, row)
                .is_some_and(|file| in_chart.contains(file))
        })
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
    let with_acks = with_rtt_of_acks(&flows);
    for (row, ((key, _), counts)) in lanes.into_iter().zip(&pooled.counts).enumerate() {
        if *counts {
            let capture = flows.text("capture", row).map(str::to_owned);
            let lane = Counted {
                capture,
                has_rtt_of_acks: with_acks[row],
            };
            counted.insert(key, lane);
        }
    }
    let named_point = ["capture", "reference", "method"]
        .iter()
        .any(|column| filtered.contains(column) || groups.contains(column));
    let has_partial = !named_point && has_partial_rtts(rows, &counted);
    let keep = kept(rows, &sources(&flows), &counted, named_point);
    *rows = rows.filtered(&keep);
    if rows.rows() == 0 {
        if has_partial {
            return Err(TablesError::NotAtSender.into());
        }
        return Err(TablesError::NoPooledRows {
            pooled: pooled.words(),
        }
        .into());
    }
    let directions: BTreeSet<&str> = (0..rows.rows())
        .filter_map(|row| rows.text("direction", row))
        .collect();
    let directions: Vec<&str> = directions.into_iter().collect();
    // The words name a rule; without one, a filter may leave only one direction.
    let words = match (pooling.direction, directions.as_slice()) {
        (PooledDirection::Both, [only]) => format!("{}, {only}", pooled.flows),
        _ => pooled.words(),
    };
    Ok(if has_partial {
        format!("{words}, without RTTs of captures away from the sender")
    } else {
        words
    })
}

/// Selects the columns of the table of flows from which [`pool`] chooses.
pub(super) fn flows_query() -> Query {
    Query {
        tables: vec!["flows".to_owned()],
        required: ["flow_id", "direction", SIZE_COLUMN]
            .map(str::to_owned)
            .to_vec(),
        optional: [
            "traffic_class",
            "capture",
            "initiator",
            "responder",
            "vantage",
        ]
        .map(str::to_owned)
        .to_vec(),
        ..Query::default()
    }
}

/// Whether ACKs show the round trip of the data, for each row of the table of flows.
///
/// True for all rows of a table of an early version, which does not state the position of its capture.
fn with_rtt_of_acks(flows: &Frame) -> Vec<bool> {
    if flows.column("vantage").is_none() {
        return vec![true; flows.rows()];
    }
    let position = |row: usize| {
        let is_forward = flows.text("direction", row) == Some("forward");
        let sender = if is_forward { "initiator" } else { "responder" };
        let host = flows.text(sender, row).map(host_of);
        (
            (flows.text(SOURCE_COLUMN, row), host),
            is_at_sender(flows.text("vantage", row), is_forward),
        )
    };
    let positions = completed((0..flows.rows()).map(position));
    positions.into_iter().map(|at| at == Some(true)).collect()
}

/// True if a direction that counts has round-trip times from a capture away from its sender.
fn has_partial_rtts(rows: &Frame, counted: &BTreeMap<Key, Counted>) -> bool {
    let is_partial = |row| {
        rows.text("method", row) == Some("sequence_ack")
            && key(rows, row)
                .and_then(|key| counted.get(&key))
                .is_some_and(|lane| !lane.has_rtt_of_acks)
    };
    (0..rows.rows()).any(is_partial)
}

fn key(frame: &Frame, row: usize) -> Option<Key> {
    Some((
        frame.text(SOURCE_COLUMN, row)?.to_owned(),
        frame.column("flow_id")?.whole(row)?,
        frame.text("direction", row)?.to_owned(),
    ))
}

fn lane(flows: &Frame, row: usize) -> Option<(Key, Lane<'_>)> {
    let key = key(flows, row)?;
    let bytes = flows.column(SIZE_COLUMN)?.whole(row)?;
    let lane = Lane {
        run: flows.text(SOURCE_COLUMN, row)?,
        flow: key.1,
        is_forward: key.2 == "forward",
        class: flows.text("traffic_class", row),
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
        |row: usize, lane: &Counted| Some(frame.text("capture", row)? != lane.capture.as_deref()?);
    // The table of flows also has the column `capture`. Its `unique_bytes` distinguishes it from
    // tables with rows of each capture.
    let has_width = frame.column("capture").is_some() && frame.column(SIZE_COLUMN).is_none();
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
            frame.text(SOURCE_COLUMN, row)?,
            frame.column("flow_id")?.whole(row)?,
        ))
    };
    let counts = |row: usize| {
        if !frame
            .text(SOURCE_COLUMN, row)
            .is_some_and(|file| with_flows.contains(file))
        {
            return true;
        }
        // The spin bit shows the whole round trip of a flow in whichever direction (RFC 9000, section
        // 17.4).
        if frame.text("method", row) == Some("spin_bit") {
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
/// or from cumulative acknowledgments in a capture at the sender. Also true for rows that are not round-trip times.
fn is_rtt_of_data(frame: &Frame, row: usize, lane: &Counted) -> bool {
    let reference = frame.text("reference", row);
    let is_sender = || match (reference, lane.capture.as_deref()) {
        (Some(reference), Some(capture)) => reference == capture,
        _ => true,
    };
    match frame.text("method", row) {
        Some("packet_pairs") | None => is_sender(),
        Some("sequence_ack") => {
            lane.has_rtt_of_acks && frame.text("ack_class", row) == Some("cumulative")
        }
        Some(_) => false,
    }
}

/// The files of the rows.
fn sources(frame: &Frame) -> BTreeSet<String> {
    (0..frame.rows())
        .filter_map(|row| frame.text(SOURCE_COLUMN, row).map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::folder;
    use super::super::{Selection, UsualGroups};
    use super::*;

    /// The RTTs that a chart draws of flows with these columns, and the note of the chart.
    fn drawn(flows: &str, filter: Option<&str>) -> Result<(Vec<Option<i64>>, String), Error> {
        let rtt = "flow_id,direction,method,ack_class,rtt_ns\n\
            0,forward,sequence_ack,cumulative,6\n1,forward,sequence_ack,cumulative,266\n";
        let (_dir, tables) = folder(&[("rtt", rtt), ("flows", flows)]);
        let filters = filter.map(|filter| filter.parse().unwrap());
        let selection = Selection::of(tables).filters(filters.into_iter().collect());
        let selection = selection.pooled(Pooling::default());
        let rows = selection.grouped("rtt_ns", &[(&[][..], UsualGroups::Yes)], &["rtt"], &[])?;
        let column = rows.frame.column("rtt_ns").unwrap();
        let rtts = (0..rows.frame.rows()).map(|row| column.whole(row));
        Ok((rtts.collect(), rows.note.unwrap()))
    }

    /// Flows with these vantages.
    fn flows(vantages: [&str; 2]) -> String {
        let [one, other] = vantages;
        format!(
            "flow_id,initiator,responder,direction,unique_bytes,vantage\n\
             0,10.0.0.1:1,10.0.0.9:5,forward,900,{one}\n1,10.0.0.2:2,10.0.0.9:5,forward,900,{other}\n"
        )
    }

    #[test]
    fn charts_have_no_rtts_of_acks_away_from_the_sender_unless_they_are_named() {
        let of = |vantages, filter| drawn(&flows(vantages), filter);
        let (rtts, note) = of(["initiator", "initiator"], None).unwrap();
        assert_eq!(rtts, [Some(6), Some(266)]);
        assert_eq!(
            note,
            "flows with at least 1 % of the payload, direction with more payload"
        );
        let (rtts, note) = of(["responder", "initiator"], None).unwrap();
        assert_eq!(rtts, [Some(266)]);
        let (rule, left_out) = note.rsplit_once(", ").unwrap();
        assert_eq!(
            rule,
            "flows with at least 1 % of the payload, direction with more payload"
        );
        assert_eq!(left_out, "without RTTs of captures away from the sender");
        let error = of(["responder", "between"], None).unwrap_err();
        assert!(matches!(error, Error::Tables(TablesError::NotAtSender)));
        let (rtts, _) = of(["responder", "between"], Some("method=sequence_ack")).unwrap();
        assert_eq!(rtts, [Some(6), Some(266)]);
    }

    #[test]
    fn tables_without_a_vantage_give_all_rtts_of_acks() {
        let flows = "flow_id,direction,unique_bytes\n0,forward,900\n1,forward,900\n";
        assert_eq!(drawn(flows, None).unwrap().0, [Some(6), Some(266)]);
    }
}
