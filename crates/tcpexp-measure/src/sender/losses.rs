//! Tracks a sender's lost data, and so which retransmissions were necessary.

use tcpexp_flow::StreamOffset;

use super::event::Sent;
use super::fates::{DataFates, Known, RecordFate};
use super::lost::LostPackets;
use super::retransmission::EarlierCopy;
use super::retransmissions::Retransmissions;

/// One sender's data on the path.
#[derive(Debug)]
pub(super) struct Losses<'a> {
    fates: &'a DataFates,
    known: Known,
    again: &'a Retransmissions,
    /// Data that has not arrived in order yet. All other data has.
    open: Vec<Open>,
    /// Start offset and number of packets of each loss, certain or not, that no recovery has repaired yet.
    unrepaired: Vec<(StreamOffset, LostPackets)>,
    lost: LostPackets,
    /// End offsets of the packets that were sent after the last one with a fate.
    after: Vec<StreamOffset>,
}

/// Data that was lost or reordered.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: StreamOffset,
    end: StreamOffset,
    /// Fate of all transmissions so far; `None` if unknown.
    copy: Option<EarlierCopy>,
}

impl<'a> Losses<'a> {
    pub(super) fn new(fates: &'a DataFates, known: Known, again: &'a Retransmissions) -> Self {
        Self {
            fates,
            known,
            after: Vec::new(),
            again,
            open: Vec::new(),
            unrepaired: Vec::new(),
            lost: LostPackets::default(),
        }
    }

    /// Records sent data, with `nxt` as the start of new data. Returns the fate of the earlier
    /// transmissions; `None` if unknown.
    pub(super) fn send(&mut self, sent: &Sent, nxt: StreamOffset) -> Option<EarlierCopy> {
        let again = sent.end.min(nxt);
        let earlier = self.earlier(sent.start, again);
        let is_after = sent.packet.record > self.known.last;
        let fate = if is_after || sent.packet.record < self.known.first {
            RecordFate::UNKNOWN
        } else {
            self.fates.of(sent.packet.record)
        };
        if is_after {
            self.after.push(sent.end);
        } else {
            self.lost += fate.lost;
        }
        if fate.lost != LostPackets::default() {
            self.unrepaired.push((sent.start, fate.lost));
        }
        let bytes = u64::try_from(sent.end.since(sent.start)).unwrap_or(0);
        let new = sent.start.max(nxt);
        let was_lost = fate.lost_bytes > 0;
        if was_lost && fate.lost_bytes >= bytes {
            // No byte arrived, so the retransmitted part stays open as it was.
            self.open(new, sent.end, Some(EarlierCopy::Lost));
            return earlier;
        }
        let closed = self.close(sent.start, again);
        if fate.lost.unknown > 0 || was_lost && sent.start < nxt {
            for part in closed {
                // Data that had arrived late stays known; of other data, the lost bytes are
                // unknown.
                let has_arrived = part.copy == Some(EarlierCopy::Overtaken);
                self.open(part.start, part.end, part.copy.filter(|_| has_arrived));
            }
            self.open(new, sent.end, None);
        } else if was_lost {
            self.open_part(sent, fate.lost_bytes);
        } else if fate.was_overtaken {
            // The data arrives late, so the sender may retransmit it without need.
            let new = [(new, sent.end)].into_iter();
            for (start, end) in closed.iter().map(|part| (part.start, part.end)).chain(new) {
                self.open(start, end, Some(EarlierCopy::Overtaken));
            }
        }
        earlier
    }

    /// Drops losses before `una` that were repaired without a recovery.
    pub(super) fn repair(&mut self, una: StreamOffset) {
        self.unrepaired.retain(|(start, _)| *start >= una);
        self.open.retain(|open| open.end > una);
    }

    /// Ends a recovery of the data before `high`; returns the number of lost packets of this data.
    pub(super) fn recover(&mut self, high: StreamOffset) -> LostPackets {
        let repaired = |(start, _): &(StreamOffset, LostPackets)| *start < high;
        let packets = self.unrepaired.iter().filter(|lost| repaired(lost));
        let packets = packets.map(|(_, packets)| *packets).sum();
        self.unrepaired.retain(|lost| !repaired(lost));
        packets
    }

    /// Number of packets lost so far, with `una` as the oldest byte that is not acknowledged. The packets
    /// above it, after the last one with a fate, are in flight.
    pub(super) fn lost(&self, una: StreamOffset) -> LostPackets {
        let acknowledged = self.after.iter().filter(|end| **end <= una);
        self.lost
            + LostPackets {
                known: 0,
                unknown: acknowledged.count() as u64,
            }
    }

    fn earlier(&self, start: StreamOffset, end: StreamOffset) -> Option<EarlierCopy> {
        let mut worst = Some(EarlierCopy::Arrived);
        for open in self.open.iter().filter(|open| open.is_in(start, end)) {
            match open.copy {
                // One lost part makes the retransmission necessary, whatever the other parts are.
                Some(EarlierCopy::Lost) => return open.copy,
                None => worst = None,
                Some(copy) => worst = worst.map(|worst| worst.max(copy)),
            }
        }
        worst
    }

    /// Opens the lost part of a packet. If exactly as many bytes are retransmitted later, the
    /// retransmitted parts are the lost parts.
    fn open_part(&mut self, sent: &Sent, lost_bytes: u64) {
        let pieces = self.again.after(sent.start, sent.end, sent.packet.place);
        let bytes: i64 = pieces.iter().map(|piece| piece.1.since(piece.0)).sum();
        if u64::try_from(bytes) == Ok(lost_bytes) {
            for (start, end) in pieces {
                self.open(start, end, Some(EarlierCopy::Lost));
            }
        } else {
            // Otherwise it is unknown which segments of the super-packet were lost.
            self.open(sent.start, sent.end, None);
        }
    }

    fn open(&mut self, start: StreamOffset, end: StreamOffset, copy: Option<EarlierCopy>) {
        if start < end {
            self.open.push(Open { start, end, copy });
        }
    }

    /// Removes `start..end` from the open parts; returns the parts removed.
    fn close(&mut self, start: StreamOffset, end: StreamOffset) -> Vec<Open> {
        let mut closed = Vec::new();
        for part in std::mem::take(&mut self.open) {
            if !part.is_in(start, end) {
                self.open.push(part);
                continue;
            }
            // The parts outside `start..end` stay open; `open` drops empty parts.
            self.open(part.start, part.end.min(start), part.copy);
            self.open(part.start.max(end), part.end, part.copy);
            closed.push(Open {
                start: part.start.max(start),
                end: part.end.min(end),
                ..part
            });
        }
        closed
    }
}

impl Open {
    fn is_in(&self, start: StreamOffset, end: StreamOffset) -> bool {
        self.start < end && start < self.end
    }
}
