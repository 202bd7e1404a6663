//! Data in flight that may be recut between the points, matched by stream range.
//!
//! With segmentation offload one capture shows super-packets of up to 64 KB and the other shows the
//! packets on the path; GRO has the same effect at the receiver. Both carry the same bytes. An
//! arrival is matched to the departure that carried its last byte, because it cannot be complete
//! before.

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;
use tcpexp_units::Timestamp;

use super::arrived::Arrived;
use super::departure::{Departure, Outcome};
use super::piece::Piece;
use super::sizes::{Sizes, path_packet_bytes};
use super::stream::UsualOwds;
use super::unwrap::Unwrap;
use crate::spp::linking::{Mark, Sighting};

/// Data in flight of one direction of a flow.
#[derive(Debug, Default)]
pub(in crate::spp) struct Ranges {
    /// Departures and arrivals share this, so a byte has one offset at both points.
    unwrap: Unwrap,
    /// First transmissions, in stream order and without overlap.
    fresh: VecDeque<Piece>,
    /// Retransmissions and out-of-order data.
    again: Vec<Piece>,
    departed: Sizes,
    arrived: Sizes,
    /// End of the latest arrival.
    last_arrived: Option<StreamOffset>,
}

/// A piece that is done, counted in packets on the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::spp) struct Settled {
    pub(in crate::spp) packets: u64,
    pub(in crate::spp) missing: u64,
    /// Payload bytes of the missing packets.
    pub(in crate::spp) missing_bytes: u64,
    pub(in crate::spp) ambiguous: bool,
}

impl Ranges {
    /// Adds a departure. Returns `false` if it is a second capture of data in flight.
    pub(in crate::spp) fn depart(
        &mut self,
        sighting: &Sighting,
        departure: Departure,
        doubles: bool,
    ) -> bool {
        let (start, end) = self.range(&sighting.mark);
        self.departed
            .add(sighting.mark.length, sighting.header_bytes);
        let piece = Piece {
            start,
            end,
            mark: sighting.mark,
            departure,
            arrived: Arrived::nothing(start),
            packets: 0,
            ambiguous: false,
        };
        // `fresh` stays sorted and without overlap, so `overlapping` finds a range by binary
        // search.
        if self.fresh.back().is_none_or(|last| last.end <= start) {
            self.fresh.push_back(piece);
            return true;
        }
        let like_it = self.overlapping(start, end);
        let like_it = like_it.filter(|(_, other)| other.mark == piece.mark);
        // A second record follows its own packet, so only the latest identical departure is
        // compared.
        if let Some((latest, _)) = like_it.max_by_key(|(_, other)| other.departure.at) {
            let other = &mut self.piece_mut(latest).departure;
            let gap = departure.at - other.at;
            if other.takes_twin(departure.at, doubles) || piece.mark.is_copy_after(gap) {
                return false;
            }
        }
        self.again.push(piece);
        true
    }

    /// Matches an arrival. Calls `settled` for each piece that has arrived whole.
    pub(in crate::spp) fn arrive(
        &mut self,
        sighting: &Sighting,
        usual: &UsualOwds,
        mut settled: impl FnMut(Settled),
    ) -> Outcome<Departure> {
        let (start, end) = self.range(&sighting.mark);
        self.arrived
            .add(sighting.mark.length, sighting.header_bytes);
        let latest = usual.latest_departure(sighting.at);
        let carriers = self.carriers(start, end, sighting, usual);
        let mut last: Vec<Place> = carriers
            .iter()
            .copied()
            .filter(|&place| self.piece(place).end >= end)
            .collect();
        let is_found = !last.is_empty();
        last.retain(|&place| self.piece(place).may_be_cut_at(end));
        let continues = self.last_arrived.replace(end) == Some(start);
        if is_found
            && (last.is_empty()
                || !(continues || self.may_start(start, sighting.mark.ip_id, &carriers)))
        {
            // A damaged header moves an arrival to other bytes.
            return Outcome::Misplaced;
        }
        match last[..] {
            [] => {
                self.doubt_later(start, end, latest);
                Outcome::Unknown
            }
            [carrier] if !self.seems_seen(carrier, (start, end), sighting, usual) => {
                // The departures stay in flight: the arrival may be a retransmission that left unseen.
                self.doubt(&carriers);
                Outcome::Doubtful(self.piece(carrier).departure)
            }
            [carrier] => {
                let departure = self.piece(carrier).departure;
                self.receive(carrier, &carriers, start, end);
                self.settle(&mut settled);
                Outcome::Matched(departure)
            }
            _ => {
                // A merged arrival may be of any departures of its bytes, not only of those of its end.
                self.doubt(&carriers);
                Outcome::Ambiguous
            }
        }
    }

    /// Marks the departures that an arrival may be of as ambiguous, because it may as well be of an
    /// earlier departure.
    pub(in crate::spp) fn doubt_like(&mut self, sighting: &Sighting, usual: &UsualOwds) {
        let (start, end) = self.range(&sighting.mark);
        let carriers = self.carriers(start, end, sighting, usual);
        self.doubt(&carriers);
    }

    /// The departures that an arrival of the bytes from `start` to `end` may be of.
    fn carriers(
        &self,
        start: StreamOffset,
        end: StreamOffset,
        sighting: &Sighting,
        usual: &UsualOwds,
    ) -> Vec<Place> {
        let latest = usual.latest_departure(sighting.at);
        let may_be = |piece: &Piece| {
            // TSO copies acknowledgment number and timestamps to each piece, and GRO merges only
            // segments that agree in them (Linux `tcp_gro_receive`). The sequence number changes.
            piece.mark.words[1..] == sighting.mark.words[1..]
                && piece.departure.at <= latest
                && !usual.is_over(piece.departure.at, sighting.at)
                // Bytes that arrive again are a duplicate, or left again unseen.
                && !piece.has(start, end)
                && piece.may_show_id(start, sighting.mark.ip_id)
        };
        self.overlapping(start, end)
            .filter(|(_, piece)| may_be(piece))
            .map(|(place, _)| place)
            .collect()
    }

    /// True if an arrival that begins at `start` may be cut from one of `carriers` there: the byte
    /// before it has arrived, or its IP ID counts the packets before it.
    fn may_start(&self, start: StreamOffset, ip_id: u16, carriers: &[Place]) -> bool {
        let mut holders = carriers
            .iter()
            .map(|&place| self.piece(place))
            .filter(|piece| piece.start <= start)
            .peekable();
        if holders.peek().is_none() {
            // The bytes at `start` may have left before the capture began, or have been given up.
            return self.overlapping(start, start.plus(1)).next().is_none();
        }
        holders.any(|piece| piece.may_start_at(start, ip_id))
    }

    /// Marks departures after `latest` as ambiguous when no departure explains an arrival: either
    /// the same bytes left unseen, or the clock offset is wrong.
    fn doubt_later(&mut self, start: StreamOffset, end: StreamOffset, latest: Timestamp) {
        let later: Vec<Place> = self
            .overlapping(start, end)
            .filter(|(_, piece)| piece.departure.at > latest)
            .map(|(place, _)| place)
            .collect();
        self.doubt(&later);
    }

    fn doubt(&mut self, places: &[Place]) {
        for &place in places {
            self.piece_mut(place).ambiguous = true;
        }
    }

    /// True if the arrival of these bytes is this departure: its mark or its IP ID is unique, or its
    /// delay is plausible and the departure is not ambiguous.
    fn seems_seen(
        &self,
        carrier: Place,
        (start, end): (StreamOffset, StreamOffset),
        sighting: &Sighting,
        usual: &UsualOwds,
    ) -> bool {
        let piece = self.piece(carrier);
        let full_bytes = path_packet_bytes([&self.departed, &self.arrived]);
        let is_usual = || usual.include(piece.departure.at, sighting.at);
        sighting.mark.is_one_of_a_kind()
            || piece.is_shown_by_id(start, end, sighting.mark.ip_id, full_bytes)
            || (!piece.ambiguous && is_usual())
    }

    /// Counts the bytes of a range that `carrier` and the other departures hold as arrived.
    ///
    /// If the same bytes left twice, either departure may have arrived.
    fn receive(
        &mut self,
        carrier: Place,
        carriers: &[Place],
        start: StreamOffset,
        end: StreamOffset,
    ) {
        // First transmissions do not overlap.
        let is_sent_again = carriers.iter().any(|place| place.is_again());
        for &place in carriers {
            let is_rival = |other: &&Place| {
                let (piece, rival) = (self.piece(place), self.piece(**other));
                **other != place && piece.start < rival.end && rival.start < piece.end
            };
            let has_rival =
                is_sent_again && place != carrier && carriers.iter().any(|other| is_rival(&other));
            // A merged arrival may hold several departures.
            let (from, to) = (
                start.max(self.piece(place).start),
                end.min(self.piece(place).end),
            );
            let packets = self.packets_in(u32::try_from(to.since(from)).unwrap_or(0));
            let piece = self.piece_mut(place);
            if has_rival {
                // If both carry the last bytes, only `carrier` arrived.
                piece.ambiguous |= piece.end < end;
            } else {
                piece.receive(start, end);
                piece.packets += packets;
            }
        }
    }

    /// Gives up all data that left before `horizon`: calls `settled` for each departure, with the
    /// digest of its mark.
    pub(in crate::spp) fn expire(
        &mut self,
        horizon: Timestamp,
        mut settled: impl FnMut(Settled, &Departure, [u64; 2]),
    ) {
        // First transmissions leave in stream order, so the first young one ends the search.
        while let Some(piece) = self.fresh.front() {
            if piece.departure.at >= horizon {
                break;
            }
            settled(self.account(piece), &piece.departure, piece.mark.digest);
            self.fresh.pop_front();
        }
        let again = std::mem::take(&mut self.again);
        self.again = again
            .into_iter()
            .filter(|piece| {
                let keep = piece.departure.at >= horizon;
                if !keep {
                    settled(self.account(piece), &piece.departure, piece.mark.digest);
                }
                keep
            })
            .collect();
    }

    /// The departures in flight that have not arrived whole, except ambiguous ones.
    pub(in crate::spp) fn not_whole(&self) -> impl Iterator<Item = &Departure> {
        let pieces = self.fresh.iter().chain(&self.again);
        let pieces = pieces.filter(|piece| !piece.is_whole() && !piece.ambiguous);
        pieces.map(|piece| &piece.departure)
    }

    /// Number of packets on the path that an arrival of `length` bytes represents.
    pub(in crate::spp) fn packets_in(&self, length: u32) -> u64 {
        let full = path_packet_bytes([&self.departed, &self.arrived]);
        u64::from(length.div_ceil(full.max(1)))
    }

    /// Packet counts of one piece. A super-packet counts as the packets it became. If none of its
    /// bytes arrived, the super-packet was dropped as one packet.
    fn account(&self, piece: &Piece) -> Settled {
        let length = piece.mark.length;
        let arrived_bytes = piece.arrived.bytes();
        let missing_bytes = length.saturating_sub(arrived_bytes);
        let (packets, missing) = if arrived_bytes == 0 {
            (1, 1)
        } else {
            let missing = self.packets_in(missing_bytes);
            (piece.packets + missing, missing)
        };
        Settled {
            packets,
            missing,
            missing_bytes: u64::from(missing_bytes),
            ambiguous: piece.ambiguous,
        }
    }

    /// Removes the pieces that have arrived whole.
    fn settle(&mut self, settled: &mut impl FnMut(Settled)) {
        // Pieces leave only at the front, in constant time. A whole piece behind an incomplete one
        // waits until the front leaves or `expire` gives it up.
        while let Some(piece) = self.fresh.front().filter(|piece| piece.is_whole()) {
            settled(self.account(piece));
            self.fresh.pop_front();
        }
        let mut index = 0;
        while let Some(piece) = self.again.get(index) {
            if piece.is_whole() {
                settled(self.account(piece));
                self.again.remove(index);
            } else {
                index += 1;
            }
        }
    }

    fn range(&mut self, mark: &Mark) -> (StreamOffset, StreamOffset) {
        let start = self.unwrap.offset(mark.seq());
        (start, start.plus(mark.length))
    }

    fn overlapping(
        &self,
        start: StreamOffset,
        end: StreamOffset,
    ) -> impl Iterator<Item = (Place, &Piece)> {
        let first = self.fresh.partition_point(|piece| piece.end <= start);
        let fresh = self
            .fresh
            .range(first..)
            .take_while(move |piece| piece.start < end);
        let fresh = fresh
            .enumerate()
            .map(move |(i, piece)| (Place::Fresh(first + i), piece));
        let again = self.again.iter().enumerate();
        let again = again.filter(move |(_, piece)| piece.start < end && start < piece.end);
        fresh.chain(again.map(|(i, piece)| (Place::Again(i), piece)))
    }

    fn piece(&self, place: Place) -> &Piece {
        match place {
            Place::Fresh(index) => &self.fresh[index],
            Place::Again(index) => &self.again[index],
        }
    }

    fn piece_mut(&mut self, place: Place) -> &mut Piece {
        match place {
            Place::Fresh(index) => &mut self.fresh[index],
            Place::Again(index) => &mut self.again[index],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Fresh(usize),
    Again(usize),
}

impl Place {
    fn is_again(self) -> bool {
        matches!(self, Self::Again(_))
    }
}
