//! How good a telephone call would be with the delays and losses of the packets.

use tcpexp_units::TimeDelta;

use super::amount::Amount;
use super::fates::Fates;
use super::group::Group;
use super::measures::{Measure, Values};
use super::senders::{Fate, Sender};
use super::window::Window;
use crate::bounds::Bounds;
use crate::voice::mean_opinion_score;

/// Depth of the buffer that plays the packets evenly. A packet whose delay exceeds that of the fastest packet
/// by more than this is lost to the call. An assumption: receivers adapt the depth between about 20 and 200 ms.
const PLAYOUT_BUFFER: TimeDelta = TimeDelta::from_millis(60);
/// Sound in one packet (RFC 3551, section 4.5).
const PACKET: TimeDelta = TimeDelta::from_millis(20);

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    let calls = group.senders.iter().filter(|sender| sender.is_call);
    let scores: Option<Vec<Amount>> = calls.map(|call| score(call, group.window)).collect();
    values.set_bounds(Measure::Mos, scores.and_then(mean));
}

/// The mean score; `None` without calls.
fn mean(scores: Vec<Amount>) -> Option<Bounds> {
    let of_one = 1.0 / scores.len() as f64;
    let all = (!scores.is_empty()).then(|| scores.into_iter().sum::<Amount>())?;
    Some((all * of_one).bounds())
}

/// The score of one direction of a call; `None` if its delays or losses are unknown.
fn score(call: &Sender, window: Window) -> Option<Amount> {
    let window = call.active.meet(window);
    let fates = call.fates.as_ref()?.iter();
    let delays = fates.filter(|fate| window.holds(fate.at));
    // The offset between the clocks is in all delays, so it cancels.
    let fastest = delays.filter_map(|fate| fate.one_way_delay).min()?;
    let is_late = |fate: &Fate| {
        let late = fate.one_way_delay.map(|delay| delay - fastest);
        late.is_some_and(|late| late > PLAYOUT_BUFFER)
    };
    let counts = Fates::of(call, window, |fate| fate.is_lost || is_late(fate))?;
    let lost = Fates {
        // Packets that the capture missed may have arrived too late.
        untimed: 0,
        unknown: counts.untimed + counts.unknown,
        ..counts
    };
    let path = call.base_rtt?.as_millis_f64() / 2.0;
    let delay_ms = path + (PLAYOUT_BUFFER + PACKET).as_millis_f64();
    let score = |lost| mean_opinion_score(delay_ms, lost);
    Some(lost.lost_share()?.falling(score))
}
