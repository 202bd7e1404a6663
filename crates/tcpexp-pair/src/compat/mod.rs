//! The pairs printed by the classic tool SPP 0.4.2, for comparison with known results.
//!
//! [`spp`](crate::spp) measures more accurately: it works per flow, does not lose the last pair,
//! accepts no false matches, and does not hide negative round trips. This module reproduces the
//! output of the old tool for two captures, including these effects, so that users of the tool can
//! compare line by line. It stores 16 bytes per packet and point, and some 100 more per packet at
//! the reference during the search.
//!
//! ```
//! use std::net::Ipv4Addr;
//!
//! use tcpexp_pair::compat::{Columns, Options, Spp};
//! use tcpexp_pair::spp::Point;
//! use tcpexp_units::Timestamp;
//!
//! let near = Ipv4Addr::new(10, 0, 0, 1);
//! let far = Ipv4Addr::new(10, 0, 0, 2);
//! let mut spp = Spp::new(Options::between(near, far));
//! let packet = |from: Ipv4Addr, to: Ipv4Addr, ip_id: u8| {
//!     let mut bytes = vec![0x45, 0, 0, 20, 0, ip_id, 0, 0, 64, 17, 0, 0];
//!     bytes.extend(from.octets().into_iter().chain(to.octets()));
//!     bytes
//! };
//! for (ip_id, sent, arrived) in [(1, 1_000, 11_000), (2, 90_000, 100_000)] {
//!     let out = packet(near, far, ip_id);
//!     spp.observe(Point::Src, Timestamp::from_nanos(sent * 1_000), &out);
//!     spp.observe(Point::Dst, Timestamp::from_nanos(arrived * 1_000), &out);
//! }
//! let back = packet(far, near, 3);
//! spp.observe(Point::Dst, Timestamp::from_nanos(11_500_000), &back);
//! spp.observe(Point::Src, Timestamp::from_nanos(21_500_000), &back);
//!
//! let columns = Columns { turnaround: true, delays: true };
//! let lines: Vec<_> = spp.pairs().map(|pair| pair.line(columns).to_string()).collect();
//! assert_eq!(lines, ["0.011250 0.020000 0.000500 0.010000 0.010000"]);
//! ```
//!
//! # Algorithm
//!
//! - A packet is identified by its hash over the fields of a [`FieldMask`]. Outgoing packets go
//!   from the reference address to the monitor address, incoming packets the other way; other
//!   packets are ignored.
//! - Each direction's packets are processed in the order of the monitor's file. A packet matches
//!   the oldest packet with the same hash at the reference, within limits ([`Options`]): a maximum
//!   time, compared in whole seconds, and a maximum number of packets not matched yet. A reference
//!   capture that starts [`Options::search_depth`] packets early may yield no pairs.
//! - A pair is the last outgoing packet before an incoming packet at the monitor, of any flow. A
//!   pair is reported only if another outgoing packet was matched after it.
//! - Times are truncated to microseconds. A negative round trip is printed as zero.
//!
//! # Differences from the original
//!
//! - Beyond the captured bytes, the original hashes unrelated memory, and it hashes Ethernet
//!   padding as UDP payload. This module hashes a truncated field as far as it was captured, and
//!   excludes padding from UDP payload (not after a TCP header, as in the original).
//! - Packets of any link layer and in VLAN tags are used; the original finds none there.
//! - If the incoming packet of a pair passed the reference before the outgoing packet, the midpoint
//!   is before the outgoing packet; the output of the original for this case is unknown.
//! - The moving average of the delay has double precision. With clocks whole seconds apart,
//!   rounding may make the window a second longer or shorter than the original's.
//! - Not supported: translated addresses (`-n`, `-N`), clock offset (`-o`), CRC-32 (`-H`), other
//!   timestamps and the pair count in the output (`-m`, `-b`, `-c`), live and remote capture.

mod fields;
mod pairing;
mod queue;
mod search;
mod text;

#[cfg(test)]
mod captures;

use std::net::Ipv4Addr;

use tcpexp_units::Timestamp;

pub use fields::FieldMask;
pub use pairing::Pair;
pub use text::Columns;

use crate::spp::Point;
use fields::Ipv4;
use pairing::Pairs;

/// Packets to pair and limits of the search; the defaults are the tool's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Fields that identify a packet (`-#`).
    pub mask: FieldMask,
    /// Host at the reference point (`-a`).
    pub reference_address: Ipv4Addr,
    /// Host at the monitor point (`-A`).
    pub monitor_address: Ipv4Addr,
    /// Maximum difference of a packet's two timestamps (`-d`, 60), in whole seconds, plus one:
    /// delay and clock offset together.
    pub delay_bound_seconds: u32,
    /// Number of unmatched packets after which a search at the reference gives up (`-G`, 10,000).
    pub search_depth: usize,
    /// If true, the average delay plus 4 s replaces `delay_bound_seconds` after 20 matches
    /// (default; `-T` turns it off).
    pub autotune: bool,
}

impl Options {
    /// The tool's defaults for the packets between these two addresses.
    pub fn between(reference_address: Ipv4Addr, monitor_address: Ipv4Addr) -> Self {
        Self {
            mask: FieldMask::default(),
            reference_address,
            monitor_address,
            delay_bound_seconds: 60,
            search_depth: 10_000,
            autotune: true,
        }
    }
}

/// Collects the packets of both points.
pub struct Spp {
    options: Options,
    /// Indexed by [`Point::index`].
    out: [Vec<Sighting>; 2],
    /// Indexed by [`Point::index`].
    back: [Vec<Sighting>; 2],
}

/// A packet at one point.
#[derive(Clone, Copy, Debug)]
struct Sighting {
    id: u64,
    /// Microseconds since 1970 on the point's clock.
    micros: i64,
}

impl Sighting {
    fn second(self) -> i64 {
        self.micros.div_euclid(1_000_000)
    }
}

impl Spp {
    /// Creates an empty collection.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            out: [Vec::new(), Vec::new()],
            back: [Vec::new(), Vec::new()],
        }
    }

    /// Adds a packet that passed `point`: the reference is [`Point::Src`], the monitor
    /// [`Point::Dst`].
    ///
    /// `ipv4` holds the captured bytes from the IPv4 header on. Each point's packets must come in
    /// the order of its file. Returns false if the packet is not IPv4 or not between the two
    /// addresses.
    pub fn observe(&mut self, point: Point, at: Timestamp, ipv4: &[u8]) -> bool {
        let Some(packet) = Ipv4::new(ipv4) else {
            return false;
        };
        let ends = (packet.source(), packet.destination());
        let (near, far) = (self.options.reference_address, self.options.monitor_address);
        let direction = if ends == (near, far) {
            &mut self.out
        } else if ends == (far, near) {
            &mut self.back
        } else {
            return false;
        };
        direction[point.index()].push(Sighting {
            id: self.options.mask.id(packet),
            micros: at.as_nanos().div_euclid(1_000),
        });
        true
    }

    /// The pairs in the order of the monitor's file, computed lazily.
    pub fn pairs(self) -> impl Iterator<Item = Pair> {
        // The original ends when either direction has no packets left.
        Pairs::new(&self.options, self.out, self.back).fuse()
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;

    const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

    fn packet(out: bool, ip_id: u16) -> Vec<u8> {
        let (source, destination) = if out { (NEAR, FAR) } else { (FAR, NEAR) };
        let [high, low] = ip_id.to_be_bytes();
        let mut bytes = vec![0x45, 0, 0, 20, high, low, 0, 0, 64, 17, 0, 0];
        bytes.extend(source.octets());
        bytes.extend(destination.octets());
        bytes
    }

    fn micros(seconds: &str) -> Option<i64> {
        let (whole, decimals) = seconds.split_once('.')?;
        Some(
            whole.parse::<i64>().unwrap() * 1_000_000
                + format!("{decimals:0<6}").parse::<i64>().unwrap(),
        )
    }

    /// Packets as `(out, ip_id, micros at the reference, micros at the monitor)`.
    type Seen = (bool, u16, Option<i64>, Option<i64>);

    fn spp(options: Options, packets: &[Seen]) -> Spp {
        let mut spp = Spp::new(options);
        for point in Point::BOTH {
            let at = |seen: &Seen| [seen.2, seen.3][point.index()];
            let mut file: Vec<_> = packets.iter().filter(|seen| at(seen).is_some()).collect();
            file.sort_by_key(|seen| at(seen));
            for seen in file {
                let time = Timestamp::from_nanos(at(seen).unwrap() * 1_000);
                assert!(spp.observe(point, time, &packet(seen.0, seen.1)));
            }
        }
        spp
    }

    /// One packet per line: direction, Identification, seconds at the reference, at the monitor.
    fn trace(script: &str) -> Vec<Seen> {
        let lines = script
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty());
        lines
            .map(|line| {
                let mut words = line.split_whitespace();
                let mut word = || words.next().unwrap();
                (
                    word() == ">",
                    word().parse().unwrap(),
                    micros(word()),
                    micros(word()),
                )
            })
            .collect()
    }

    fn printed(options: Options, packets: &[Seen]) -> String {
        let columns = Columns {
            turnaround: true,
            delays: true,
        };
        let mut text = String::new();
        for pair in spp(options, packets).pairs() {
            writeln!(text, "{}", pair.line(columns)).unwrap();
        }
        text
    }

    fn run(script: &str) -> String {
        printed(Options::between(NEAR, FAR), &trace(script))
    }

    #[test]
    fn each_change_from_out_to_in_at_the_monitor_is_a_pair() {
        assert_snapshot!(run("
            > 1  1.000  1.010
            > 2  1.001  1.011
            < 3  1.025  1.013
            < 4  1.026  1.014
            > 5  1.030  1.040
            < 6  1.053  1.041
            > 7  1.060  1.070
        "), @"
        1.013000 0.022000 0.002000 0.010000 0.012000
        1.041500 0.022000 0.001000 0.010000 0.012000
        ");
    }

    #[test]
    fn last_pair_is_lost_unless_an_outgoing_packet_follows() {
        assert_snapshot!(run("
            > 1  1.000  1.010
            < 2  1.025  1.013
        "), @"");
        assert_snapshot!(run("
            > 1  1.000  1.010
            < 2  1.025  1.013
            > 3  9.000  -
        "), @"");
        assert_snapshot!(run("
            > 1  1.000  1.010
            < 2  1.025  1.013
            > 3  9.000  9.010
        "), @"1.012500 0.022000 0.003000 0.010000 0.012000");
    }

    #[test]
    fn incoming_packet_at_the_same_microsecond_is_skipped() {
        assert_snapshot!(run("
            > 1  1.000  1.010
            < 2  1.022  1.010
            < 3  1.030  1.018
            > 4  9.000  9.010
        "), @"1.015000 0.022000 0.008000 0.010000 0.012000");
    }

    #[test]
    fn outgoing_packet_at_the_same_microsecond_waits_for_the_next_pair() {
        assert_snapshot!(run("
            > 1  1.000  1.010
            > 2  1.003  1.013
            < 3  1.025  1.013
            < 4  1.026  1.014
            > 5  9.000  9.010
        "), @"
        1.012500 0.022000 0.003000 0.010000 0.012000
        1.014500 0.022000 0.001000 0.010000 0.012000
        ");
    }

    #[test]
    fn lost_packet_is_in_no_pair() {
        assert_snapshot!(run("
            > 1  1.000  1.010
            > 2  1.001  -
            < 3  -      1.012
            < 4  1.026  1.014
            > 5  9.000  9.010
        "), @"1.013000 0.022000 0.004000 0.010000 0.012000");
    }

    #[test]
    fn lost_packet_is_mistaken_for_a_later_identical_one() {
        assert_snapshot!(run("
            > 1  1.000  -
            > 1  1.050  1.060
            < 2  1.075  1.063
            > 3  9.000  9.010
        "), @"1.037500 0.072000 0.003000 0.060000 0.012000");
    }

    #[test]
    fn negative_round_trip_is_printed_as_zero() {
        assert_snapshot!(run("
            > 1  1.000  0.990
            < 2  1.002  1.013
            > 3  9.000  9.010
        "), @"1.001000 0.000000 0.023000 -0.010000 -0.011000");
    }

    #[test]
    fn delay_bound_is_rounded_to_whole_seconds_plus_one() {
        let packets = trace(
            "
            > 1   1.000   2.999
            < 2   3.010   3.000
            > 3   3.999   5.000
            < 4   5.020   5.010
            > 5  20.000  20.010
        ",
        );
        let options = Options {
            delay_bound_seconds: 0,
            ..Options::between(NEAR, FAR)
        };
        // 1.999 s is within, 1.001 s is not.
        assert_snapshot!(printed(options, &packets), @"2.005000 2.009000 0.001000 1.999000 0.010000");
    }

    /// Outgoing packets at the reference only, then ten round trips.
    fn head_start(extra: u16) -> Vec<Seen> {
        let extras = (0..extra).map(|n| (true, 1_000 + n, Some(i64::from(n)), None));
        let exchanges = (0..10).flat_map(|n| {
            let at = 1_000_000 + i64::from(n) * 100_000;
            [
                (true, 2 * n, Some(at), Some(at + 10_000)),
                (false, 2 * n + 1, Some(at + 22_000), Some(at + 12_000)),
            ]
        });
        extras.chain(exchanges).collect()
    }

    #[test]
    fn reference_that_starts_a_full_search_depth_early_yields_nothing() {
        let options = Options {
            search_depth: 5,
            ..Options::between(NEAR, FAR)
        };
        let pairs = |extra| spp(options, &head_start(extra)).pairs().count();
        assert_eq!(
            pairs(3),
            9,
            "found as the fourth of four that are looked at"
        );
        assert_eq!(pairs(4), 0);
        let deeper = Options {
            search_depth: 6,
            ..options
        };
        assert_eq!(spp(deeper, &head_start(4)).pairs().count(), 9);
    }

    #[test]
    fn delay_jump_out_of_the_tuned_window_loses_packets() {
        let mut packets = head_start(0);
        packets.extend(trace(
            "
            > 100  10.000  16.000
            < 101  16.020  16.010
            > 102  20.000  25.000
            < 103  25.020  25.010
            > 104  30.000  30.010
        ",
        ));
        let options = Options::between(NEAR, FAR);
        // Ten matches each way have set the window of both directions to 4 s plus one.
        let long = |options| {
            let is_long = |pair: &Pair| pair.rtt.as_nanos() > 1_000_000_000;
            spp(options, &packets).pairs().filter(is_long).count()
        };
        assert_eq!(long(options), 1);
        let fixed = Options {
            autotune: false,
            ..options
        };
        assert_eq!(long(fixed), 2);
    }

    #[test]
    fn timestamps_are_truncated_to_microseconds() {
        let mut spp = Spp::new(Options::between(NEAR, FAR));
        let mut both = |out, ip_id, reference, monitor| {
            let bytes = packet(out, ip_id);
            spp.observe(Point::Src, Timestamp::from_nanos(reference), &bytes);
            spp.observe(Point::Dst, Timestamp::from_nanos(monitor), &bytes);
        };
        both(true, 1, 1_999, 5_000);
        both(false, 2, 12_000, 9_999);
        both(true, 3, 20_000, 30_000);
        let pair = spp.pairs().next().unwrap();
        assert_eq!(pair.sent.as_nanos(), 1_000);
        assert_eq!(pair.turnaround.as_nanos(), 4_000);
        assert_eq!(pair.rtt.as_nanos(), 7_000);
    }

    #[test]
    fn packets_of_other_hosts_are_ignored() {
        let mut spp = Spp::new(Options::between(NEAR, Ipv4Addr::new(10, 0, 0, 3)));
        assert!(!spp.observe(Point::Src, Timestamp::default(), &packet(true, 1)));
        assert!(!spp.observe(Point::Src, Timestamp::default(), &[0x60; 40]));
    }

    /// Send time, round trip and turnaround of each outgoing packet directly before an incoming
    /// packet at the monitor, except the last pair if no outgoing packet follows.
    fn closed_form(packets: &[Seen]) -> Vec<(i64, i64, i64)> {
        let last_out = packets.iter().rposition(|seen| seen.0).unwrap_or(0);
        let at = |seen: Seen| (seen.2.unwrap(), seen.3.unwrap());
        packets[..=last_out]
            .windows(2)
            .filter(|two| two[0].0 && !two[1].0)
            .map(|two| {
                let ((out, arrived), (back, left)) = (at(two[0]), at(two[1]));
                (out, (back - out - (left - arrived)).max(0), left - arrived)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn distinct_packets_without_loss_pair_at_each_change_of_direction(
            steps in prop::collection::vec((any::<bool>(), 1_i64..500_000, 0_i64..1_900_000), 1..200),
            clock_offset in -900_000_i64..900_000,
        ) {
            let mut now = 0;
            let packets: Vec<Seen> = (0..).zip(steps).map(|(ip_id, (out, gap, delay))| {
                now += gap;
                let at_reference = if out { now - delay } else { now + delay };
                (out, ip_id, Some(at_reference), Some(now + clock_offset))
            }).collect();
            let found: Vec<_> = spp(Options::between(NEAR, FAR), &packets)
                .pairs()
                .map(|pair| (pair.sent.as_nanos(), pair.rtt.as_nanos(), pair.turnaround.as_nanos()))
                .map(|(sent, rtt, turnaround)| (sent / 1_000, rtt / 1_000, turnaround / 1_000))
                .collect();
            prop_assert_eq!(found, closed_form(&packets));
        }
    }
}
