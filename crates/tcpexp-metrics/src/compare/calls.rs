//! How good a telephone call would be with the delays and losses of the packets.

use tcpexp_units::TimeDelta;

use super::group::Group;
use super::measures::{Measure, Values};
use super::rates::mean;
use super::senders::Sender;
use super::window::Window;
use crate::voice::mean_opinion_score;

/// Depth of the buffer that plays the packets evenly. A packet whose delay exceeds that of the fastest packet
/// by more than this is lost to the call. An assumption: receivers adapt the depth between about 20 and 200 ms.
const PLAYOUT_BUFFER: TimeDelta = TimeDelta::from_millis(60);
/// Sound in one packet (RFC 3551, section 4.5).
const PACKET: TimeDelta = TimeDelta::from_millis(20);

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    let calls = group.senders.iter().filter(|sender| sender.is_call);
    let scores: Option<Vec<f64>> = calls.map(|call| score(call, group.window)).collect();
    values.set(Measure::Mos, scores.as_deref().and_then(mean));
}

/// The score of one direction of a call; `None` if its delays or losses are unknown.
fn score(call: &Sender, window: Window) -> Option<f64> {
    let window = call.active.meet(window);
    let fates = call.fates.as_ref()?.iter();
    let fates: Vec<_> = fates.filter(|fate| window.holds(fate.at)).collect();
    // The offset between the clocks is in all delays, so it cancels.
    let fastest = fates.iter().filter_map(|fate| fate.one_way_delay).min()?;
    let (mut sent, mut lost) = (0_u64, 0_u64);
    for fate in &fates {
        let is_late = || {
            let late = fate.one_way_delay.map(|delay| delay - fastest);
            late.is_some_and(|late| late > PLAYOUT_BUFFER)
        };
        sent += fate.packets;
        lost += if fate.is_lost || is_late() {
            fate.packets
        } else {
            0
        };
    }
    let path = call.base_rtt?.as_millis_f64() / 2.0;
    let delay_ms = path + (PLAYOUT_BUFFER + PACKET).as_millis_f64();
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
    Some(mean_opinion_score(delay_ms, lost as f64 / sent as f64))
}
