//! The receiving side of a TCP flow: acknowledgments and their timing.

use super::ranges::Ranges;
use super::sender::NEVER;

const DELAYED_ACK: u64 = 40_000_000;

/// Up to three SACK blocks in segment numbers.
pub(crate) type SackBlocks = [(u32, u32); 3];

#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) rcv_nxt: u32,
    above: Ranges,
    /// The segment received last; its block is reported first (RFC 2018 section 4).
    latest: u32,
    unacknowledged: u32,
    /// All segments below this number are acknowledged (`Last.ACK.sent` of RFC 7323).
    pub(crate) last_ack: u32,
    pub(crate) delayed_ack_at: u64,
}

impl Receiver {
    pub(crate) fn new() -> Self {
        Self {
            rcv_nxt: 0,
            above: Ranges::default(),
            latest: 0,
            unacknowledged: 0,
            last_ack: 0,
            delayed_ack_at: NEVER,
        }
    }

    /// Receives a segment; returns true if it requires an immediate acknowledgment.
    pub(crate) fn on_segment(&mut self, now: u64, segment: u32) -> bool {
        self.latest = segment;
        // RFC 5681, section 4.2: data out of order is acknowledged at once.
        if segment != self.rcv_nxt {
            if segment > self.rcv_nxt {
                self.above.insert(segment, segment + 1);
            }
            return true;
        }
        self.rcv_nxt += 1;
        // RFC 5681, section 4.2: a segment that fills (part of) a gap is acknowledged at once.
        if let Some((_, end)) = self.above.around(self.rcv_nxt) {
            self.rcv_nxt = end;
            self.above.remove_below(end);
            return true;
        }
        if self.above.covered() > 0 {
            return true;
        }
        self.unacknowledged += 1;
        if self.unacknowledged == 1 {
            self.delayed_ack_at = now + DELAYED_ACK;
        }
        // RFC 5681, section 4.2: at least every second segment is acknowledged.
        self.unacknowledged >= 2
    }

    /// Updates the state when an acknowledgment leaves.
    pub(crate) fn acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.last_ack = self.rcv_nxt;
        self.delayed_ack_at = NEVER;
    }

    /// Returns the SACK blocks of an acknowledgment that leaves now, and their number.
    pub(crate) fn sack_blocks(&self) -> (SackBlocks, u8) {
        let mut blocks = SackBlocks::default();
        let mut count = 0;
        let newest = self.above.around(self.latest);
        let others = self.above.as_slice().iter().rev().copied();
        for block in newest
            .into_iter()
            .chain(others.filter(|block| Some(*block) != newest))
        {
            if count == blocks.len() {
                break;
            }
            blocks[count] = block;
            count += 1;
        }
        (blocks, count as u8)
    }
}
