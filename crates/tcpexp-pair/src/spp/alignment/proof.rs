//! Selects the packets that the clocks are estimated from: where there are enough, those that cannot be
//! retransmissions.

use super::common::in_order;
use super::progress::{advancing, is_settled};
use super::sides::Sides;
use super::sketch::Sketched;
use super::survey::Survey;
use crate::spp::crossing::{Crossing, PathDirection};
use tcpexp_units::Timestamp;

/// Minimum number of proven packets of each way to estimate the clocks from: three in a row confirm
/// each other's delay, and one more may be a false match.
const MIN_PROVEN: usize = 4;

/// Maximum number of successive packets of a way without a proven packet among them. In a longer gap, a clock
/// step would remain undetected. Sixteen packets are two bins of eight, the fewest that show a movement of the
/// clocks.
const MAX_UNPROVEN: usize = 16;

/// What the packets in both captures prove.
pub(super) struct Proof {
    /// The side of each address.
    pub(super) sides: Sides,
    /// The packets to estimate the clocks from.
    pub(super) learnt_from: Vec<Crossing>,
    /// True if enough packets of each way certainly are originals.
    pub(super) is_proven: bool,
}

impl Proof {
    /// Learns from `common`, which is in the order of the source capture.
    pub(super) fn of(common: &[(Sketched, Sketched)], surveys: [&Survey; 2], recut: bool) -> Self {
        let mut proven = beyond_doubt(common, surveys, recut);
        let proof = Self::by(common, &proven);
        if proof.is_enough(common) {
            return proof;
        }
        // Without IP IDs, timestamps and SYNs only the progress of a connection proves originals.
        let begins = surveys.map(|survey| survey.first.map_or(Timestamp::MIN, |(_, at)| at));
        proven.extend(advancing(common, begins));
        in_order(&mut proven);
        let mut proof = Self::by(common, &proven);
        if proof.is_enough(common) {
            return proof;
        }
        if proof.is_proven {
            // A clock may have been set in the gap. After [`SETTLED_AFTER`], retransmissions of data from before
            // the captures are over. Few of the remaining packets are false matches, and the estimate tolerates
            // a few.
            let settled = common.iter().filter(|(a, b)| is_settled(a, b, begins));
            proven.extend(settled.copied());
            in_order(&mut proven);
            proof.learnt_from = crossings(&proven, &proof.sides);
        } else {
            proof.learnt_from = crossings(common, &proof.sides);
        }
        proof
    }

    /// The proof by these packets of `common`.
    fn by(common: &[(Sketched, Sketched)], proven: &[(Sketched, Sketched)]) -> Self {
        let (sides, is_proven) = learn_sides(common, proven);
        Self {
            learnt_from: crossings(proven, &sides),
            sides,
            is_proven,
        }
    }

    /// True if enough packets of each way are proven, without a long gap.
    fn is_enough(&self, common: &[(Sketched, Sketched)]) -> bool {
        self.is_proven && !leaves_gap(&crossings(common, &self.sides), &self.learnt_from)
    }
}

/// True if more than [`MAX_UNPROVEN`] successive packets of one way in `all` are absent from `proven`. Both are
/// in the order of the source capture.
fn leaves_gap(all: &[Crossing], proven: &[Crossing]) -> bool {
    let is_proven = |crossing: &Crossing| {
        let place = crossing.src_place;
        let found = proven.binary_search_by_key(&place, |proven| proven.src_place);
        found.is_ok()
    };
    let mut unproven = [0; 2];
    all.iter().any(|crossing| {
        let unproven = &mut unproven[crossing.path_direction.index()];
        *unproven = if is_proven(crossing) {
            0
        } else {
            *unproven + 1
        };
        *unproven > MAX_UNPROVEN
    })
}

/// Returns the packets of `common` that are certainly one packet, whatever the captures missed.
///
/// Without an IP ID or a timestamp, one point may have captured only the original of a TCP segment
/// and the other only its retransmission, unless both captured the whole connection. Where segments
/// are recut, a segment identical to a retransmission may even then be part of a larger departure.
fn beyond_doubt(
    common: &[(Sketched, Sketched)],
    [src, dst]: [&Survey; 2],
    recut: bool,
) -> Vec<(Sketched, Sketched)> {
    let is_proven = |(a, b): &&(Sketched, Sketched)| {
        let (a, b) = (&a.fields, &b.fields);
        let same_id = a.ip_id == b.ip_id && a.ip_id.is_some_and(|id| id != 0);
        let same_timestamps = a.timestamps == b.timestamps && a.timestamps.is_some();
        let is_whole = !recut || a.payload_bytes == 0;
        let saw_all = is_whole && src.begins.hold(a) && dst.begins.hold(b);
        !a.is_tcp || same_id || same_timestamps || saw_all
    };
    common.iter().filter(is_proven).copied().collect()
}

/// Learns the side of each address; the flag is true if `proven` has enough packets.
fn learn_sides(common: &[(Sketched, Sketched)], proven: &[(Sketched, Sketched)]) -> (Sides, bool) {
    let sides = Sides::learn(common);
    let count = |packets, path_direction| {
        let crossings = crossings(packets, &sides);
        let of_way = crossings
            .iter()
            .filter(|crossing| crossing.path_direction == path_direction);
        of_way.count()
    };
    let is_proven = PathDirection::BOTH.into_iter().all(|path_direction| {
        // A way without traffic has no packets to prove.
        count(proven, path_direction) >= MIN_PROVEN.min(count(common, path_direction))
    });
    if is_proven {
        (Sides::learn(proven), true)
    } else {
        (sides, false)
    }
}

/// Crossings of the packets of `common` whose way is known.
pub(super) fn crossings(common: &[(Sketched, Sketched)], sides: &Sides) -> Vec<Crossing> {
    let crossings = common.iter().filter_map(|(a, b)| placed(a, b, sides));
    crossings.collect()
}

fn placed(a: &Sketched, b: &Sketched, sides: &Sides) -> Option<Crossing> {
    Some(Crossing {
        path_direction: sides.path_direction_of(a, b)?,
        src_place: a.place,
        dst_place: b.place,
        src_time: a.time,
        dst_time: b.time,
        payload_bytes: a.fields.payload_bytes,
    })
}
