//! The fate of each packet, reported on request.

use super::departure::Departure;
use super::ranges::Settled;
use super::setting::Setting;
use crate::spp::crossing::PathDirection;
use crate::spp::linking::{Event, whole};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::Ecn;

/// Fate of one packet between the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// Seen at both points.
    Delivered,
    /// Seen leaving but not arriving, while the downstream capture was running.
    Lost,
    /// Acknowledged, so it arrived; the downstream capture missed it.
    Missed,
    /// Lost, or missed by the downstream capture.
    LostOrMissed,
    /// Indistinguishable from another packet, so it is unknown which of them left or arrived.
    Ambiguous,
    /// Seen at one point while the other capture may not have been running.
    Outside,
    /// Second record of one packet at the upstream point.
    Copy,
    /// A duplicate arrival: a network duplicate, or the second record of one packet at the
    /// downstream point.
    Duplicate,
    /// Seen arriving but not leaving, while the upstream capture was running.
    Unseen,
}

impl Fate {
    /// All fates.
    pub const ALL: [Self; 9] = [
        Self::Delivered,
        Self::Lost,
        Self::Missed,
        Self::LostOrMissed,
        Self::Ambiguous,
        Self::Outside,
        Self::Copy,
        Self::Duplicate,
        Self::Unseen,
    ];

    /// Name of the fate in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Lost => "lost",
            Self::Missed => "missed",
            Self::LostOrMissed => "lost_or_missed",
            Self::Ambiguous => "ambiguous",
            Self::Outside => "outside",
            Self::Copy => "copy",
            Self::Duplicate => "duplicate",
            Self::Unseen => "unseen",
        }
    }
}

/// One record of one capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// Record number in the capture, from 0.
    pub record: u64,
    /// Time on the clock of the capture.
    pub time: Timestamp,
    /// Time on the common timeline: the source clock without steps.
    pub at: Timestamp,
    /// The ECN field.
    pub ecn: Ecn,
}

/// Outcome of one packet.
///
/// Each record of a flow found at both points belongs to one outcome, as its `sent` or its
/// `received`. The outcome of a delivered packet has both. Only records from before the flow was
/// found at the other point are left out, if there were too many to hold back
/// ([`Totals::not_held`](crate::spp::Totals::not_held)); they are part of the numbering.
///
/// If segments are recut between the points, an outcome describes an arrival. One upstream record
/// may then yield several outcomes, and an upstream record may be part of an arrival whose last
/// byte another record carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOutcome {
    /// The flow.
    pub flow: FlowId,
    /// Direction within the flow.
    pub direction: Direction,
    /// Way between the points.
    pub path_direction: PathDirection,
    /// Fate of the packet.
    pub fate: Fate,
    /// Number of the packet among the departures of its flow and direction, from 0. `None` for
    /// copies, without a known departure, and for the missing part of a super-packet that arrived
    /// in part.
    pub number: Option<u64>,
    /// Record at the upstream point; `None` if not seen there.
    pub sent: Option<Passing>,
    /// Record at the downstream point; `None` if not seen there.
    pub received: Option<Passing>,
    /// One-way delay on the timeline; `None` without both records, or if a clock stepped between
    /// them.
    pub one_way_delay: Option<TimeDelta>,
    /// Number of packets on the path: more than one for super-packets (TSO, GRO) and for
    /// indistinguishable packets.
    pub packets: u64,
    /// Transport payload bytes of all these packets.
    pub payload_bytes: u64,
    /// Bytes of all these packets from the IP header on.
    pub ip_bytes: u64,
}

impl PacketOutcome {
    /// Times at both points on the timeline, by [`Point::index`](crate::spp::Point::index); `None`
    /// if the packet was not captured at both.
    pub(crate) fn times(&self) -> Option<[Timestamp; 2]> {
        let (sent, received) = self.sent.zip(self.received)?;
        Some(self.path_direction.by_point(sent.at, received.at))
    }

    /// Outcome of an arrival, with its `departure` and the number of packets `departed` so far, if
    /// known.
    pub(in crate::spp) fn of_arrival(
        event: &Event,
        departure: Option<(&Departure, u64)>,
        fate: Fate,
        packets: u64,
        setting: &Setting,
    ) -> Self {
        let sighting = &event.sighting;
        let downstream = event.path_direction.upstream().opposite();
        let payload_bytes = u64::from(sighting.mark.length);
        Self {
            flow: event.flow,
            direction: event.direction,
            path_direction: event.path_direction,
            fate,
            number: departure.map(|(departure, departed)| whole(departure.number, departed)),
            sent: departure.map(|(departure, _)| departure.passing(setting)),
            received: Some(Passing {
                record: setting.record(downstream, sighting.record),
                time: sighting.time,
                at: sighting.at,
                ecn: sighting.ecn,
            }),
            // The size of a clock step between the two records would be part of the delay.
            one_way_delay: departure
                .filter(|(departure, _)| departure.piece == sighting.piece)
                .map(|(departure, _)| sighting.at - departure.at),
            packets,
            payload_bytes,
            // On the path each packet of a super-packet has a copy of the headers.
            ip_bytes: payload_bytes + packets * u64::from(sighting.header_bytes),
        }
    }

    /// Outcome of the second record of a departure.
    pub(in crate::spp) fn of_copy(flow: FlowId, departure: &Departure, setting: &Setting) -> Self {
        let payload_bytes = u64::from(departure.payload_bytes);
        Self {
            flow,
            direction: departure.direction,
            path_direction: departure.path_direction,
            fate: Fate::Copy,
            number: None,
            sent: Some(departure.passing(setting)),
            received: None,
            one_way_delay: None,
            packets: 1,
            payload_bytes,
            ip_bytes: payload_bytes + u64::from(departure.header_bytes),
        }
    }

    /// Outcome of the missing part of a `departure`; `departed` packets have left so far.
    pub(in crate::spp) fn of_missing(
        flow: FlowId,
        departure: &Departure,
        settled: &Settled,
        departed: u64,
        fate: Fate,
        setting: &Setting,
    ) -> Self {
        let is_whole = settled.missing == settled.packets;
        let header_bytes = settled.missing * u64::from(departure.header_bytes);
        Self {
            fate,
            number: is_whole.then(|| whole(departure.number, departed)),
            packets: settled.missing,
            payload_bytes: settled.missing_bytes,
            ip_bytes: settled.missing_bytes + header_bytes,
            ..Self::of_copy(flow, departure, setting)
        }
    }

    /// Time on the timeline at the last point where the packet was seen.
    pub(in crate::spp) fn known_at(&self) -> Timestamp {
        let passed = self.received.or(self.sent);
        passed.map_or(Timestamp::MIN, |passing| passing.at)
    }
}

impl Departure {
    fn passing(&self, setting: &Setting) -> Passing {
        Passing {
            record: setting.record(self.path_direction.upstream(), self.record),
            time: self.time,
            at: self.at,
            ecn: self.ecn,
        }
    }
}
