//! Counts of what came behind its place, for every place that the capture may turn out to be at.

use tcpexp_flow::{Behind, Cause, Order};

/// Packets and their bytes of payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retransmitted {
    /// How many packets.
    pub packets: u64,
    /// How many bytes of them came behind their place.
    pub bytes: u64,
}

impl Retransmitted {
    fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Where the capture was taken is known for certain only in the end, so both readings are counted.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfSequence {
    /// By when they were sent (earlier, later, unknown), then by cause.
    counts: [[Retransmitted; 3]; 3],
    /// Of those, wholly acknowledged before; by when they were sent.
    acknowledged: [u64; 3],
}

const ORDERS: [Order; 3] = [Order::Earlier, Order::Later, Order::Unknown];

impl OutOfSequence {
    pub(super) fn add(&mut self, behind: Behind, bytes: u64) {
        let sent = behind.sent as usize;
        self.counts[sent][behind.cause.index()].add(bytes);
        self.acknowledged[sent] += u64::from(behind.is_acknowledged);
    }

    /// Retransmissions by cause.
    pub(super) fn retransmitted(&self, at_sender: bool) -> [Retransmitted; 3] {
        let mut by_cause = [Retransmitted::default(); 3];
        for order in ORDERS
            .into_iter()
            .filter(|order| is_resent(*order, at_sender))
        {
            for cause in Cause::ALL.map(Cause::index) {
                by_cause[cause] = by_cause[cause].with(self.counts[order as usize][cause]);
            }
        }
        by_cause
    }

    /// Retransmissions of what had been acknowledged already.
    pub(super) fn needless(&self, at_sender: bool) -> u64 {
        let resent = ORDERS
            .into_iter()
            .filter(|order| is_resent(*order, at_sender));
        resent.map(|order| self.acknowledged[order as usize]).sum()
    }

    /// Packets that were overtaken on the path.
    pub(super) fn reordered(&self, at_sender: bool) -> u64 {
        if at_sender {
            0
        } else {
            self.packets(Order::Earlier)
        }
    }

    /// Packets of which nothing tells whether they were overtaken or sent again.
    pub(super) fn undecided(&self, at_sender: bool) -> u64 {
        if at_sender {
            0
        } else {
            self.packets(Order::Unknown)
        }
    }

    fn packets(&self, order: Order) -> u64 {
        self.counts[order as usize]
            .iter()
            .map(|count| count.packets)
            .sum()
    }
}

/// Whether a packet behind its place was sent again. At its sender's interface every one was.
fn is_resent(order: Order, at_sender: bool) -> bool {
    at_sender || order == Order::Later
}
