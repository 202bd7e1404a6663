//! Goodput, utilisation, losses and completion times.

use super::amount::Amount;
use super::fates::Fates;
use super::group::Group;
use super::measures::{Measure, Values};
use super::senders::{Sender, Transfer};
use super::window::Window;
use crate::bounds::{Bounds, bounded_percentiles};
use crate::transfer::{
    ideal_completion_s, ideal_goodput_bps, slowdown, tcp_efficiency_percent, transfer_time_ratio,
    utilisation,
};

/// Largest difference between the bounds of a loss ratio that counts as known: half of the last digit of 0.1 %.
/// Without it, a run with no lost packet and one packet of unknown fate would have no loss ratio.
const MOST_UNKNOWN: f64 = 0.0005;

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    let goodput = group.goodput_bps(&group.senders, group.window);
    let goodput = goodput.and_then(Amount::known);
    values.set(Measure::Goodput, goodput);
    values.set(Measure::FlowGoodput, flow_goodput_bps(group));
    values.set(Measure::Utilisation, utilisation_of(group));
    values.set_bounds(Measure::LossRatio, loss_ratio(group));
    let rates = ideal_bps(group).zip(goodput);
    let ratio = rates.and_then(|(ideal, goodput)| transfer_time_ratio(ideal, goodput));
    values.set(Measure::TransferTimeRatio, ratio);
    if let Some((sent, retransmitted)) = sent_bytes(group) {
        let share = (sent > 0).then(|| retransmitted as f64 / sent as f64);
        values.set(Measure::RetransmissionRatio, share);
        values.set(
            Measure::TcpEfficiency,
            tcp_efficiency_percent(sent, retransmitted),
        );
    }
    completions(group, values);
}

impl Group<'_> {
    /// Combined goodput of `senders` over a window; `None` without bins, or for a window without time.
    ///
    /// A sender that is active for a part of the window counts with this share of its own goodput.
    pub(super) fn goodput_bps(&self, senders: &[&Sender], window: Window) -> Option<Amount> {
        // A tool counts each byte, but its bins are interpolated.
        let reported = |sender: &Sender| {
            let goodput = sender.reported_goodput_bps?;
            (sender.active.meet(window) == sender.active).then_some(goodput)
        };
        if let [only] = senders
            && only.active == window
            && let Some(goodput) = reported(only)
        {
            return Some(Amount::exact(goodput));
        }
        let seconds = window.seconds()?;
        let of = |sender: &&Sender| {
            if let Some(goodput) = reported(sender) {
                let share = sender.active.seconds().unwrap_or(0.0) / seconds;
                return Some(Amount::exact(goodput * share));
            }
            self.grid?;
            Some(sender.goodput_in(window) * (8.0 / seconds))
        };
        let all: Option<Vec<Amount>> = senders.iter().map(of).collect();
        let all = all.filter(|all| !all.is_empty() || self.grid.is_some())?;
        Some(all.into_iter().sum())
    }
}

fn flow_goodput_bps(group: &Group<'_>) -> Option<f64> {
    let goodput = |sender: &&Sender| group.goodput_bps(&[sender], sender.active.meet(group.window));
    let goodputs: Vec<Amount> = group.senders.iter().filter_map(goodput).collect();
    // The mean over those with a known goodput only would describe another set of senders.
    let of_one = 1.0 / goodputs.len() as f64;
    let all = (!goodputs.is_empty()).then(|| goodputs.into_iter().sum::<Amount>())?;
    (all * of_one).known()
}

pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn utilisation_of(group: &Group<'_>) -> Option<f64> {
    // Acknowledgments use the link too, so the sum over all classes is over the link's own bins.
    let seconds = group.grid.and_then(|_| group.window.seconds())?;
    let (link, bytes) = if group.class.is_none() {
        let link = group.run.main_link()?;
        let bytes = Amount::within(&link.arrived, link.seen, group.window, |bin| bin.link_bytes);
        (link, bytes)
    } else {
        let link = &group.run.links[group.common(|sender| Some(sender.link))?];
        let arrived = group.senders.iter();
        let arrived = arrived.map(|sender| sender.arrived_in(group.window, |bin| bin.link_bytes));
        (link, arrived.sum())
    };
    utilisation(
        bytes.known_count()?,
        link.capacity_bps(group.window)?,
        seconds,
    )
}

fn loss_ratio(group: &Group<'_>) -> Option<Bounds> {
    let mut all = Fates::default();
    for sender in &group.senders {
        let window = sender.active.meet(group.window);
        all += Fates::of(sender, window, |fate| fate.is_lost)?;
    }
    let share = all.lost_share()?;
    let known = share.known_within(MOST_UNKNOWN);
    Some(known.map_or_else(|| share.bounds(), Bounds::known))
}

/// Payload bytes sent in the window, and those of them that were retransmitted.
fn sent_bytes(group: &Group<'_>) -> Option<(u64, u64)> {
    let mut first = Amount::default();
    let mut retransmitted = 0;
    for sender in &group.senders {
        let window = sender.active.meet(group.window);
        let again = sender.retransmitted.as_ref()?.iter();
        let again = again.filter(|(at, _)| window.holds(*at));
        retransmitted += again.map(|(_, bytes)| bytes).sum::<u64>();
        // The bins hold each byte once, without its retransmissions.
        let sent = Amount::within(&sender.sent, sender.seen, window, |bin| bin.goodput_bytes);
        first = first + sent;
    }
    Some((first.known_count()? + retransmitted, retransmitted))
}

/// The goodput of full-sized segments at the capacity of the link.
fn ideal_bps(group: &Group<'_>) -> Option<f64> {
    let segment = group.common(|sender| sender.segment)?;
    let link = &group.run.links[group.common(|sender| Some(sender.link))?];
    let capacity = link.capacity_bps(group.window)?;
    ideal_goodput_bps(capacity, segment.payload_bytes, segment.link_bytes)
}

fn completions(group: &Group<'_>, values: &mut Values) {
    let (mut times, mut slowdowns) = (Vec::new(), Vec::new());
    for sender in &group.senders {
        // A transfer that began during the warm-up does not count, even if it ended later.
        let counted = |transfer: &&Transfer| transfer.at >= group.window.from;
        for transfer in sender.transfers.iter().filter(counted) {
            times.push(transfer.completion.seconds());
            slowdowns.extend(slowdown_of(group, sender, transfer));
        }
    }
    // Percentiles over the transfers with a known slowdown only would describe another set of
    // transfers.
    if slowdowns.len() == times.len() {
        let measures = [Measure::SlowdownMedian, Measure::SlowdownP95];
        set_percentiles(values, measures, &slowdowns);
    }
    values.set_bounds(Measure::LoadTime, load_time_s(group));
    let measures = [Measure::CompletionMedian, Measure::CompletionP95];
    set_percentiles(values, measures, &times);
}

/// Sets the median and the 95th percentile of `numbers`.
fn set_percentiles(values: &mut Values, measures: [Measure; 2], numbers: &[Bounds]) {
    let found = bounded_percentiles(numbers, [0.5, 0.95]);
    for (place, measure) in measures.into_iter().enumerate() {
        values.set_bounds(measure, found.map(|found| found[place]));
    }
}

/// Time from the start of the first counted transfer to the end of the last; `None` without transfers.
fn load_time_s(group: &Group<'_>) -> Option<Bounds> {
    let transfers = group.senders.iter().flat_map(|sender| &sender.transfers);
    let counted: Vec<&Transfer> = transfers
        .filter(|transfer| transfer.at >= group.window.from)
        .collect();
    let first = counted.iter().map(|transfer| transfer.at).min()?;
    let end = |transfer: &&Transfer| {
        let start = (transfer.at - first).as_seconds_f64();
        transfer.completion.seconds().map(|time| start + time)
    };
    let latest = |a: Bounds, b: Bounds| Bounds {
        least: a.least.max(b.least),
        most: a.most.max(b.most),
    };
    counted.iter().map(end).reduce(latest)
}

fn slowdown_of(group: &Group<'_>, sender: &Sender, transfer: &Transfer) -> Option<Bounds> {
    let segment = sender.segment?;
    let capacity = group.run.links[sender.link].capacity_at(transfer.at)?;
    let ideal = ideal_goodput_bps(capacity, segment.payload_bytes, segment.link_bytes)?;
    let ideal = ideal_completion_s(transfer.bytes, ideal, sender.base_rtt?.as_seconds_f64())?;
    let Bounds { least, most } = transfer.completion.seconds();
    Some(Bounds {
        least: slowdown(least, ideal)?,
        most: slowdown(most, ideal)?,
    })
}
