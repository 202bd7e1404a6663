//! Storage of the packets in flight.

use super::packet::Packet;

/// Packets in flight; freed places are reused.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    places: Vec<Packet>,
    free: Vec<u32>,
}

impl Packets {
    pub(crate) fn put(&mut self, packet: Packet) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = packet;
            return place;
        }
        self.places.push(packet);
        self.places.len() as u32 - 1
    }

    pub(crate) fn take(&mut self, place: u32) -> Packet {
        self.free.push(place);
        self.places[place as usize]
    }
}
