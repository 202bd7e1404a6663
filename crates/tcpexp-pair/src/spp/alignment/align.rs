//! How two captures relate: clocks, sides, and the fields that identify a packet.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp, counted};
use thiserror::Error;

use super::common::CommonPackets;
use super::fields::Ends;
use super::identification::{Field, Identification};
use super::proof::{Proof, crossings};
use super::repeats::Recurrences;
use super::sides::Sides;
use super::sketch::Sketched;
use super::spacing::{Spaced, SpacedOwds};
use super::survey::Survey;
use crate::spp::clock::{ClockModel, Clocks};
use crate::spp::crossing::{Crossing, PathDirection};
use crate::spp::point::Point;

/// Why two captures cannot be measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NothingInCommon {
    /// One capture has no usable packet.
    #[error("the {point} capture has no IP packet that can be used")]
    NoPackets {
        /// The point of this capture.
        point: Point,
    },
    /// No packet is in both captures.
    #[error(
        "no packet was seen at both points ({} at src, {dst} at dst): \
         are these captures of the same traffic, taken at the same time? \
         (traffic whose addresses and sequence numbers both change between the points is not recognised)",
        counted(src, "packet")
    )]
    NoCommonPacket {
        /// Number of usable packets in the source capture.
        src: u64,
        /// Number of usable packets in the destination capture.
        dst: u64,
    },
    /// Identical packets are in both captures, but none can be matched unambiguously.
    #[error(
        "no packet can be matched: {} of identical packets are at both points, \
         because the same headers and first bytes of the payload recur while the captures run",
        counted(alike, "set")
    )]
    AllAlike {
        /// Number of sets of identical packets in both captures.
        alike: u64,
    },
    /// The captures are said to have the times of one clock, and most packets arrive before they leave.
    #[error(
        "the captures do not have the times of one clock: \
         most packets from {from} to {to} arrive before they leave, by {early} in the median",
        from = path_direction.upstream(),
        to = path_direction.opposite().upstream()
    )]
    SeveralClocks {
        /// Direction of these packets.
        path_direction: PathDirection,
        /// Departure time minus arrival time in the median of the direction.
        early: TimeDelta,
    },
    /// No sampled packet takes at most [`Options::max_owd`](crate::spp::Options::max_owd).
    #[error(
        "the fastest sampled packet takes {least}, longer than --max-owd ({longest}): use a longer --max-owd"
    )]
    AllTooSlow {
        /// Smallest sampled one-way delay of both directions, on the common timeline.
        least: TimeDelta,
        /// Longest one-way delay that packets may have.
        longest: TimeDelta,
    },
}

/// Result of the first pass over both captures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Alignment {
    /// The fields that identify a packet at both points.
    pub identification: Identification,
    /// The clocks' offset, skew and steps.
    pub clock: ClockModel,
    /// Number of sampled packets found at both points.
    pub common_packets: u64,
    /// The two IPv4 hosts that exchange the most packets, source-side host first; `None` if all
    /// sampled packets are IPv6.
    pub busiest_hosts: Option<[Ipv4Addr; 2]>,
    pub(in crate::spp) sides: Sides,
    pub(in crate::spp) spans: [(Timestamp, Timestamp); 2],
    /// Largest sampled one-way delay of packets that arrived before the upstream capture ended, by
    /// [`PathDirection::index`].
    pub(in crate::spp) max_owd: [Option<TimeDelta>; 2],
    /// The same of all packets. An arrival after the end of the upstream capture may be an identical
    /// later packet that this capture missed; its delay would be far too long.
    pub(in crate::spp) max_owd_at_end: [Option<TimeDelta>; 2],
    /// Smallest sampled one-way delay, by [`PathDirection::index`].
    pub(in crate::spp) least_owd: [Option<TimeDelta>; 2],
    pub(in crate::spp) doubles: [bool; 2],
    /// Times between which packets seem to arrive before they leave.
    pub(in crate::spp) contradicted: Option<(Timestamp, Timestamp)>,
    /// Flows with recurring datagrams, by [`Point::index`].
    pub(in crate::spp) recurrences: [Recurrences; 2],
    /// Delays on the timeline of recurring datagrams that their spacing distinguishes.
    #[serde(with = "super::sorted")]
    pub(in crate::spp) spaced: HashMap<Ends, SpacedOwds, FixedState>,
}

impl Alignment {
    /// Compares the surveys of two captures that may have different clocks.
    pub fn between(src: Survey, dst: Survey) -> Result<Self, NothingInCommon> {
        Self::with_clocks(src, dst, Clocks::Separate)
    }

    /// Compares the surveys of two captures, with what is known about their clocks.
    pub fn with_clocks(
        mut src: Survey,
        mut dst: Survey,
        clocks: Clocks,
    ) -> Result<Self, NothingInCommon> {
        for (point, survey) in [(Point::Src, &src), (Point::Dst, &dst)] {
            if survey.packets == 0 {
                return Err(NothingInCommon::NoPackets { point });
            }
        }
        let CommonPackets {
            packets: common,
            alike,
            spaced,
            shifted,
            translated,
        } = CommonPackets::of(&mut src, &mut dst);
        // Retransmissions that match originals would make it seem that the path changes timestamps.
        let common = Identification::without_sent_again(common);
        let common = Identification::without_mistaken(common, Field::Timestamps);
        let recut = src.largest_segment_bytes != dst.largest_segment_bytes;
        // SACK blocks hold shifted numbers and are compared as a hash.
        let cuts_options = src.cuts_options || dst.cuts_options || !shifted.is_empty();
        let mut identification = Identification::learn(&common, recut, cuts_options);
        // Packets found by their endpoints never show a translated flow.
        identification.translated |= translated;
        identification.shifted = shifted;
        let common = Identification::without_mistaken(common, Field::IpId);
        let Proof {
            sides,
            learnt_from,
            is_proven,
        } = Proof::of(&common, [&src, &dst], identification.recut);
        let all = crossings(&common, &sides);
        let ticks = [src.tick.tick(), dst.tick.tick()];
        let clock = match clocks {
            Clocks::Separate => ClockModel::estimate(&learnt_from, ticks),
            Clocks::One => {
                // Otherwise, a warning reports traffic against the order of the captures.
                if !sides.is_against_clocks {
                    require_one_clock(&learnt_from, ticks)?;
                }
                ClockModel::of_one_clock(&learnt_from, ticks)
            }
        };
        let mut clock = clock.ok_or(if alike > 0 {
            NothingInCommon::AllAlike { alike }
        } else {
            NothingInCommon::NoCommonPacket {
                src: src.packets,
                dst: dst.packets,
            }
        })?;
        if !is_proven {
            clock.doubt_offset();
        }
        if sides.is_against_clocks {
            clock.note_against_order();
        }
        let spans = [
            span(&src, &clock, Point::Src),
            span(&dst, &clock, Point::Dst),
        ];
        let ends = spans.map(|(_, last)| last);
        Ok(Self {
            spaced: owds_of(&spaced, &sides, &clock),
            max_owd: longest_owds(&all, &clock, ends),
            max_owd_at_end: longest_owds(&all, &clock, [Timestamp::MAX; 2]),
            least_owd: least_owds(&all, &clock),
            spans,
            identification,
            common_packets: all.len() as u64,
            busiest_hosts: busiest_hosts(&common, &sides),
            clock,
            sides,
            doubles: [src.doubles(), dst.doubles()],
            contradicted: None,
            recurrences: [src.repeats.found, dst.repeats.found],
        })
    }

    /// Adds the times of packets that seem to arrive before they leave: between these times, a clock was set, and
    /// the clock model lacks the step.
    #[must_use]
    pub(crate) fn contradicted_at(self, times: Option<(Timestamp, Timestamp)>) -> Self {
        Self {
            contradicted: times,
            ..self
        }
    }

    /// Refuses captures in which no packet can be recognised, since all sampled packets take longer
    /// than `longest`. Without this check they would seem to be missed or indistinguishable.
    pub fn within(self, longest: TimeDelta) -> Result<Self, NothingInCommon> {
        match self.least_owd.into_iter().flatten().min() {
            Some(least) if least > longest + self.clock.coarseness() => {
                Err(NothingInCommon::AllTooSlow { least, longest })
            }
            _ => Ok(self),
        }
    }
}

fn busiest_hosts(common: &[(Sketched, Sketched)], sides: &Sides) -> Option<[Ipv4Addr; 2]> {
    let mut packets: BTreeMap<[u32; 2], u64> = BTreeMap::new();
    for (packet, at_dst) in common {
        let fields = &packet.fields;
        let (sender, receiver) = (fields.source_address, fields.destination_address);
        let hosts = match sides.path_direction_of(packet, at_dst)? {
            PathDirection::Out => [sender, receiver],
            PathDirection::Back => [receiver, sender],
        };
        if let [Ok(src), Ok(dst)] = hosts.map(u32::try_from) {
            *packets.entry([src, dst]).or_default() += 1;
        }
    }
    let (hosts, _) = packets
        .into_iter()
        .max_by_key(|&(hosts, count)| (count, Reverse(hosts)))?;
    Some(hosts.map(Ipv4Addr::from_bits))
}

/// Refuses captures with the times of several clocks. On one clock, each packet arrives after it leaves,
/// but for the `ticks` by which the times are too small. The few false matches may seem faster.
fn require_one_clock(crossings: &[Crossing], ticks: [TimeDelta; 2]) -> Result<(), NothingInCommon> {
    let [src, dst] = ticks;
    for path_direction in PathDirection::BOTH {
        let of_way = crossings
            .iter()
            .filter(|crossing| crossing.path_direction == path_direction);
        let mut delays: Vec<TimeDelta> = of_way.map(Crossing::raw_owd).collect();
        delays.sort_unstable();
        let Some(&median) = delays.get(delays.len() / 2) else {
            continue;
        };
        if median < -src.max(dst) {
            return Err(NothingInCommon::SeveralClocks {
                path_direction,
                early: -median,
            });
        }
    }
    Ok(())
}

/// The largest sampled one-way delay of each way on the common timeline, of packets that arrived by
/// the `ends` of the upstream captures; `None` without a sample.
fn longest_owds(
    crossings: &[Crossing],
    clock: &ClockModel,
    ends: [Timestamp; 2],
) -> [Option<TimeDelta>; 2] {
    let placed = on_timeline(crossings, clock);
    let of = |path_direction: PathDirection| {
        placed
            .iter()
            .filter(move |crossing| crossing.path_direction == path_direction)
    };
    PathDirection::BOTH.map(|path_direction| {
        let last = ends[path_direction.upstream().index()];
        let in_time = of(path_direction).filter(|crossing| match path_direction {
            PathDirection::Out => crossing.dst_time <= last,
            PathDirection::Back => crossing.src_time <= last,
        });
        in_time.map(Crossing::raw_owd).max()
    })
}

/// The smallest sampled one-way delay of each way on the common timeline; `None` without a sample.
fn least_owds(crossings: &[Crossing], clock: &ClockModel) -> [Option<TimeDelta>; 2] {
    let placed = on_timeline(crossings, clock);
    PathDirection::BOTH.map(|path_direction| {
        let of_way = placed
            .iter()
            .filter(|crossing| crossing.path_direction == path_direction);
        of_way.map(Crossing::raw_owd).min()
    })
}

fn on_timeline(crossings: &[Crossing], clock: &ClockModel) -> Vec<Crossing> {
    let [src, dst] = Point::BOTH.map(|point| clock.reader(point));
    let placed = crossings.iter().map(|crossing| Crossing {
        src_time: src.place(crossing.src_place, crossing.src_time).at,
        dst_time: dst.place(crossing.dst_place, crossing.dst_time).at,
        ..*crossing
    });
    placed.collect()
}

/// Delays on the timeline of the streams that their spacing distinguishes, by sender and receiver.
fn owds_of(
    spaced: &[Spaced],
    sides: &Sides,
    clock: &ClockModel,
) -> HashMap<Ends, SpacedOwds, FixedState> {
    let owds = spaced.iter().filter_map(|stream| {
        let placed = on_timeline(&crossings(&stream.common, sides), clock);
        let found = placed.iter().map(Crossing::raw_owd);
        Some((stream.ends, stream.owds(found)?))
    });
    owds.collect()
}

fn span(survey: &Survey, clock: &ClockModel, point: Point) -> (Timestamp, Timestamp) {
    let reader = clock.reader(point);
    let placed = |seen: Option<(u64, Timestamp)>| {
        seen.map_or(Timestamp::MIN, |(place, at)| reader.place(place, at).at)
    };
    (placed(survey.first), placed(survey.last))
}
