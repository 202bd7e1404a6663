//! Arrivals that match no departure.

use crate::spp::linking::{Event, Sighting};
use crate::spp::matching::{Fate, Setting};
use crate::spp::pairing::Pair;
use tcpexp_units::Timestamp;

/// Fate of an arrival that matches no departure; `before` is the time of the latest identical arrival
/// that matched one.
pub(super) fn fate_without_departure(
    event: &Event,
    pair: &Pair,
    before: Option<Timestamp>,
    setting: &Setting,
) -> Fate {
    let Sighting { at, mark, .. } = &event.sighting;
    let stream = &pair.streams[event.direction.index()];
    if stream.period().is_some() {
        return Fate::Ambiguous;
    }
    if let Some(before) = before {
        return if mark.may_be_sent_again_after(*at - before) {
            Fate::Ambiguous
        } else {
            Fate::Duplicate
        };
    }
    let is_earlier_syn = || mark.is_syn() && setting.may_be_earlier_syn(event.path_direction, *at);
    if setting.may_have_left_outside(event.path_direction, *at, stream) || is_earlier_syn() {
        return Fate::Outside;
    }
    let may_have_other_numbers = pair.is_unrelated() && pair.departed[event.direction.index()] > 0;
    // The packet may have left in another flow, unfragmented, or around an unknown clock step, or it may have
    // been given up.
    let is_doubtful = mark.is_fragment() || setting.is_contradicted(*at);
    if pair.is_partial || may_have_other_numbers || is_doubtful {
        Fate::Ambiguous
    } else {
        Fate::Unseen
    }
}

/// Counts an arrival of this fate; `unseen` counts those that the upstream capture missed.
pub(super) fn count_without_departure(
    event: &Event,
    pair: &mut Pair,
    packets: u64,
    fate: Fate,
    unseen: &mut u64,
) {
    let counts = &mut pair.counts[event.direction.index()];
    match fate {
        Fate::Duplicate => counts.arrivals_copies += packets,
        Fate::Outside => counts.arrivals_outside += packets,
        Fate::Unseen => {
            counts.unseen_upstream += packets;
            *unseen += packets;
        }
        _ => {
            counts.arrivals_ambiguous += packets;
            if event.sighting.mark.is_fragment() {
                counts.arrivals_fragmented += packets;
            }
        }
    }
    let Sighting { at, mark, .. } = &event.sighting;
    if matches!(fate, Fate::Outside | Fate::Unseen) || mark.is_fragment() {
        pair.unexplained(event.direction).add(*at, mark.seq());
    }
}
