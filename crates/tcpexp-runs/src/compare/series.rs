//! Runs of Flent: series of rates and round-trip times instead of packets.

use std::collections::BTreeMap;
use std::sync::Arc;

use tcpexp_metrics::compare::{Run, Sender, Window};
use tcpexp_table::dataset::StoredTables;
use tcpexp_units::{TimeDelta, Timestamp};

use super::CompareError;
use super::columns::Columns;
use super::sampled::Arrived;

/// Names of the tables.
pub(super) const SERIES: &str = "series";
const SAMPLES: &str = "samples";
/// Beginning of the names of series of round-trip times.
const PING: &str = "Ping (ms)";

/// Beginnings of the names of series of rates.
const RATES: [&str; 2] = ["TCP ", "UDP "];

/// Ends of the names of series that Flent computes from others.
const COMPUTED: [&str; 3] = [" avg", " sum", " totals"];

/// A series of a run.
#[derive(Default)]
struct Series {
    unit: Option<String>,
    tool_mean: Option<f64>,
    /// Time and value.
    values: Vec<(Timestamp, f64)>,
    /// Times over which the values are means; fewer than the values if the tool does not state each.
    durations: Vec<TimeDelta>,
}

/// A run that consists of series.
#[derive(Default)]
pub(super) struct SeriesRun {
    pub(super) run: Run,
    /// True if a rate has an unknown unit: the run has no rates.
    pub(super) has_unknown_rates: bool,
}

/// Reads the series of a run; `None` if its dataset has packets instead.
///
/// A series of a rate is a sender that always has data to send, and a series of round-trip times is a probe.
/// Series that Flent computes from others are left out. The goodput of a sender over the whole test is the
/// tool's own; parts of it come from Flent's interpolated series, as do round-trip times of a file without
/// samples. If the samples state their durations, the parts come from the samples.
///
/// The rates of all series are left out if one has an unknown unit: a sum without it would be too small.
pub(super) fn read(data: &StoredTables) -> Result<Option<SeriesRun>, CompareError> {
    if data.has("flows") || !data.has(SERIES) {
        return Ok(None);
    }
    let samples = of_table(data, SAMPLES)?;
    let series = of_table(data, SERIES)?;
    let times = series.values().flat_map(|one| &one.values);
    let Some(first) = times.map(|(at, _)| *at).min() else {
        return Ok(Some(SeriesRun::default()));
    };
    let (width, grid) = (step(&series), first);
    let has_unknown_rates = series.iter().any(|(name, one)| is_unknown_rate(name, one));
    let mut senders = Vec::new();
    for (name, reported) in &series {
        let samples = match samples.get(name) {
            Some(samples) => samples,
            None if samples.is_empty() && !is_computed(name) => reported,
            None => continue,
        };
        if name.starts_with(PING) {
            senders.extend(probe(name, samples, width));
        } else if has_unknown_rates {
            // The round-trip times of the run remain.
        } else if let Some(unit) = reported.unit.as_deref().and_then(bits_per_second) {
            let arrived = Arrived::of_samples(&samples.values, &samples.durations, (grid, width));
            senders.extend(sender(name, reported, arrived, unit, width));
        }
    }
    let starts = senders.iter().map(|sender| sender.active.from);
    let run = Run {
        origin: starts.fold(first, Timestamp::min),
        senders,
        ..Run::default()
    };
    Ok(Some(SeriesRun {
        run,
        has_unknown_rates,
    }))
}

/// True for a rate in an unknown unit. The number of a sender ends its name; other names after `::` are of other
/// quantities, such as `TCP upload::1::tcp_cwnd`.
fn is_unknown_rate(name: &str, reported: &Series) -> bool {
    let (class, number) = name.split_once("::").unwrap_or((name, ""));
    let is_sender = number.bytes().all(|byte| byte.is_ascii_digit());
    let is_rate = match reported.unit.as_deref() {
        Some(unit) => {
            bits_per_second(unit).is_none() && (unit.ends_with("/s") || unit.ends_with("bps"))
        }
        None => RATES.iter().any(|rate| class.starts_with(rate)),
    };
    is_sender && is_rate && !is_computed(name)
}

/// True if Flent computes a series of this name from others: `TCP upload avg`. In a file with samples, a
/// computed series has none.
pub fn is_computed(name: &str) -> bool {
    COMPUTED.iter().any(|end| name.ends_with(end))
}

fn of_table(data: &StoredTables, table: &str) -> Result<BTreeMap<String, Series>, CompareError> {
    let columns = [
        "series",
        "time",
        "value",
        "unit",
        "tool_mean",
        "duration_ns",
    ];
    let table = Columns::read(data, table, &columns)?;
    let [name, at, value, unit, mean, duration] = columns.map(|name| table.column(name));
    let mut all: BTreeMap<String, Series> = BTreeMap::new();
    for row in 0..table.rows() {
        if let (Some(name), Some(at), Some(value)) =
            (name.text(row), at.time(row), value.number(row))
        {
            let one = all.entry(name.to_owned()).or_default();
            one.unit = unit.text(row).map(str::to_owned);
            one.tool_mean = mean.number(row);
            one.values.push((at, value));
            one.durations.extend(duration.span(row));
        }
    }
    Ok(all)
}

/// The time from one value of a series to the next: the shortest of these times, because a series may have
/// gaps.
fn step(series: &BTreeMap<String, Series>) -> TimeDelta {
    let steps = series.values().flat_map(|one| {
        let pairs = one.values.iter().zip(one.values.iter().skip(1));
        pairs.map(|((from, _), (to, _))| *to - *from)
    });
    let steps = steps.filter(|step| *step > TimeDelta::ZERO);
    steps.min().unwrap_or_default()
}

/// Bits per second in the unit of a rate; `None` for other units.
pub fn bits_per_second(unit: &str) -> Option<f64> {
    match unit {
        "bits/s" => Some(1.0),
        "Kbits/s" | "Kbps" => Some(1e3),
        "Mbits/s" => Some(1e6),
        "Gbits/s" => Some(1e9),
        _ => None,
    }
}

/// The class of a series: `TCP upload` of `TCP upload::3`.
fn class(name: &str) -> Arc<str> {
    name.split_once("::")
        .map_or(name, |(class, _)| class)
        .into()
}

fn sender(
    name: &str,
    reported: &Series,
    of_samples: Option<Arrived>,
    unit_bps: f64,
    width: TimeDelta,
) -> Option<Sender> {
    let arrived = match of_samples {
        Some(arrived) => arrived,
        None => Arrived::of_values(&reported.values, width)?,
    };
    Some(Sender {
        is_bulk: true,
        arrived: arrived.bins(width, unit_bps / 8.0),
        seen: Some(arrived.active),
        unknown: arrived.unknown,
        resolution: arrived.longest,
        reported_goodput_bps: reported.tool_mean.map(|mean| mean * unit_bps),
        ..Sender::idle(class(name), arrived.active)
    })
}

fn probe(name: &str, samples: &Series, width: TimeDelta) -> Option<Sender> {
    let (first, last) = (samples.values.first()?.0, samples.values.last()?.0);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is too large saturates"
    )]
    let rtt = |(at, millis): &(Timestamp, f64)| {
        (*at, TimeDelta::from_nanos((millis * 1e6).round() as i64))
    };
    let rtts: Vec<_> = samples.values.iter().map(rtt).collect();
    let active = Window {
        from: first,
        until: last + width,
    };
    Some(Sender {
        is_probe: true,
        base_rtt: rtts.iter().map(|(_, rtt)| *rtt).min(),
        rtts,
        ..Sender::idle(class(name), active)
    })
}
