//! What became of each packet, for who asks for it.

use super::departure::Departure;
use super::ranges::Settled;
use super::setting::Setting;
use crate::spp::crossing::Way;
use crate::spp::linking::{Event, whole};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};

/// What became of one packet between the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It was seen at both points.
    Delivered,
    /// It left and never arrived, though the downstream capture was running.
    Lost,
    /// It arrived, as its acknowledgment shows, and the downstream capture missed it.
    Missed,
    /// It was lost, or it arrived and the downstream capture missed it.
    LostOrMissed,
    /// It is like another packet in every field that identifies one, so which of them left or
    /// arrived is not known.
    Ambiguous,
    /// It passed one point while the other's capture may not have been running.
    Outside,
    /// The second record of one packet at the point that it passed first.
    Copy,
    /// It arrived once more: a copy made on the path, or the second record of one packet at the
    /// point that it passed last.
    Duplicate,
    /// It arrived and was not seen leaving, though the upstream capture was running.
    Unseen,
}

impl Fate {
    /// All of them.
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

    /// The name used in tables.
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
    /// Its number in the capture, from 0.
    pub record: u64,
    /// When, on that capture's own clock.
    pub time: Timestamp,
    /// When, on the common timeline: the source's clock without steps.
    pub at: Timestamp,
}

/// What became of one packet.
///
/// Each record of a flow found at both points is in one outcome: `sent` of one, or `received` of
/// one, and both of the same if the packet was delivered. Left out are only records from before a
/// flow was found at the other point that were too many to be held back.
///
/// Where segments are cut anew between the points, an outcome is what arrived, and several may
/// come from one record at the point passed first, or records there may be part of an arrival
/// whose last byte another one carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOutcome {
    /// Which flow.
    pub flow: FlowId,
    /// Which way it went within the flow.
    pub direction: Direction,
    /// Which way it went between the points.
    pub way: Way,
    /// What became of it.
    pub fate: Fate,
    /// Its place in the order in which the flow's packets of this direction left, from 0; `None`
    /// if it is not known to have left, and for what is missing of a super-packet that arrived in
    /// part. Copies have none.
    pub number: Option<u64>,
    /// How it passed the first point, if it was seen there.
    pub sent: Option<Passing>,
    /// How it passed the second point, if it was seen there.
    pub received: Option<Passing>,
    /// Time from the one to the other on the timeline; `None` too where a clock stepped in between.
    pub one_way_delay: Option<TimeDelta>,
    /// How many packets of the path it stands for: more than one for super-packets (TSO, GRO), and
    /// for packets that cannot be told apart.
    pub packets: u64,
    /// Bytes of transport payload, of all these packets.
    pub payload_bytes: u64,
    /// Bytes with the headers from IP on, of all these packets.
    pub ip_bytes: u64,
}

impl PacketOutcome {
    /// Of a packet that arrived, as `departure` if that is known; `departed` packets have left.
    pub(in crate::spp) fn of_arrival(
        event: &Event,
        departure: Option<(&Departure, u64)>,
        fate: Fate,
        packets: u64,
        setting: &Setting,
    ) -> Self {
        let sighting = &event.sighting;
        let downstream = event.way.upstream().opposite();
        let payload_bytes = u64::from(sighting.mark.length);
        Self {
            flow: event.flow,
            direction: event.direction,
            way: event.way,
            fate,
            number: departure.map(|(departure, departed)| whole(departure.number, departed)),
            sent: departure.map(|(departure, _)| departure.passing(setting)),
            received: Some(Passing {
                record: setting.record(downstream, sighting.record),
                time: sighting.time,
                at: sighting.at,
            }),
            one_way_delay: departure
                .filter(|(departure, _)| departure.piece == sighting.piece)
                .map(|(departure, _)| sighting.at - departure.at),
            packets,
            payload_bytes,
            ip_bytes: payload_bytes + packets * u64::from(sighting.header_bytes),
        }
    }

    /// Of the second record of a packet that left.
    pub(in crate::spp) fn of_copy(flow: FlowId, departure: &Departure, setting: &Setting) -> Self {
        let payload_bytes = u64::from(departure.payload_bytes);
        Self {
            flow,
            direction: departure.direction,
            way: departure.way,
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

    /// Of what is missing of a `departure`; `departed` packets have left.
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

    /// When it passed the last point that it is known to have passed, on the timeline.
    pub(in crate::spp) fn known_at(&self) -> Timestamp {
        let passed = self.received.or(self.sent);
        passed.map_or(Timestamp::MIN, |passing| passing.at)
    }
}

impl Departure {
    fn passing(&self, setting: &Setting) -> Passing {
        Passing {
            record: setting.record(self.way.upstream(), self.record),
            time: self.time,
            at: self.at,
        }
    }
}
