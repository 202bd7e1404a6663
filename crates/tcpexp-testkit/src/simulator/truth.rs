//! The truth about a simulated run.

use std::net::IpAddr;

use tcpexp_units::Timestamp;

use super::network::{Direction, Point};

/// Id of a packet, in the order in which hosts sent the packets.
pub type PacketId = u64;

/// The fate of a packet between the two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived.
    Arrived,
    /// The queue was full.
    Dropped,
    /// Random loss.
    Lost,
    /// Still in flight; no packet has this fate at the end of a run.
    OnTheWay,
}

/// One packet on the path; holds at most one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTruth {
    /// Index of its flow in [`Summary::flows`].
    pub flow: u32,
    /// Direction of the packet.
    pub direction: Direction,
    /// True time at the point near its sender, even outside the capture.
    pub upstream_at: Timestamp,
    /// True time at the point near its receiver; `None` if the packet was lost.
    pub downstream_at: Option<Timestamp>,
    /// Fate of the packet.
    pub fate: Fate,
    /// Segment on which the packet was dropped or lost, from 0 at SRC; `None` if it arrived.
    pub lost_on: Option<usize>,
    /// Original of this packet, if the network duplicated it.
    pub copy_of: Option<PacketId>,
    /// True if TCP sent these bytes, or this SYN or FIN, before.
    pub retransmission: bool,
    /// Transport payload in bytes.
    pub payload_bytes: u32,
}

impl PacketTruth {
    /// True time at a point; `None` if the packet was lost before that point.
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
/// `sent + duplicated = arrived + dropped + lost` always holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionTotals {
    /// Packets sent by hosts; each piece of a super-segment counts.
    pub sent: u64,
    /// Duplicates made by the network.
    pub duplicated: u64,
    /// Packets that arrived, including duplicates.
    pub arrived: u64,
    /// Packets dropped at a full queue.
    pub dropped: u64,
    /// Packets lost at random.
    pub lost: u64,
}

/// Truth about one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTruth {
    /// 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// Address and port of the client at SRC.
    pub client: (IpAddr, u16),
    /// Address and port of the client at DST.
    pub client_at_dst: (IpAddr, u16),
    /// Address and port of the server.
    pub server: (IpAddr, u16),
    /// Packets sent, forward and reverse.
    pub sent: [u64; 2],
    /// Packets dropped or lost, forward and reverse.
    pub lost: [u64; 2],
    /// Retransmitted packets, forward and reverse, including spurious retransmissions.
    pub retransmitted: [u64; 2],
    /// Payload bytes sent, including retransmissions, forward and reverse.
    pub payload_bytes: [u64; 2],
    /// True if a TCP flow delivered all its data and closed.
    pub completed: bool,
}

/// Totals of a run, available without keeping every packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Totals of the direction to the server.
    pub forward: DirectionTotals,
    /// Totals of the direction to the client.
    pub reverse: DirectionTotals,
    /// All flows, in order of their start.
    pub flows: Vec<FlowTruth>,
    /// Records in SRC's capture.
    pub src_records: u64,
    /// Records in DST's capture.
    pub dst_records: u64,
}

impl Summary {
    /// Returns the totals of one direction.
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

/// Time and packets of one record in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// True time of the record; for a merged frame, the arrival of its last piece.
    pub at: Timestamp,
    first: u64,
    count: u32,
}

/// All records of one capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    records: Vec<Sighting>,
    ids: Vec<PacketId>,
}

impl Sightings {
    /// The records in file order.
    pub fn records(&self) -> &[Sighting] {
        &self.records
    }

    /// Returns the packets in a record, numbered from 0: one, or all pieces of a super-segment.
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

/// The complete truth about a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Totals and flows.
    pub summary: Summary,
    /// All packets, indexed by [`PacketId`].
    pub packets: Vec<PacketTruth>,
    /// The records of SRC's capture.
    pub src: Sightings,
    /// The records of DST's capture.
    pub dst: Sightings,
    /// The records of the middle points' captures, in the order from SRC to DST.
    pub middles: Vec<Sightings>,
}

impl Truth {
    /// Returns the records of a point's capture.
    pub const fn sightings(&self, point: Point) -> &Sightings {
        match point {
            Point::Src => &self.src,
            Point::Dst => &self.dst,
        }
    }

    /// Returns one packet.
    pub fn packet(&self, id: PacketId) -> &PacketTruth {
        &self.packets[id as usize]
    }

    /// Returns the packet that a host sent: `id` itself, or the original of a network duplicate.
    pub fn original(&self, id: PacketId) -> PacketId {
        self.packet(id).copy_of.unwrap_or(id)
    }

    /// True if record `src_ordinal` of SRC and record `dst_ordinal` of DST have a packet in common.
    /// A network duplicate counts as its original.
    pub fn same_packet(&self, src_ordinal: usize, dst_ordinal: usize) -> bool {
        let at_dst = self.dst.packets(dst_ordinal);
        self.src.packets(src_ordinal).iter().any(|id| {
            at_dst
                .iter()
                .any(|other| self.original(*id) == self.original(*other))
        })
    }
}
