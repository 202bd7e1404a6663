//! Shares of lost packets, within bounds where packets have an unknown fate.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use tcpexp_units::Timestamp;

use super::amount::Amount;
use super::senders::{Fate, Sender};
use super::window::Window;

/// Packets of senders by fate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fates {
    /// Packets sent in the window and delivered.
    pub(super) arrived: u64,
    /// Packets sent in the window and lost.
    pub(super) lost: u64,
    /// Packets that arrived, sent at unknown times.
    pub(super) untimed: u64,
    /// Packets with an unknown fate, sent at unknown times.
    pub(super) unknown: u64,
}

impl Fates {
    /// Counts the packets of a sender. A packet is lost as `is_lost` decides. `None` if only one end was
    /// captured.
    pub(super) fn of(
        sender: &Sender,
        window: Window,
        is_lost: impl Fn(&Fate) -> bool,
    ) -> Option<Self> {
        let fates = sender.fates.as_ref()?;
        let decided = decided(sender, fates, window);
        let mut all = Self::default();
        if decided.is_none() {
            (all.untimed, all.unknown) = (sender.untimed_packets, sender.unknown_packets);
        }
        let window = decided.unwrap_or(window);
        for fate in fates.iter().filter(|fate| window.holds(fate.at)) {
            if is_lost(fate) {
                all.lost += fate.packets;
            } else {
                all.arrived += fate.packets;
            }
        }
        Some(all)
    }

    /// The share of lost packets; `None` without a packet whose fate is known.
    ///
    /// The send times of the other packets are unknown, so all or none of them may be in the window. Those with an
    /// unknown fate may all be lost.
    #[expect(clippy::cast_precision_loss, reason = "counts below 2^52")]
    pub(super) fn lost_share(self) -> Option<Amount> {
        let known = self.arrived + self.lost;
        let share = |lost: u64, sent: u64| lost as f64 / sent as f64;
        (known > 0).then(|| {
            Amount::between(
                share(self.lost, known + self.untimed + self.unknown),
                share(self.lost, known + self.untimed),
                share(self.lost + self.unknown, known + self.unknown),
            )
        })
    }
}

/// The longest part of a window in which each packet has a known fate; `None` if it is shorter than half of the
/// window, or if the bins do not show it.
///
/// Just before the capture of the receiver ends, delivered packets are known and lost ones are not. Bins with
/// packets of unknown fate are left out, so that both count or neither.
fn decided(sender: &Sender, fates: &[Fate], window: Window) -> Option<Window> {
    let others = sender.untimed_packets + sender.unknown_packets;
    if others == 0 {
        return Some(window);
    }
    // In each bin, the packets that were sent and have no known fate.
    let bins = sender.sent.iter();
    let mut open: BTreeMap<Timestamp, (i64, Window)> = bins
        .map(|bin| {
            let until = bin.start + bin.width;
            let packets = i64::try_from(bin.packets).unwrap_or(i64::MAX);
            let from = bin.start;
            (from, (packets, Window { from, until }))
        })
        .collect();
    let (first, last) = (open.first_key_value()?.1.1, open.last_key_value()?.1.1);
    let window = window.meet(first.span_with(last));
    for fate in fates {
        let (_, (packets, _)) = open.range_mut(..=fate.at).next_back()?;
        *packets -= i64::try_from(fate.packets).ok()?;
    }
    open.retain(|_, (packets, _)| *packets != 0);
    // If the bins count other packets than the fates, they cannot show which ones are unknown.
    let counted: i64 = open.values().map(|(packets, _)| packets).sum();
    if u64::try_from(counted) != Ok(others) {
        return None;
    }
    let starts = open.values().map(|(_, bin)| bin.from);
    let ends = open.values().map(|(_, bin)| bin.until);
    let starts = starts.chain([window.until]);
    let parts = [window.from].into_iter().chain(ends).zip(starts);
    let parts = parts.map(|(from, until)| Window { from, until }.meet(window));
    let longest = parts.max_by_key(|part| part.until - part.from)?;
    let length = longest.until - longest.from;
    (length + length >= window.until - window.from).then_some(longest)
}

impl AddAssign for Fates {
    fn add_assign(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.untimed += other.untimed;
        self.unknown += other.unknown;
    }
}
