//! Where packets come from.

use tcpexp_flow::Arrival;
use tcpexp_units::Timestamp;
use tcpexp_wire::Packet;

/// One packet and where it stands in its capture.
#[derive(Clone, Copy, Debug)]
pub struct Sighted<'a> {
    /// Record number in the capture, from 0; records that hold no usable packet have one too.
    pub record: u64,
    /// When it was captured, on the capture's clock.
    pub at: Timestamp,
    /// Its length in bytes as it was on the wire, link header included.
    pub wire_bytes: u32,
    /// The packet.
    pub packet: &'a Packet<'a>,
}

impl Sighted<'_> {
    /// The packet by itself, on its way to its flow.
    #[inline]
    pub fn arrival(&self) -> Arrival {
        Arrival::new(self.record, self.at, self.wire_bytes, self.packet)
    }

    /// The same, added to the end of `arrivals`.
    #[inline]
    pub fn arrive(&self, arrivals: &mut Vec<Arrival>) {
        Arrival::push(arrivals, self.record, self.at, self.wire_bytes, self.packet);
    }
}

/// One capture's usable packets in order of time, as far as the capture is read in that order.
///
/// Packets are shown one by one and gone after it, so that none is ever copied.
pub trait Packets: Send {
    /// Shows the next packets to `each`, `count` of them or fewer at the end; tells how many.
    fn show(&mut self, count: usize, each: impl FnMut(&Sighted<'_>)) -> usize;
}
