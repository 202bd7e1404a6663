//! Counts of out-of-order packets, for both possible positions of the capture.

use tcpexp_flow::{Behind, Cause, Order};

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
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfSequence {
    /// By order of sending (earlier, later, unknown), then by cause.
    counts: [ByCause; 3],
    /// The packets in `counts` that were completely acknowledged before.
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
    /// In a capture at the sender, the sender knew that acknowledged data had arrived. Elsewhere,
    /// the ACK may have been in flight or lost.
    pub(super) fn retransmitted(&self, at_sender: bool) -> ByCause {
        let mut by_cause = ByCause::default();
        let orders = ORDERS.into_iter();
        for order in orders.filter(|order| is_retransmission(*order, at_sender)) {
            for cause in Cause::ALL.map(Cause::index) {
                let mut counted = self.counts[order as usize][cause];
                if at_sender {
                    // At its sender, data known to have arrived has no cause for a retransmission.
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

    /// Number of retransmissions of acknowledged data.
    pub(super) fn spurious(&self, at_sender: bool) -> u64 {
        let retransmitted = ORDERS
            .into_iter()
            .filter(|order| is_retransmission(*order, at_sender));
        let of = |order: Order| packets(&self.acknowledged[order as usize]);
        retransmitted.map(of).sum()
    }

    /// Number of packets reordered on the path.
    pub(super) fn reordered(&self, at_sender: bool) -> u64 {
        if at_sender {
            0
        } else {
            self.packets(Order::Earlier)
        }
    }

    /// Number of packets without evidence for reordering or retransmission.
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

/// True if an out-of-order packet is a retransmission. At the sender, every out-of-order packet is
/// one.
fn is_retransmission(order: Order, at_sender: bool) -> bool {
    at_sender || order == Order::Later
}
