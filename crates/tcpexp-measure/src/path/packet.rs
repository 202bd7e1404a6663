//! What a table of packets says.

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};

use super::reordering::Order;
use crate::spp::{Fate, PacketOutcome, Way};

/// One packet on its way between the points.
///
/// Its times are on the common timeline, the source's clock without its steps: the destination's
/// is brought to it by the estimate of offset and skew. Its own clock says what the record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPacket {
    /// Which flow.
    pub flow: FlowId,
    /// Which way it went within the flow.
    pub direction: Direction,
    /// Which way it went between the points.
    pub way: Way,
    /// What became of it.
    pub fate: Fate,
    /// Its place in the order in which the flow's packets of this direction left, from 0: see
    /// [`PacketOutcome::number`].
    pub number: Option<u64>,
    /// Its record in the capture of the point that it passed first, from 0; `None` if it was not
    /// seen there.
    pub sent_record: Option<u64>,
    /// Its record in the capture of the point that it passed last, from 0; `None` if it was not
    /// seen there.
    pub received_record: Option<u64>,
    /// When it passed the first point, on the timeline.
    pub sent_at: Option<Timestamp>,
    /// When it passed the second point, on the timeline.
    pub received_at: Option<Timestamp>,
    /// Time from the one to the other. Off by the error of the clocks' offset, the same for all
    /// packets and with the opposite sign for those that go the other way. `None` if it was not
    /// seen at both points, or a clock stepped in between.
    pub one_way_delay: Option<TimeDelta>,
    /// What its one-way delay is above the smallest of all packets that go its way, in which an
    /// error of the offset cancels. It holds the time in queues, and what a large packet takes
    /// longer to send than the smallest.
    pub queueing_delay: Option<TimeDelta>,
    /// Whether a packet of its flow that left later arrived earlier (RFC 4737, section 3); `None` if
    /// it did not arrive or did so as a copy.
    pub reordered: Option<bool>,
    /// If it is reordered: how many packets of the flow arrived from the first that left later on
    /// until this one (reordering extent, RFC 4737, section 4.2).
    pub reordering_extent_packets: Option<u64>,
    /// How many packets of the path it stands for: see [`PacketOutcome::packets`].
    pub packets: u64,
    /// Bytes of transport payload, of all these packets.
    pub payload_bytes: u64,
    /// Bytes with the headers from IP on, of all these packets.
    pub ip_bytes: u64,
}

impl PathPacket {
    /// Whether it arrived when the packet that it is had arrived before.
    pub fn is_duplicate(&self) -> bool {
        self.fate == Fate::Duplicate
    }

    /// `order` is how it came, if that is known.
    pub(super) fn new(
        outcome: &PacketOutcome,
        least_owd: Option<TimeDelta>,
        order: Option<Order>,
    ) -> Self {
        let queueing = |owd: TimeDelta| least_owd.map(|least| owd - least);
        Self {
            flow: outcome.flow,
            direction: outcome.direction,
            way: outcome.way,
            fate: outcome.fate,
            number: outcome.number,
            sent_record: outcome.sent.map(|sent| sent.record),
            received_record: outcome.received.map(|received| received.record),
            sent_at: outcome.sent.map(|sent| sent.at),
            received_at: outcome.received.map(|received| received.at),
            one_way_delay: outcome.one_way_delay,
            queueing_delay: outcome.one_way_delay.and_then(queueing),
            reordered: order.map(|order| order != Order::Kept),
            reordering_extent_packets: order.and_then(Order::extent_packets),
            packets: outcome.packets,
            payload_bytes: outcome.payload_bytes,
            ip_bytes: outcome.ip_bytes,
        }
    }
}
