//! Round-trip times of captures with different formats, clocks, lengths and duplicates.

use crate::common::truth::{assert_complete, assert_true, check, mixed};
use crate::common::{Measured, spooled};
use tcpexp::{Error, RttOptions, rtt};
use tcpexp_pair::spp::{DirectionCounts, Options, RttSample};
use tcpexp_testkit::{
    CaptureSpec, Container, Endian, Framing, IpId, IpVersion, Resolution, Scenario, TcpLoad,
    UdpLoad, UdpPayload, simulate,
};
use tcpexp_units::{TimeDelta, Timestamp};

const FILE_HEADER: usize = 24;

#[test]
fn second_records_change_no_measurement() {
    let twice = CaptureSpec {
        twice: true,
        ..CaptureSpec::default()
    };
    for ip_id in [IpId::Counter, IpId::Random] {
        let once = check(&Scenario { ip_id, ..mixed() });
        for (src, dst) in [(true, false), (false, true), (true, true)] {
            let spec = |is_twice| {
                if is_twice {
                    twice
                } else {
                    CaptureSpec::default()
                }
            };
            let scenario = Scenario {
                ip_id,
                src: spec(src),
                dst: spec(dst),
                ..mixed()
            };
            let checked = check(&scenario);
            assert_eq!(checked.samples(), once.samples());
            let total = |of: fn(&DirectionCounts) -> u64| checked.measured.total(of);
            assert_eq!(total(|c| c.lost), once.measured.total(|c| c.lost));
            assert_eq!(total(|c| c.matched), once.measured.total(|c| c.matched));
            let all = once.measured.total(|c| c.seen + c.arrived);
            assert_eq!(total(|c| c.seen + c.arrived), all);
        }
    }
    let without_id = Scenario {
        ip_id: IpId::Zero,
        ..mixed()
    };
    let once = check(&without_id);
    for (src, dst) in [
        (twice, CaptureSpec::default()),
        (CaptureSpec::default(), twice),
        (twice, twice),
    ] {
        let checked = check(&Scenario {
            src,
            dst,
            ..without_id.clone()
        });
        assert_eq!(checked.samples(), once.samples());
    }
}

#[test]
fn packets_outside_one_capture_are_not_lost() {
    let early = TimeDelta::from_millis(150);
    let late = CaptureSpec {
        starts_after: early,
        ..CaptureSpec::default()
    };
    let short = CaptureSpec {
        stops_after: Some(early),
        ..CaptureSpec::default()
    };
    let whole = CaptureSpec::default();
    for loss_ppm in [0, 20_000] {
        for ip_id in [IpId::Counter, IpId::Zero] {
            for (src, dst) in [(late, whole), (whole, late), (short, whole), (whole, short)] {
                let checked = check(&Scenario {
                    src,
                    dst,
                    loss_ppm,
                    ip_id,
                    ..mixed()
                });
                let total = |of: fn(&DirectionCounts) -> u64| checked.measured.total(of);
                assert!(checked.samples() > 50, "{}", checked.samples());
                assert!(total(|c| c.lost + c.unseen_upstream) <= checked.truly_lost());
                let outside = total(|c| c.outside + c.arrivals_outside);
                assert!(outside > 50, "{outside}: {:#?}", checked.measured.ended);
            }
        }
    }
}

#[test]
fn captures_of_different_length_are_measured_where_they_overlap() {
    // One datagram every 200 ms for the whole time, and TCP at the end.
    let hour = TimeDelta::from_seconds(3600);
    let stream = UdpLoad {
        datagrams: 18_300,
        interval: TimeDelta::from_millis(200),
        ..UdpLoad::default()
    };
    let late = CaptureSpec {
        starts_after: hour,
        ..CaptureSpec::default()
    };
    let whole = CaptureSpec::default();
    for (src, dst) in [(whole, late), (late, whole)] {
        let checked = check(&Scenario {
            tcp: Vec::new(),
            udp: vec![stream],
            src,
            dst,
            ..mixed()
        });
        assert!(checked.samples() > 500, "{}", checked.samples());
        let unproven = checked.measured.total(|c| c.lost + c.unseen_upstream);
        assert!(
            unproven < checked.truly_lost() / 20,
            "{:#?}",
            checked.measured.ended
        );
    }
}

#[test]
fn no_matched_packet_exceeds_the_maximum_delay() {
    let scenario = Scenario {
        jitter: TimeDelta::from_millis(20),
        ..mixed()
    };
    let captures = simulate(&scenario);
    let [src, dst] =
        [("src", &captures.src), ("dst", &captures.dst)].map(|(name, file)| spooled(name, file));
    let samples_within = |max_owd: TimeDelta| {
        let options = RttOptions::default().max_owd(max_owd);
        let mut samples = Vec::new();
        rtt(&src, &dst, &options, |batch| {
            samples.extend(batch.samples);
            Ok::<(), Error>(())
        })
        .unwrap();
        samples
    };
    let all = samples_within(Options::default().max_owd);
    let least = all.iter().map(|sample| sample.rtt).min().unwrap();
    // The timeline splits the least round-trip time evenly between the two ways.
    let max_owd = TimeDelta::from_nanos(least.as_nanos() / 2) + TimeDelta::from_millis(5);
    let some = samples_within(max_owd);
    assert!(some.len() < all.len(), "{} of {}", some.len(), all.len());
    assert!(!some.is_empty());
    for sample in some {
        assert!(sample.rtt <= max_owd + max_owd, "{sample:?}");
    }
}

#[test]
fn resegmented_data_is_matched_by_its_bytes() {
    let tso = CaptureSpec {
        tso_segments: 44,
        ..CaptureSpec::default()
    };
    let gro = CaptureSpec {
        gro_segments: 16,
        ..CaptureSpec::default()
    };
    let both = CaptureSpec {
        gro_segments: 16,
        ..tso
    };
    let whole = CaptureSpec::default();
    for loss_ppm in [0, 20_000] {
        for timestamps in [true, false] {
            for (src, dst) in [
                (tso, whole),
                (whole, gro),
                (tso, gro),
                (both, both),
                (gro, tso),
            ] {
                for ip_id in [IpId::Counter, IpId::Zero] {
                    let mut scenario = Scenario {
                        src,
                        dst,
                        loss_ppm,
                        ip_id,
                        ..mixed()
                    };
                    for load in &mut scenario.tcp {
                        load.timestamps = timestamps;
                    }
                    let checked = check(&scenario);
                    assert!(checked.samples() > 50, "{}", checked.samples());
                    if timestamps && ip_id == IpId::Counter {
                        let lost = checked.measured.total(|c| c.lost + c.outside);
                        assert_eq!(lost, checked.truly_lost(), "{:#?}", checked.measured.ended);
                    }
                }
            }
        }
    }
}

#[test]
fn link_layer_headers_do_not_change_the_result() {
    let framings = [
        Framing::Ethernet,
        Framing::Vlan(7),
        Framing::QinQ(7, 9),
        Framing::RawIp,
        Framing::Sll,
        Framing::Sll2,
    ];
    for (number, framing) in framings.into_iter().enumerate() {
        let other = framings[(number + 1) % framings.len()];
        let src = CaptureSpec {
            framing,
            ..CaptureSpec::default()
        };
        let dst = CaptureSpec {
            framing: other,
            min_frame_bytes: 60,
            ..CaptureSpec::default()
        };
        assert_complete(&check(&Scenario {
            src,
            dst,
            ..mixed()
        }));
    }
}

#[test]
fn file_format_does_not_change_the_result() {
    let spec = |container, endian, resolution| CaptureSpec {
        container,
        endian,
        resolution,
        ..CaptureSpec::default()
    };
    let micros = spec(Container::Pcap, Endian::Little, Resolution::Micros);
    let nanos = spec(Container::Pcap, Endian::Big, Resolution::Nanos);
    let next = spec(Container::Pcapng, Endian::Little, Resolution::Nanos);
    let next_micros = spec(Container::Pcapng, Endian::Big, Resolution::Micros);
    for (src, dst) in [
        (micros, nanos),
        (nanos, next),
        (next, micros),
        (next_micros, micros),
    ] {
        assert_complete(&check(&Scenario {
            src,
            dst,
            ..mixed()
        }));
    }
}

#[test]
fn headers_alone_yield_the_same_result() {
    for (src_bytes, dst_bytes) in [(96, 96), (96, 262_144), (68, 68), (68, 96), (262_144, 68)] {
        for ip in [IpVersion::V4, IpVersion::V6] {
            let mut scenario = mixed();
            scenario.src.snaplen = src_bytes;
            scenario.dst.snaplen = dst_bytes;
            for load in &mut scenario.tcp {
                load.ip = ip;
            }
            let checked = check(&scenario);
            if src_bytes == dst_bytes && ip == IpVersion::V4 {
                assert_complete(&checked);
            }
            assert!(checked.samples() > 50, "{src_bytes} {dst_bytes} {ip:?}");
        }
    }
}

#[test]
fn each_of_many_short_flows_is_measured() {
    let checked = check(&Scenario {
        tcp: vec![TcpLoad {
            flows: 400,
            parallel: 40,
            bytes: 8_000,
            ..TcpLoad::default()
        }],
        udp: vec![UdpLoad {
            flows: 20,
            datagrams: 10,
            ..UdpLoad::default()
        }],
        ..mixed()
    });
    let seen = checked.measured.flows.len();
    assert!(seen > 410, "{seen}");
    let with_samples = checked
        .measured
        .ended
        .iter()
        .filter(|s| s.rtt[0].is_some())
        .count();
    assert!(with_samples > 400, "{with_samples}");
    checked.assert_losses_are_known();
}

#[test]
fn connection_on_reused_ports_is_a_separate_flow() {
    let first = Scenario {
        udp: Vec::new(),
        ..mixed()
    };
    let again = Scenario {
        seed: 2,
        start: first.start + TimeDelta::from_seconds(3),
        ..first.clone()
    };
    let (first_run, second_run) = (simulate(&first), simulate(&again));
    let joined = |a: &[u8], b: &[u8]| [a, &b[FILE_HEADER..]].concat();
    let measured = Measured::of(
        &spooled("src", &joined(&first_run.src, &second_run.src)),
        &spooled("dst", &joined(&first_run.dst, &second_run.dst)),
    )
    .unwrap();
    assert_eq!(measured.flows.len(), 4);
    let is_of_first = |at: Timestamp| at < again.start;
    for (scenario, run, wanted) in [(&first, &first_run, true), (&again, &second_run, false)] {
        let samples = measured
            .samples
            .iter()
            .filter(|s| is_of_first(s.time) == wanted);
        let samples: Vec<RttSample> = samples.copied().collect();
        assert!(samples.len() > 500, "{}", samples.len());
        assert_true(scenario, run, &measured, &samples);
    }
}

#[test]
fn datagrams_truncated_before_their_number_yield_no_wrong_samples() {
    // Ethernet, IP and UDP headers: 14, 20 and 8 bytes. The capture has no payload.
    const HEADERS: u32 = 42;
    for payload in [UdpPayload::Numbered, UdpPayload::Constant] {
        for ip_id in [IpId::Counter, IpId::Zero] {
            let mut scenario = Scenario {
                tcp: Vec::new(),
                ip_id,
                ..mixed()
            };
            scenario.udp = vec![UdpLoad {
                payload,
                ..UdpLoad::default()
            }];
            (scenario.src.snaplen, scenario.dst.snaplen) = (HEADERS, HEADERS);
            if ip_id == IpId::Counter {
                assert_complete(&check(&scenario));
                continue;
            }
            // No field distinguishes any packet from the others.
            let captures = simulate(&scenario);
            let [src, dst] = [("src", &captures.src), ("dst", &captures.dst)]
                .map(|(name, bytes)| spooled(name, bytes));
            let error = Measured::of(&src, &dst).unwrap_err();
            assert!(matches!(error, Error::Compare { .. }), "{error}");
        }
    }
}
