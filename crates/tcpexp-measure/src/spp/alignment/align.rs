//! How two captures lie to each other: clocks, sides, and by what a packet is known again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use tcpexp_units::{TimeDelta, Timestamp};
use thiserror::Error;

use super::identification::{Field, Identification};
use super::sides::Sides;
use super::sketch::Sketched;
use super::survey::Survey;
use crate::spp::clock::ClockModel;
use crate::spp::crossing::{Crossing, Way};
use crate::spp::point::Point;

/// So many packets of each way must be known beyond doubt for the clocks to be learnt from them.
const LEAST_PROVEN: usize = 4;

/// Why two captures cannot be measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NothingInCommon {
    /// One of the captures holds no packet that can be used.
    #[error("the {point} capture has no TCP or UDP packet that can be used")]
    NoPackets {
        /// Which one.
        point: Point,
    },
    /// No packet stands in both.
    #[error(
        "no packet was seen at both points ({src} packets at src, {dst} at dst): \
         are these captures of the same traffic, taken at the same time?"
    )]
    NoCommonPacket {
        /// Usable packets in the source capture.
        src: u64,
        /// Usable packets in the destination capture.
        dst: u64,
    },
}

/// What the first pass over both captures found.
#[derive(Clone, Debug)]
pub struct Alignment {
    /// By what packets are known again.
    pub identification: Identification,
    /// The clocks' offset, skew and steps.
    pub clock: ClockModel,
    /// Packets of the sample that were found at both points.
    pub common_packets: u64,
    /// The two IPv4 hosts that exchange most packets, the one on the source's side first; `None`
    /// if all traffic is IPv6.
    pub busiest_hosts: Option<[Ipv4Addr; 2]>,
    pub(in crate::spp) sides: Sides,
    pub(in crate::spp) spans: [(Timestamp, Timestamp); 2],
    pub(in crate::spp) max_owd: [Option<TimeDelta>; 2],
    pub(in crate::spp) doubles: [bool; 2],
}

impl Alignment {
    /// Compares the surveys of the two captures.
    pub fn between(mut src: Survey, mut dst: Survey) -> Result<Self, NothingInCommon> {
        for (point, survey) in [(Point::Src, &src), (Point::Dst, &dst)] {
            if survey.packets == 0 {
                return Err(NothingInCommon::NoPackets { point });
            }
        }
        // Addresses tell flows apart where they are kept; content alone also meets those that are
        // translated, if it is not too alike in all flows.
        let mut common = src.by_endpoints.common(&mut dst.by_endpoints);
        let by_content = src.by_content.common(&mut dst.by_content);
        let translated = by_content.iter().any(|(a, b)| is_translated(a, b));
        if common.is_empty() || (translated && by_content.len() > common.len()) {
            common = by_content;
        }
        let common = Identification::without_sent_again(common);
        let common = Identification::without_mistaken(common, Field::Timestamps);
        let recut = src.largest_segment_bytes != dst.largest_segment_bytes;
        let cuts_options = src.cuts_options || dst.cuts_options;
        let mut identification = Identification::learn(&common, recut, cuts_options);
        identification.translated |= translated;
        let common = Identification::without_mistaken(common, Field::IpId);
        let proven = beyond_doubt(&common, [&src, &dst], identification.recut);
        let (sides, is_proven) = learn_sides(&common, &proven);
        let all = crossings(&common, &sides);
        let proven = crossings(&proven, &sides);
        let ticks = [src.tick.tick(), dst.tick.tick()];
        let learnt_from = if is_proven { &proven } else { &all };
        let mut clock =
            ClockModel::estimate(learnt_from, ticks).ok_or(NothingInCommon::NoCommonPacket {
                src: src.packets,
                dst: dst.packets,
            })?;
        if !is_proven {
            clock.doubt_offset();
        }
        let spans = [
            span(&src, &clock, Point::Src),
            span(&dst, &clock, Point::Dst),
        ];
        let max_owd = longest_owds(&all, &clock, &spans);
        Ok(Self {
            spans,
            identification,
            common_packets: all.len() as u64,
            busiest_hosts: busiest_hosts(&common, &sides),
            clock,
            sides,
            max_owd,
            doubles: [src.doubles(), dst.doubles()],
        })
    }
}

fn busiest_hosts(common: &[(Sketched, Sketched)], sides: &Sides) -> Option<[Ipv4Addr; 2]> {
    let mut packets: BTreeMap<[u32; 2], u64> = BTreeMap::new();
    for (packet, _) in common {
        let fields = &packet.fields;
        let (sender, receiver) = (fields.source_address, fields.destination_address);
        let hosts = match sides.way(sender, receiver)? {
            Way::Out => [sender, receiver],
            Way::Back => [receiver, sender],
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

fn is_translated(a: &Sketched, b: &Sketched) -> bool {
    let endpoints = |s: &Sketched| {
        let f = s.fields;
        (
            f.source_address,
            f.source_port,
            f.destination_address,
            f.destination_port,
        )
    };
    endpoints(a) != endpoints(b)
}

/// Those of `common` that are one packet for certain, whatever else the captures have missed.
///
/// A TCP segment that says nothing of itself may be an original that only one point captured and
/// its retransmission that only the other did; unless both saw all of its connection. Where
/// segments are cut anew even then the like of a retransmission may be a part of what left.
fn beyond_doubt(
    common: &[(Sketched, Sketched)],
    [src, dst]: [&Survey; 2],
    recut: bool,
) -> Vec<(Sketched, Sketched)> {
    let is_proven = |(a, b): &&(Sketched, Sketched)| {
        let (a, b) = (&a.fields, &b.fields);
        let same_id = a.ip_id == b.ip_id && a.ip_id.is_some_and(|id| id != 0);
        let same_timestamps = a.timestamps == b.timestamps && a.timestamps.is_some();
        let is_whole = !recut || a.payload_bytes == 0;
        let saw_all = is_whole && src.begins.hold(a) && dst.begins.hold(b);
        !a.is_tcp || same_id || same_timestamps || saw_all
    };
    common.iter().filter(is_proven).copied().collect()
}

/// Which addresses are on which side, and whether the `proven` packets were enough to tell.
fn learn_sides(common: &[(Sketched, Sketched)], proven: &[(Sketched, Sketched)]) -> (Sides, bool) {
    let sides = Sides::learn(common);
    let count = |packets, way| {
        let crossings = crossings(packets, &sides);
        let of_way = crossings.iter().filter(|crossing| crossing.way == way);
        of_way.count()
    };
    let is_proven = Way::BOTH
        .into_iter()
        .all(|way| count(proven, way) >= LEAST_PROVEN.min(count(common, way)));
    if is_proven {
        (Sides::learn(proven), true)
    } else {
        (sides, false)
    }
}

/// The packets of `common` that go one of the two ways.
fn crossings(common: &[(Sketched, Sketched)], sides: &Sides) -> Vec<Crossing> {
    let crossings = common.iter().filter_map(|(a, b)| placed(a, b, sides));
    crossings.collect()
}

fn placed(a: &Sketched, b: &Sketched, sides: &Sides) -> Option<Crossing> {
    let way = sides.way(a.fields.source_address, a.fields.destination_address)?;
    Some(Crossing {
        way,
        src_record: a.record,
        dst_record: b.record,
        src_time: a.time,
        dst_time: b.time,
    })
}

/// The largest one-way delays, where the sample has any, on the common timeline.
fn longest_owds(
    crossings: &[Crossing],
    clock: &ClockModel,
    spans: &[(Timestamp, Timestamp); 2],
) -> [Option<TimeDelta>; 2] {
    let [src, dst] = Point::BOTH.map(|point| clock.reader(point));
    let placed: Vec<Crossing> = crossings
        .iter()
        .map(|crossing| Crossing {
            src_time: src.place(crossing.src_record, crossing.src_time).at,
            dst_time: dst.place(crossing.dst_record, crossing.dst_time).at,
            ..*crossing
        })
        .collect();
    let of = |way: Way| placed.iter().filter(move |crossing| crossing.way == way);
    // What arrives after the end of the capture that it passed first may be a double of what is
    // the last of its kind in there, and would seem to have taken for ever.
    Way::BOTH.map(|way| {
        let (_, last) = spans[way.upstream().index()];
        let in_time = of(way).filter(|crossing| match way {
            Way::Out => crossing.dst_time <= last,
            Way::Back => crossing.src_time <= last,
        });
        in_time.map(Crossing::raw_owd).max()
    })
}

fn span(survey: &Survey, clock: &ClockModel, point: Point) -> (Timestamp, Timestamp) {
    let reader = clock.reader(point);
    let place = |place: Option<(u64, Timestamp)>| {
        place.map_or(Timestamp::MIN, |(record, at)| reader.place(record, at).at)
    };
    (place(survey.first), place(survey.last))
}
