//! A run as a data file of Flent.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tcpexp_metrics::compare::{Bin, Measure, Options, Run, Sender, measure_run};
use tcpexp_runs::compare::{CompareError, RunInput, run_and_record};
use tcpexp_runs::record::{RunRecord, Status};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::Error;

/// Version of the format.
const VERSION: u64 = 4;
/// Unit of rates in Flent.
const RATE: &str = "Mbits/s";
/// The series of round-trip times.
const PING: &str = "Ping (ms) ICMP";

/// A run as a data file of Flent: JSON, which Flent's files have compressed by gzip.
#[derive(Clone, Debug)]
pub struct FlentFile {
    /// The document.
    pub json: Value,
    /// The traffic for which Flent has no series.
    pub left_out: Vec<String>,
}

/// Reads a run of a sweep as a data file of Flent.
///
/// The series are the goodput of each TCP sender at the receiving capture, `TCP upload::1` towards the sinks
/// and `TCP download::1` towards the sources, and the round-trip times of ping. Their means are those of
/// `tcpexp compare`. Series that Flent computes from others are among them. The name of the test is that of
/// a test with these series, so that its plots work.
pub fn flent_file(run_dir: &Path) -> Result<FlentFile, Error> {
    let (record, run) = run_and_record(run_dir).map_err(|error| match error {
        CompareError::Record(error) => Error::Record(error),
        source => Error::CompareRuns {
            path: run_dir.to_owned(),
            source,
        },
    })?;
    let cannot = |why: String| Error::NotForFlent {
        path: run_dir.to_owned(),
        why,
    };
    if record.status != Status::Complete {
        let reason = record.reason.as_deref().unwrap_or("no reason given");
        return Err(cannot(format!("the run is not complete: {reason}")));
    }
    let run = match run {
        RunInput::Packets(run) => run,
        RunInput::Series => {
            let why =
                "it has series of Flent, not packets: only runs with captures can be exported";
            return Err(cannot(why.to_owned()));
        }
        RunInput::None => return Err(cannot("its traffic never started".to_owned())),
    };
    file_of(&record, &run).ok_or_else(|| cannot("it has neither TCP traffic nor a ping".to_owned()))
}

/// A series with a value or none at each time of the file.
struct Series {
    name: String,
    unit: &'static str,
    mean: Option<f64>,
    values: Vec<Option<f64>>,
    /// Samples as their tool or the capture has them: time in seconds since 1970 and value.
    raw: Vec<Value>,
}

fn file_of(record: &RunRecord, run: &Run) -> Option<FlentFile> {
    // Flent's times have microseconds.
    let start = Timestamp::from_nanos(run.origin.as_nanos().div_euclid(1_000) * 1_000);
    let is_tcp =
        |sender: &&Sender| !sender.is_probe && !sender.is_call && !sender.arrived.is_empty();
    let senders: Vec<&Sender> = run.senders.iter().filter(is_tcp).collect();
    let ping = run
        .senders
        .iter()
        .find(|sender| sender.is_probe && !sender.rtts.is_empty());
    let times = grid(run);
    let uploads = senders.iter().filter(|sender| sender.link == 0).count();
    let downloads = senders.len() - uploads;
    let (test, class) = test_and_class(uploads, downloads, ping.is_some())?;
    let mut all = rates(&senders, class, run, &times);
    all.extend(ping.map(|ping| ping_series(ping, &times)));
    let is_left_out =
        |sender: &&Sender| !is_tcp(sender) && !ping.is_some_and(|ping| std::ptr::eq(ping, *sender));
    let left_out = run.senders.iter().filter(is_left_out);
    let left_out = left_out.map(|sender| sender.class.to_string()).collect();
    let seconds = |at: &Timestamp| (*at - start).as_seconds_f64();
    let x_values: Vec<f64> = times.iter().map(seconds).collect();
    let of_all = |value: fn(&Series) -> Value| -> Map<String, Value> {
        all.iter()
            .map(|one| (one.name.clone(), value(one)))
            .collect()
    };
    let mut metadata = metadata(record, run, start, test);
    metadata["SERIES_META"] = Value::Object(of_all(|one| {
        let mut meta = json!({"UNITS": one.unit});
        if let Some(mean) = one.mean {
            meta["MEAN_VALUE"] = json!(mean);
        }
        meta
    }));
    metadata["TEST_PARAMETERS"] =
        json!({"upload_streams": uploads.to_string(), "download_streams": downloads.to_string()});
    metadata["TOTAL_LENGTH"] = json!(x_values.last());
    Some(FlentFile {
        json: json!({
            "version": VERSION,
            "metadata": metadata,
            "x_values": x_values,
            "results": of_all(|one| json!(one.values)),
            "raw_values": of_all(|one| json!(one.raw)),
        }),
        left_out,
    })
}

/// The name of Flent's test with these series, and the class of service in the names of its series.
const fn test_and_class(
    uploads: usize,
    downloads: usize,
    has_ping: bool,
) -> Option<(&'static str, &'static str)> {
    Some(match (uploads, downloads, has_ping) {
        (0, 0, false) => return None,
        (0, 0, true) => ("ping", ""),
        (_, 0, _) => ("tcp_nup", ""),
        (0, ..) => ("tcp_ndown", ""),
        // The series of this test name the class of service, best effort.
        _ => ("rrul_be_nflows", " BE"),
    })
}

/// The rates of the senders of each way, with their mean and their sum, and the sum of both ways.
fn rates(senders: &[&Sender], class: &str, run: &Run, times: &[Timestamp]) -> Vec<Series> {
    let mut all = Vec::new();
    for (link, way) in ["upload", "download"].into_iter().enumerate() {
        let of_way = senders.iter().filter(|sender| sender.link == link);
        let named = of_way.zip(1..).map(|(sender, number)| {
            let name = format!("TCP {way}{class}::{number}");
            rate_series(name, sender, run, times)
        });
        let each: Vec<Series> = named.collect();
        if !each.is_empty() {
            all.push(combined(format!("TCP {way} avg"), &each, true));
            all.push(combined(format!("TCP {way} sum"), &each, false));
        }
        all.extend(each);
    }
    let is_sum = |one: &Series| one.name.ends_with(" sum");
    if all.iter().filter(|one| is_sum(one)).count() > 1 {
        let sums: Vec<Series> = all.extract_if(.., |one| is_sum(one)).collect();
        all.push(combined("TCP totals".to_owned(), &sums, false));
        all.extend(sums);
    }
    all
}

/// Ends of the bins of all senders; of a run without bins, the times of the round-trip times.
fn grid(run: &Run) -> Vec<Timestamp> {
    let bins = || run.senders.iter().flat_map(|sender| &sender.arrived);
    let starts = || bins().map(|bin| bin.start);
    let Some((first, last)) = starts().min().zip(starts().max()) else {
        let sent = run.senders.iter().flat_map(|sender| &sender.rtts);
        let mut times: Vec<Timestamp> = sent.map(|(at, _)| *at).collect();
        times.sort_unstable();
        times.dedup();
        return times;
    };
    let width = bins().map(|bin| bin.width).max().unwrap_or(TimeDelta::ZERO);
    let next = move |at: &Timestamp| {
        Some(*at + width).filter(|next| *next <= last && width > TimeDelta::ZERO)
    };
    std::iter::successors(Some(first), next)
        .map(|start| start + width)
        .collect()
}

fn rate_series(name: String, sender: &Sender, run: &Run, times: &[Timestamp]) -> Series {
    let by_end: BTreeMap<Timestamp, &Bin> = sender
        .arrived
        .iter()
        .map(|bin| (bin.start + bin.width, bin))
        .collect();
    let value = |at: &Timestamp| match by_end.get(at) {
        Some(bin) => mbps(bin),
        // A bin without packets has no row.
        None => sender.active.holds(*at).then_some(0.0),
    };
    let sample = |(at, bin): (&Timestamp, &&Bin)| {
        let value = mbps(bin)?;
        Some(json!({"t": unix_seconds(*at), "val": value, "dur": bin.covered.as_seconds_f64()}))
    };
    Series {
        mean: goodput_mbps(sender, run),
        values: times.iter().map(value).collect(),
        raw: by_end.iter().filter_map(sample).collect(),
        unit: RATE,
        name,
    }
}

/// Goodput of a sender over its activity, as in `tcpexp compare`.
fn goodput_mbps(sender: &Sender, run: &Run) -> Option<f64> {
    let alone = Arc::from("\u{0}alone");
    let senders = run.senders.iter().map(|one| Sender {
        class: if std::ptr::eq(one, sender) {
            Arc::clone(&alone)
        } else {
            Arc::clone(&one.class)
        },
        ..one.clone()
    });
    let run = Run {
        senders: senders.collect(),
        ..run.clone()
    };
    let classes = measure_run(&run, &Options::default());
    let found = classes
        .iter()
        .find(|one| one.class.as_ref() == Some(&alone))?;
    Some(found.values.value(Measure::Goodput)? / 1e6)
}

/// Goodput in a bin; `None` if the capture hardly covers it, as in the table `throughput`.
fn mbps(bin: &Bin) -> Option<f64> {
    let (covered, width) = (bin.covered.as_nanos(), bin.width.as_nanos());
    (covered >= width - covered).then(|| bin.goodput_bytes as f64 * 8e3 / covered as f64)
}

fn ping_series(ping: &Sender, times: &[Timestamp]) -> Series {
    let mut echoes = ping.rtts.clone();
    echoes.sort_unstable();
    let millis = |rtt: TimeDelta| rtt.as_nanos() as f64 / 1e6;
    // Flent interpolates to common times, and has nothing outside of the samples.
    let value = |at: &Timestamp| {
        let after = echoes.partition_point(|(sent, _)| sent < at);
        let (next, next_rtt) = *echoes.get(after)?;
        if next == *at {
            return Some(millis(next_rtt));
        }
        let (last, last_rtt) = *echoes.get(after.checked_sub(1)?)?;
        let share = (*at - last).as_seconds_f64() / (next - last).as_seconds_f64();
        Some(millis(last_rtt) + share * (millis(next_rtt) - millis(last_rtt)))
    };
    let sample = |((at, rtt), number): (&(Timestamp, TimeDelta), u64)| json!({"t": unix_seconds(*at), "val": millis(*rtt), "seq": number});
    let sum: f64 = echoes.iter().map(|(_, rtt)| millis(*rtt)).sum();
    Series {
        name: PING.to_owned(),
        unit: "ms",
        mean: Some(sum / echoes.len() as f64),
        values: times.iter().map(value).collect(),
        raw: echoes.iter().zip(0..).map(sample).collect(),
    }
}

/// Sum of series, or their mean. Where a series has no value, it does not count.
fn combined(name: String, series: &[Series], is_mean: bool) -> Series {
    let combine = |values: Vec<f64>| {
        let sum = values.iter().sum::<f64>();
        let count = values.len() as f64;
        (!values.is_empty()).then(|| if is_mean { sum / count } else { sum })
    };
    let places = 0..series.first().map_or(0, |one| one.values.len());
    let at = |place: usize| combine(series.iter().filter_map(|one| one.values[place]).collect());
    let means: Option<Vec<f64>> = series.iter().map(|one| one.mean).collect();
    Series {
        name,
        unit: RATE,
        mean: means.and_then(combine),
        values: places.map(at).collect(),
        raw: Vec::new(),
    }
}

fn metadata(record: &RunRecord, run: &Run, start: Timestamp, test: &str) -> Value {
    let time = format!(
        "{}Z",
        &start.rfc3339()[.."2017-02-21T20:55:11.500000".len()]
    );
    let varied = record.varied.iter().filter_map(|name| {
        let value = record.parameters.get(name)?.as_ref()?.to_string();
        // Flent's titles are words.
        Some(format!("{name}:{}", value.replace(' ', "_")))
    });
    let mut title: Vec<String> = varied.collect();
    title.push(format!("rep:{}", record.repetition));
    let until = run.senders.iter().map(|sender| sender.active.until).max();
    let length = until.map(|until| (until - run.origin).as_seconds_f64());
    let steps = run.senders.iter().flat_map(|sender| &sender.arrived);
    let step = steps.map(|bin| bin.width.as_seconds_f64()).next();
    let first = record.traffic.first();
    let hosts: Vec<&str> = first.map(|one| one.to.as_str()).into_iter().collect();
    let is_ipv6 = hosts.iter().any(|host| host.contains(':'));
    let kernel = record.kernels.values().next();
    json!({
        "NAME": test,
        "TITLE": title.join(" "),
        "NOTE": format!("run {} of tcpexp, from its captures", record.run),
        "T0": time,
        "TIME": time,
        "LENGTH": length,
        "STEP_SIZE": step,
        "HOST": hosts.first(),
        "HOSTS": hosts,
        "LOCAL_HOST": first.map(|one| one.from.as_str()),
        "IP_VERSION": if is_ipv6 { 6 } else { 4 },
        "KERNEL_RELEASE": kernel,
        "DATA_FILENAME": format!("{}.flent.gz", record.run),
    })
}

fn unix_seconds(at: Timestamp) -> f64 {
    at.as_nanos() as f64 / 1e9
}
