//! Bins of real captures against independent data about them.

use std::path::Path;

use crate::common::{captures_in, fixture, shared};
use tcpexp::{Error, Recording, ThroughputOptions, ThroughputReport, throughput};
use tcpexp_flow::Direction;
use tcpexp_measure::throughput::{BinWidth, ThroughputBin, ThroughputFlow, ThroughputRow};
use tcpexp_units::TimeDelta;

fn measure(
    recording: &Recording,
    options: &ThroughputOptions,
) -> (Vec<ThroughputBin>, Vec<ThroughputFlow>, ThroughputReport) {
    let (mut bins, mut flows) = (Vec::new(), Vec::new());
    let report = throughput(recording, options, |row| {
        match row {
            ThroughputRow::Bin(bin) => bins.push(bin),
            ThroughputRow::Ended(flow) => flows.push(*flow),
            ThroughputRow::Began(_) => {}
        }
        Ok::<(), Error>(())
    })
    .unwrap();
    (bins, flows, report)
}

fn options(width: TimeDelta) -> ThroughputOptions {
    ThroughputOptions::new(BinWidth::new(width).unwrap())
}

#[test]
fn bins_sum_to_the_whole_capture() {
    for folder in ["adsl-udp-upload", "reno-2mbit-40ms-50p"] {
        let (src, dst) = captures_in(&fixture(folder)).unwrap();
        for file in [src, dst] {
            let recording = Recording::open(&file).unwrap();
            for millis in [1, 100, 60_000] {
                let (bins, _, report) =
                    measure(&recording, &options(TimeDelta::from_millis(millis)));
                let all = bins
                    .iter()
                    .filter(|bin| (bin.flow, bin.direction) == (None, None));
                let wire_bytes: u64 = all.map(|bin| bin.volume.wire_bytes).sum();
                assert_eq!(report.totals.late.packets, 0, "{}", file.display());
                assert_eq!(wire_bytes, report.totals.binned.wire_bytes);
                assert_eq!(report.totals.binned.packets, report.capture.tally.used());
            }
        }
    }
}

#[test]
fn rate_after_the_bottleneck_never_exceeds_its_rate() {
    let (_, dst) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let options = options(TimeDelta::from_seconds(1)).link_rate_bps(2_000_000);
    let (bins, ..) = measure(&Recording::open(&dst).unwrap(), &options);
    let forward: Vec<_> = bins
        .iter()
        .filter(|bin| (bin.flow, bin.direction) == (None, Some(Direction::Forward)))
        .map(|bin| bin.utilisation_ppm.unwrap())
        .collect();
    // A bin of one second holds up to one full frame more or less than the rate allows.
    let frame_ppm = 1_514 * 8 * 1_000_000 / 2_000_000;
    let busy = &forward[2..forward.len() - 2];
    assert!(busy.len() > 20, "{}", busy.len());
    for ppm in busy {
        assert!((900_000..=1_000_000 + frame_ppm).contains(ppm), "{busy:?}");
    }
}

/// Parses the bytes received, and their rounding error, from lines of iperf3 like
/// `[  5]   0.00-30.28  sec  6.90 MBytes  1.91 Mbits/sec                  receiver`.
fn received(truth: &str) -> Vec<(f64, f64)> {
    let line = |line: &str| {
        let mut words = line.split_whitespace().rev();
        if words.next()? != "receiver" {
            return None;
        }
        let words: Vec<&str> = words.collect();
        let unit = words.iter().position(|word| word.ends_with("Bytes"))?;
        let scale = match words[unit] {
            "MBytes" => 1_048_576.0,
            "KBytes" => 1_024.0,
            _ => return None,
        };
        let decimals = words[unit + 1]
            .split_once('.')
            .map_or("", |(_, after)| after);
        let amount: f64 = words[unit + 1].parse().ok()?;
        let rounding = decimals.chars().fold(scale, |rounding, _| rounding / 10.0);
        Some((amount * scale, rounding))
    };
    truth.lines().filter_map(line).collect()
}

#[test]
fn goodput_equals_the_bytes_delivered_to_the_application() {
    let Some(folders) = shared("captures") else {
        eprintln!("skipped: no captures with the application's own account at hand");
        return;
    };
    let mut checked = 0;
    for entry in std::fs::read_dir(folders).unwrap() {
        let folder = entry.unwrap().path();
        let Ok(truth) = std::fs::read_to_string(folder.join("truth.txt")) else {
            continue;
        };
        if folder.join("udp.txt").exists() {
            // Runs with `udp.txt` have a separate account of their datagrams.
            continue;
        }
        let (src, dst) = captures_in(&folder).unwrap();
        let [sent, arrived] = [src, dst].map(|file| transfers(&file));
        for (sent, arrived) in sent.iter().zip(&arrived) {
            // iperf3 resets its connections, so data lost right before the reset is not
            // retransmitted.
            let lost = sent - arrived;
            assert!(
                lost <= 100_000,
                "{}: {lost} bytes never arrived",
                folder.display()
            );
        }
        let received = received(&truth);
        assert_eq!(arrived.len(), received.len(), "{}", folder.display());
        for (goodput, (bytes, rounding)) in arrived.into_iter().zip(received) {
            // The receiver stops counting while the last data is in flight.
            let least = bytes - rounding;
            let most = (bytes + rounding) * 1.01;
            assert!(
                (least..=most).contains(&(goodput as f64)),
                "{}: {goodput} of {bytes}",
                folder.display()
            );
        }
        checked += 1;
    }
    assert!(checked > 0);
}

/// Goodput in bytes of the connections, without iperf3's control connections.
fn transfers(file: &Path) -> Vec<u64> {
    let recording = Recording::open(file).unwrap();
    let (_, mut flows, _) = measure(&recording, &options(TimeDelta::from_seconds(1)));
    flows.sort_by_key(|flow| flow.flow.id);
    let goodput = |flow: &ThroughputFlow| flow.directions[0].goodput_bytes;
    let transfers = flows.iter().map(goodput);
    transfers.filter(|bytes| *bytes > 100_000).collect()
}
