//! Which part of a run counts, and what arrived in it.

use tcpexp_units::{TimeDelta, Timestamp};

/// A part of a run, from its start to before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first point in it.
    pub from: Timestamp,
    /// The first point after it.
    pub until: Timestamp,
}

/// What passed in a short time.
///
/// The bins of one capture have one width and follow each other without gaps, but those in which
/// nothing passed may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// When it starts.
    pub start: Timestamp,
    /// How long it is.
    pub width: TimeDelta,
    /// Bytes that count against the capacity of the link.
    pub link_bytes: u64,
    /// Bytes of payload that came for the first time.
    pub goodput_bytes: u64,
}

/// What all bins of a window have together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) link_bytes: u64,
    pub(super) goodput_bytes: u64,
}

/// The bins that a capture has or could have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    width: i64,
    /// The middle of some bin, doubled so that it is whole.
    middle: i64,
}

impl Window {
    /// What both have in common, which may be nothing.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            until: self.until.min(other.until),
        }
    }

    /// From the first point of either to the last.
    #[must_use]
    pub fn span_with(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            until: self.until.max(other.until),
        }
    }

    /// Whether a point lies in it.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.until
    }

    /// Parts of so long, one after another, without what is left at the end.
    pub(super) fn parts(self, width: TimeDelta) -> impl Iterator<Item = Self> {
        let starts = std::iter::successors(Some(self.from), move |from| Some(*from + width));
        starts
            .map(move |from| Self {
                from,
                until: from + width,
            })
            .take_while(move |part| part.until <= self.until && part.from < part.until)
    }
}

impl Bin {
    /// A bin is where its middle is: bins seldom start where a window does.
    fn middle(&self) -> Timestamp {
        self.start + TimeDelta::from_nanos(self.width.as_nanos() / 2)
    }
}

impl Grid {
    /// The grid of bins of one capture; `None` without any.
    pub(super) fn of<'a>(mut bins: impl Iterator<Item = &'a Bin>) -> Option<Self> {
        let bin = bins.next()?;
        let width = bin.width.as_nanos();
        (width > 0).then(|| Self {
            width,
            middle: bin.middle().as_nanos(),
        })
    }

    /// How long the bins of a window are together, in seconds: those that could be there, with or
    /// without traffic.
    pub(super) fn seconds(&self, window: Window) -> f64 {
        let before = |at: Timestamp| {
            let after = i128::from(at.as_nanos()) - i128::from(self.middle);
            let width = i128::from(self.width);
            after.div_euclid(width) + i128::from(after.rem_euclid(width) > 0)
        };
        let bins = (before(window.until) - before(window.from)).max(0);
        bins as f64 * self.width as f64 / 1e9
    }
}

/// The bins of a window together.
pub(super) fn sum<'a>(bins: impl IntoIterator<Item = &'a Bin>, window: Window) -> Sum {
    let inside = bins.into_iter().filter(|bin| window.holds(bin.middle()));
    inside.fold(Sum::default(), |sum, bin| Sum {
        link_bytes: sum.link_bytes + bin.link_bytes,
        goodput_bytes: sum.goodput_bytes + bin.goodput_bytes,
    })
}

/// Rates of `bytes` of several series in each part of a window, in bits per second.
pub(super) fn rates(
    series: &[&[Bin]],
    grid: Grid,
    window: Window,
    width: TimeDelta,
    bytes: fn(&Bin) -> u64,
) -> Vec<Vec<f64>> {
    let parts: Vec<Window> = window.parts(width).collect();
    let mut sums = vec![vec![0_u64; series.len()]; parts.len()];
    for (column, bins) in series.iter().enumerate() {
        for bin in *bins {
            let after = (bin.middle() - window.from)
                .as_nanos()
                .div_euclid(width.as_nanos());
            let part = usize::try_from(after)
                .ok()
                .and_then(|part| sums.get_mut(part));
            if let Some(part) = part {
                part[column] += bytes(bin);
            }
        }
    }
    let rate = |(part, sums): (&Window, Vec<u64>)| {
        let seconds = grid.seconds(*part);
        let rates = sums.into_iter().map(|sum| sum as f64 * 8.0 / seconds);
        (seconds > 0.0).then(|| rates.collect())
    };
    parts.iter().zip(sums).filter_map(rate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    fn window(from: i64, until: i64) -> Window {
        Window {
            from: at(from),
            until: at(until),
        }
    }

    /// Bins of 100 ms, the first at 30 ms, with so many bytes each.
    fn bins(bytes: &[u64]) -> Vec<Bin> {
        let bin = |(place, bytes): (usize, &u64)| Bin {
            start: at(30 + 100 * i64::try_from(place).unwrap()),
            width: TimeDelta::from_millis(100),
            link_bytes: bytes + 1,
            goodput_bytes: *bytes,
        };
        bytes.iter().enumerate().map(bin).collect()
    }

    #[test]
    fn a_bin_is_in_the_window_that_its_middle_is_in() {
        let bins = bins(&[1, 10, 100, 1000]);
        // Middles at 80, 180, 280 and 380 ms.
        let goodput = |from, until| sum(&bins, window(from, until)).goodput_bytes;
        assert_eq!(goodput(0, 1000), 1111);
        assert_eq!(goodput(80, 380), 111);
        assert_eq!(goodput(81, 381), 1110);
        assert_eq!(sum(&bins, window(150, 200)).link_bytes, 11);
        assert_eq!(goodput(200, 100), 0);
    }

    #[test]
    fn time_without_traffic_counts() {
        let grid = Grid::of(bins(&[5]).iter()).unwrap();
        let tenths = |from, until| (grid.seconds(window(from, until)) * 10.0).round();
        let expected = [
            (0, 1000, 10.0),
            (80, 180, 1.0),
            (81, 180, 0.0),
            (81, 181, 1.0),
            (-500, 0, 5.0),
            (9, 3, 0.0),
        ];
        for (from, until, bins) in expected {
            assert!(
                (tenths(from, until) - bins).abs() < 0.1,
                "{from} to {until}"
            );
        }
        assert!(Grid::of([].iter()).is_none());
    }

    #[test]
    fn the_parts_of_a_window_leave_no_rest() {
        let parts: Vec<_> = window(0, 350).parts(TimeDelta::from_millis(100)).collect();
        assert_eq!(parts, [window(0, 100), window(100, 200), window(200, 300)]);
        assert_eq!(window(0, 0).parts(TimeDelta::from_millis(1)).count(), 0);
        assert_eq!(window(0, 9).parts(TimeDelta::ZERO).count(), 0);
    }

    #[test]
    fn rates_stand_side_by_side() {
        let (a, b) = (bins(&[100, 200, 300, 400]), bins(&[0, 25]));
        let width = TimeDelta::from_millis(200);
        let grid = Grid::of(a.iter()).unwrap();
        let rates = rates(&[&a, &b], grid, window(0, 400), width, |bin| {
            bin.goodput_bytes
        });
        // 300 and 25 bytes in 200 ms, then 700 and none.
        assert_eq!(rates, [[12_000.0, 1_000.0], [28_000.0, 0.0]]);
    }
}
