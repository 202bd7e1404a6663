//! Losses among packets of unknown fate.

use super::*;
use crate::bounds::Bounds;

fn fate(millis: i64, packets: u64, is_lost: bool) -> Fate {
    Fate {
        at: at(millis),
        packets,
        is_lost,
        one_way_delay: None,
    }
}

/// A sender of 100 packets in each of three seconds with these fates; some packets of unknown fate were sent
/// outside the time of the receiver's capture.
fn bulk(fates: &[Fate], outside_packets: u64) -> Sender {
    Sender {
        fates: Some(fates.to_vec()),
        unknown_packets: 300 - fates.iter().map(|fate| fate.packets).sum::<u64>(),
        outside_packets,
        ..sender("bulk", 0, &[8; 3])
    }
}

fn loss(sender: &Sender, warmup: i64) -> Bounds {
    let values = values(&run(vec![sender.clone()]), warmup, "bulk");
    values.bounds(Measure::LossRatio).unwrap()
}

const fn bounds(least: f64, most: f64) -> Bounds {
    Bounds { least, most }
}

#[test]
fn the_loss_ratio_leaves_out_the_bins_at_the_end_of_the_receivers_capture() {
    let fates = [
        fate(0, 90, false),
        fate(900, 10, true),
        fate(1500, 90, false),
        fate(1900, 10, true),
        fate(2000, 60, false),
    ];
    let mut bulk = bulk(&fates, 40);
    assert_eq!(loss(&bulk, 0), bounds(0.1, 0.1));
    assert_eq!(loss(&bulk, 1), bounds(0.1, 0.1));
    // The window has no other bins.
    assert_eq!(loss(&bulk, 2), bounds(0.0, 0.4));
    // The bins do not show where these packets are.
    bulk.unknown_packets = 50;
    assert_eq!(loss(&bulk, 0), bounds(20.0 / 310.0, 70.0 / 310.0));
}

#[test]
fn the_loss_ratio_leaves_out_the_bins_at_the_start_of_the_receivers_capture() {
    let fates = [
        fate(0, 20, false),
        fate(1000, 90, false),
        fate(1000, 10, true),
        fate(2000, 90, false),
        fate(2000, 10, true),
    ];
    assert_eq!(loss(&bulk(&fates, 80), 0), bounds(0.1, 0.1));
}

#[test]
fn ambiguous_packets_bound_the_loss_ratio_of_the_whole_window() {
    // All losses are in the bin with ambiguous packets, which the other bins outlast.
    let first = [fate(0, 60, false), fate(0, 30, true)];
    let then = [fate(1000, 100, false), fate(2000, 100, false)];
    let early: Vec<Fate> = [first, then].concat();
    assert_eq!(loss(&bulk(&early, 0), 0), bounds(0.1, 40.0 / 300.0));
    let then = [fate(2000, 60, false), fate(2000, 30, true)];
    let late = [&[fate(0, 100, false), fate(1000, 100, false)], &then[..]].concat();
    assert_eq!(loss(&bulk(&late, 0), 0), bounds(0.1, 40.0 / 300.0));
    // They are all in the third second.
    assert_eq!(loss(&bulk(&early, 0), 1), bounds(0.0, 0.0));
    assert_eq!(loss(&bulk(&late, 0), 2), bounds(0.3, 0.4));
}

#[test]
fn ambiguous_packets_bound_the_loss_ratio_beside_packets_outside_the_capture() {
    let fates = [
        fate(0, 60, false),
        fate(0, 30, true),
        fate(1000, 100, false),
        fate(2000, 30, false),
    ];
    // Of 80 packets of unknown fate, 10 are ambiguous.
    let found = loss(&bulk(&fates, 70), 0);
    assert_eq!(found, bounds(30.0 / 200.0, 40.0 / 200.0));
}
