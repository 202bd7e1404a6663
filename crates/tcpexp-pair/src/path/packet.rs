//! Rows of the packet table.

use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::Ecn;

use super::reordering::Order;
use crate::spp::{DelayErrors, Fate, PacketOutcome, PathDirection};

/// One packet on the path between the source and the destination capture.
///
/// Times are on the common timeline, the source's clock without clock steps; the estimate of offset
/// and skew maps the destination's times to it. The records in the captures hold the times of each
/// clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPacket {
    /// The flow.
    pub flow: FlowId,
    /// Direction within the flow.
    pub direction: Direction,
    /// Direction between the points.
    pub path_direction: PathDirection,
    /// Fate of the packet.
    pub fate: Fate,
    /// Departure index among the flow's packets of this direction, from 0: see
    /// [`PacketOutcome::number`].
    pub number: Option<u64>,
    /// Record number in the capture of the first point on the path, from 0; `None` if not captured
    /// there.
    pub sent_record: Option<u64>,
    /// Record number in the capture of the second point on the path, from 0; `None` if not captured
    /// there.
    pub received_record: Option<u64>,
    /// Time at the first point, on the common timeline.
    pub sent_at: Option<Timestamp>,
    /// Time at the second point, on the common timeline.
    pub received_at: Option<Timestamp>,
    /// Time from the first to the second point. The error of the clock offset is in it, the same
    /// for all packets of one way and with the opposite sign for the other way. `None` if the
    /// packet was not captured at both points, or a clock stepped in between.
    pub one_way_delay: Option<TimeDelta>,
    /// One-way delay above the minimum of all packets that go the same way; an error of the clock
    /// offset cancels. Contains the time in queues and the additional transmission time of larger
    /// packets.
    pub queueing_delay: Option<TimeDelta>,
    /// Maximum error of the one-way delay; `None` without a delay, or if the offset of the clocks has
    /// no bound.
    pub one_way_delay_error: Option<TimeDelta>,
    /// Maximum error of the queueing delay; `None` without a delay, or if the offset of the clocks has
    /// no bound.
    pub queueing_delay_error: Option<TimeDelta>,
    /// True if the packet left without the codepoint CE and arrived with it (RFC 3168, section 5):
    /// a queue between the points marked it. `None` if the packet was not captured at both points.
    pub ce_marked: Option<bool>,
    /// ECN field on departure; `None` if the packet was not captured there.
    pub sent_ecn: Option<Ecn>,
    /// True if a later packet of the flow arrived before this packet (RFC 4737, section 3); `None`
    /// if the packet did not arrive or arrived as a duplicate.
    pub reordered: Option<bool>,
    /// Reordering extent in packets (RFC 4737, section 4.2): the number of the flow's packets that
    /// arrived from the first later packet until this packet; for a super-packet, until the last of its
    /// packets. `None` without reordering.
    pub reordering_extent_packets: Option<u64>,
    /// Number of packets on the path in this record: see [`PacketOutcome::packets`].
    pub packets: u64,
    /// Transport payload of all these packets, in bytes.
    pub payload_bytes: u64,
    /// Size of all these packets from the IP header on, in bytes.
    pub ip_bytes: u64,
}

impl PathPacket {
    /// True if the packet is a duplicate of an arrived packet.
    pub fn is_duplicate(&self) -> bool {
        self.fate == Fate::Duplicate
    }

    /// `order` is the order of arrival, if known.
    pub(super) fn new(
        outcome: &PacketOutcome,
        least_owd: Option<TimeDelta>,
        errors: DelayErrors,
        order: Option<Order>,
    ) -> Self {
        let queueing = |owd: TimeDelta| least_owd.map(|least| owd - least);
        Self {
            flow: outcome.flow,
            direction: outcome.direction,
            path_direction: outcome.path_direction,
            fate: outcome.fate,
            number: outcome.number,
            sent_record: outcome.sent.map(|sent| sent.record),
            received_record: outcome.received.map(|received| received.record),
            sent_at: outcome.sent.map(|sent| sent.at),
            received_at: outcome.received.map(|received| received.at),
            one_way_delay: outcome.one_way_delay,
            queueing_delay: outcome.one_way_delay.and_then(queueing),
            one_way_delay_error: outcome.one_way_delay.and(errors.one_way),
            queueing_delay_error: outcome.one_way_delay.and(errors.queueing),
            ce_marked: outcome
                .sent
                .zip(outcome.received)
                .map(|(sent, received)| received.ecn == Ecn::Ce && sent.ecn != Ecn::Ce),
            sent_ecn: outcome.sent.map(|sent| sent.ecn),
            reordered: order.map(|order| order != Order::Kept),
            reordering_extent_packets: order.and_then(Order::extent_packets),
            packets: outcome.packets,
            payload_bytes: outcome.payload_bytes,
            ip_bytes: outcome.ip_bytes,
        }
    }
}
