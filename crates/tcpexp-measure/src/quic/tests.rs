//! QUIC connections of scripts and of a simulated spin bit.

use std::fmt::Write;

use insta::assert_snapshot;
use tcpexp_testkit::Prng;
use tcpexp_testkit::scripted::Scripted;
use tcpexp_units::TimeDelta;
use tcpexp_wire::QuicVersion;

use crate::flows::{Connection, ConnectionSummary};
use crate::meter;
use crate::rtt::{SingleRttMeter, SingleRttRow, SingleRttSample};

const HANDSHAKE: &str = "
    0.000 > quic initial random cccc 1200
    0.020 < quic initial cccc ssss 1200
    0.0203 < quic handshake cccc ssss 1200
    0.030 > quic initial ssss cccc 1200
    0.031 > quic handshake ssss cccc 100
";

fn connections(text: &str) -> Vec<ConnectionSummary> {
    let mut all = Vec::new();
    let metered = meter(&mut Scripted::new(text), Connection::of, |rows| {
        all.extend(rows);
        Ok::<(), ()>(())
    });
    metered.unwrap();
    all.sort_by_key(|connection| connection.flow);
    all
}

fn samples(text: &str) -> Vec<SingleRttSample> {
    let mut all = Vec::new();
    let metered = meter(&mut Scripted::new(text), SingleRttMeter::new, |rows| {
        let of = |row| match row {
            SingleRttRow::Sample(sample) => Some(sample),
            SingleRttRow::Began(_) | SingleRttRow::Ended(_) => None,
        };
        all.extend(rows.into_iter().filter_map(of));
        Ok::<(), ()>(())
    });
    metered.unwrap();
    all
}

/// A line per flow: what is known of its connection.
fn about(text: &str) -> String {
    let line = |connection: &ConnectionSummary| {
        let Some(quic) = &connection.quic else {
            return format!("{} is not known to be QUIC", connection.flow);
        };
        let version = quic.version.map_or("unknown version", QuicVersion::name);
        let rtt = connection.handshake_rtt.map_or("none".to_owned(), |rtt| {
            (rtt.as_nanos() / 1_000).to_string()
        });
        format!(
            "{} of {}: {version}, {} connections, handshake {rtt} µs, spin {}",
            connection.flow,
            quic.first_flow,
            quic.connections,
            quic.spin.name()
        )
    };
    let lines: Vec<_> = connections(text).iter().map(line).collect();
    lines.join("\n")
}

#[test]
fn handshake_gives_the_round_trips_to_both_ends() {
    assert_snapshot!(about(HANDSHAKE), @"0 of 0: v1, 1 connections, handshake 30000 µs, spin undecided");
    let rtts: Vec<_> = samples(HANDSHAKE)
        .iter()
        .map(|sample| (sample.direction.name(), sample.rtt.as_nanos() / 1_000))
        .collect();
    assert_eq!(rtts, [("forward", 20_000), ("reverse", 10_000)]);
    assert_snapshot!(about(&HANDSHAKE.replace("quic", "quic2")), @"0 of 0: v2, 1 connections, handshake 30000 µs, spin undecided");
}

#[test]
fn two_packets_of_a_long_client_hello_are_one_flight() {
    assert_snapshot!(about("
        0.0000 > quic initial random - 1200
        0.0001 > quic initial random - 1200
        0.0200 < quic initial - ssss 1200
        0.0300 > quic initial ssss - 1200
    "), @"0 of 0: v1, 1 connections, handshake 29900 µs, spin undecided");
}

#[test]
fn handshake_packet_sent_twice_gives_no_round_trip() {
    // It may be the first or the second that is answered.
    for twice in [
        "0.000 > quic initial random cccc 1200\n0.300 > quic initial random cccc 1200
         0.320 < quic initial cccc ssss 1200\n0.330 > quic initial ssss cccc 1200",
        "0.000 > quic initial random cccc 1200\n0.020 < quic initial cccc ssss 1200
         0.220 < quic initial cccc ssss 1200\n0.230 > quic initial ssss cccc 1200",
        // The server's Initial packet is missing.
        "0.000 > quic initial random cccc 1200\n0.021 < quic handshake cccc ssss 1200
         0.220 < quic initial cccc ssss 1200\n0.230 > quic initial ssss cccc 1200",
    ] {
        assert!(samples(twice).is_empty(), "{twice}");
        assert!(about(twice).contains("handshake none"), "{twice}");
    }
}

#[test]
fn clock_set_back_within_a_handshake_gives_no_round_trip() {
    for set_back in [
        // Between the client's packet and the answer.
        "5.000 > quic initial random cccc 1200\n0.020 < quic initial cccc ssss 1200
         0.030 > quic initial ssss cccc 1200",
        // Before the client's answer, by less than the whole round trip.
        "5.000 > quic initial random cccc 1200\n5.020 < quic initial cccc ssss 1200
         5.015 > quic initial ssss cccc 1200",
        // Within the client's first flight.
        "5.000 > quic initial random cccc 1200\n0.000 > quic initial random cccc 1200
         0.020 < quic initial cccc ssss 1200\n0.030 > quic initial ssss cccc 1200",
    ] {
        assert!(samples(set_back).is_empty(), "{set_back}");
        assert!(about(set_back).contains("handshake none"), "{set_back}");
    }
}

#[test]
fn retry_is_an_answer_and_version_negotiation_begins_again() {
    assert_snapshot!(about("
        0.000 > quic initial random cccc 1200
        0.020 < quic retry cccc retr 200
        0.030 > quic initial retr cccc 1200
        0.050 < quic initial cccc ssss 1200
        0.060 > quic initial ssss cccc 1200
    "), @"0 of 0: v1, 1 connections, handshake 30000 µs, spin undecided");
    assert_snapshot!(about("
        0.000 > quic2 initial random cccc 1200
        0.020 < quic negotiation cccc random 100
        1.000 > quic initial other cccc 1200
        1.020 < quic initial cccc ssss 1200
        1.030 > quic initial ssss cccc 1200
    "), @"0 of 0: v1, 1 connections, handshake 30000 µs, spin undecided");
}

#[test]
fn connection_with_other_ports_is_recognised_by_its_connection_id() {
    let moved = format!(
        "{HANDSHAKE}
        1.000 > spin 0 ssss 100 flow 1
        1.020 < spin 0 cccc 100 flow 1
        2.000 < spin 1 cccc 100 flow 2
        3.000 > spin 1 zzzz 100 flow 3
        3.000 > udp 100 flow 4"
    );
    assert_snapshot!(about(&moved), @"
    0 of 0: v1, 1 connections, handshake 30000 µs, spin undecided
    1 of 0: unknown version, 0 connections, handshake none µs, spin undecided
    2 of 0: unknown version, 0 connections, handshake none µs, spin undecided
    3 is not known to be QUIC
    4 is not known to be QUIC
    ");
}

#[test]
fn two_connections_between_the_same_ports_are_counted() {
    let second = HANDSHAKE
        .replace("    0.", "    1.")
        .replace("random", "chance")
        .replace("cccc", "dddd")
        .replace("ssss", "tttt");
    assert_snapshot!(about(&format!("{HANDSHAKE}{second}")), @"0 of 0: v1, 2 connections, handshake 30000 µs, spin undecided");
}

/// How an end sets the bit.
#[derive(Clone, Copy, PartialEq)]
enum Bit {
    Spins,
    Constant,
    Random,
}

/// Two ends that send at even intervals, 30 ms and 20 ms each way from the capture.
struct Ends {
    bits: [Bit; 2],
    /// Time between two packets, in microseconds.
    gaps_us: [i64; 2],
    /// One packet in this many arrives at the capture 2 ms late.
    late_every: i64,
}

/// Microseconds from each end to the capture.
const DELAYS_US: [i64; 2] = [30_000, 20_000];

impl Ends {
    /// The packets at the capture within three seconds, with the handshake before them.
    fn script(&self) -> String {
        let mut prng = Prng::new(7);
        let mut departures: Vec<(i64, usize)> = Vec::new();
        for (end, gap_us) in self.gaps_us.iter().enumerate() {
            departures.extend((0..3_000_000 / gap_us).map(|turn| (100_000 + turn * gap_us, end)));
        }
        departures.sort_unstable();
        // The packets in time order: when each arrives at the other end, and its bit.
        let mut sent: [Vec<(i64, bool)>; 2] = Default::default();
        let mut lines = Vec::new();
        for (number, (at_us, end)) in (0..).zip(departures) {
            let heard = sent[1 - end]
                .iter()
                .rev()
                .find(|(arrival_us, _)| *arrival_us <= at_us);
            let heard = heard.map(|(_, bit)| *bit);
            let bit = match self.bits[end] {
                Bit::Constant => false,
                Bit::Random => prng.bits() % 2 == 1,
                // The client inverts, the server repeats.
                Bit::Spins => {
                    heard.is_some_and(|bit| bit != (end == 0)) || heard.is_none() && end == 0
                }
            };
            let late_us = i64::from(number % self.late_every == 0) * 2_000;
            sent[end].push((at_us + DELAYS_US[0] + DELAYS_US[1], bit));
            lines.push((at_us + DELAYS_US[end] + late_us, end, bit));
        }
        lines.sort_unstable();
        let mut script = HANDSHAKE.to_owned();
        for (at_us, end, bit) in lines {
            let way = [">", "<"][end];
            let id = ["ssss", "cccc"][end];
            let (seconds, micros) = (at_us / 1_000_000, at_us % 1_000_000);
            writeln!(
                script,
                "{seconds}.{micros:06} {way} spin {} {id} 100",
                u8::from(bit)
            )
            .unwrap();
        }
        script
    }

    /// State of the spin bit, number of samples, and whether the truth is in the bound of each.
    fn measured(&self) -> String {
        let script = self.script();
        let connections = connections(&script);
        let spin = connections[0].quic.unwrap().spin.name();
        let samples = samples(&script);
        let spins = samples.iter().filter(|sample| sample.error.is_some());
        let mut counts = [0, 0];
        for sample in spins {
            counts[0] += 1;
            counts[1] += u32::from(is_true(sample));
        }
        format!("{spin}: {} samples, {} true", counts[0], counts[1])
    }
}

/// True if the round trip of the simulated path is within the bound of a sample.
fn is_true(sample: &SingleRttSample) -> bool {
    // The capture is 20 ms from the responder and 30 ms from the initiator.
    let truth_us = 2 * DELAYS_US[sample.direction.opposite().index()];
    let (rtt_us, error_us) = (
        sample.rtt.as_nanos() / 1_000,
        sample.error.unwrap().as_nanos() / 1_000,
    );
    (rtt_us - error_us..=rtt_us).contains(&truth_us)
}

#[test]
fn spin_bit_of_busy_ends_gives_round_trips_within_their_bounds() {
    let busy = Ends {
        bits: [Bit::Spins; 2],
        gaps_us: [2_000, 1_000],
        late_every: i64::MAX,
    };
    assert_snapshot!(busy.measured(), @"spinning: 58 samples, 58 true");
    // With every 31st packet late by 2 ms, one change itself is late: the delay differs within its gap.
    assert_snapshot!(Ends { late_every: 31, ..busy }.measured(), @"spinning: 58 samples, 57 true");
}

#[test]
fn clock_set_back_between_two_changes_of_the_spin_bit_gives_no_round_trip() {
    let busy = Ends {
        bits: [Bit::Spins; 2],
        gaps_us: [2_000, 1_000],
        late_every: i64::MAX,
    };
    for back_us in [20_000, 45_000, 2_000_000] {
        for from_us in (2_000_000..2_100_000).step_by(7_000) {
            let mut counts = [0, 0];
            let script = set_back(&busy.script(), from_us, back_us);
            for sample in samples(&script).iter().filter(|s| s.error.is_some()) {
                counts[0] += 1;
                counts[1] += u32::from(is_true(sample));
            }
            assert_eq!(counts, [57, 57], "{back_us} from {from_us}");
        }
    }
}

/// The script with all times from `from_us` on earlier by `back_us`.
fn set_back(script: &str, from_us: i64, back_us: i64) -> String {
    let mut moved = String::new();
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (at, packet) = line.split_once(' ').unwrap();
        let mut us = TimeDelta::from_seconds_f64(at.parse().unwrap()).as_nanos() / 1_000;
        if us >= from_us {
            us -= back_us;
        }
        writeln!(moved, "{}.{:06} {packet}", us / 1_000_000, us % 1_000_000).unwrap();
    }
    moved
}

#[test]
fn idle_ends_give_no_round_trips() {
    let idle = Ends {
        bits: [Bit::Spins; 2],
        gaps_us: [90_000, 70_000],
        late_every: i64::MAX,
    };
    assert_snapshot!(idle.measured(), @"undecided: 0 samples, 0 true");
}

#[test]
fn bit_that_does_not_spin_gives_no_round_trips() {
    use Bit::{Constant, Random, Spins};
    let of = |bits| {
        let ends = Ends {
            bits,
            gaps_us: [2_000, 1_000],
            late_every: i64::MAX,
        };
        ends.measured()
    };
    // The last one is a server that repeats the bit of a client that does not invert it.
    let all = [
        [Constant; 2],
        [Random; 2],
        [Spins, Random],
        [Random, Spins],
        [Constant, Random],
        [Spins, Constant],
        [Constant, Spins],
    ];
    assert_snapshot!(all.map(of).join("\n"), @"
    constant: 0 samples, 0 true
    random: 0 samples, 0 true
    random: 0 samples, 0 true
    random: 0 samples, 0 true
    random: 0 samples, 0 true
    constant: 0 samples, 0 true
    constant: 0 samples, 0 true
    ");
}
