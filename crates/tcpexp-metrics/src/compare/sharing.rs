//! Fairness between the senders of a group.

use super::group::Group;
use super::measures::{Measure, Values, reached};
use super::rates::mean;
use super::senders::Sender;
use super::window::{Bin, Window, rates};
use crate::fairness::{
    convergence_time, epsilon, jain, jain_windows, max_min_ratio, rtt_unfairness_exponent,
};

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    let sharing: Vec<&Sender> = match group.class {
        Some(_) => group.senders.clone(),
        // A sender with little to send gets little without being treated unfairly.
        None => bulk(&group.senders),
    };
    if sharing.len() > 1 {
        among(group, &sharing, values);
    }
    values.set(Measure::ShareRatio, share_ratio(group));
}

fn bulk<'a>(senders: &[&'a Sender]) -> Vec<&'a Sender> {
    senders
        .iter()
        .copied()
        .filter(|sender| sender.is_bulk)
        .collect()
}

fn among(group: &Group<'_>, senders: &[&Sender], values: &mut Values) -> Option<()> {
    let (grid, together) = (group.grid?, all_active(senders)?);
    let series: Vec<&[Bin]> = senders
        .iter()
        .map(|sender| sender.arrived.as_slice())
        .collect();
    let cut = |window| {
        let width = group.options.window;
        let is_resolved = |sender: &&Sender| sender.resolves(window, width);
        senders.iter().all(is_resolved).then_some(())?;
        rates(&series, grid, window, width, |bin| bin.goodput_bytes)
    };
    // Convergence starts when the last sender joins, so the warm-up does not apply.
    let (delta, settling) = (group.options.delta, group.options.settling());
    let time = cut(together).map(|parts| convergence_time(&parts, delta, settling));
    values.set(Measure::Convergence, time.map(reached));

    let window = together.meet(group.window);
    if let Some(in_windows) = cut(window).and_then(|parts| jain_windows(&parts)) {
        values.set(Measure::JainWindowMin, Some(in_windows.min));
        values.set(Measure::JainWindowMedian, Some(in_windows.median));
        values.set(Measure::JainWindowFairShare, Some(in_windows.fair_share));
    }
    let goodputs = goodputs(group, senders, window)?;
    values.set(Measure::Jain, jain(&goodputs));
    values.set(Measure::MaxMinRatio, max_min_ratio(&goodputs));
    values.set(Measure::Epsilon, epsilon(&goodputs));
    let bases = senders.iter().map(|sender| sender.base_rtt);
    let bases: Option<Vec<f64>> = bases.map(|base| Some(base?.as_seconds_f64())).collect();
    if let Some(bases) = bases {
        let flows: Vec<(f64, f64)> = bases.into_iter().zip(goodputs).collect();
        values.set(Measure::RttUnfairness, rtt_unfairness_exponent(&flows));
    }
    Some(())
}

fn goodputs(group: &Group<'_>, senders: &[&Sender], window: Window) -> Option<Vec<f64>> {
    let goodput = |sender: &&Sender| group.goodput_bps(&[sender], window)?.known();
    senders.iter().map(goodput).collect()
}

/// The window in which all senders are active; `None` if there is none.
fn all_active(senders: &[&Sender]) -> Option<Window> {
    let active = senders.iter().map(|sender| sender.active);
    let together = active.reduce(Window::meet)?;
    (together.from < together.until).then_some(together)
}

fn share_ratio(group: &Group<'_>) -> Option<f64> {
    let class = group.class.as_ref()?;
    let all: Vec<&Sender> = group.run.senders.iter().collect();
    let all = bulk(&all);
    let window = all_active(&all)?.meet(group.window);
    let (own, others): (Vec<&Sender>, Vec<&Sender>) =
        all.into_iter().partition(|sender| sender.class == *class);
    let own = mean(&goodputs(group, &own, window)?)?;
    let others = mean(&goodputs(group, &others, window)?)?;
    (others > 0.0).then(|| own / others)
}
