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
    /// Packets that arrived, sent in the window or outside it.
    pub(super) untimed: u64,
    /// Packets with an unknown fate, sent in the window or outside it.
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
        let mut all = Self {
            untimed: sender.untimed_packets,
            unknown: sender.unknown_packets,
            ..Self::default()
        };
        let mut window = window;
        if let Some(open) = OpenBins::of(sender, fates) {
            window = open.without_outside(window, sender.outside_packets);
            let in_window = open.packets(window);
            all.untimed = all.untimed.min(in_window);
            all.unknown = all.unknown.min(in_window);
        }
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

/// The bins of a sender that sent packets, in order of time.
struct OpenBins(Vec<OpenBin>);

struct OpenBin {
    window: Window,
    /// Packets sent.
    sent: u64,
    /// Packets sent that are not among the fates; negative if a fate has its time in the next bin.
    open: i64,
}

impl OpenBins {
    /// `None` if the bins count other packets than the fates: they cannot show where the others are.
    fn of(sender: &Sender, fates: &[Fate]) -> Option<Self> {
        let sends = sender.sent.iter().filter(|bin| bin.packets > 0);
        let mut bins: BTreeMap<Timestamp, OpenBin> = BTreeMap::new();
        for bin in sends {
            let window = Window {
                from: bin.start,
                until: bin.start + bin.width,
            };
            let (sent, open) = (bin.packets, i64::try_from(bin.packets).ok()?);
            bins.insert(bin.start, OpenBin { window, sent, open });
        }
        for fate in fates {
            let (_, bin) = bins.range_mut(..=fate.at).next_back()?;
            bin.open -= i64::try_from(fate.packets).ok()?;
        }
        let counted: i64 = bins.values().map(|bin| bin.open).sum();
        let others = sender.untimed_packets + sender.unknown_packets;
        (u64::try_from(counted) == Ok(others)).then(|| Self(bins.into_values().collect()))
    }

    /// The part of a window in which the capture of the receiver was running, given the number of packets sent
    /// outside that time. The whole window if this part has less than half of its packets.
    ///
    /// Just before the capture of the receiver ends, delivered packets are known and lost ones are not, so these
    /// bins would show too few losses. Other packets of unknown fate are where losses are, so leaving out their
    /// bins would do so too.
    fn without_outside(&self, window: Window, outside: u64) -> Window {
        let at_end = outside_bins(self.0.iter().rev(), outside);
        let rest = outside.saturating_sub(at_end.packets);
        let at_start = outside_bins(self.0.iter(), rest);
        let kept = at_start.bins..self.0.len().saturating_sub(at_end.bins);
        let kept = self.0.get(kept).unwrap_or_default();
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else {
            return window;
        };
        let mut part = window;
        if at_start.bins > 0 {
            part.from = part.from.max(first.window.from);
        }
        if at_end.bins > 0 {
            part.until = part.until.min(last.window.until);
        }
        let sent = |window| -> u64 { self.in_window(window).map(|bin| bin.sent).sum() };
        if 2 * sent(part) >= sent(window) {
            part
        } else {
            window
        }
    }

    /// Largest number of packets not among the fates that may have been sent in a window.
    fn packets(&self, window: Window) -> u64 {
        let bins = self.in_window(window);
        bins.map(|bin| u64::try_from(bin.open).unwrap_or(0)).sum()
    }

    fn in_window(&self, window: Window) -> impl Iterator<Item = &OpenBin> {
        self.0.iter().filter(move |bin| {
            let inside = bin.window.meet(window);
            inside.from < inside.until
        })
    }
}

/// Bins at one end of the captures, and their packets that are not among the fates.
#[derive(Default)]
struct AtEnd {
    bins: usize,
    packets: u64,
}

/// The first bins that have packets not among the fates, as many as hold `outside` of them.
fn outside_bins<'a>(bins: impl Iterator<Item = &'a OpenBin>, outside: u64) -> AtEnd {
    let mut found = AtEnd::default();
    for bin in bins {
        if bin.open <= 0 || found.packets >= outside {
            break;
        }
        found.bins += 1;
        found.packets += u64::try_from(bin.open).unwrap_or(0);
    }
    found
}

impl AddAssign for Fates {
    fn add_assign(&mut self, other: Self) {
        self.arrived += other.arrived;
        self.lost += other.lost;
        self.untimed += other.untimed;
        self.unknown += other.unknown;
    }
}
