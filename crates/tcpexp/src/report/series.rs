//! Lines of the series of a run of Flent.

use std::collections::BTreeMap;

use serde_json::Value;
use tcpexp_chart::page::{PageFlow, page_quantiles};
use tcpexp_runs::compare::is_computed;
use tcpexp_table::dataset::StoredTables;
use tcpexp_table::{Cell, Frame};
use tcpexp_units::Timestamp;

use super::flows::{GOODPUT, MAX_FLOWS, NUMBERS, RTT, RunFlows, add, read_table};
use crate::Error;

/// The rule that chooses the series, in words.
const RULE: &str = "series of Flent's tools: round-trip times, then rates with the largest first";
/// Beginning of the names of series of round-trip times.
const PING: &str = "Ping (ms)";
/// Unit of the series of rates.
const RATE: &str = "Mbits/s";

/// The lines of a run of Flent; `None` if its dataset has packets instead.
pub(super) fn series_of(
    data: &StoredTables,
    most_points: usize,
) -> Result<Option<RunFlows>, Error> {
    if data.has("flows") || !data.has("series") {
        return Ok(None);
    }
    let columns = ["series", "unit", "elapsed_ns", "value"];
    let reported = by_name(&read_table(data, "series", &columns)?);
    let samples = by_name(&read_table(data, "samples", &columns)?);
    let mut flows = Vec::new();
    for (name, (unit, values)) in &reported {
        let own = match samples.get(name) {
            Some((_, own)) => own,
            None if samples.is_empty() && !is_computed(name) => values,
            None => continue,
        };
        let mut series = BTreeMap::new();
        let mut quantiles = BTreeMap::new();
        let mut sum = i64::MAX;
        if name.starts_with(PING) {
            add(&mut series, RTT, own, most_points, SCALE);
            let rtts = own.iter().map(|(_, rtt)| *rtt as f64 / SCALE).collect();
            quantiles.extend(page_quantiles(rtts).map(|found| (RTT.0.to_owned(), found)));
        } else if unit.as_deref() == Some(RATE) {
            add(&mut series, GOODPUT, values, most_points, SCALE);
            sum = values
                .iter()
                .map(|(_, rate)| *rate)
                .fold(0, i64::saturating_add);
        } else {
            continue;
        }
        let flow = PageFlow {
            label: name.clone(),
            series,
            quantiles: quantiles.into_iter().collect(),
        };
        flows.push((sum, flow));
    }
    let all = flows.len();
    flows.sort_by_key(|(sum, _)| std::cmp::Reverse(*sum));
    let mut flows: Vec<PageFlow> = flows.into_iter().map(|(_, flow)| flow).collect();
    flows.truncate(MAX_FLOWS);
    Ok(Some(RunFlows {
        numbers: vec![vec![Value::Null; NUMBERS.len()]; flows.len()],
        flows,
        all,
        chosen: all,
        rule: RULE.to_owned(),
    }))
}

/// Values are drawn from whole numbers of this part of their unit.
const SCALE: f64 = 1e6;

/// Unit, and time and value of a series, by name.
type Named = BTreeMap<String, (Option<String>, Vec<(Timestamp, i64)>)>;

fn by_name(frame: &Frame) -> Named {
    let mut all = Named::new();
    let text = |column: &str, row| match frame.column(column)?.cell(row) {
        Cell::Text(text) => Some(text.to_owned()),
        _ => None,
    };
    for row in 0..frame.rows() {
        let number = |column: &str| frame.column(column)?.number(row);
        let whole = frame
            .column("elapsed_ns")
            .and_then(|column| column.whole(row));
        if let (Some(name), Some(at), Some(value)) = (text("series", row), whole, number("value")) {
            let (unit, values) = all.entry(name).or_default();
            *unit = text("unit", row);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "what is too large saturates"
            )]
            values.push((Timestamp::from_nanos(at), (value * SCALE).round() as i64));
        }
    }
    all
}
