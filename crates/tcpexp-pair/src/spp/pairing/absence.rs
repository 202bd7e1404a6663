//! Why a packet was not captured downstream.

use crate::spp::matching::{Absence, Departure, DirectionCounts, Evidence, Setting, Unexplained};

/// Reason why a packet was not captured downstream. `has_strayed` is true if a packet with its mark
/// arrived in another flow; `is_partial` is true if the packet may be in another flow, may still
/// arrive, or may have arrived with other numbers.
pub(super) fn absence(
    evidence: Option<&[Evidence; 2]>,
    unexplained: Option<&[Unexplained; 2]>,
    counts: &DirectionCounts,
    departure: &Departure,
    has_strayed: bool,
    setting: &Setting,
    is_partial: bool,
) -> Absence {
    let upstream = departure.path_direction.upstream();
    let misses = setting.misses[upstream.opposite().index()] || is_partial;
    let absence = evidence.map_or(Absence::unproven(misses), |evidence| {
        evidence[departure.direction.index()].absence_of(departure, misses)
    });
    // A damaged record does not match, nor does a packet that the path fragmented, so the packet may be one
    // of the unexplained arrivals, or be in a flow of its own.
    let may_have_arrived = || has_strayed || may_be_unexplained(unexplained, departure, setting);
    match absence {
        Absence::Lost | Absence::Unproven if counts.shows_nothing() || may_have_arrived() => {
            Absence::LostOrMissed
        }
        // The packet itself, or bytes that the receiver acknowledged, may be in another flow. The bytes may
        // also have arrived in a retransmission that neither capture shows.
        Absence::Missed if is_partial || setting.misses[upstream.index()] || may_have_arrived() => {
            Absence::LostOrMissed
        }
        absence => absence,
    }
}

/// True if an arrival without a departure may be this packet.
pub(super) fn may_be_unexplained(
    unexplained: Option<&[Unexplained; 2]>,
    departure: &Departure,
    setting: &Setting,
) -> bool {
    let within = setting.arrives_within(departure.path_direction, departure.at);
    unexplained.is_some_and(|unexplained| {
        let unexplained = &unexplained[departure.direction.index()];
        unexplained.may_include(within, departure.seq, departure.payload_bytes)
    })
}
