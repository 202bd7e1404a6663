//! How two captures lie to each other: clocks, sides, and by what a packet is known again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use tcpexp_units::{TimeDelta, Timestamp};
use thiserror::Error;

use super::clock::ClockModel;
use super::crossing::{Crossing, Way};
use super::identity::{Field, Identification, Marker};
use super::setting::Setting;
use super::sides::Sides;
use super::survey::{Sketched, Survey};
use super::{Options, Point};

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
    pub(super) sides: Sides,
    spans: [(Timestamp, Timestamp); 2],
    max_owd: [Option<TimeDelta>; 2],
    min_rtt: TimeDelta,
    doubles: [bool; 2],
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
        let sides = Sides::learn(&common);
        let crossings: Vec<Crossing> = common
            .iter()
            .filter_map(|(a, b)| placed(a, b, &sides))
            .collect();
        let clock = ClockModel::estimate(&crossings).ok_or(NothingInCommon::NoCommonPacket {
            src: src.packets,
            dst: dst.packets,
        })?;
        let spans = [
            span(&src, &clock, Point::Src),
            span(&dst, &clock, Point::Dst),
        ];
        let (max_owd, min_rtt) = delays(&crossings, &clock, &spans);
        Ok(Self {
            spans,
            identification,
            common_packets: crossings.len() as u64,
            busiest_hosts: busiest_hosts(&common, &sides),
            clock,
            sides,
            max_owd,
            min_rtt,
            doubles: [src.doubles(), dst.doubles()],
        })
    }

    pub(super) fn marker(&self) -> Marker {
        Marker::new(&self.identification)
    }

    pub(super) fn setting(&self, options: Options) -> Setting {
        Setting {
            clock: self.clock.clone(),
            spans: self.spans,
            max_owd: self.max_owd.map(|owd| owd.unwrap_or(options.max_owd)),
            min_rtt: self.min_rtt,
            doubles: self.doubles,
            horizon: options.max_owd,
            proven: [None; 2],
            latest_record: [0; 2],
        }
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

/// The largest one-way delays, where the sample has any, and the smallest round-trip time, on the common timeline.
fn delays(
    crossings: &[Crossing],
    clock: &ClockModel,
    spans: &[(Timestamp, Timestamp); 2],
) -> ([Option<TimeDelta>; 2], TimeDelta) {
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
    let max = Way::BOTH.map(|way| {
        let (_, last) = spans[way.upstream().index()];
        let in_time = of(way).filter(|crossing| match way {
            Way::Out => crossing.dst_time <= last,
            Way::Back => crossing.src_time <= last,
        });
        in_time.map(Crossing::raw_owd).max()
    });
    let min = Way::BOTH.map(|way| of(way).map(Crossing::raw_owd).min().unwrap_or_default());
    (max, min[0] + min[1])
}

fn span(survey: &Survey, clock: &ClockModel, point: Point) -> (Timestamp, Timestamp) {
    let reader = clock.reader(point);
    let place = |place: Option<(u64, Timestamp)>| {
        place.map_or(Timestamp::MIN, |(record, at)| reader.place(record, at).at)
    };
    (place(survey.first), place(survey.last))
}
