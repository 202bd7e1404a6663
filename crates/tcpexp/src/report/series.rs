//! Lines of the series of a run of Flent.

use std::collections::BTreeMap;

use serde_json::Value;
use tcpexp_chart::page::{PageFlow, page_quantiles};
use tcpexp_metrics::quantile::percentiles;
use tcpexp_runs::compare::{bits_per_second, is_computed};
use tcpexp_table::Frame;
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::Timestamp;

use super::flows::{GOODPUT, MAX_FLOWS, NUMBERS, RTT, RunFlows, add, read_table};
use super::gaps::end_at;
use crate::Error;

/// The rule that chooses the series, in words.
const RULE: &str =
    "series of Flent's tools: round-trip times, then rates, those of the most data first";
/// What the rule leaves out, in words.
const WITHOUT: &str = "; without series of other quantities and in unknown units";
/// Beginning of the names of series of round-trip times.
const PING: &str = "Ping (ms)";
/// Nanoseconds of the unit of round-trip times.
const NANOS_PER_MS: f64 = 1e6;

/// The lines of a run of Flent; `None` if its dataset has packets instead.
pub(super) fn series_of(
    data: &StoredTables,
    most_points: usize,
) -> Result<Option<RunFlows>, Error> {
    if data.has("flows") || !data.has("series") {
        return Ok(None);
    }
    let columns = ["series", "unit", "elapsed_ns", "value", "tool_mean"];
    let reported = by_name(&read_table(data, "series", &columns)?);
    let samples = by_name(&read_table(data, "samples", &columns)?);
    Ok(Some(drawn(&reported, &samples, most_points)))
}

fn drawn(reported: &Named, samples: &Named, most_points: usize) -> RunFlows {
    let measured = reported.iter().filter(|(name, _)| !is_computed(name));
    let all = measured.clone().count();
    let mut flows = Vec::new();
    for (name, series) in measured {
        let own = match samples.get(name) {
            Some(samples) => samples,
            None if samples.is_empty() => series,
            None => continue,
        };
        let unit_bps = series.unit.as_deref().and_then(bits_per_second);
        if name.starts_with(PING) {
            flows.push((f64::INFINITY, ping(name, own, most_points)));
        } else if let Some(unit_bps) = unit_bps {
            let rate = rate(name, series, unit_bps, most_points);
            flows.push((series.size() * unit_bps, rate));
        }
    }
    let chosen = flows.len();
    // Series in the order of their names stay in it if they are equally large.
    flows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    flows.truncate(MAX_FLOWS);
    let (flows, numbers) = flows.into_iter().map(|(_, flow)| flow).unzip();
    let without = if chosen < all { WITHOUT } else { "" };
    RunFlows {
        numbers,
        flows,
        all,
        chosen,
        rule: format!("{RULE}{without}"),
    }
}

/// A series of round-trip times: its line and its numbers.
fn ping(name: &str, own: &Series, most_points: usize) -> (PageFlow, Vec<Value>) {
    let mut flow = flow_of(name);
    add(&mut flow.series, RTT, &own.scaled(), most_points, SCALE);
    let mut rtts = own.values.iter().map(|(_, rtt)| *rtt).collect::<Vec<_>>();
    let quantiles = page_quantiles(rtts.clone());
    let quantiles = quantiles.map(|found| (RTT.0.to_owned(), found));
    flow.quantiles.extend(quantiles);
    let [median, p95] = percentiles(&mut rtts, [0.5, 0.95]).map_or([None; 2], |of| of.map(Some));
    let numbers = [
        ("rtt_median_ns", median.map(|median| median * NANOS_PER_MS)),
        ("rtt_p95_ns", p95.map(|p95| p95 * NANOS_PER_MS)),
    ];
    (flow, numbers_of(&numbers))
}

/// A series of rates: its line, in Mbit/s, and its numbers.
fn rate(name: &str, series: &Series, unit_bps: f64, most_points: usize) -> (PageFlow, Vec<Value>) {
    let mut flow = flow_of(name);
    let per_mbps = SCALE * 1e6 / unit_bps;
    add(
        &mut flow.series,
        GOODPUT,
        &series.scaled(),
        most_points,
        per_mbps,
    );
    end_at(&series.unknown, flow.series.get_mut(GOODPUT.0));
    let goodput = series.tool_mean.map(|mean| mean * unit_bps);
    (flow, numbers_of(&[("arrived_goodput_bps", goodput)]))
}

fn flow_of(name: &str) -> PageFlow {
    PageFlow {
        label: name.to_owned(),
        series: BTreeMap::new(),
        quantiles: BTreeMap::new(),
    }
}

/// The [`NUMBERS`] of a series, in their order; null where `known` has none.
fn numbers_of(known: &[(&str, Option<f64>)]) -> Vec<Value> {
    let value = |(name, _): &(&str, &str)| {
        let (_, number) = known.iter().find(|(known, _)| known == name)?;
        #[expect(
            clippy::cast_possible_truncation,
            reason = "what is too large saturates"
        )]
        let whole = number.map(|number| number.round() as i64);
        whole.map(Value::from)
    };
    let values = NUMBERS
        .iter()
        .map(|name| value(name).unwrap_or(Value::Null));
    values.collect()
}

/// Values are drawn from whole numbers of this part of their unit.
const SCALE: f64 = 1e6;

/// A series of a run.
#[derive(Default)]
struct Series {
    unit: Option<String>,
    /// Mean over the whole test, as the tool reports it.
    tool_mean: Option<f64>,
    /// Time and value.
    values: Vec<(Timestamp, f64)>,
    /// Times without a value.
    unknown: Vec<Timestamp>,
}

impl Series {
    /// Amount of data of a series of rates, in its unit times the interval of the values: the mean of the tool,
    /// or of the values without one, over the time in which the series has values. Flent interpolates them to
    /// common times, so their number shows this time.
    fn size(&self) -> f64 {
        let sum = self.values.iter().map(|(_, value)| value).sum();
        let count = self.values.len() as f64;
        self.tool_mean.map_or(sum, |mean| mean * count)
    }

    /// The values in parts of their unit.
    fn scaled(&self) -> Vec<(Timestamp, i64)> {
        let scaled = self.values.iter().map(|(at, value)| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "what is too large saturates"
            )]
            let value = (value * SCALE).round() as i64;
            (*at, value)
        });
        scaled.collect()
    }
}

/// Series by name.
type Named = BTreeMap<String, Series>;

fn by_name(frame: &Frame) -> Named {
    let mut all = Named::new();
    let text = |column, row| frame.text(column, row).map(str::to_owned);
    for row in 0..frame.rows() {
        let number = |column: &str| frame.column(column)?.number(row);
        let whole = frame
            .column("elapsed_ns")
            .and_then(|column| column.whole(row));
        let Some((name, at)) = text("series", row).zip(whole.map(Timestamp::from_nanos)) else {
            continue;
        };
        let series = all.entry(name).or_default();
        let Some(value) = number("value") else {
            series.unknown.push(at);
            continue;
        };
        series.unit = text("unit", row);
        series.tool_mean = number("tool_mean");
        series.values.push((at, value));
    }
    all.retain(|_, series| !series.values.is_empty());
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_series_with_the_most_data_come_first() {
        let series = |name: &str, tool_mean, values: &[f64]| {
            let times = (0..).map(Timestamp::from_nanos);
            let series = Series {
                unit: Some("Mbits/s".to_owned()),
                tool_mean,
                values: times.zip(values.iter().copied()).collect(),
                unknown: Vec::new(),
            };
            (name.to_owned(), series)
        };
        let reported = Named::from([
            series("TCP upload::1", Some(5.0), &[9.0, 9.0]),
            series("TCP upload::2", None, &[2.0; 10]),
            series("TCP upload::3", Some(8.0), &[1.0; 10]),
        ]);
        let run = drawn(&reported, &Named::new(), 100);
        let labels: Vec<&str> = run.flows.iter().map(|flow| flow.label.as_str()).collect();
        assert_eq!(labels, ["TCP upload::3", "TCP upload::2", "TCP upload::1"]);
    }

    #[test]
    fn rates_in_all_known_units_are_drawn_and_other_series_are_counted() {
        let series = |name: &str, unit: Option<&str>, tool_mean, values: [f64; 3]| {
            let times = [0, 1, 2].map(Timestamp::from_nanos);
            let series = Series {
                unit: unit.map(str::to_owned),
                tool_mean,
                values: times.into_iter().zip(values).collect(),
                unknown: Vec::new(),
            };
            (name.to_owned(), series)
        };
        let reported = Named::from([
            series("Ping (ms) ICMP", Some("ms"), None, [20.0, 60.0, 40.0]),
            series("TCP upload::1", Some("Kbits/s"), Some(5000.5), [5e3; 3]),
            series("TCP upload::2", Some("Mbits/s"), None, [7.0; 3]),
            series("TCP upload::3", Some("furlongs/s"), None, [9.0; 3]),
            series("TCP upload sum", Some("Mbits/s"), None, [12.0; 3]),
        ]);
        let run = drawn(&reported, &Named::new(), 100);
        let labels: Vec<&str> = run.flows.iter().map(|flow| flow.label.as_str()).collect();
        assert_eq!(labels, ["Ping (ms) ICMP", "TCP upload::2", "TCP upload::1"]);
        assert_eq!((run.chosen, run.all), (3, 4));
        assert!(run.rule.ends_with(WITHOUT), "{}", run.rule);
        let line = serde_json::to_value(&run.flows[2].series[GOODPUT.0]).unwrap();
        assert_eq!(line["values"][0], json!(5.0));
        let null = Value::Null;
        let numbers = run.numbers.iter().map(|numbers| numbers[..3].to_vec());
        let expected = [
            vec![null.clone(), json!(40_000_000), json!(58_000_000)],
            // Its tool reports no mean.
            vec![null.clone(), null.clone(), null.clone()],
            vec![json!(5_000_500), null.clone(), null],
        ];
        assert_eq!(numbers.collect::<Vec<_>>(), expected);
    }
}
