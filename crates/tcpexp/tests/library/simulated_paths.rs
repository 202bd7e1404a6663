//! Round-trip times over simulated paths, each packet known: no sample is wrong.

use crate::common::truth::{Checked, both_ways, check};
use tcpexp_flow::Protocol;
use tcpexp_testkit::{CaptureSpec, IpId, IpVersion, Path, Scenario, TcpLoad, UdpLoad, UdpPayload};
use tcpexp_units::TimeDelta;

fn with_each_load(change: impl Fn(&mut TcpLoad)) -> Vec<TcpLoad> {
    let mut loads = both_ways(600_000, 24);
    loads.iter_mut().for_each(change);
    loads
}

fn lossy(loss_ppm: u32) -> Scenario {
    Scenario {
        tcp: both_ways(600_000, 24),
        loss_ppm,
        ..Scenario::default()
    }
}

/// Checks that more than a quarter of the arrivals give a sample.
fn assert_many_samples(checked: &Checked) {
    let arrived = checked.measured.total(|c| c.arrivals_matched);
    assert!(
        checked.samples() as u64 * 4 > arrived,
        "{} of {arrived}",
        checked.samples()
    );
}

#[test]
fn losses_remove_samples_but_make_no_sample_wrong() {
    for (loss_ppm, seed) in [(0, 1), (10_000, 2), (30_000, 3), (50_000, 4)] {
        let checked = check(&Scenario {
            seed,
            ..lossy(loss_ppm)
        });
        checked.assert_losses_are_known();
        assert_many_samples(&checked);
        if loss_ppm > 0 {
            assert!(checked.truly_lost() > 5);
        }
    }
}

#[test]
fn delay_of_a_full_queue_is_measured_while_it_drops() {
    let checked = check(&Scenario {
        tcp: vec![TcpLoad {
            bytes: 1_500_000,
            ..TcpLoad::default()
        }],
        rate_bps: 5_000_000,
        queue_bytes: 60_000,
        ..Scenario::default()
    });
    checked.assert_losses_are_known();
    assert_many_samples(&checked);
    assert!(checked.truly_lost() > 5);
    let longest = checked
        .measured
        .samples
        .iter()
        .map(|sample| sample.rtt)
        .max();
    assert!(longest > Some(TimeDelta::from_millis(90)), "{longest:?}");
}

#[test]
fn retransmission_is_never_matched_to_the_original() {
    for timestamps in [false, true] {
        for sack in [false, true] {
            for ip_id in [IpId::Counter, IpId::Zero, IpId::Random, IpId::Wrapping(64)] {
                let checked = check(&Scenario {
                    tcp: with_each_load(|load| {
                        (load.timestamps, load.sack) = (timestamps, sack);
                    }),
                    ip_id,
                    ..lossy(30_000)
                });
                assert!(checked.truly_lost() > 10);
                assert!(checked.samples() > 100, "{timestamps} {sack} {ip_id:?}");
                if matches!(ip_id, IpId::Counter) {
                    checked.assert_losses_are_known();
                }
            }
        }
    }
}

#[test]
fn ipv6_has_no_identification_and_needs_none() {
    for timestamps in [false, true] {
        let checked = check(&Scenario {
            tcp: with_each_load(|load| (load.ip, load.timestamps) = (IpVersion::V6, timestamps)),
            ..lossy(20_000)
        });
        assert!(checked.samples() > 100);
    }
}

#[test]
fn reordered_packets_have_correct_delays() {
    for (seed, ip_id) in [(1, IpId::Counter), (2, IpId::Zero), (3, IpId::Random)] {
        for timestamps in [false, true] {
            let checked = check(&Scenario {
                seed,
                tcp: with_each_load(|load| load.timestamps = timestamps),
                jitter: TimeDelta::from_millis(8),
                reorders: true,
                ip_id,
                ..lossy(10_000)
            });
            assert!(checked.samples() > 100);
        }
    }
}

#[test]
fn duplicates_of_the_network_are_counted_as_duplicates() {
    for (timestamps, ip_id) in [
        (true, IpId::Counter),
        (false, IpId::Counter),
        (true, IpId::Zero),
    ] {
        let checked = check(&Scenario {
            tcp: with_each_load(|load| load.timestamps = timestamps),
            duplicate_ppm: 20_000,
            ip_id,
            ..lossy(10_000)
        });
        let summary = &checked.truth.summary;
        let duplicated = summary.forward.duplicated + summary.reverse.duplicated;
        assert!(duplicated > 10);
        if ip_id == IpId::Counter {
            assert_eq!(checked.measured.total(|c| c.arrivals_copies), duplicated);
            checked.assert_losses_are_known();
        }
    }
}

#[test]
fn jitter_loss_and_duplication_together_make_no_sample_wrong() {
    for seed in 0..6 {
        for ip_id in [IpId::Counter, IpId::Zero, IpId::Wrapping(100)] {
            check(&Scenario {
                seed,
                tcp: with_each_load(|load| {
                    (load.timestamps, load.sack) = (seed % 2 == 0, seed % 3 == 0);
                    load.bytes = 200_000;
                }),
                udp: vec![UdpLoad {
                    datagrams: 100,
                    ..UdpLoad::default()
                }],
                jitter: TimeDelta::from_millis(15),
                reorders: true,
                duplicate_ppm: 20_000,
                ip_id,
                ..lossy(50_000)
            });
        }
    }
}

#[test]
fn forward_and_reverse_path_may_differ_in_everything() {
    let checked = check(&Scenario {
        reverse: Some(Path {
            rate_bps: 2_000_000,
            delay: TimeDelta::from_millis(90),
            jitter: TimeDelta::from_millis(30),
            ..Path::default()
        }),
        ..lossy(10_000)
    });
    checked.assert_losses_are_known();
    assert!(checked.samples() > 100);
}

#[test]
fn numbered_datagrams_are_distinguished() {
    for (ip, ip_id) in [
        (IpVersion::V4, IpId::Counter),
        (IpVersion::V4, IpId::Zero),
        (IpVersion::V4, IpId::Wrapping(16)),
        (IpVersion::V6, IpId::Zero),
    ] {
        let checked = check(&Scenario {
            tcp: Vec::new(),
            udp: vec![UdpLoad {
                ip,
                flows: 2,
                ..UdpLoad::default()
            }],
            ip_id,
            ..lossy(30_000)
        });
        checked.assert_losses_are_known();
        assert_many_samples(&checked);
    }
}

#[test]
fn identical_datagrams_are_distinguished_by_ip_id() {
    let constant = UdpLoad {
        payload: UdpPayload::Constant,
        ..UdpLoad::default()
    };
    let checked = check(&Scenario {
        tcp: Vec::new(),
        udp: vec![constant],
        ..lossy(30_000)
    });
    checked.assert_losses_are_known();
    assert_many_samples(&checked);
}

#[test]
fn indistinguishable_datagrams_yield_no_samples() {
    let constant = UdpLoad {
        payload: UdpPayload::Constant,
        interval: TimeDelta::from_millis(5),
        ..UdpLoad::default()
    };
    for (ip, ip_id) in [
        (IpVersion::V4, IpId::Zero),
        (IpVersion::V4, IpId::Wrapping(3)),
        (IpVersion::V6, IpId::Zero),
    ] {
        // Parallel TCP flows show the clock offset.
        let checked = check(&Scenario {
            tcp: with_each_load(|load| load.ip = IpVersion::V6),
            udp: vec![UdpLoad { ip, ..constant }],
            ip_id,
            ..lossy(30_000)
        });
        let udp = checked
            .measured
            .ended
            .iter()
            .find(|s| s.flow.protocol == Protocol::Udp);
        let udp = udp.unwrap();
        let samples = checked
            .measured
            .samples
            .iter()
            .filter(|s| s.flow == udp.flow.flow)
            .count();
        // A datagram before any loss may be identified if no identical datagram is near.
        assert!(samples < 100, "{samples} samples, {ip:?}, {ip_id:?}");
        assert!(
            udp.counts.iter().all(|c| c.ambiguous > 300),
            "{ip:?}, {ip_id:?}: {udp:#?}"
        );
    }
}

#[test]
fn identical_datagrams_sent_before_the_capture_cause_no_shift_by_one() {
    for starts_after in [5, 25, 45, 65].map(TimeDelta::from_millis) {
        for interval in [5, 12, 15, 19, 25, 33].map(TimeDelta::from_millis) {
            let late = CaptureSpec {
                starts_after,
                ..CaptureSpec::default()
            };
            let constant = UdpLoad {
                payload: UdpPayload::Constant,
                ip: IpVersion::V6,
                datagrams: 100,
                interval,
                ..UdpLoad::default()
            };
            let scenario = Scenario {
                udp: vec![constant],
                ..lossy(0)
            };
            check(&Scenario {
                src: late,
                ..scenario.clone()
            });
            check(&Scenario {
                dst: late,
                ..scenario
            });
        }
    }
}

#[test]
fn long_stream_of_identical_datagrams_is_processed_quickly() {
    let checked = check(&Scenario {
        udp: vec![UdpLoad {
            payload: UdpPayload::Constant,
            ip: IpVersion::V6,
            datagrams: 100_000,
            interval: TimeDelta::from_micros(500),
            ..UdpLoad::default()
        }],
        ..lossy(10_000)
    });
    assert!(checked.measured.total(|c| c.ambiguous) > 190_000);
}
