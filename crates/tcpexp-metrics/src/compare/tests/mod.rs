use std::sync::Arc;

use proptest::prelude::*;
use tcpexp_units::{TimeDelta, Timestamp};

use super::*;

mod bins;
mod cells;
mod fairness;
mod fates;
mod media;
mod transfers;

const MBIT: u64 = 1_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

fn seconds(from: i64, until: i64) -> Window {
    Window {
        from: at(from * 1000),
        until: at(until * 1000),
    }
}

/// Bins of one second from a second on, of so many Mbit/s of payload; headers are a twentieth.
fn bins(from: i64, mbps: &[u64]) -> Vec<Bin> {
    let bin = |(place, mbps): (i64, &u64)| Bin {
        start: at((from + place) * 1000),
        width: TimeDelta::from_seconds(1),
        covered: TimeDelta::from_seconds(1),
        link_bytes: mbps * MBIT / 8 * 21 / 20,
        goodput_bytes: mbps * MBIT / 8,
        packets: 100,
        ce_packets: Some(*mbps),
    };
    (0..).zip(mbps).map(bin).collect()
}

/// A bulk sender that starts at a second and gets so much in each from then on.
fn sender(class: &str, from: i64, mbps: &[u64]) -> Sender {
    let until = from + i64::try_from(mbps.len()).unwrap();
    Sender {
        is_bulk: true,
        segment: Some(Segment {
            payload_bytes: 1448,
            link_bytes: 1514,
        }),
        base_rtt: Some(TimeDelta::from_millis(40)),
        arrived: bins(from, mbps),
        sent: bins(from, mbps),
        retransmitted: Some(Vec::new()),
        fates: Some(Vec::new()),
        ..Sender::idle(Arc::from(class), seconds(from, until))
    }
}

/// A run over a link of 20 Mbit/s.
fn run(senders: Vec<Sender>) -> Run {
    let link = Link {
        capacity: vec![(Timestamp::MIN, Some(20 * MBIT))],
        arrived: senders
            .iter()
            .flat_map(|sender| sender.arrived.clone())
            .collect(),
        seen: None,
    };
    Run {
        origin: at(0),
        links: [link, Link::default()],
        senders,
        changes: Vec::new(),
        marks: None,
    }
}

fn options(warmup: i64) -> Options {
    Options {
        warmup: TimeDelta::from_seconds(warmup),
        hold: TimeDelta::from_seconds(2),
        ..Options::default()
    }
}

fn values(run: &Run, warmup: i64, class: &str) -> Values {
    let classes = measure_run(run, &options(warmup));
    let is_it = |found: &ClassRun| found.class.as_deref().unwrap_or("all") == class;
    classes.into_iter().find(is_it).unwrap().values
}

fn check(values: &Values, expected: &[(Measure, Option<f64>)]) {
    for (measure, expected) in expected {
        let found = values.value(*measure);
        let is_it = match (found, expected) {
            (Some(found), Some(expected)) => {
                found.total_cmp(expected).is_eq()
                    || (found - expected).abs() <= 1e-9 * expected.abs()
            }
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(is_it, "{measure:?} is {found:?} and not {expected:?}");
    }
}

#[test]
fn the_warm_up_is_excluded() {
    let run = run(vec![sender("bulk", 0, &[1, 2, 10, 10, 16])]);
    check(
        &values(&run, 2, "bulk"),
        &[
            (Measure::Goodput, Some(12e6)),
            (Measure::FlowGoodput, Some(12e6)),
            // 12 Mbit/s and a twentieth, of 20.
            (Measure::Utilisation, Some(0.63)),
            (
                Measure::TransferTimeRatio,
                Some(20e6 * 1448.0 / 1514.0 / 12e6),
            ),
        ],
    );
    check(&values(&run, 0, "bulk"), &[(Measure::Goodput, Some(7.8e6))]);
    check(
        &values(&run, 9, "bulk"),
        &[(Measure::Goodput, None), (Measure::Utilisation, None)],
    );
}

#[test]
fn marks_are_those_that_arrived_and_those_that_the_queues_counted() {
    let mut both = run(vec![
        sender("bulk", 0, &[1, 2, 10, 10, 16]),
        sender("web", 2, &[3]),
    ]);
    let marks = |from, until, packets| Marks {
        between: Window {
            from: at(from),
            until: at(until),
        },
        packets,
    };
    both.marks = Some(vec![
        marks(-500, 0, 1),
        marks(1_900, 2_100, 20),
        marks(4_900, 5_100, 300),
        marks(5_100, 5_300, 4_000),
    ]);
    check(
        &values(&both, 2, "bulk"),
        &[
            (Measure::MarkRatio, Some(36.0 / 300.0)),
            (Measure::QueueMarked, None),
        ],
    );
    check(
        &values(&both, 2, "all"),
        &[
            (Measure::MarkRatio, Some(39.0 / 400.0)),
            (Measure::QueueMarked, Some(4_320.0)),
        ],
    );
    // A capture that may be before the queue makes the ratio unknown, but not the queue's count.
    both.senders[1].arrived[0].ce_packets = None;
    check(
        &values(&both, 0, "all"),
        &[
            (Measure::MarkRatio, None),
            (Measure::QueueMarked, Some(4_320.0)),
        ],
    );
}

#[test]
fn a_probe_has_round_trip_times_and_enters_no_sum() {
    let mut ping = sender("ping", 0, &[0, 0]);
    (ping.is_bulk, ping.is_probe) = (false, true);
    ping.arrived.clear();
    ping.rtts = vec![(at(500), TimeDelta::from_millis(90))];
    let run = run(vec![sender("bulk", 0, &[10, 10]), ping]);
    check(
        &values(&run, 0, "ping"),
        &[
            (Measure::RttMedian, Some(90.0)),
            (Measure::Goodput, None),
            (Measure::FlowGoodput, None),
            (Measure::Utilisation, None),
        ],
    );
    let all = measure_run(&run, &options(0));
    assert_eq!(all[0].senders, 1);
    check(
        &all[0].values,
        &[
            (Measure::RttMedian, None),
            (Measure::FlowGoodput, Some(10e6)),
        ],
    );
}

#[test]
fn only_packets_sent_in_the_window_count_as_lost_in_it() {
    let mut bulk = sender("bulk", 0, &[8, 8, 8]);
    let fate = |millis, packets, is_lost| Fate {
        at: at(millis),
        packets,
        is_lost,
        one_way_delay: None,
    };
    bulk.fates = Some(vec![
        fate(900, 5, true),
        fate(1000, 90, false),
        fate(1500, 10, true),
        fate(3000, 1, true),
    ]);
    bulk.retransmitted = Some(vec![(at(500), 9_999), (at(1500), 500_000)]);
    let run = run(vec![bulk]);
    check(
        &values(&run, 1, "bulk"),
        &[
            (Measure::LossRatio, Some(0.1)),
            // 2 MB for the first time and half a megabyte again.
            (Measure::RetransmissionRatio, Some(0.2)),
            (Measure::TcpEfficiency, Some(80.0)),
        ],
    );
}

#[test]
fn utilisation_of_all_is_that_of_the_link_of_the_bulk_senders() {
    let mut download = sender("bulk", 0, &[16, 16]);
    download.link = 1;
    let mut other = sender("call", 0, &[1, 1]);
    other.is_bulk = false;
    let mut run = run(vec![download, other]);
    run.links[0].arrived = bins(0, &[1, 1]);
    run.links[1] = Link {
        arrived: bins(0, &[16, 16]),
        ..run.links[0].clone()
    };
    let all = |run: &Run| values(run, 0, "all").value(Measure::Utilisation);
    // 16 of 20 Mbit/s, and headers of a twentieth.
    assert_eq!(all(&run), Some(0.84));
    run.senders[1].is_bulk = true;
    assert_eq!(all(&run), None);
    // Without bulk senders, the link with more payload counts.
    for sender in &mut run.senders {
        sender.is_bulk = false;
    }
    assert_eq!(all(&run), Some(0.84));
}

#[test]
fn unmeasured_figures_are_unknown() {
    let mut bulk = sender("bulk", 0, &[8, 8]);
    (bulk.fates, bulk.retransmitted, bulk.segment) = (None, None, None);
    let mut run = run(vec![bulk, sender("bulk", 0, &[8, 8])]);
    run.links[0].capacity.clear();
    let none = [
        Measure::LossRatio,
        Measure::RetransmissionRatio,
        Measure::TransferTimeRatio,
        Measure::Utilisation,
        Measure::RttMedian,
    ];
    check(
        &values(&run, 0, "bulk"),
        &none.map(|measure| (measure, None)),
    );
}

#[test]
fn queueing_delay_is_relative_to_the_base_of_each_path() {
    let mut near = sender("bulk", 0, &[8, 8]);
    near.rtts = [(100, 99), (1000, 60), (1200, 70)]
        .map(|(when, rtt)| (at(when), TimeDelta::from_millis(rtt)))
        .to_vec();
    let mut far = sender("bulk", 0, &[2, 2]);
    far.base_rtt = Some(TimeDelta::from_millis(80));
    far.rtts = vec![(at(1500), TimeDelta::from_millis(120))];
    let run = run(vec![near, far]);
    check(
        &values(&run, 1, "bulk"),
        &[
            (Measure::BaseRtt, Some(40.0)),
            (Measure::RttMin, Some(60.0)),
            (Measure::RttMedian, Some(70.0)),
            // 60, 70 and 120 ms: nine tenths of the way from the second to the third.
            (Measure::RttP95, Some(115.0)),
            (Measure::RttMean, Some(250.0 / 3.0)),
            // 20, 30 and 40 ms.
            (Measure::InducedRttMedian, Some(30.0)),
            (Measure::InducedRttP95, Some(39.0)),
            // 50, 75 and 50 %.
            (Measure::BufferDelay, Some(175.0 / 3.0)),
            // Four times the rate at half the RTT.
            (Measure::RttUnfairness, Some(2.0)),
        ],
    );
}

#[test]
fn rate_and_queue_settle_after_a_change() {
    // The link has 20 Mbit/s, and 10 from second 3 on; what comes out has a twentieth of headers.
    let mut bulk = sender("bulk", 0, &[19, 19, 19, 14, 9, 9, 10, 9]);
    let rtts = [40, 60, 60, 120, 110, 75, 70, 79];
    bulk.rtts = (0..)
        .zip(rtts)
        .map(|(second, rtt)| (at(second * 1000 + 500), TimeDelta::from_millis(rtt)))
        .collect();
    let mut run = run(vec![bulk]);
    run.links[0].capacity.push((at(3000), Some(10 * MBIT)));
    run.changes = vec![at(3000)];
    check(
        &values(&run, 0, "all"),
        &[
            (Measure::RateResponse, Some(1.0)),
            (Measure::RttResponse, Some(2.0)),
            (
                Measure::Utilisation,
                Some(108.0 * 1.05 / (3.0 * 20.0 + 5.0 * 10.0)),
            ),
        ],
    );
    // Changed back, too late to see what comes of it.
    run.changes.push(at(7000));
    run.links[0].capacity.push((at(7000), Some(20 * MBIT)));
    check(
        &values(&run, 0, "all"),
        &[(Measure::RateResponse, Some(f64::INFINITY))],
    );
}

proptest! {
    #[test]
    fn shares_do_not_depend_on_bin_boundaries(offset in 0_i64..1000) {
        let (mut a, mut b) = (sender("bulk", 0, &[12; 44]), sender("bulk", 0, &[4; 44]));
        for bin in a.arrived.iter_mut().chain(&mut b.arrived) {
            bin.start = bin.start + TimeDelta::from_millis(offset);
        }
        let run = run(vec![a, b]);
        let values = values(&run, 2, "bulk");
        check(&values, &[(Measure::MaxMinRatio, Some(3.0))]);
    }
}
