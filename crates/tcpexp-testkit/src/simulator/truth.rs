//! What really happened.

use std::net::IpAddr;

use tcpexp_units::Timestamp;

use super::scenario::{Direction, Point};

/// Number of a packet, in the order the hosts sent them.
pub type PacketId = u64;

/// What became of a packet between the two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Arrived,
    /// The queue had no room for it.
    Dropped,
    /// It was lost at random.
    Lost,
    /// Nothing yet; no packet keeps this to the end.
    OnTheWay,
}

/// One packet as the path carries it: never more than one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTruth {
    /// Its flow, an index into [`Summary::flows`].
    pub flow: u32,
    /// Which way it went.
    pub direction: Direction,
    /// True time at the point near its sender, whether or not that point captured it.
    pub upstream_at: Timestamp,
    /// True time at the point near its receiver; none if it was lost.
    pub downstream_at: Option<Timestamp>,
    /// What became of it.
    pub fate: Fate,
    /// The network made this copy of that packet.
    pub copy_of: Option<PacketId>,
    /// TCP sent these bytes, or this SYN or FIN, before.
    pub retransmission: bool,
    /// Bytes behind the transport header.
    pub payload_bytes: u32,
}

impl PacketTruth {
    /// True time at a point; none if it was lost before.
    pub fn at(&self, point: Point) -> Option<Timestamp> {
        if point == self.direction.upstream() {
            Some(self.upstream_at)
        } else {
            self.downstream_at
        }
    }
}

/// Totals of one direction, in packets.
///
/// `sent + duplicated = arrived + dropped + lost`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionTotals {
    /// Packets that hosts sent, pieces of super-segments counted apart.
    pub sent: u64,
    /// Copies that the network made.
    pub duplicated: u64,
    /// Packets and copies that arrived.
    pub arrived: u64,
    /// Packets that found no room in the queue.
    pub dropped: u64,
    /// Packets lost at random.
    pub lost: u64,
}

/// One flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTruth {
    /// 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// The client as SRC sees it.
    pub client: (IpAddr, u16),
    /// The client as DST sees it.
    pub client_at_dst: (IpAddr, u16),
    /// The server.
    pub server: (IpAddr, u16),
    /// Packets sent, forward and reverse.
    pub sent: [u64; 2],
    /// Packets dropped or lost, forward and reverse.
    pub lost: [u64; 2],
    /// Retransmitted packets, forward and reverse, whether or not they were needed.
    pub retransmitted: [u64; 2],
    /// Bytes of payload sent, with retransmissions, forward and reverse.
    pub payload_bytes: [u64; 2],
    /// A TCP flow that delivered all its data and closed.
    pub completed: bool,
}

/// What is known of a run without keeping every packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Totals of the way to the server.
    pub forward: DirectionTotals,
    /// Totals of the way to the client.
    pub reverse: DirectionTotals,
    /// Every flow, in the order they began.
    pub flows: Vec<FlowTruth>,
    /// Records in SRC's capture.
    pub src_records: u64,
    /// Records in DST's capture.
    pub dst_records: u64,
}

impl Summary {
    /// Totals of one direction.
    pub const fn direction(&self, direction: Direction) -> &DirectionTotals {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Reverse => &self.reverse,
        }
    }

    pub(crate) const fn direction_mut(&mut self, direction: Direction) -> &mut DirectionTotals {
        match direction {
            Direction::Forward => &mut self.forward,
            Direction::Reverse => &mut self.reverse,
        }
    }
}

/// One record of a capture: where its packets are listed, and when it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// True time of the record. Of a merged frame it is when the last piece was in.
    pub at: Timestamp,
    first: u64,
    count: u32,
}

/// The records of one capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    records: Vec<Sighting>,
    ids: Vec<PacketId>,
}

impl Sightings {
    /// The records in the order of the file.
    pub fn records(&self) -> &[Sighting] {
        &self.records
    }

    /// The packets in a record, numbered from 0: one, or all pieces of a super-segment.
    pub fn packets(&self, ordinal: usize) -> &[PacketId] {
        let record = self.records[ordinal];
        let first = record.first as usize;
        &self.ids[first..first + record.count as usize]
    }

    pub(crate) fn push(&mut self, at: Timestamp, ids: impl Iterator<Item = PacketId>) {
        let first = self.ids.len();
        self.ids.extend(ids);
        self.records.push(Sighting {
            at,
            first: first as u64,
            count: (self.ids.len() - first) as u32,
        });
    }
}

/// Everything about a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Totals and flows.
    pub summary: Summary,
    /// Every packet; a [`PacketId`] is an index into this.
    pub packets: Vec<PacketTruth>,
    /// The records of SRC's capture.
    pub src: Sightings,
    /// The records of DST's capture.
    pub dst: Sightings,
}

impl Truth {
    /// The records of a point's capture.
    pub const fn sightings(&self, point: Point) -> &Sightings {
        match point {
            Point::Src => &self.src,
            Point::Dst => &self.dst,
        }
    }

    /// A packet.
    pub fn packet(&self, id: PacketId) -> &PacketTruth {
        &self.packets[id as usize]
    }

    /// The packet a host sent: itself, or what the network copied it from.
    pub fn original(&self, id: PacketId) -> PacketId {
        self.packet(id).copy_of.unwrap_or(id)
    }

    /// Whether record `src_ordinal` of SRC and record `dst_ordinal` of DST hold a packet in common.
    /// A copy that the network made counts as what it was made from.
    pub fn same_packet(&self, src_ordinal: usize, dst_ordinal: usize) -> bool {
        let at_dst = self.dst.packets(dst_ordinal);
        self.src.packets(src_ordinal).iter().any(|id| {
            at_dst
                .iter()
                .any(|other| self.original(*id) == self.original(*other))
        })
    }
}
