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
    counts: [ByCause; 3],
    /// Of those, wholly acknowledged before.
    acknowledged: [ByCause; 3],
}

/// Retransmissions by [`Cause::index`].
pub type ByCause = [Retransmitted; Cause::ALL.len()];

const ORDERS: [Order; 3] = [Order::Earlier, Order::Later, Order::Unknown];

impl OutOfSequence {
    pub(super) fn add(&mut self, behind: Behind, bytes: u64) {
        let (sent, cause) = (behind.sent as usize, behind.cause.index());
        self.counts[sent][cause].add(bytes);
        if behind.is_acknowledged {
            self.acknowledged[sent][cause].add(bytes);
        }
    }

    /// Retransmissions by cause.
    ///
    /// At the sender's interface data that the capture shows to be acknowledged was known to have
    /// arrived. Elsewhere the ACK may still have been on its way, or have got lost.
    pub(super) fn retransmitted(&self, at_sender: bool) -> ByCause {
        let mut by_cause = ByCause::default();
        let orders = ORDERS.into_iter();
        for order in orders.filter(|order| is_retransmission(*order, at_sender)) {
            for cause in Cause::ALL.map(Cause::index) {
                let mut counted = self.counts[order as usize][cause];
                if at_sender {
                    let known = self.acknowledged[order as usize][cause];
                    counted.packets -= known.packets;
                    counted.bytes -= known.bytes;
                    let spurious = &mut by_cause[Cause::Spurious.index()];
                    *spurious = spurious.with(known);
                }
                by_cause[cause] = by_cause[cause].with(counted);
            }
        }
        by_cause
    }

    /// Retransmissions of data that had been acknowledged already.
    pub(super) fn spurious(&self, at_sender: bool) -> u64 {
        let retransmitted = ORDERS
            .into_iter()
            .filter(|order| is_retransmission(*order, at_sender));
        let of = |order: Order| packets(&self.acknowledged[order as usize]);
        retransmitted.map(of).sum()
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
        packets(&self.counts[order as usize])
    }
}

fn packets(by_cause: &ByCause) -> u64 {
    by_cause.iter().map(|count| count.packets).sum()
}

/// Whether a packet behind its place is a retransmission. At its sender's interface every one is.
fn is_retransmission(order: Order, at_sender: bool) -> bool {
    at_sender || order == Order::Later
}
