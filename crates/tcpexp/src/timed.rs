//! A record with a time, and its packet.

use tcpexp_capture::Record;
use tcpexp_flow::{Arrival, Sighted};
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Packet, Tally, Transport, Tunnels, decode, decode_usual};

/// A record with a time.
#[derive(Clone, Copy)]
pub(crate) struct Timed<'a> {
    /// Record number in the capture, from 0.
    pub(crate) number: u64,
    /// Capture time.
    pub(crate) at: Timestamp,
    pub(crate) record: Record<'a>,
    /// Whether packets in tunnels are decoded.
    pub(crate) tunnels: Tunnels,
}

impl Timed<'_> {
    /// Counts the record, and passes its packet to `each`; returns false if it has none.
    #[inline]
    pub(crate) fn show(self, tally: &mut Tally, each: &mut impl FnMut(&Sighted<'_>)) -> bool {
        let Record {
            captured,
            wire_bytes,
            link_type,
            ..
        } = self.record;
        let outcome = decode(LinkType(link_type), captured, wire_bytes, self.tunnels);
        tally.observe(&outcome);
        if let Ok(packet) = &outcome {
            if let Transport::Tcp(tcp) = &packet.transport
                && tcp.options.is_cut()
            {
                tally.add_cut_options();
            }
            each(&self.sighted(packet));
        }
        outcome.is_ok()
    }

    /// Counts the record, and appends its packet to `arrivals`; returns false if it has none.
    #[inline]
    pub(crate) fn arrive(self, tally: &mut Tally, arrivals: &mut Vec<Arrival>) -> bool {
        let link = LinkType(self.record.link_type);
        let usual = decode_usual(link, self.record.captured, self.record.wire_bytes);
        let Some(packet) = usual else {
            return self.arrive_unusual(tally, arrivals);
        };
        tally.observe(&Ok::<(), _>(()));
        self.sighted(&packet).arrive(arrivals);
        true
    }

    // Kept out of line: inlined, it would move the packet of a usual record through memory too.
    #[inline(never)]
    fn arrive_unusual(self, tally: &mut Tally, arrivals: &mut Vec<Arrival>) -> bool {
        self.show(tally, &mut |sighted| sighted.arrive(arrivals))
    }

    #[inline]
    fn sighted<'p>(self, packet: &'p Packet<'p>) -> Sighted<'p> {
        Sighted {
            record: self.number,
            at: self.at,
            wire_bytes: self.record.wire_bytes,
            packet,
        }
    }
}
