//! The source of packets.

use std::num::NonZeroUsize;

use tcpexp_units::Timestamp;
use tcpexp_wire::Packet;

use crate::{Arrival, FlowTable, MAX_FLOWS, Seen};

/// One packet and its place in the capture.
#[derive(Clone, Copy, Debug)]
pub struct Sighted<'a> {
    /// Record number in the capture, from 0; includes records without a usable packet.
    pub record: u64,
    /// How many places later than in the file a pass returns the record; negative if earlier.
    /// A pass sorts records that are out of time order.
    pub moved: i32,
    /// Capture time, on the capture's clock.
    pub at: Timestamp,
    /// Length on the wire in bytes, link header included.
    pub wire_bytes: u32,
    /// The packet.
    pub packet: &'a Packet<'a>,
}

impl Sighted<'_> {
    /// The packet as an owned value, not yet assigned to a flow.
    #[inline]
    pub fn arrival(&self) -> Arrival {
        Arrival::of_seen(self.seen(), self.packet)
    }

    /// See [`Seen::place`].
    #[inline]
    pub fn place(&self) -> u64 {
        self.record.wrapping_add_signed(i64::from(self.moved))
    }

    #[inline]
    fn seen(&self) -> Seen {
        Seen::of(
            self.record,
            self.moved,
            self.at,
            self.wire_bytes,
            self.packet,
        )
    }

    /// Appends the packet to `arrivals`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `Arrival::push`")]
    pub fn arrive(&self, arrivals: &mut Vec<Arrival>) {
        Arrival::push(arrivals, self.seen(), self.packet);
    }
}

/// One capture's usable packets in time order, as far as the capture is read in this order.
///
/// Packets are borrowed one at a time and not copied.
pub trait Packets: Send {
    /// Calls `each` with the next `count` packets, or fewer at the end; returns their number.
    fn show(&mut self, count: usize, each: impl FnMut(&Sighted<'_>)) -> usize;

    /// Appends the next `count` packets to `arrivals`, or fewer at the end; returns their number.
    fn arrive(&mut self, count: usize, arrivals: &mut Vec<Arrival>) -> usize {
        self.show(count, |sighted| sighted.arrive(arrivals))
    }

    /// Upper bound on the live flows of a measurement of these packets. Beyond it, the least active
    /// flows end early.
    fn max_flows(&self) -> NonZeroUsize {
        MAX_FLOWS
    }

    /// An empty flow table for these packets, before the first is shown.
    fn table(&mut self) -> FlowTable {
        FlowTable::default().with_max_flows(self.max_flows())
    }
}
