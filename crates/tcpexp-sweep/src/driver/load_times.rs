//! How long the calibration loads the path.

use std::time::Duration;

use netem_ctl::Loss;
use tcpexp_units::BitRate;

use super::clock::positive;
use crate::plan::{self, Setup};

/// Bytes of a packet of the load if the MTU allows them: the default payload of iperf 2 (1470) and the headers of
/// UDP (8) and IPv4 (20).
const LOAD_BYTES: u64 = 1_498;
/// Bytes of the header of Ethernet.
const ETHERNET_BYTES: u64 = 14;
/// Number of load packets that the measurement needs: one packet more or less is 0.5 % of the rate.
const LOAD_PACKETS: u64 = 200;
/// Waits before the rate is measured again, if the load has not reached it: a lost SYN of the load's
/// control connection is sent again after one second, and then after twice that time (RFC 6298,
/// section 5.5).
const LOAD_WAITS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];
/// Rate of the load as a multiple of the rate of the path.
const OVERLOAD: f64 = 1.5;
/// Limit of the time to drain, so that sums of times do not overflow: a year, as for the times of a plan.
const LONGEST_DRAIN: Duration = Duration::from_secs(366 * 86_400);
/// Time for the last read of the counters and the end of the load.
const TAIL: Duration = Duration::from_secs(2);

/// The times of the load on a path.
pub(super) struct LoadTimes {
    /// From the start of the load until it fills the path.
    pub(super) settle: Duration,
    /// From one read of the counters to the next one.
    pub(super) measure: Duration,
    /// Bytes of a packet of the load, with the header of IP.
    pub(super) packet_bytes: u64,
    /// Packets of the load per second.
    offered_pps: f64,
    /// Packets of the load per second that the path does not lose.
    arriving_pps: f64,
    queues: Vec<LoadedQueue>,
}

/// A queue that the load passes.
struct LoadedQueue {
    /// Packets per second that a policer before the queue passes.
    policed_pps: f64,
    /// Packets per second that the queue sends.
    sent_pps: f64,
    /// Time for the full queue to drain, if it has a configured size.
    full: Option<Duration>,
}

impl LoadTimes {
    /// The times for a setup; `None` if its path has no rate.
    pub(super) fn of(setup: &Setup) -> Option<Self> {
        let path = &setup.path.forward;
        let packet_bytes = packet_bytes(setup);
        let load_bits = path.link_bytes(packet_bytes) * 8;
        let arriving_pps = OVERLOAD * path.rate?.as_bps() as f64 / frame_bits(packet_bytes);
        // The router loses packets before they enter its queue.
        let lost = path.loss.as_ref().and_then(Loss::mean).unwrap_or(0.0);
        let packets =
            Duration::try_from_secs_f64((LOAD_PACKETS * load_bits) as f64 / planned_bps(setup)?);
        Some(Self {
            // iperf3 negotiates for some round trips before it sends.
            settle: positive(setup.base_rtt()) * 6 + Duration::from_millis(250),
            measure: positive(setup.calibration.load).max(packets.ok()?),
            packet_bytes,
            offered_pps: arriving_pps / (1.0 - lost),
            arriving_pps,
            queues: plan::forward_queues(setup)
                .map(|queue| LoadedQueue::of(&queue, packet_bytes))
                .collect(),
        })
    }

    /// Rate of the load in bits per second, if only `bytes` of each packet count.
    pub(super) fn offered_bps(&self, bytes: u64) -> f64 {
        self.offered_pps * (bytes * 8) as f64
    }

    /// The waits before each measurement of the rate.
    pub(super) fn waits(&self) -> impl Iterator<Item = Duration> {
        let again = LOAD_WAITS.map(|wait| wait.max(self.settle));
        std::iter::once(self.settle).chain(again)
    }

    /// Longest time for which the load must last.
    pub(super) fn most(&self) -> Duration {
        self.waits()
            .map(|wait| wait + self.measure)
            .sum::<Duration>()
            + TAIL
    }

    /// Time for all queues to drain after the load. Each queue holds what arrives above its rate, but no more than
    /// its size.
    pub(super) fn drain(&self) -> Duration {
        let (mut arriving_pps, most) = (self.arriving_pps, self.most().as_secs_f64());
        let mut fills = most;
        for queue in &self.queues {
            arriving_pps = arriving_pps.min(queue.policed_pps);
            let surplus = (arriving_pps / queue.sent_pps - 1.0).max(0.0) * fills;
            let full = queue.full.map_or(f64::INFINITY, |full| full.as_secs_f64());
            // The next queue fills until this one is empty.
            fills += surplus.min(full);
            arriving_pps = arriving_pps.min(queue.sent_pps);
        }
        let drain = Duration::try_from_secs_f64(fills - most).unwrap_or(LONGEST_DRAIN);
        drain.min(LONGEST_DRAIN) + self.settle
    }

    /// Longest time to wait for empty queues: twice the computed time, because a trace may send below its mean
    /// rate for a while.
    pub(super) fn most_drain(&self) -> Duration {
        self.drain() * 2 + TAIL
    }
}

impl LoadedQueue {
    fn of(queue: &plan::ForwardQueue<'_>, packet_bytes: u64) -> Self {
        let police = queue.path.police;
        let pps = |rate: BitRate| rate.as_bps() as f64 / frame_bits(packet_bytes);
        let link_bits = queue.path.link_bytes(packet_bytes) * 8;
        Self {
            policed_pps: police.map_or(f64::INFINITY, pps),
            sent_pps: queue.rate.as_bps() as f64 / link_bits as f64,
            full: queue.full.map(positive),
        }
    }
}

/// Bytes of a packet of the load. A larger packet than the MTU would be sent in fragments.
fn packet_bytes(setup: &Setup) -> u64 {
    setup
        .prepare
        .mtu
        .map_or(LOAD_BYTES, |mtu| LOAD_BYTES.min(mtu.into()))
}

/// Bits of the Ethernet frame of a packet.
fn frame_bits(packet_bytes: u64) -> f64 {
    ((packet_bytes + ETHERNET_BYTES) * 8) as f64
}

/// Bytes that the link of the bottleneck counts for each byte of the load's Ethernet frames.
pub(super) fn link_bytes_per_byte(setup: &Setup) -> f64 {
    let bytes = packet_bytes(setup);
    (setup.path.forward.link_bytes(bytes) * 8) as f64 / frame_bits(bytes)
}

/// The rate that the load can reach, in the bytes that the bottleneck counts; `None` if the path has no rate.
pub(super) fn planned_bps(setup: &Setup) -> Option<f64> {
    let path = &setup.path.forward;
    let rate_bps = path.rate?.as_bps() as f64;
    // A policer before the queue passes no more than its own rate. It counts Ethernet frames, and the
    // bottleneck may count the bytes of a link layer.
    let passed_bps = path
        .police
        .map(|rate| rate.as_bps() as f64 * link_bytes_per_byte(setup));
    Some(passed_bps.map_or(rate_bps, |passed_bps| rate_bps.min(passed_bps)))
}

/// Time of the calibration's load if its first measurement reaches the rate.
pub(super) fn shortest(setup: &Setup) -> Duration {
    let times = LoadTimes::of(setup).filter(|_| setup.is_loaded());
    times.map_or(Duration::ZERO, |times| times.measure)
}

/// Longest time that the calibration may load the path and let it drain.
pub(super) fn longest(setup: &Setup) -> Duration {
    let times = LoadTimes::of(setup).filter(|_| setup.is_loaded());
    times.map_or(Duration::ZERO, |times| times.most() + times.most_drain())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::plan::Plan;

    fn setup(path: &str) -> Setup {
        let text = format!(
            "kind = \"lab\"\n[path.forward]\n{path}\n[[traffic]]\nname = \"a\"\ntool = \"iperf3\"\nduration = \"1s\"\n"
        );
        let plan = Plan::parse(Path::new("plan.toml"), &text).unwrap();
        plan.cells[0].setup.clone()
    }

    fn times(path: &str) -> LoadTimes {
        LoadTimes::of(&setup(path)).unwrap()
    }

    #[test]
    fn load_reaches_the_rate_of_a_policer_in_the_bytes_of_the_link() {
        let planned_mbps = |path: &str| {
            let policed = format!("{path}\nbuffer = \"100p\"\npolice_burst = \"64kB\"");
            planned_bps(&setup(&policed)).unwrap() / 1e6
        };
        let is_near = |path: &str, mbps: f64| {
            let planned = planned_mbps(path);
            assert!((planned - mbps).abs() < 1e-9, "{path}: {planned}");
        };
        is_near("rate = \"10mbit\"\npolice = \"5mbit\"", 5.0);
        // A frame of 1512 bytes takes 33 cells of 53 bytes.
        let cells = "linklayer = \"pppoe-llcsnap\"\npolice = \"5mbit\"";
        is_near(
            &format!("rate = \"10mbit\"\n{cells}"),
            5.0 * 33.0 * 53.0 / 1_512.0,
        );
        is_near(&format!("rate = \"5.5mbit\"\n{cells}"), 5.5);
    }

    #[test]
    fn packets_of_the_load_fit_the_mtu() {
        let of = |mtu: u32| {
            let policer =
                "linklayer = \"pppoe-llcsnap\"\npolice = \"5mbit\"\npolice_burst = \"64kB\"";
            let path =
                format!("rate = \"10mbit\"\nbuffer = \"100p\"\n{policer}\n[prepare]\nmtu = {mtu}");
            let bytes = times(&path).packet_bytes;
            (bytes, planned_bps(&setup(&path)).unwrap() / 1e6)
        };
        assert_eq!(of(1_500).0, 1_498);
        let (bytes, planned) = of(576);
        assert_eq!(bytes, 576);
        // With 40 bytes of PPPoE over LLC/SNAP, a packet takes 13 cells of 53 bytes; its frame has 590 bytes.
        assert!(
            (planned - 5.0 * 13.0 * 53.0 / 590.0).abs() < 1e-9,
            "{planned}"
        );
    }

    #[test]
    fn load_overloads_a_path_that_loses_packets() {
        let offered = |loss: &str| {
            let path = format!("rate = \"2mbit\"\nbuffer = \"30p\"\n{loss}");
            let times = times(&path);
            (format!("{:.0}", times.offered_bps(1_512)), times.drain())
        };
        assert_eq!(offered("").0, "3000000");
        assert_eq!(offered("loss = \"40%\"").0, "5000000");
        // What the path loses is in no queue.
        assert_eq!(offered("loss = \"40%\"").1, offered("").1);
        let bursts = "loss = { enter_bad = \"10%\", leave_bad = \"30%\" }";
        assert_eq!(offered(bursts).0, "4000000");
        let is_loaded = |loss: &str| {
            setup(&format!(
                "rate = \"2mbit\"\nbuffer = \"30p\"\nloss = \"{loss}\""
            ))
            .is_loaded()
        };
        assert_eq!([is_loaded("50%"), is_loaded("51%")], [true, false]);
    }

    #[test]
    fn slow_policer_is_measured_for_two_hundred_packets() {
        let policer = "police = \"8kbit\"\npolice_burst = \"64kB\"";
        let times = times(&format!("rate = \"10mbit\"\nbuffer = \"10p\"\n{policer}"));
        assert!(times.measure > Duration::from_secs(290));
    }

    #[test]
    fn slow_path_is_measured_for_two_hundred_packets() {
        let times = times("rate = \"8kbit\"\nbuffer = \"10p\"");
        // 1512 bytes of a frame, 200 times, at 1000 bytes a second.
        assert!(times.measure > Duration::from_secs(290));
        assert!(times.most() > times.measure * 4);
    }

    #[test]
    fn queue_drains_for_the_time_that_it_holds_but_for_no_more_than_the_load_fills() {
        let long = times("rate = \"64kbit\"\nbuffer = \"100p\"");
        assert!(long.drain() > Duration::from_secs(18), "{:?}", long.drain());
        let longer = times("rate = \"64kbit\"\nbuffer = \"100000p\"");
        assert!(longer.drain() < longer.most());
    }

    #[test]
    fn queue_of_a_slower_router_drains_at_its_own_rate() {
        let hops = |first: &str, second: &str| {
            let of = |path: &str| format!("[{path}.forward]\ndelay = \"5ms\"\nbuffer = \"500p\"");
            let path = format!(
                "rate = \"{first}\"\nbuffer = \"100p\"\n[lab]\nrouters = 2\n{}\nrate = \"{second}\"",
                of("hops.rtr2")
            );
            times(&path).drain().as_secs_f64()
        };
        // 500 packets of 1514 bytes take 12.1 s at 500 kbit/s, and 0.24 s at 5 Mbit/s.
        let slower = hops("5mbit", "500kbit");
        assert!((12.3..13.0).contains(&slower), "{slower}");
        // A router as fast as the one before it holds none of the load.
        let equal = hops("5mbit", "5mbit");
        assert!((0.5..0.6).contains(&equal), "{equal}");
    }
}
