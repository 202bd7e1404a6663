//! Sequence numbers that a middlebox shifts.
//!
//! A firewall that replaces initial sequence numbers adds a constant to the sequence numbers of
//! each direction of a connection, and to the acknowledgment numbers of the opposite direction. All
//! other fields stay the same. So this module compares segments by the other fields that identify
//! them, and learns the difference. A difference is accepted only if nearly all compared segments
//! of both directions of the connection agree on it.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};
use tcpexp_wire::TcpFlags;

use super::fields::{Ends, FieldValues};
use super::sketch::Sketched;

/// Fewest segments to learn the shift of a direction from. IP ID and timestamps of unrelated
/// segments agree once in 2^16 pairs or less; four of them do not agree on a 32-bit difference.
const MIN_AGREEING: usize = 4;
/// Maximum share of segments that disagree, as one in this number: an original may match its
/// retransmission.
const ONE_DISAGREES_IN: usize = 10;

/// A constant that a middlebox adds to the sequence numbers of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SequenceShift {
    /// Sender and receiver of the shifted data, each as the number of its address and its port.
    pub(in crate::spp) ends: Ends,
    /// Sequence numbers at the destination minus sequence numbers at the source, modulo 2^32.
    pub shift: u32,
}

/// The fields by which [`content_hash`](super::fields::content_hash) identifies a segment.
#[derive(PartialEq, Eq, Hash)]
struct Numbers {
    ends: Ends,
    seq: u32,
    ack: u32,
    is_syn: bool,
    has_data: bool,
}

impl Numbers {
    fn of(fields: &FieldValues) -> Self {
        Self {
            ends: fields.ends(),
            seq: fields.seq,
            ack: fields.ack,
            is_syn: fields.flags & TcpFlags::SYN.bits() != 0,
            has_data: fields.payload_bytes > 0,
        }
    }
}

/// Segments with the same numbers, in each sample.
#[derive(Default)]
struct Found {
    ours: Vec<Sketched>,
    theirs: Vec<Sketched>,
}

/// Sequence shifts by sender and receiver.
#[derive(Clone, Debug, Default)]
pub(in crate::spp) struct Shifts(HashMap<Ends, u32, FixedState>);

impl Shifts {
    pub(in crate::spp) fn new(shifts: &[SequenceShift]) -> Self {
        Self(shifts.iter().map(|one| (one.ends, one.shift)).collect())
    }

    pub(in crate::spp) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Shift of the sequence numbers from the first to the second of `ends`.
    pub(in crate::spp) fn of(&self, ends: Ends) -> u32 {
        self.0.get(&ends).copied().unwrap_or(0)
    }

    /// Learns the shifts from segments that agree in all other fields that identify them; the
    /// shifts are in order of sender and receiver.
    pub(super) fn learn(common: &[(Sketched, Sketched)]) -> Vec<SequenceShift> {
        let mut differences: HashMap<Ends, HashMap<u32, usize, FixedState>, FixedState> =
            HashMap::default();
        let mut note = |ends: Ends, difference: u32| {
            let of_direction = differences.entry(ends).or_default();
            *of_direction.entry(difference).or_default() += 1;
        };
        for (a, b) in common {
            let (a, b) = (&a.fields, &b.fields);
            note(a.ends(), b.seq.wrapping_sub(a.seq));
            if acknowledges(a) {
                note(opposite(a.ends()), b.ack.wrapping_sub(a.ack));
            }
        }
        let agreed: HashMap<Ends, u32, FixedState> = differences
            .into_iter()
            .filter_map(|(ends, counts)| {
                let all: usize = counts.values().sum();
                let (difference, agreeing) = counts.into_iter().max_by_key(|(_, count)| *count)?;
                let disagreeing = all - agreeing;
                let is_agreed = agreeing >= MIN_AGREEING && disagreeing * ONE_DISAGREES_IN <= all;
                is_agreed.then_some((ends, difference))
            })
            .collect();
        let both = |ends: &Ends| agreed.get(ends).zip(agreed.get(&opposite(*ends)));
        let mut shifts: Vec<SequenceShift> = agreed
            .iter()
            .filter(|(ends, _)| both(ends).is_some_and(|shifts| shifts != (&0, &0)))
            .map(|(&ends, &shift)| SequenceShift { ends, shift })
            .collect();
        // A hash map has no order.
        shifts.sort_unstable_by_key(|shift| shift.ends);
        shifts
    }

    /// Returns the segments of shifted connections, with the shift undone, that then agree.
    pub(super) fn undone(
        &self,
        common: &[(Sketched, Sketched)],
    ) -> impl Iterator<Item = (Sketched, Sketched)> {
        common.iter().filter_map(|&(a, b)| {
            let b = self.undo(b)?;
            // If the numbers still differ, these are two segments that agree in all other fields.
            let agrees = a.fields.seq == b.fields.seq && a.fields.ack == b.fields.ack;
            agrees.then_some((a, b))
        })
    }

    /// Returns the segments of shifted connections that each sample holds once, with the shift
    /// undone.
    ///
    /// The samples choose by the shifted numbers. So they share all packets of a small capture, and
    /// few of a large one.
    pub(super) fn common(
        &self,
        ours: &[Sketched],
        theirs: &[Sketched],
    ) -> Vec<(Sketched, Sketched)> {
        let mut found: HashMap<Numbers, Found, FixedState> = HashMap::default();
        let is_shifted = |packet: &&Sketched| self.undo(**packet).is_some();
        for packet in ours.iter().filter(is_shifted) {
            let found = found.entry(Numbers::of(&packet.fields)).or_default();
            found.ours.push(*packet);
        }
        for packet in theirs.iter().filter_map(|packet| self.undo(*packet)) {
            if let Some(found) = found.get_mut(&Numbers::of(&packet.fields)) {
                found.theirs.push(packet);
            }
        }
        let once = found.into_values().filter_map(|found| {
            let (&[ours], &[theirs]) = (&found.ours[..], &found.theirs[..]) else {
                return None;
            };
            Some((ours, theirs))
        });
        once.collect()
    }

    /// Undoes the shift of a segment at the destination; `None` if its connection is not shifted.
    fn undo(&self, mut packet: Sketched) -> Option<Sketched> {
        let fields = &mut packet.fields;
        let (seq, ack) = (self.of(fields.ends()), self.of(opposite(fields.ends())));
        if !fields.is_tcp || (seq, ack) == (0, 0) {
            return None;
        }
        fields.seq = fields.seq.wrapping_sub(seq);
        if acknowledges(fields) {
            fields.ack = fields.ack.wrapping_sub(ack);
        }
        Some(packet)
    }
}

fn acknowledges(fields: &FieldValues) -> bool {
    fields.flags & TcpFlags::ACK.bits() != 0
}

/// The opposite direction.
fn opposite(ends: Ends) -> Ends {
    [ends[1], ends[0]]
}
