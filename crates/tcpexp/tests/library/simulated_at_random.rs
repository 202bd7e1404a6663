//! No sample is wrong in random combinations of paths, hosts and captures.

use crate::common::truth::try_check;
use tcpexp_testkit::{
    CaptureSpec, Congestion, Container, Direction, Framing, IpId, IpVersion, Path, Prng,
    Resolution, Scenario, TcpLoad, UdpLoad, UdpPayload,
};
use tcpexp_units::TimeDelta;

struct Dice(Prng);

impl Dice {
    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let choice = self.0.below(choices.len() as u64);
        choices[usize::try_from(choice).unwrap()]
    }

    fn tcp(&mut self) -> TcpLoad {
        TcpLoad {
            flows: self.one_of(&[1, 1, 2, 12]),
            parallel: self.one_of(&[2, 4]),
            bytes: self.one_of(&[3_000, 60_000, 150_000]),
            direction: self.one_of(&[Direction::Forward, Direction::Reverse]),
            mss: self.one_of(&[1448, 1448, 500]),
            timestamps: self.one_of(&[false, true]),
            sack: self.one_of(&[false, true]),
            congestion: self.one_of(&[Congestion::Aimd, Congestion::Fixed(16)]),
            ip: self.one_of(&[IpVersion::V4, IpVersion::V4, IpVersion::V6]),
            stagger: TimeDelta::from_millis(self.one_of(&[0, 100])),
            ..TcpLoad::default()
        }
    }

    fn udp(&mut self) -> UdpLoad {
        UdpLoad {
            flows: self.one_of(&[1, 3]),
            forward: self.one_of(&[true, true, false]),
            reverse: self.one_of(&[true, true, false]),
            datagrams: self.one_of(&[20, 60]),
            interval: TimeDelta::from_millis(self.one_of(&[3, 15, 40])),
            payload_bytes: self.one_of(&[10, 172]),
            interval_jitter: TimeDelta::ZERO,
            payload: self.one_of(&[UdpPayload::Numbered, UdpPayload::Constant]),
            ip: self.one_of(&[IpVersion::V4, IpVersion::V6]),
        }
    }

    fn path(&mut self) -> Path {
        Path {
            rate_bps: self.one_of(&[2_000_000, 20_000_000, 1_000_000_000]),
            queue_bytes: self.one_of(&[20_000, 250_000]),
            delay: TimeDelta::from_micros(self.one_of(&[50, 1_000, 10_000, 60_000])),
            jitter: TimeDelta::from_micros(self.one_of(&[0, 100, 5_000, 20_000])),
            reorders: self.one_of(&[false, true]),
            loss_ppm: self.one_of(&[0, 1_000, 20_000, 50_000]),
            duplicate_ppm: self.one_of(&[0, 0, 1_000, 20_000]),
            policer: None,
            outage: None,
        }
    }

    fn capture(&mut self) -> CaptureSpec {
        CaptureSpec {
            container: self.one_of(&[Container::Pcap, Container::Pcapng]),
            resolution: self.one_of(&[Resolution::Micros, Resolution::Nanos]),
            snaplen: self.one_of(&[68, 96, 262_144]),
            framing: self.one_of(&[Framing::Ethernet, Framing::Vlan(3), Framing::RawIp]),
            starts_after: TimeDelta::from_millis(self.one_of(&[0, 0, 0, 40, 200])),
            stops_after: self.one_of(&[None, None, None, Some(TimeDelta::from_millis(600))]),
            twice: self.one_of(&[false, false, false, true]),
            tso_segments: self.one_of(&[1, 1, 8, 44]),
            gro_segments: self.one_of(&[1, 1, 1, 8]),
            min_frame_bytes: self.one_of(&[0, 60]),
            ..CaptureSpec::default()
        }
    }

    fn scenario(&mut self, seed: u64) -> Scenario {
        let out = self.path();
        Scenario {
            seed,
            tcp: (0..self.one_of(&[1, 2, 3])).map(|_| self.tcp()).collect(),
            udp: (0..self.one_of(&[0, 1])).map(|_| self.udp()).collect(),
            rate_bps: out.rate_bps,
            queue_bytes: out.queue_bytes,
            delay: out.delay,
            jitter: out.jitter,
            reorders: out.reorders,
            loss_ppm: out.loss_ppm,
            duplicate_ppm: out.duplicate_ppm,
            reverse: self.one_of(&[false, true]).then(|| self.path()),
            offset: TimeDelta::from_seconds(self.one_of(&[0, 0, -9_000, 1])),
            ip_id: self.one_of(&[IpId::Counter, IpId::Zero, IpId::Random]),
            nat: self.one_of(&[false, false, false, true]),
            src: self.capture(),
            dst: self.capture(),
            ..Scenario::default()
        }
    }
}

/// Scenarios that gave wrong samples in earlier versions.
const ONCE_WRONG: [u64; 20] = [
    295, 419, 458, 469, 634, 675, 799, 853, 933, 1202, 1217, 1289, 1356, 1612, 3338, 6713, 8184,
    14600, 15204, 16130,
];

/// Scenarios to run. `TCPEXP_SCENARIOS=100-600` selects a range.
fn scenarios() -> Vec<u64> {
    let Ok(asked) = std::env::var("TCPEXP_SCENARIOS") else {
        return (0..150).chain(ONCE_WRONG).collect();
    };
    let (first, end) = asked.split_once('-').unwrap();
    (first.parse().unwrap()..end.parse().unwrap()).collect()
}

#[test]
fn no_combination_of_impairments_yields_a_wrong_sample() {
    let mut samples = 0;
    for seed in scenarios() {
        let scenario = Dice(Prng::new(seed)).scenario(seed);
        println!("{scenario:?}");
        // The measurement refuses empty captures and captures without identifiable packets.
        if let Ok(checked) = try_check(&scenario) {
            samples += checked.samples();
        }
    }
    assert!(samples > 1_000, "{samples}");
}
