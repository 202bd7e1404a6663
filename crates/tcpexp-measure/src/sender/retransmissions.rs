//! All retransmissions of a sender, collected by the first pass.

use tcpexp_flow::StreamOffset;

use crate::Position;

/// The data sent more than once, indexed by its stream offset.
#[derive(Clone, Debug, Default)]
pub(super) struct Retransmissions {
    /// Sorted by stream offset once collected.
    sent: Vec<Again>,
    longest_bytes: i64,
}

/// One captured packet behind later data: retransmitted or reordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) start: StreamOffset,
    pub(super) end: StreamOffset,
    /// Place in the order of the capture.
    pub(super) place: u64,
    /// True if the network reordered the packet: it was sent earlier than the packets captured
    /// before it.
    pub(super) was_overtaken: bool,
}

impl Retransmissions {
    /// True if a byte of `start..end` is retransmitted at `place` or later.
    pub(super) fn covers(&self, start: StreamOffset, end: StreamOffset, place: u64) -> bool {
        // Sorted by start: a packet that starts before `from` is too short to reach `start`.
        let from = start.moved(-self.longest_bytes);
        let first = self.sent.partition_point(|again| again.start < from);
        self.sent[first..]
            .iter()
            .take_while(|again| again.start < end)
            .any(|again| again.end > start && again.place >= place)
    }

    /// The parts of `start..end` retransmitted after `place`, sorted and without overlap.
    pub(super) fn after(
        &self,
        start: StreamOffset,
        end: StreamOffset,
        place: u64,
    ) -> Vec<(StreamOffset, StreamOffset)> {
        let mut pieces: Vec<(StreamOffset, StreamOffset)> = Vec::new();
        let first = start.moved(-self.longest_bytes);
        let first = self.sent.partition_point(|again| again.start < first);
        let later = self.sent[first..]
            .iter()
            .take_while(|again| again.start < end)
            .filter(|again| again.end > start && again.place > place);
        for again in later {
            let (from, to) = (again.start.max(start), again.end.min(end));
            match pieces.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => pieces.push((from, to)),
            }
        }
        pieces
    }

    pub(super) fn push(&mut self, again: Again) {
        self.longest_bytes = self.longest_bytes.max(again.end.since(again.start));
        self.sent.push(again);
    }

    /// Sorts the retransmissions. Away from the sender, drops reordered segments.
    pub(super) fn sorted(mut self, position: Option<Position>) -> Self {
        if position.is_some_and(|position| position != Position::Sender) {
            self.sent.retain(|again| !again.was_overtaken);
        }
        self.sent
            .sort_unstable_by_key(|again| (again.start, again.place));
        self
    }
}
