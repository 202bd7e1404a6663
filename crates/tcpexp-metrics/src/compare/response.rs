//! Reaction of a group of senders to changes of the path.

use tcpexp_units::Timestamp;

use super::group::Group;
use super::measures::{Measure, Values, reached};
use super::window::{Window, rates};
use crate::quantile::median;
use crate::response::{delay_response, rate_response};

/// The RTT has settled once the queueing delay is at most the base RTT, i.e. the RTT is at most twice
/// the base: a queue of one bandwidth-delay product, the buffer that a single Reno flow needs
/// (Villamizar, Song 1994).
const MAX_BASE_RTTS: f64 = 2.0;

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    let windows = after_changes(group);
    let rtts = windows.iter().map(|window| rtt_response(group, *window));
    values.set(Measure::RttResponse, longest(rtts));
    // All classes share the link, so its rate is a property of no single class.
    if group.class.is_none() {
        let rates = windows.iter().map(|window| link_response(group, *window));
        values.set(Measure::RateResponse, longest(rates));
    }
}

/// The windows from each change during the group's activity to the next change.
fn after_changes(group: &Group<'_>) -> Vec<Window> {
    let changes = group.run.changes.iter().copied();
    let inside: Vec<Timestamp> = changes.filter(|at| group.window.holds(*at)).collect();
    let ends = inside.iter().skip(1).copied().chain([group.window.until]);
    let window = |(from, until): (&Timestamp, Timestamp)| Window { from: *from, until };
    inside.iter().zip(ends).map(window).collect()
}

/// The longest time; `None` if there is no time or one is unknown.
fn longest(times: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let times: Option<Vec<f64>> = times.collect();
    times?.into_iter().reduce(f64::max)
}

fn link_response(group: &Group<'_>, window: Window) -> Option<f64> {
    let link = group.run.main_link()?;
    let capacity = link.capacity_bps(window)?;
    let options = group.options;
    let windows = rates(
        &[&link.arrived],
        group.grid?,
        window,
        options.window,
        |bin| bin.link_bytes,
    )?;
    let rates: Vec<f64> = windows.into_iter().flatten().collect();
    let time = rate_response(&rates, capacity, options.delta, options.settling());
    Some(reached(time))
}

fn rtt_response(group: &Group<'_>, window: Window) -> Option<f64> {
    if group.is_captured_elsewhere() {
        return None;
    }
    let samples = || group.senders.iter().flat_map(|sender| &sender.rtts);
    let bases = group.senders.iter().filter_map(|sender| sender.base_rtt);
    let bound = bases.min()?.as_millis_f64() * MAX_BASE_RTTS;
    let in_part = |part: Window| {
        let inside = samples().filter(|(at, _)| part.holds(*at));
        let rtts: Vec<f64> = inside.map(|(_, rtt)| rtt.as_millis_f64()).collect();
        median(&rtts)
    };
    let delays: Vec<Option<f64>> = window.parts(group.options.window).map(in_part).collect();
    Some(reached(delay_response(
        &delays,
        bound,
        group.options.settling(),
    )))
}
