//! Counts of out-of-order packets, for both possible positions of the capture.

use tcpexp_flow::{Behind, RetransmissionCause, SendOrder};

use crate::Position;

/// The position at which each out-of-order packet is a retransmission, except overtaken packets and undecided
/// repeats. An unknown position counts as elsewhere.
const AT_SENDER: Option<Position> = Some(Position::Sender);

/// Packets and their bytes of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retransmitted {
    /// Number of packets.
    pub packets: u64,
    /// Number of out-of-order payload bytes.
    pub bytes: u64,
}

impl Retransmitted {
    fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Sum of both counts.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Counts of out-of-order packets. The position of the capture is certain only at the end, so the
/// counts serve both readings: at the sender and elsewhere.
///
/// The counts are a list of the kinds that occur: a million connections may have two such lists
/// each, and few connections have more than two kinds.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfSequence(Vec<(Kind, Retransmitted)>);

/// What is known of an out-of-order packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    sent: SendOrder,
    /// True if it was reordered even if the capture seems to be at the sender.
    is_overtaken: bool,
    /// True if it repeats captured data and may be a duplicate, wherever the capture is.
    is_undecided_repeat: bool,
    cause: RetransmissionCause,
    /// True if it was completely acknowledged before.
    is_acknowledged: bool,
}

/// Retransmissions by [`RetransmissionCause::index`].
pub type ByCause = [Retransmitted; RetransmissionCause::ALL.len()];

impl OutOfSequence {
    pub(super) fn add(&mut self, behind: Behind, bytes: u64) {
        let kind = Kind {
            sent: behind.sent,
            is_overtaken: behind.is_reordered(true),
            is_undecided_repeat: behind.is_undecided_repeat(),
            cause: behind.cause,
            is_acknowledged: behind.is_acknowledged,
        };
        match self.0.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => count.add(bytes),
            None => self.0.push((kind, Retransmitted { packets: 1, bytes })),
        }
    }

    /// Retransmissions by cause.
    ///
    /// In a capture at the sender, the sender knew that acknowledged data had arrived, so there was
    /// no cause to retransmit it. Elsewhere, the ACK may have been in flight or lost.
    pub(super) fn retransmitted(&self, position: Option<Position>) -> ByCause {
        let mut by_cause = ByCause::default();
        for (kind, count) in self.retransmissions(position) {
            let cause = if position == AT_SENDER && kind.is_acknowledged {
                RetransmissionCause::Spurious
            } else {
                kind.cause
            };
            by_cause[cause.index()] = by_cause[cause.index()].with(*count);
        }
        by_cause
    }

    /// Number of retransmissions of acknowledged data.
    pub(super) fn spurious(&self, position: Option<Position>) -> u64 {
        let retransmissions = self.retransmissions(position);
        packets(retransmissions.filter(|(kind, _)| kind.is_acknowledged))
    }

    /// Number of packets reordered on the path.
    pub(super) fn reordered(&self, position: Option<Position>) -> u64 {
        let kinds = self.0.iter();
        packets(kinds.filter(|(kind, _)| kind.is_reordered(position)))
    }

    /// Number of packets without evidence for reordering, duplication or retransmission.
    pub(super) fn undecided(&self, position: Option<Position>) -> u64 {
        let kinds = self.0.iter();
        packets(kinds.filter(|(kind, _)| kind.is_undecided(position)))
    }

    fn retransmissions(
        &self,
        position: Option<Position>,
    ) -> impl Iterator<Item = &(Kind, Retransmitted)> {
        let kinds = self.0.iter();
        kinds.filter(move |(kind, _)| kind.is_retransmission(position))
    }
}

fn packets<'a>(kinds: impl Iterator<Item = &'a (Kind, Retransmitted)>) -> u64 {
    kinds.map(|(_, count)| count.packets).sum()
}

impl Kind {
    fn is_reordered(self, position: Option<Position>) -> bool {
        self.is_overtaken || (position != AT_SENDER && self.sent == SendOrder::Earlier)
    }

    fn is_undecided(self, position: Option<Position>) -> bool {
        self.is_undecided_repeat || (position != AT_SENDER && self.sent == SendOrder::Unknown)
    }

    /// At the sender, every out-of-order packet is a retransmission, except overtaken packets and undecided
    /// repeats.
    fn is_retransmission(self, position: Option<Position>) -> bool {
        !self.is_reordered(position) && !self.is_undecided(position)
    }
}
