//! Data files of Flent: the series of one test, and the samples of its tools.
//!
//! A data file is a JSON document with the values of each series (`results`) at common times
//! (`x_values`, seconds since the start of the test), the samples of the tools (`raw_values`), and
//! `metadata` with the name of the test and the unit of each series. Flent interpolates the samples to the
//! common times. The samples also give the time zone of a start that states none.

use std::io::BufRead;
use std::sync::Arc;

use serde_json::Value;
use tcpexp_units::{TimeDelta, Timestamp};

use super::error::{Error, Report, Unusable};
use super::format::Format;
use super::iperf3::failure;
use super::iperf3_streams::span;
use super::python_json;
use super::rows::{Batch, SeriesSample, TestInfo};

/// First version of the format whose samples have the unit of their series.
const UNITS_OF_SAMPLES: u64 = 4;
/// Time zones differ from UTC by multiples of 15 minutes.
const ZONE_STEP_S: f64 = 900.0;
/// Maximum time from the start of a test to its first sample, by which the zone of the start is found.
const MAX_FIRST_SAMPLE_S: f64 = 60.0;

/// Reads all values and passes them to `sink`: first the test, then one batch per series in the order of
/// their names.
pub(super) fn read<E: From<Error>>(
    mut log: impl BufRead,
    mut sink: impl FnMut(Batch) -> Result<(), E>,
) -> Result<Report, E> {
    let mut bytes = Vec::new();
    log.read_to_end(&mut bytes)
        .map_err(|source| Error::Read { line: 0, source })?;
    let file = python_json::parse(&bytes).map_err(failure)?;
    drop(bytes);
    let mut report = Report {
        entry: Format::Flent.entry(),
        ..Report::default()
    };
    let metadata = &file["metadata"];
    let info = info(&file);
    let start = info.start.unwrap_or_default();
    let (test, title): (Arc<str>, Arc<str>) = (Arc::from(&*info.name), Arc::from(&*info.title));
    if file["results"].is_object() {
        sink(Batch {
            test: Some(info),
            ..Batch::default()
        })?;
    }
    let times = file["x_values"].as_array().map_or(&[][..], Vec::as_slice);
    let mut series: Vec<(&String, &Value)> =
        file["results"].as_object().into_iter().flatten().collect();
    series.sort_unstable_by_key(|(name, _)| *name);
    for (name, values) in series {
        let described = &metadata["SERIES_META"][name];
        let row = SeriesSample {
            test: Arc::clone(&test),
            title: Arc::clone(&title),
            series: Arc::from(name.as_str()),
            at: Timestamp::default(),
            elapsed: TimeDelta::ZERO,
            value: 0.0,
            duration: None,
            unit: described["UNITS"].as_str().map(Arc::from),
            tool_mean: described["MEAN_VALUE"].as_f64(),
        };
        let values = values.as_array().map_or(&[][..], Vec::as_slice);
        let mut batch = Batch::default();
        for place in 0..values.len().max(times.len()) {
            report.lines += 1;
            let (time, value) = (times.get(place), values.get(place));
            match sample(time, value) {
                Ok(None) => report.passed_over += 1,
                Ok(Some((elapsed, value))) => {
                    report.used += 1;
                    batch.series.push(SeriesSample {
                        at: start + elapsed,
                        elapsed,
                        value,
                        ..row.clone()
                    });
                }
                Err(reason) => report.refuse(reason, name),
            }
        }
        if !batch.series.is_empty() {
            let (samples, unreadable) = tool_samples(&file, name, start, &row);
            batch.series_samples = samples;
            for _ in 0..unreadable {
                report.lines += 1;
                report.refuse(Unusable::Unreadable("a tool's sample"), name);
            }
            sink(batch)?;
        }
    }
    Ok(report)
}

/// Time since the start and value of a sample; `None` for a time at which the series has no value.
fn sample(
    time: Option<&Value>,
    value: Option<&Value>,
) -> Result<Option<(TimeDelta, f64)>, Unusable> {
    let time = time.ok_or(Unusable::Missing("time of a value"))?;
    let value = match value.ok_or(Unusable::Missing("value of a time"))? {
        Value::Null => return Ok(None),
        value => value.as_f64().ok_or(Unusable::Unreadable("value"))?,
    };
    let elapsed = span(time).ok_or(Unusable::Unreadable("time"))?;
    Ok(Some((elapsed, value)))
}

/// The samples of a series, as its tool printed them, and the number of samples that cannot be read; none of a
/// series that Flent computes.
fn tool_samples(
    file: &Value,
    name: &str,
    start: Timestamp,
    row: &SeriesSample,
) -> (Vec<SeriesSample>, usize) {
    let (entries, key) = raw_entries(file, name);
    let has_units = file["version"]
        .as_u64()
        .is_some_and(|version| version >= UNITS_OF_SAMPLES);
    let sample = |entry: &Value| {
        let value = entry[key].as_f64()?;
        let at = timestamp(entry["t"].as_f64()?)?;
        let value = if has_units {
            value
        } else {
            in_unit_of_series(name, value, entry)?
        };
        Some(SeriesSample {
            at,
            elapsed: at - start,
            value,
            duration: span(&entry["dur"]),
            ..row.clone()
        })
    };
    let is_readable =
        |entry: &Value| entry[key].is_number() && entry["t"].as_f64().and_then(timestamp).is_some();
    // A sample without a value is a lost ping, for example.
    let with_value = entries.iter().filter(|entry| !entry[key].is_null());
    let unreadable = with_value.filter(|entry| !is_readable(entry)).count();
    (entries.iter().filter_map(sample).collect(), unreadable)
}

/// The samples of a series, and the name of their value: the series `A::tcp_cwnd` has the values `tcp_cwnd`
/// of the samples of `A`.
fn raw_entries<'a>(file: &'a Value, name: &'a str) -> (&'a [Value], &'a str) {
    let of = |series: &str, key: &str| {
        let entries = file["raw_values"][series].as_array()?.as_slice();
        let has_value = entries.iter().any(|entry| !entry[key].is_null());
        has_value.then_some(entries)
    };
    // Flent summarises a series whose own samples are an empty list by its values.
    if file["raw_values"][name].is_array() {
        return (of(name, "val").unwrap_or_default(), "val");
    }
    let inner = name.rsplit_once("::");
    let inner = inner.and_then(|(series, key)| Some((of(series, key)?, key)));
    inner.unwrap_or((&[], "val"))
}

/// Converts a sample of an early version of the format: HTTP latencies were in seconds, and netperf's UDP
/// round trips, which have a duration, were transactions per second.
fn in_unit_of_series(name: &str, value: f64, entry: &Value) -> Option<f64> {
    if name == "HTTP latency" {
        return Some(value * 1e3);
    }
    if name.contains("UDP") && !entry["dur"].is_null() {
        return (value > 0.0).then(|| 1e3 / value);
    }
    Some(value)
}

fn info(file: &Value) -> TestInfo {
    let metadata = &file["metadata"];
    let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
    let parameters = metadata["TEST_PARAMETERS"]
        .as_object()
        .into_iter()
        .flatten();
    let shown = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let stated = stated_start(file);
    TestInfo {
        name: text("NAME"),
        title: text("TITLE"),
        // The tools take their first samples when the test starts, so the earliest is near its start.
        start: stated.or_else(|| first_sample(file)),
        is_start_estimated: stated.is_none(),
        parameters: parameters
            .map(|(name, value)| (name.clone(), shown(value)))
            .collect(),
    }
}

/// The start of the test that the file states; `None` without one, or if its time zone is unknown.
fn stated_start(file: &Value) -> Option<Timestamp> {
    let stated = file["metadata"]["T0"].as_str()?;
    if let Some(start) = Timestamp::from_rfc3339(stated) {
        return Some(start);
    }
    // Early versions state a local time without its zone. The samples are in UTC, and the first is taken
    // when the test starts.
    let local = Timestamp::from_rfc3339(&format!("{stated}Z"))?;
    let ahead_s = (first_sample(file)? - local).as_seconds_f64();
    let zone_s = (ahead_s / ZONE_STEP_S).round() * ZONE_STEP_S;
    let is_near = (ahead_s - zone_s).abs() <= MAX_FIRST_SAMPLE_S;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of seconds")]
    is_near.then(|| local + TimeDelta::from_seconds(zone_s as i64))
}

/// Time of the earliest sample of the tools.
fn first_sample(file: &Value) -> Option<Timestamp> {
    let series = file["raw_values"].as_object()?.values();
    let samples = series.filter_map(Value::as_array).flatten();
    samples
        .filter_map(|entry| timestamp(entry["t"].as_f64()?))
        .min()
}

/// Converts seconds since 1970 to a time; `None` beyond the years of measurements.
fn timestamp(seconds: f64) -> Option<Timestamp> {
    let micros = (seconds * 1e6).round();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "within range as just checked"
    )]
    (0.0..9e15)
        .contains(&micros)
        .then(|| Timestamp::from_nanos(micros as i64 * 1_000))
}

#[cfg(test)]
mod tests {
    use super::super::{Format, import};
    use super::*;

    const FILE: &str = r#"{
        "version": 4,
        "metadata": {
            "NAME": "tcp_upload", "TITLE": "qdisc:fifo", "T0": "2017-02-21T20:55:11.5Z",
            "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"}, "Ping (ms) ICMP": {"UNITS": "ms"}}
        },
        "x_values": [0.0, 0.2, 0.4],
        "results": {
            "TCP upload": [null, 9.5, 10],
            "Ping (ms) ICMP": [20.25, 21, "x"],
            "short": [1]
        },
        "raw_values": {"TCP upload": [{"t": 1487710511.9, "val": 9.4, "dur": 0.2}]}
    }"#;

    fn read_all(text: &str) -> (Vec<SeriesSample>, Result<Report, Error>) {
        let mut samples = Vec::new();
        let report = import(Format::Flent, text.as_bytes(), |batch| {
            samples.extend(batch.series);
            Ok::<_, Error>(())
        });
        (samples, report)
    }

    #[test]
    fn values_have_the_times_and_units_of_the_file() {
        let (samples, report) = read_all(FILE);
        let report = report.unwrap();
        assert_eq!(
            (
                report.lines,
                report.used,
                report.passed_over,
                report.unusable()
            ),
            (9, 5, 1, 3)
        );
        let shown: Vec<_> = samples
            .iter()
            .map(|sample| {
                let unit = sample.unit.as_deref().unwrap_or("-");
                format!(
                    "{} {} {} {unit}",
                    sample.series,
                    sample.at.rfc3339(),
                    sample.value
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "Ping (ms) ICMP 2017-02-21T20:55:11.500000000Z 20.25 ms",
                "Ping (ms) ICMP 2017-02-21T20:55:11.700000000Z 21 ms",
                "TCP upload 2017-02-21T20:55:11.700000000Z 9.5 Mbits/s",
                "TCP upload 2017-02-21T20:55:11.900000000Z 10 Mbits/s",
                "short 2017-02-21T20:55:11.500000000Z 1 -",
            ]
        );
        assert_eq!(&*samples[0].test, "tcp_upload");
        assert_eq!(&*samples[0].title, "qdisc:fifo");
    }

    #[test]
    fn a_start_without_a_zone_has_the_zone_of_the_samples() {
        let local = FILE.replace("20:55:11.5Z", "22:55:11.5");
        let (samples, _) = read_all(&local);
        assert_eq!(samples[1].at.rfc3339(), "2017-02-21T20:55:11.700000000Z");
        // Without samples the zone is unknown.
        let (samples, _) = read_all(&local.replace("\"t\"", "\"x\""));
        assert_eq!(samples[1].at, Timestamp::from_nanos(200_000_000));
        assert_eq!(samples[1].elapsed, TimeDelta::from_millis(200));
    }

    #[test]
    fn without_a_start_times_count_from_the_earliest_sample() {
        let sampled = FILE.replace(
            r#""TCP upload": [{"t""#,
            r#""Ping (ms) ICMP": [{"t": 1487710511.4, "val": 20}], "TCP upload": [{"t""#,
        );
        let unstated = sampled.replace(r#""T0""#, r#""T1""#);
        assert_eq!(
            samples_of(&unstated),
            [
                "Ping (ms) ICMP 0 ns 20",
                "TCP upload 500.000 ms 9.4 over 200.000 ms"
            ]
        );
        let (values, _) = read_all(&unstated);
        assert_eq!(values[1].at.rfc3339(), "2017-02-21T20:55:11.600000000Z");
        assert_eq!(values[1].elapsed, TimeDelta::from_millis(200));
    }

    #[test]
    fn values_that_are_no_numbers_are_missing() {
        let (samples, report) = read_all(&FILE.replace("9.5, 10]", "NaN, 10]"));
        let report = report.unwrap();
        assert_eq!((report.used, report.passed_over), (4, 2));
        assert_eq!(samples.len(), 4);
    }

    fn samples_of(text: &str) -> Vec<String> {
        let mut samples = Vec::new();
        let report = import(Format::Flent, text.as_bytes(), |batch| {
            samples.extend(batch.series_samples);
            Ok::<_, Error>(())
        });
        report.unwrap();
        let shown = samples.iter().map(|one| {
            let over = one.duration.map(|duration| format!(" over {duration}"));
            let over = over.unwrap_or_default();
            format!("{} {} {}{over}", one.series, one.elapsed, one.value)
        });
        shown.collect()
    }

    #[test]
    fn samples_have_the_unit_of_their_series_and_their_duration() {
        let text = r#"{"version": 3, "metadata": {"T0": "1970-01-01T00:00:10Z"}, "x_values": [0],
            "results": {"HTTP latency": [4], "Ping (ms) UDP BE": [2], "Ping (ms) ICMP": [3],
                "TCP upload": [1], "TCP upload::tcp_cwnd": [10], "TCP upload sum": [1]},
            "raw_values": {"HTTP latency": [{"t": 10.5, "val": 0.004}],
                "Ping (ms) UDP BE": [{"t": 11, "val": 500, "dur": 0.2}],
                "Ping (ms) ICMP": [{"t": 11, "val": 3}],
                "TCP upload": [{"t": 12, "tcp_cwnd": 10}, {"t": 12.5, "val": 1, "dur": 0.2}],
                "TCP upload sum": []}}"#;
        insta::assert_snapshot!(samples_of(text).join("\n"), @r"
        HTTP latency 500.000 ms 4
        Ping (ms) ICMP 1.000 s 3
        Ping (ms) UDP BE 1.000 s 2 over 200.000 ms
        TCP upload 2.500 s 1 over 200.000 ms
        TCP upload::tcp_cwnd 2.000 s 10
        ");
        let newer = samples_of(&text.replace("\"version\": 3", "\"version\": 4"));
        assert!(newer[0].ends_with(" 0.004"), "{newer:?}");
    }

    #[test]
    fn a_sample_that_cannot_be_read_counts_as_a_line() {
        let broken = FILE.replace("\"val\": 9.4", "\"val\": \"9.4\"");
        let late = FILE.replace("1487710511.9", "1e300");
        for text in [broken, late] {
            let report = read_all(&text).1.unwrap();
            assert_eq!(report.unusable(), 1 + 3);
            let counted = report.used + report.passed_over + report.unusable();
            assert_eq!(report.lines, counted);
        }
    }

    #[test]
    fn other_json_has_nothing_usable() {
        for text in ["{}", "[]", r#"{"x_values": [], "results": {}}"#] {
            let (samples, report) = read_all(text);
            assert!(samples.is_empty());
            assert!(matches!(report, Err(Error::NothingUsable { .. })), "{text}");
        }
        let (_, broken) = read_all(&FILE[..FILE.len() - 20]);
        assert!(matches!(broken, Err(Error::CutJson { line: 1.. })));
    }
}
