//! Figures of windows that bins do not divide evenly.

use super::*;

/// Bins of 100 ms with these bytes, the first at 1 s.
fn tenths(bytes: &[u64]) -> Vec<Bin> {
    let bin = |(place, bytes): (i64, &u64)| Bin {
        start: at(1000 + 100 * place),
        width: TimeDelta::from_millis(100),
        covered: TimeDelta::from_millis(100),
        link_bytes: bytes * 21 / 20,
        goodput_bytes: *bytes,
        packets: bytes / 1000,
        ce_packets: Some(0),
    };
    (0..).zip(bytes).map(bin).collect()
}

/// A transfer of 58 400 bytes in 79 ms that starts at a time.
fn transfer(start_ms: i64) -> Sender {
    let seen = Window::with_both(at(start_ms), at(start_ms + 79));
    let bytes = if start_ms < 1021 {
        [58_400, 0]
    } else {
        [20_000, 38_400]
    };
    Sender {
        active: seen,
        seen: Some(seen),
        arrived: tenths(&bytes),
        sent: tenths(&bytes),
        retransmitted: Some(vec![(at(start_ms + 79), 1_600)]),
        ..sender("load", 0, &[])
    }
}

fn load(senders: Vec<Sender>, options: &Options) -> Values {
    let classes = measure_run(&run(senders), options);
    classes.into_iter().next_back().unwrap().values
}

#[test]
fn goodput_of_a_short_transfer_does_not_depend_on_where_it_lies_in_the_bins() {
    for start_ms in [1000, 1010, 1030, 1050, 1090] {
        let values = load(vec![transfer(start_ms)], &options(0));
        let goodput = values.value(Measure::Goodput).unwrap();
        assert!(
            (goodput / (58_400.0 * 8.0 / 0.079) - 1.0).abs() < 1e-6,
            "{goodput}"
        );
        check(
            &values,
            &[
                (Measure::FlowGoodput, Some(goodput)),
                // The last packet of the transfer is a retransmission.
                (Measure::RetransmissionRatio, Some(1_600.0 / 60_000.0)),
            ],
        );
    }
}

#[test]
fn transfer_that_starts_before_the_window_has_no_known_goodput_in_coarse_bins() {
    let cut = Options {
        warmup: TimeDelta::from_millis(1060),
        ..Options::default()
    };
    let values = load(vec![transfer(1030)], &cut);
    let none = [
        Measure::Goodput,
        Measure::FlowGoodput,
        Measure::Utilisation,
        Measure::RetransmissionRatio,
        Measure::MarkRatio,
    ];
    check(&values, &none.map(|measure| (measure, None)));
}

#[test]
fn a_single_packet_has_no_goodput() {
    let seen = Window::with_both(at(1010), at(1010));
    let only = Sender {
        active: seen,
        seen: Some(seen),
        arrived: tenths(&[8]),
        ..sender("load", 0, &[])
    };
    let values = load(vec![only], &options(0));
    check(
        &values,
        &[(Measure::Goodput, None), (Measure::FlowGoodput, None)],
    );
}

#[test]
fn windows_shorter_than_a_bin_give_no_shares_over_time() {
    let pair = || vec![sender("bulk", 0, &[8; 8]), sender("bulk", 0, &[2; 8])];
    let short = Options {
        window: TimeDelta::from_millis(500),
        ..options(0)
    };
    let values = load(pair(), &short);
    let none = [Measure::JainWindowMin, Measure::Convergence];
    check(&values, &none.map(|measure| (measure, None)));
    check(&values, &[(Measure::MaxMinRatio, Some(4.0))]);
}

#[test]
fn sender_captured_elsewhere_leaves_the_round_trip_times_of_its_class_unknown() {
    let mut near = sender("bulk", 0, &[8, 8]);
    near.rtts = vec![(at(100), TimeDelta::from_millis(50))];
    let mut far = sender("bulk", 0, &[8, 8]);
    (far.is_captured_elsewhere, far.base_rtt) = (true, None);
    let none = [
        Measure::BaseRtt,
        Measure::RttMin,
        Measure::RttMedian,
        Measure::InducedRttMedian,
        Measure::BufferDelay,
    ];
    let values = load(vec![near, far], &options(0));
    check(&values, &none.map(|measure| (measure, None)));
}

#[test]
fn packets_of_unknown_fate_change_a_small_loss_ratio_by_half_of_a_thousandth_at_most() {
    let loss = |unknown_packets| {
        let mut bulk = sender("bulk", 0, &[8, 8, 8]);
        bulk.fates = Some(vec![Fate {
            at: at(0),
            packets: 3_000,
            is_lost: false,
            one_way_delay: None,
        }]);
        bulk.unknown_packets = unknown_packets;
        values(&run(vec![bulk]), 0, "bulk").bounds(Measure::LossRatio)
    };
    let bounds = |least, most| Some(crate::bounds::Bounds { least, most });
    assert_eq!(loss(1), bounds(0.0, 0.0));
    assert_eq!(loss(2), bounds(0.0, 2.0 / 3_002.0));
}

/// A sender whose tool reports a goodput, with a second of unknown data in its activity.
fn reported(from: i64, mbps: &[u64], unknown: i64, goodput_mbps: Option<f64>) -> Sender {
    let mut sender = sender("bulk", from, mbps);
    let bin = at(unknown * 1000);
    sender.arrived.retain(|one| one.start != bin);
    Sender {
        unknown: vec![seconds(unknown, unknown + 1)],
        reported_goodput_bps: goodput_mbps.map(|mbps| mbps * MBIT as f64),
        ..sender
    }
}

#[test]
fn a_time_with_unknown_data_leaves_the_rates_of_its_windows_unknown() {
    let values = |goodput| {
        let pair = vec![sender("bulk", 0, &[8; 8]), reported(0, &[8; 8], 3, goodput)];
        load(pair, &options(0))
    };
    let none = [
        Measure::Goodput,
        Measure::FlowGoodput,
        Measure::Jain,
        Measure::MaxMinRatio,
        Measure::JainWindowMin,
        Measure::Convergence,
    ];
    check(&values(None), &none.map(|measure| (measure, None)));
    // The tool counted the bytes, but not where they are.
    check(
        &values(Some(8.0)),
        &[
            (Measure::Goodput, Some(16.0 * MBIT as f64)),
            (Measure::MaxMinRatio, Some(1.0)),
            (Measure::JainWindowMin, None),
        ],
    );
}

#[test]
fn values_that_are_means_over_more_than_a_window_give_no_shares_over_time() {
    let mut pair = vec![sender("bulk", 0, &[8; 8]), sender("bulk", 0, &[8; 8])];
    pair[1].resolution = TimeDelta::from_millis(1100);
    let values = load(pair, &options(0));
    check(
        &values,
        &[
            (Measure::JainWindowMin, None),
            (Measure::Convergence, None),
            (Measure::Jain, Some(1.0)),
        ],
    );
}

#[test]
fn reported_goodputs_of_senders_count_by_their_time_in_the_window() {
    let goodput = |from: i64, mbps: &[u64], reported: f64| Sender {
        reported_goodput_bps: Some(reported * MBIT as f64),
        ..sender("bulk", from, mbps)
    };
    let values = load(
        vec![goodput(0, &[10; 10], 10.0), goodput(5, &[10; 5], 10.0)],
        &options(0),
    );
    check(
        &values,
        &[
            (Measure::Goodput, Some(15.0 * MBIT as f64)),
            (Measure::FlowGoodput, Some(10.0 * MBIT as f64)),
        ],
    );
}
