//! Totals over the bins of a window, within bounds where a bin is only partly inside.

use std::iter::Sum;
use std::ops::{Add, Mul};

use super::window::{Bin, Window};
use crate::bounds::Bounds;

/// Largest error of a total that still counts as known, as a share of the total: half the deviation from an
/// equal share that is tolerated by default ([`Options::delta`](super::Options)). At most two bins are partly
/// inside a window, so the error of a steady sender is less than two bins, and its total is known in a window of
/// 40 bins or more.
const MAX_ERROR: f64 = 0.05;

/// A total over the bins of a window.
///
/// The packets of a bin that is partly inside the window may all be inside, or all outside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Amount {
    /// All bins partly inside the window are left out.
    least: f64,
    /// Bins count by the share of their time that is inside the window.
    likely: f64,
    /// All bins partly inside the window count in full.
    most: f64,
}

impl Amount {
    /// An amount without an error.
    pub(super) const fn exact(value: f64) -> Self {
        Self {
            least: value,
            likely: value,
            most: value,
        }
    }

    /// An amount that is at least `least`, at most `most`, and most likely `likely`.
    pub(super) const fn between(least: f64, likely: f64, most: f64) -> Self {
        Self {
            least,
            likely,
            most,
        }
    }

    /// The amount of a non-increasing function of this one.
    pub(super) fn falling(self, of: impl Fn(f64) -> f64) -> Self {
        Self {
            least: of(self.most),
            likely: of(self.likely),
            most: of(self.least),
        }
    }

    /// The same amount if any part of it may not count.
    pub(super) const fn without_start(self) -> Self {
        Self { least: 0.0, ..self }
    }

    /// The same amount if any number more may be inside the window.
    pub(super) const fn without_end(self) -> Self {
        Self {
            most: f64::INFINITY,
            ..self
        }
    }

    /// The likely amount if it is known, and otherwise the bounds of the amount.
    pub(super) fn bounds(self) -> Bounds {
        let bounds = Bounds {
            least: self.least,
            most: self.most,
        };
        self.known().map_or(bounds, Bounds::known)
    }

    /// The amount that `of` selects of the bins in `window`. The flows sent their first and last packet at the
    /// ends of `seen`; if it is unknown, packets may be anywhere in their bin.
    pub(super) fn within(
        bins: &[Bin],
        seen: Option<Window>,
        window: Window,
        of: impl Fn(&Bin) -> u64,
    ) -> Self {
        let in_window = |bin: &Bin| {
            let extent = extent(bin, seen);
            let length = (extent.until - extent.from).as_nanos();
            let inside = extent.meet(window);
            let inside = (inside.until - inside.from).as_nanos();
            let all = of(bin) as f64;
            match inside {
                ..=0 => Self::default(),
                inside if inside == length => Self::exact(all),
                inside => Self {
                    least: 0.0,
                    likely: all * (inside as f64 / length as f64),
                    most: all,
                },
            }
        };
        bins.iter().map(in_window).sum()
    }

    /// The amount; `None` if its error may exceed [`MAX_ERROR`].
    pub(super) fn known(self) -> Option<f64> {
        let error = (self.most - self.likely).max(self.likely - self.least);
        (error <= MAX_ERROR * self.likely).then_some(self.likely)
    }

    /// The likely amount; `None` if its bounds are more than `tolerance` apart.
    pub(super) fn known_within(self, tolerance: f64) -> Option<f64> {
        (self.most - self.least <= tolerance).then_some(self.likely)
    }

    /// The amount as a count; `None` as for [`Amount::known`].
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a sum of counts below 2^53"
    )]
    pub(super) fn known_count(self) -> Option<u64> {
        self.known().map(|amount| amount.round() as u64)
    }
}

/// The part of a bin's time that may have packets.
///
/// Packets that arrive after the last one left count as arriving when it left, so a window that contains
/// `seen` contains all of them.
fn extent(bin: &Bin, seen: Option<Window>) -> Window {
    let whole = Window {
        from: bin.start,
        until: bin.start + bin.width,
    };
    let Some(seen) = seen else {
        return whole;
    };
    let part = whole.meet(seen);
    if part.from < part.until {
        return part;
    }
    let end = if whole.from < seen.from {
        seen.from
    } else {
        seen.last()
    };
    Window::with_both(end, end)
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            least: self.least + other.least,
            likely: self.likely + other.likely,
            most: self.most + other.most,
        }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

impl Mul<f64> for Amount {
    type Output = Self;

    fn mul(self, factor: f64) -> Self {
        Self {
            least: self.least * factor,
            likely: self.likely * factor,
            most: self.most * factor,
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_units::{TimeDelta, Timestamp};

    use super::*;

    fn window(from: i64, until: i64) -> Window {
        let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
        Window {
            from: at(from),
            until: at(until),
        }
    }

    /// Bins of 100 ms from 0 on with the given bytes.
    fn bins(bytes: &[u64]) -> Vec<Bin> {
        let bin = |(place, bytes): (i64, &u64)| Bin {
            start: window(100 * place, 0).from,
            width: TimeDelta::from_millis(100),
            covered: TimeDelta::from_millis(100),
            link_bytes: *bytes,
            goodput_bytes: *bytes,
            packets: 1,
            ce_packets: None,
        };
        (0..).zip(bytes).map(bin).collect()
    }

    fn amount(bins: &[Bin], seen: Option<Window>, from: i64, until: i64) -> Amount {
        Amount::within(bins, seen, window(from, until), |bin| bin.goodput_bytes)
    }

    #[test]
    fn bins_partly_inside_the_window_leave_the_total_open() {
        let bins = bins(&[10; 40]);
        assert_eq!(amount(&bins, None, 100, 300), Amount::exact(20.0));
        let coarse = amount(&bins, None, 150, 320);
        assert_eq!(coarse.known(), None);
        assert_eq!(
            (coarse.least, coarse.likely, coarse.most),
            (10.0, 17.0, 30.0)
        );
        assert_eq!(amount(&bins, None, 150, 3_150).known(), Some(300.0));
        assert_eq!(amount(&bins, None, 300, 100).known(), Some(0.0));
        assert_eq!(amount(&bins, None, 9_000, 9_010).known(), Some(0.0));
    }

    #[test]
    fn bins_count_in_full_if_all_packets_are_inside_the_window() {
        // The packets are from 70 to 210 ms.
        let bins = bins(&[3, 10, 1]);
        let seen = Some(window(70, 210));
        assert_eq!(amount(&bins, seen, 70, 210), Amount::exact(14.0));
        assert_eq!(amount(&bins, seen, 0, 1_000), Amount::exact(14.0));
        // The first bin has no packets before 70 ms: a third of its time with packets is inside.
        let cut = amount(&bins, seen, 90, 210);
        assert!((cut.likely - 12.0).abs() < 1e-9, "{cut:?}");
        assert_eq!((cut.least, cut.most), (11.0, 14.0));
    }

    #[test]
    fn packets_that_arrive_after_the_last_one_left_count_as_arriving_when_it_left() {
        let bins = bins(&[0, 10, 10]);
        let seen = Some(window(0, 150));
        assert_eq!(amount(&bins, seen, 0, 150), Amount::exact(20.0));
        let cut = amount(&bins, seen, 0, 140);
        assert_eq!((cut.least, cut.likely, cut.most), (0.0, 8.0, 10.0));
    }
}
