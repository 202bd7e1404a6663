//! A record with a time, and its packet.

use tcpexp_capture::Record;
use tcpexp_flow::{Arrival, Sighted, is_possible_length};
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Packet, Tally, Transport, Tunnels, decode, decode_usual, frame_bytes};

/// A record with a time.
#[derive(Clone, Copy)]
pub(crate) struct Timed<'a> {
    /// Record number in the capture, from 0.
    pub(crate) number: u64,
    /// See [`Sighted::moved`].
    pub(crate) moved: i32,
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
            each(&self.sighted(packet, tally));
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
        self.sighted(&packet, tally).arrive(arrivals);
        true
    }

    // Kept out of line: inlined, it would move the packet of a usual record through memory too.
    #[inline(never)]
    fn arrive_unusual(self, tally: &mut Tally, arrivals: &mut Vec<Arrival>) -> bool {
        self.show(tally, &mut |sighted| sighted.arrive(arrivals))
    }

    #[inline]
    fn sighted<'p>(self, packet: &'p Packet<'p>, tally: &mut Tally) -> Sighted<'p> {
        let stated = self.record.wire_bytes;
        // A record that claims to hold the whole frame cannot cut its packet off.
        let claims_whole = self.record.captured.len() >= stated as usize;
        let is_possible =
            is_possible_length(stated, packet.ip_bytes) && !(claims_whole && packet.is_cut());
        let wire_bytes = if is_possible {
            stated
        } else {
            tally.add_impossible_length();
            self.frame_bytes(packet.ip_bytes)
        };
        Sighted {
            record: self.number,
            moved: self.moved,
            at: self.at,
            wire_bytes,
            packet,
        }
    }

    /// Length of the frame by its headers.
    #[cold]
    fn frame_bytes(self, ip_bytes: u32) -> u32 {
        let by_headers = frame_bytes(LinkType(self.record.link_type), self.record.captured);
        let by_headers = by_headers.ok();
        // Without a length in the IP header, the decoder has taken that of the record.
        by_headers
            .filter(|&bytes| is_possible_length(bytes, ip_bytes))
            .unwrap_or(ip_bytes)
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_capture::PacketOptions;
    use tcpexp_testkit::script;

    use super::*;

    #[test]
    fn a_packet_whose_record_states_the_captured_length_has_the_length_of_its_headers() {
        for (text, most, possible) in [
            ("0.0 > 1:1001(1000)", 60, 1_200),
            ("0.0 > udp 1000", 60, 1_200),
            // The IP datagrams would fit into the captured part without the link header.
            ("0.0 > udp 100", 130, 160),
            ("0.0 > 1:51(50) ts 1 2", 106, 150),
            ("0.0 > . 1 ack 1 ts 1 2", 60, 80),
        ] {
            let (at, frame) = script::packets(text).remove(0);
            let captured = u32::try_from(most).unwrap();
            for (stated, impossible) in [(captured, 1), (0, 1), (possible, 0)] {
                let record = Record {
                    at: Ok(at),
                    link_type: LinkType::ETHERNET.0,
                    interface: 0,
                    wire_bytes: stated,
                    captured: &frame[..most],
                    offset: 24,
                    options: PacketOptions::default(),
                };
                let timed = Timed {
                    number: 0,
                    moved: 0,
                    at,
                    record,
                    tunnels: Tunnels::Closed,
                };
                let (mut tally, mut arrivals) = (Tally::default(), Vec::new());
                assert!(timed.arrive(&mut tally, &mut arrivals));
                let whole = u32::try_from(frame.len()).unwrap();
                let expected = if impossible > 0 { whole } else { stated };
                assert_eq!(arrivals[0].packet().seen().wire_bytes, expected, "{text}");
                assert_eq!(tally.impossible_lengths(), impossible);
            }
        }
    }
}
