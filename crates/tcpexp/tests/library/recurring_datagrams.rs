//! Datagrams equal in all fields are matched where their spacing distinguishes them, and never wrongly.

use crate::common::truth::assert_true;
use crate::common::{Measured, spooled};
use tcpexp_testkit::{CaptureSpec, IpId, IpVersion, Prng, Scenario, UdpLoad, UdpPayload, simulate};
use tcpexp_units::TimeDelta;

/// Length of the headers of a classic pcap file and of its records in bytes.
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

const fn millis(millis: i64) -> TimeDelta {
    TimeDelta::from_millis(millis)
}

/// Two-way telephony whose datagrams are all equal and leave at varying times.
fn telephony(interval_jitter: TimeDelta) -> Scenario {
    Scenario {
        tcp: Vec::new(),
        udp: vec![UdpLoad {
            datagrams: 1_500,
            payload: UdpPayload::Constant,
            interval_jitter,
            ..UdpLoad::default()
        }],
        ip_id: IpId::Zero,
        delay: millis(30),
        ..Scenario::default()
    }
}

/// Omits this many records per million.
fn thinned(file: &[u8], ppm: u32, prng: &mut Prng) -> Vec<u8> {
    let (header, mut rest) = file.split_at(FILE_HEADER);
    let mut kept = header.to_vec();
    while rest.len() >= RECORD_HEADER {
        let bytes = u32::from_le_bytes(rest[8..12].try_into().unwrap());
        let (record, later) = rest.split_at(RECORD_HEADER + bytes as usize);
        if !prng.chance_ppm(ppm) {
            kept.extend(record);
        }
        rest = later;
    }
    kept
}

/// Measures the captures, which miss this many records per million, and checks each sample. Returns
/// the number of samples and of matched packets.
fn checked(scenario: &Scenario, missed_ppm: [u32; 2]) -> (usize, u64) {
    let captures = simulate(scenario);
    let mut prng = Prng::new(scenario.seed);
    let [src, dst] = [
        ("src", &captures.src, missed_ppm[0]),
        ("dst", &captures.dst, missed_ppm[1]),
    ]
    .map(|(name, file, ppm)| spooled(name, &thinned(file, ppm, &mut prng)));
    let Ok(measured) = Measured::of(&src, &dst) else {
        return (0, 0);
    };
    assert_true(scenario, &captures, &measured, &measured.samples);
    (measured.samples.len(), measured.total(|c| c.matched))
}

#[test]
fn clean_stream_with_varying_intervals_is_matched() {
    for (ip, ip_id) in [
        (IpVersion::V4, IpId::Zero),
        (IpVersion::V4, IpId::Wrapping(64)),
        (IpVersion::V6, IpId::Zero),
    ] {
        let mut scenario = telephony(millis(8));
        scenario.udp[0].ip = ip;
        scenario.ip_id = ip_id;
        let (samples, matched) = checked(&scenario, [0, 0]);
        // The first datagrams only show that the intervals vary.
        assert!(matched > 2_700, "{matched} of 3000, {ip:?}, {ip_id:?}");
        assert!(samples > 1_000, "{samples}, {ip:?}, {ip_id:?}");
    }
}

#[test]
fn stream_with_constant_intervals_stays_ambiguous() {
    for ip_id in [IpId::Zero, IpId::Wrapping(64), IpId::Wrapping(256)] {
        let scenario = Scenario {
            ip_id,
            ..telephony(TimeDelta::ZERO)
        };
        assert_eq!(checked(&scenario, [0, 0]), (0, 0), "{ip_id:?}");
        let late = CaptureSpec {
            starts_after: TimeDelta::from_seconds(5),
            ..CaptureSpec::default()
        };
        let scenario = Scenario {
            src: late,
            ..scenario
        };
        assert_eq!(checked(&scenario, [0, 10_000]), (0, 0), "{ip_id:?}");
    }
}

/// A scenario with the losses, late starts, queues and reordering that its seed draws, and the
/// share of records that each capture misses.
fn drawn(seed: u64) -> (Scenario, [u32; 2]) {
    let mut prng = Prng::new(seed);
    let mut one_of = |choices: &[i64]| {
        let place = prng.below(choices.len() as u64);
        choices[usize::try_from(place).unwrap()]
    };
    let mut scenario = telephony(millis(one_of(&[0, 1, 3, 8, 40])));
    scenario.seed = seed;
    scenario.udp[0].interval = millis(one_of(&[2, 5, 20]));
    scenario.ip_id = match one_of(&[0, 1, 2]) {
        0 => IpId::Zero,
        1 => IpId::Wrapping(64),
        _ => IpId::Wrapping(256),
    };
    scenario.loss_ppm = u32::try_from(one_of(&[0, 1_000, 30_000])).unwrap();
    scenario.jitter = millis(one_of(&[0, 0, 1, 5, 30]));
    scenario.reorders = one_of(&[0, 0, 1]) == 1;
    scenario.offset = millis(one_of(&[0, -7, 20, 3_600_000]));
    for capture in [&mut scenario.src, &mut scenario.dst] {
        capture.starts_after = millis(one_of(&[0, 0, 37, 3_000]));
    }
    let missed_ppm = [0; 2].map(|_: u32| u32::try_from(one_of(&[0, 1_000, 50_000])).unwrap());
    (scenario, missed_ppm)
}

#[test]
fn no_match_is_wrong_whatever_captures_miss_and_paths_lose() {
    let samples = (0..24).map(|seed| {
        let (scenario, missed_ppm) = drawn(seed);
        checked(&scenario, missed_ppm).0
    });
    let with_samples = samples.filter(|&samples| samples > 0).count();
    assert!(with_samples >= 4, "{with_samples}");
}
