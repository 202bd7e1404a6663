//! Congestion marks: those that arrived, and those that the queues counted.

use super::amount::Amount;
use super::group::Group;
use super::measures::{Measure, Values};
use super::window::Bin;

pub(super) fn measure(group: &Group<'_>, values: &mut Values) {
    values.set(Measure::MarkRatio, mark_ratio(group));
    values.set(Measure::QueueMarked, queue_marked_packets(group));
}

fn mark_ratio(group: &Group<'_>) -> Option<f64> {
    let senders = || group.senders.iter().filter(|sender| !sender.is_probe);
    let mut bins = senders().flat_map(|sender| &sender.arrived);
    if !bins.all(|bin| bin.ce_packets.is_some()) {
        return None;
    }
    let total = |of: fn(&Bin) -> u64| {
        let amounts = senders().map(|sender| sender.arrived_in(group.window, of));
        amounts.sum::<Amount>().known()
    };
    let packets = total(|bin| bin.packets)?;
    let marked = total(|bin| bin.ce_packets.unwrap_or_default())?;
    (packets > 0.0).then(|| marked / packets)
}

fn queue_marked_packets(group: &Group<'_>) -> Option<f64> {
    // A queue does not count by class.
    if group.class.is_some() {
        return None;
    }
    let marks = group.run.marks.as_ref()?;
    // Packets that wait when the window ends are marked after it.
    let counted = marks
        .iter()
        .filter(|marks| marks.between.until > group.window.from);
    Some(counted.map(|marks| marks.packets as f64).sum())
}
