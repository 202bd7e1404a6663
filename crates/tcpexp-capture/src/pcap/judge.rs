//! Judgement of doubtful records, and of places where sound records may begin.

use super::PcapWalk;
use super::header::Head;
use crate::Damage;
use crate::step::{Found, LONGEST_IN_SEARCH, LONGEST_RECORD, ROW, Row, Step};

/// Greatest distance in seconds between neighbouring records that needs no other evidence: a day, as
/// for outlier timestamps.
const NEAR_SECONDS: u32 = 86_400;

/// Number of consecutive sound records that end a resynchronisation at a distant time. Records inside a
/// packet, such as those of a capture that is copied over the network, do not form such a row: a packet
/// of 1500 bytes holds at most 19 records of 60-byte packets.
const LONG_ROW: usize = 32;

/// Judgement of an unusual record without the records after it.
enum Evidence {
    Sufficient,
    /// The records after it decide.
    Missing,
    Against,
}

impl PcapWalk {
    /// Accepts a complete but unusual record if its fields, or the records after it, confirm it.
    pub(super) fn judge(&mut self, head: Head, behind: &[u8], at_end: bool, offset: u64) -> Step {
        let row = match self.evidence(head) {
            Evidence::Sufficient => Row::Holds,
            Evidence::Against => Row::Breaks,
            Evidence::Missing => self.row_behind(head, behind, at_end),
        };
        match row {
            Row::Undecided(needed) if self.looks_ahead => {
                Step::More(self.layout.header_bytes + head.captured as usize + needed)
            }
            Row::Holds | Row::Undecided(_) => Step::Record(self.accept(head)),
            Row::Breaks => Step::Broken {
                damage: Damage::Implausible { offset },
                search: true,
            },
        }
    }

    /// Judges a complete record by its own fields and its distance in time to those before it.
    fn evidence(&self, head: Head) -> Evidence {
        let is_sound = if self.is_near_known(head.seconds) {
            // A segment of offload exceeds the snapshot length, but is whole.
            let is_whole = head.captured == head.wire;
            !head.is_empty()
                && (head.captured <= self.usual || is_whole)
                && (head.captured <= head.wire || head.wire == 0)
        } else if head.is_empty() {
            // Bytes of zero, as of a page that was never written.
            return Evidence::Against;
        } else {
            // A first record has no record before it to compare with.
            self.reference.is_none()
                && head.captured > 0
                && self.plausible(head, self.omits_wire || head.wire == 0)
        };
        if is_sound {
            Evidence::Sufficient
        } else {
            Evidence::Missing
        }
    }

    /// Returns the record, and decides whether later records are compared with its time.
    fn accept(&mut self, head: Head) -> Found {
        let near = |seconds: Option<u32>| seconds.is_some_and(|near| is_near(near, head.seconds));
        if near(self.reference) {
            self.reference = Some(head.seconds);
        } else if near(self.candidate) {
            // Two records agree: the clock stepped, or the records of two clocks alternate.
            self.candidate = self.reference.replace(head.seconds);
        } else {
            self.candidate = Some(head.seconds);
        }
        self.omits_wire |= head.wire == 0 && head.captured > 0;
        self.found(head)
    }

    /// Checks whether `ROW` records follow the doubtful record `head`: its length is right then.
    fn row_behind(&self, head: Head, behind: &[u8], at_end: bool) -> Row {
        let omits_wire = self.omits_wire || (head.wire == 0 && head.captured > 0);
        let mut from = 0;
        for _ in 0..ROW {
            let Some(next) = behind.get(from..).and_then(|rest| self.layout.head(rest)) else {
                return match at_end {
                    false => Row::Undecided(from + self.layout.header_bytes),
                    // The file may be cut within a record.
                    true if from == behind.len() || self.plausible(head, omits_wire) => Row::Holds,
                    true => Row::Breaks,
                };
            };
            // Small numbers, as in packets with many zeros, agree by chance.
            let is_near_head = head.seconds > NEAR_SECONDS && is_near(head.seconds, next.seconds);
            let is_sound = if is_near_head || self.is_near_known(next.seconds) {
                !next.is_empty() && next.captured <= self.usual.max(next.wire.min(self.limit))
            } else {
                next.captured > 0 && self.plausible(next, omits_wire)
            };
            if !is_sound {
                return Row::Breaks;
            }
            from += self.layout.header_bytes + next.captured as usize;
        }
        Row::Holds
    }

    pub(super) fn row_at(&self, bytes: &[u8], at_end: bool) -> Row {
        let is_first = self.reference.or(self.candidate).is_none();
        let mut from = 0;
        let mut count = 0;
        let mut least = ROW;
        let mut near = None;
        while count < least {
            let Some(head) = bytes.get(from..).and_then(|rest| self.layout.head(rest)) else {
                // A row may be short where its last record ends exactly with the file.
                let ends = least == ROW && from > 0 && from == bytes.len();
                return match (at_end, ends) {
                    (true, true) => Row::Holds,
                    (true, false) => Row::Breaks,
                    (false, _) => Row::Undecided(from + self.layout.header_bytes),
                };
            };
            // A run of zero bytes would pass as a row of empty records.
            if head.captured == 0
                || !self.plausible(head, self.omits_wire)
                || near.is_some_and(|near| !is_near(near, head.seconds))
            {
                return Row::Breaks;
            }
            if count == 0 && !is_first && !self.is_near_known(head.seconds) {
                least = LONG_ROW;
            }
            near = Some(head.seconds);
            count += 1;
            from += self.layout.header_bytes + head.captured as usize;
        }
        match (from <= bytes.len(), at_end) {
            (true, _) => Row::Holds,
            (false, true) => Row::Breaks,
            (false, false) => Row::Undecided(from),
        }
    }

    /// True if the time is near a time that an earlier record has.
    fn is_near_known(&self, seconds: u32) -> bool {
        let known = [self.reference, self.candidate];
        known
            .into_iter()
            .flatten()
            .any(|near| is_near(near, seconds))
    }

    /// True if the fields do not contradict each other.
    fn plausible(&self, head: Head, omits_wire: bool) -> bool {
        let fractions = 1_000_000_000 / self.nanos_per_fraction;
        i64::from(head.fraction) < fractions
            && (head.captured <= head.wire || (omits_wire && head.wire == 0))
            && head.captured <= LONGEST_IN_SEARCH
            && head.wire <= LONGEST_RECORD
    }
}

#[inline]
pub(super) fn is_near(one: u32, other: u32) -> bool {
    one.abs_diff(other) <= NEAR_SECONDS
}
