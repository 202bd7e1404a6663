//! Round-trip times from one capture against the log of the connection's kernel.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::{captures_in, fixture, shared, spooled};
use flate2::read::MultiGzDecoder;
use tcpexp::{CaptureOptions, Error, Recording, live_rtt, single_rtt};
use tcpexp_flow::Direction;
use tcpexp_flow::{MAX_FLOWS, Packets};
use tcpexp_measure::rtt::{RttMethod, SingleRttFlow, SingleRttRow, SingleRttSample};
use tcpexp_metrics::RttSummary;
use tcpexp_testkit::script;
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::Tunnels;

fn rows(recording: &Recording) -> Vec<SingleRttRow> {
    let mut all = Vec::new();
    single_rtt(recording, &CaptureOptions::default(), |rows| {
        all.extend(rows);
        Ok::<(), Error>(())
    })
    .unwrap();
    all
}

/// Probes of a kernel, by the port of its end of the flow.
type Probes = HashMap<u16, Vec<Probe>>;

/// The kernel's `tcp_probe` event, emitted before it processes a received segment.
struct Probe {
    at: Timestamp,
    srtt: TimeDelta,
}

/// Time, endpoint, and smoothed round-trip time in microseconds.
type Parse<'a> = &'a dyn Fn(&str) -> Option<(Timestamp, String, String)>;

/// Reads the probes in a folder, from a table or from the kernel's output.
fn probes(folder: &Path) -> Option<Probes> {
    let table = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        Some((time(fields[0])?, fields[1].to_owned(), fields[8].to_owned()))
    };
    let trace = |line: &str| {
        let (before, event) = line.split_once(": tcp_probe: ")?;
        let field = |name: &str| {
            let (_, value) = event.split_once(name)?;
            value.split(' ').next().map(str::to_owned)
        };
        let at = time(before.rsplit(' ').next()?)?;
        Some((at, field(" src=")?, field(" srtt=")?))
    };
    let files: [(&str, Parse<'_>); 2] = [("probe.csv.gz", &table), ("trace.txt.gz", &trace)];
    files.iter().find_map(|(name, parse)| {
        let file = File::open(folder.join(name)).ok()?;
        let mut probes = Probes::new();
        for line in BufReader::new(MultiGzDecoder::new(file)).lines() {
            if let Some((at, endpoint, srtt)) = parse(&line.unwrap()) {
                let port = endpoint.rsplit(':').next()?.parse().unwrap();
                let srtt = TimeDelta::from_micros(srtt.parse().unwrap());
                probes.entry(port).or_default().push(Probe { at, srtt });
            }
        }
        Some(probes)
    })
}

/// Parses a time like `1767225609.838234`; `None` for a heading.
fn time(text: &str) -> Option<Timestamp> {
    let (seconds, fraction) = text.split_once('.')?;
    let nanos = format!("{seconds}{fraction:0<9}").parse().ok()?;
    Some(Timestamp::from_nanos(nanos))
}

/// Capture times of TCP segments, by destination port.
fn arrivals(recording: &Recording) -> HashMap<u16, Vec<Timestamp>> {
    let mut arrivals: HashMap<u16, Vec<Timestamp>> = HashMap::new();
    let mut walk = recording.walk(Tunnels::default()).unwrap();
    walk.show(usize::MAX, |sighted| {
        let port = sighted.packet.ports.destination;
        arrivals.entry(port).or_default().push(sighted.at);
    });
    arrivals
}

/// Relative errors of one connection's replayed SRTT in parts per million of the kernel's SRTT.
fn errors_ppm(samples: &[SingleRttSample], arrivals: &[Timestamp], probes: &[Probe]) -> Vec<u64> {
    let error = |probe: &Probe| {
        // The probe belongs to the segment captured right before it, and shows the state after all
        // earlier segments.
        let in_hand = arrivals[..arrivals.partition_point(|at| *at <= probe.at)].last()?;
        let before = samples.partition_point(|sample| sample.at < *in_hand);
        let replayed = samples[..before].last()?.linux?.srtt;
        let off = (replayed - probe.srtt).as_nanos().unsigned_abs();
        (probe.srtt > TimeDelta::ZERO)
            .then(|| off * 1_000_000 / probe.srtt.as_nanos().unsigned_abs())
    };
    probes.iter().filter_map(error).collect()
}

#[test]
fn replayed_srtt_matches_the_kernel() {
    let Some(folders) = shared("captures") else {
        eprintln!("skipped: no captures with the kernel's own account at hand");
        return;
    };
    let mut checked = 0;
    for folder in folders_with_probes(&folders) {
        let (src, _) = captures_in(&folder).unwrap();
        let recording = Recording::open(&src).unwrap();
        let arrivals = arrivals(&recording);
        let rows = rows(&recording);
        let flows = rows.iter().filter_map(|row| match row {
            SingleRttRow::Began(flow) => Some((flow.initiator().port(), flow.id)),
            _ => None,
        });
        let flows: HashMap<_, _> = flows.collect();
        let mut errors = Vec::new();
        for (port, probes) in probes(&folder).unwrap() {
            let flow = flows[&port];
            let samples: Vec<_> = rows
                .iter()
                .filter_map(|row| match row {
                    SingleRttRow::Sample(sample) => Some(*sample),
                    _ => None,
                })
                .filter(|sample| sample.flow == flow && sample.direction == Direction::Forward)
                .collect();
            errors.extend(errors_ppm(&samples, &arrivals[&port], &probes));
        }
        let mean = errors.iter().sum::<u64>() / errors.len().max(1) as u64;
        let exact = errors.iter().filter(|error| **error < 100).count() * 100 / errors.len().max(1);
        println!(
            "{}: {} probes, mean error {mean} ppm, {exact} % within 100 ppm",
            folder.display(),
            errors.len(),
        );
        assert!(errors.len() > 100, "{}", folder.display());
        assert!(mean <= 5_000, "{}: {mean} ppm", folder.display());
        checked += 1;
    }
    assert!(checked > 0);
}

/// The kernel's retransmission timeouts, logged once per millisecond: time and timeout.
fn timeouts(folder: &Path) -> Option<Vec<(Timestamp, TimeDelta)>> {
    let file = File::open(folder.join("tcpinfo.csv.gz")).ok()?;
    let lines = BufReader::new(MultiGzDecoder::new(file)).lines();
    let timeout = |line: io::Result<String>| {
        let line = line.unwrap();
        let fields: Vec<&str> = line.split(',').collect();
        let rto = fields[2].parse().ok()?;
        // The last field counts expiries since the latest ACK. Each expiry doubled the timeout.
        if fields.last() != Some(&"0") {
            return None;
        }
        Some((time(fields[0])?, TimeDelta::from_micros(rto)))
    };
    Some(lines.filter_map(timeout).collect())
}

#[test]
fn replayed_timeout_matches_the_kernel() {
    let Some(captures) = shared("captures") else {
        eprintln!("skipped: no captures with the kernel's own account at hand");
        return;
    };
    let mut checked = 0;
    for folder in folders_with_probes(&captures) {
        let Some(timeouts) = timeouts(&folder) else {
            continue;
        };
        let (src, _) = captures_in(&folder).unwrap();
        let mut samples = samples(rows(&Recording::open(&src).unwrap()));
        samples.retain(|sample| sample.direction == Direction::Forward);
        let error = |(at, rto): (Timestamp, TimeDelta)| {
            let before = samples.partition_point(|sample| sample.at < at);
            let replayed = samples[..before].last()?.linux?.rto;
            let off = (replayed - rto).as_nanos().unsigned_abs();
            Some(off * 1_000_000 / rto.as_nanos().unsigned_abs())
        };
        let errors: Vec<u64> = timeouts.into_iter().filter_map(error).collect();
        let mean = errors.iter().sum::<u64>() / errors.len().max(1) as u64;
        let exact = errors.iter().filter(|error| **error == 0).count() * 100 / errors.len().max(1);
        println!(
            "{}: {} timeouts, mean error {mean} ppm, {exact} % exact",
            folder.display(),
            errors.len(),
        );
        assert!(errors.len() > 100, "{}", folder.display());
        assert!(mean <= 5_000, "{}: {mean} ppm", folder.display());
        checked += 1;
    }
    assert!(checked > 0);
}

fn folders_with_probes(captures: &Path) -> Vec<PathBuf> {
    let children = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut folders: Vec<_> = [captures.to_owned(), captures.join("short")]
        .iter()
        .flat_map(|folder| children(folder))
        .filter(|folder| captures_in(folder).is_some() && probes(folder).is_some())
        .collect();
    folders.sort();
    folders
}

/// A live capture that delivers one record at a time, after all rows of the record before it.
struct OneByOne {
    chunks: std::vec::IntoIter<Vec<u8>>,
    read: Arc<AtomicUsize>,
}

impl Read for OneByOne {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let Some(chunk) = self.chunks.next() else {
            return Ok(0);
        };
        self.read.fetch_add(1, Ordering::Relaxed);
        room[..chunk.len()].copy_from_slice(&chunk);
        Ok(chunk.len())
    }
}

#[test]
fn live_sample_is_emitted_before_the_next_packet() {
    let file = script::capture(
        "
        0.000 > S
        0.030 < S.
        0.031 > .
        0.040 > 1:101(100)
        0.070 < ack 101
    ",
    );
    // A file header of 24 bytes precedes the records. Each record has a header of 16 bytes with its
    // length.
    let (header, mut rest) = file.split_at(24);
    let mut chunks = vec![header.to_vec()];
    while !rest.is_empty() {
        let bytes = u32::from_le_bytes(rest[8..12].try_into().unwrap());
        let (record, more) = rest.split_at(16 + bytes as usize);
        chunks.push(record.to_vec());
        rest = more;
    }
    let read = Arc::new(AtomicUsize::new(0));
    let input = OneByOne {
        chunks: chunks.into_iter(),
        read: Arc::clone(&read),
    };
    let mut seen = Vec::new();
    let info = live_rtt(
        Path::new("live"),
        input,
        MAX_FLOWS,
        &CaptureOptions::default(),
        |row| {
            // The file header is the first chunk, so subtract it from the number of chunks read.
            let records = read.load(Ordering::Relaxed) - 1;
            if let SingleRttRow::Sample(sample) = row {
                seen.push((records, sample.direction, sample.rtt.as_nanos() / 1_000_000));
            }
            Ok::<(), Error>(())
        },
    );
    assert_eq!(
        seen,
        [
            (2, Direction::Forward, 30),
            (3, Direction::Reverse, 1),
            (5, Direction::Forward, 30),
        ]
    );
    assert_eq!(info.unwrap().tally.used(), 5);
}

#[test]
fn live_input_and_whole_capture_yield_the_same_samples() {
    for folder in ["adsl-udp-upload", "reno-2mbit-40ms-50p"] {
        let (src, _) = captures_in(&fixture(folder)).unwrap();
        let whole = samples(rows(&Recording::open(&src).unwrap()));
        let mut live = Vec::new();
        live_rtt(
            &src,
            File::open(&src).unwrap(),
            MAX_FLOWS,
            &CaptureOptions::default(),
            |row| {
                live.push(row);
                Ok::<(), Error>(())
            },
        )
        .unwrap();
        assert!(whole.len() > 1000, "{folder}: {}", whole.len());
        assert_eq!(whole, samples(live), "{folder}");
    }
}

#[test]
fn live_input_without_packets_is_an_error_that_names_it() {
    let file = script::capture("");
    let live = live_rtt(
        Path::new("live"),
        io::Cursor::new(file),
        MAX_FLOWS,
        &CaptureOptions::default(),
        |_| Ok::<(), Error>(()),
    );
    assert_eq!(
        live.unwrap_err().to_string(),
        "nothing usable in live: no records"
    );
}

#[test]
fn halves_at_a_midpoint_sum_to_the_end_to_end_round_trip() {
    let file = script::capture(
        "
        0.000 > S ts 1 0
        0.030 < S. ts 1 1
        0.032 > . ts 33 1
        0.040 > 1:101(100) ts 41 1
        0.070 < ack 101 ts 41 41
    ",
    );
    let samples = samples(rows(&spooled("script", &file)));
    let by = |direction, method| {
        let of =
            |sample: &&SingleRttSample| (sample.direction, sample.method) == (direction, method);
        let times = samples.iter().filter(of).map(|sample| sample.rtt);
        times
            .map(|rtt| rtt.as_nanos() / 1_000_000)
            .collect::<Vec<_>>()
    };
    for method in [RttMethod::SequenceAck, RttMethod::Timestamps] {
        assert_eq!(by(Direction::Forward, method), [30, 30]);
        assert_eq!(by(Direction::Reverse, method), [2]);
    }
}

fn samples(rows: Vec<SingleRttRow>) -> Vec<SingleRttSample> {
    let sample = |row| match row {
        SingleRttRow::Sample(sample) => Some(sample),
        _ => None,
    };
    rows.into_iter().filter_map(sample).collect()
}

#[test]
fn receiver_capture_yields_the_round_trip_to_the_sender_by_timestamps() {
    let (src, dst) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let median = |file: &Path, of: fn(&SingleRttFlow) -> Option<RttSummary>| {
        let rows = rows(&Recording::open(file).unwrap());
        let ended = rows.into_iter().filter_map(|row| match row {
            SingleRttRow::Ended(flow) => of(&flow),
            _ => None,
        });
        // The flow with the most samples is the transfer, not iperf3's control connection.
        ended
            .max_by_key(|rtt| rtt.samples)
            .unwrap()
            .median
            .as_nanos()
    };
    let at_sender = median(&src, |flow| flow.directions[0].timestamps);
    let at_receiver = median(&dst, |flow| flow.directions[1].unasked);
    let off = (at_sender - at_receiver).abs();
    assert!(
        off * 100 <= at_sender,
        "{at_receiver} ns instead of {at_sender}"
    );
}
