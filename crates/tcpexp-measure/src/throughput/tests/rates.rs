//! Rates of bins.

use super::*;

/// Start, covered time in milliseconds and wire rate of the bins of all flows, both directions.
fn rates_of(text: &str, options: &ThroughputOptions) -> Vec<(i64, i64, Option<u64>)> {
    let mut rates = Vec::new();
    let counted = throughput(&mut Scripted::new(text), options, |row| {
        if let ThroughputRow::Bin(bin) = row
            && bin.flow.is_none()
            && bin.direction.is_none()
        {
            let millis = |nanos: i64| nanos / 1_000_000;
            let start = bin.start - Timestamp::from_nanos(0);
            rates.push((
                millis(start.as_nanos()),
                millis(bin.covered.as_nanos()),
                bin.wire_rate_bps(),
            ));
        }
        Ok::<(), Infallible>(())
    });
    assert!(counted.is_ok());
    rates
}

#[test]
fn the_rate_of_the_last_bin_is_of_its_true_length() {
    // Each packet has 142 bytes on the wire.
    let to_0_8 = "
        0.0 > udp 100
        0.6 > udp 100
        1.2 > udp 100
        1.8 > udp 100
    ";
    assert_eq!(
        rates_of(to_0_8, &millis(1000)),
        [(0, 1000, Some(2272)), (1000, 800, Some(2840))]
    );
    let to_0_4 = "
        0.0 > udp 100
        0.6 > udp 100
        1.4 > udp 100
    ";
    assert_eq!(
        rates_of(to_0_4, &millis(1000)),
        [(0, 1000, Some(2272)), (1000, 400, None)],
        "less than half a bin"
    );
}

#[test]
fn the_rate_of_a_first_bin_that_begins_before_the_capture_is_of_its_true_length() {
    let text = "
        0.2 > udp 100
        0.7 > udp 100
        1.5 > udp 100
    ";
    let mut options = millis(1000);
    options.origin = Origin::At(Timestamp::from_nanos(0));
    assert_eq!(
        rates_of(text, &options),
        [(0, 800, Some(2840)), (1000, 500, Some(2272))]
    );
}

#[test]
fn a_flow_that_ends_before_the_capture_has_whole_bins() {
    let text = "
        0.0 > udp 100
        0.1 > udp 100 flow 1
        1.9 > udp 100
    ";
    let mut of_flow = Vec::new();
    let counted = throughput(&mut Scripted::new(text), &millis(1000), |row| {
        if let ThroughputRow::Bin(bin) = row
            && bin.flow == Some(FlowId(1))
            && bin.direction == Some(Direction::Forward)
        {
            of_flow.push(bin.wire_rate_bps());
        }
        Ok::<(), Infallible>(())
    });
    assert!(counted.is_ok());
    assert_eq!(of_flow, [Some(1136)]);
}

#[test]
fn rates_follow_from_bytes_and_covered_time() {
    let bin = |bytes, width, link| ThroughputBin {
        flow: None,
        direction: None,
        start: Timestamp::from_nanos(0),
        width,
        left_out: TimeDelta::ZERO,
        covered: width,
        volume: Volume {
            packets: 1,
            wire_bytes: bytes,
            ip_bytes: bytes / 2,
            goodput_bytes: 1,
            ce_packets: 0,
        },
        utilisation_ppm: super::bin::utilisation_ppm(bytes, width, link),
    };
    let tenth = bin(125_000, TimeDelta::from_millis(100), 10_000_000);
    assert_eq!(tenth.wire_rate_bps(), Some(10_000_000));
    assert_eq!(tenth.throughput_bps(), Some(5_000_000));
    assert_eq!(tenth.goodput_bps(), Some(80));
    assert_eq!(tenth.utilisation_ppm, Some(1_000_000));
    let third = bin(1, TimeDelta::from_seconds(3), 0);
    assert_eq!(
        (third.wire_rate_bps(), third.utilisation_ppm),
        (Some(2), None)
    );
    let most = bin(u64::MAX, TimeDelta::from_nanos(1), 1);
    assert_eq!(
        (most.wire_rate_bps(), most.utilisation_ppm),
        (Some(u64::MAX), Some(u64::MAX))
    );
}
