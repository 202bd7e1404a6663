//! Time windows of a run, and the traffic inside them.

use tcpexp_units::{TimeDelta, Timestamp};

/// The least time between two timestamps.
const LEAST: TimeDelta = TimeDelta::from_nanos(1);

/// A half-open interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start, inside the window.
    pub from: Timestamp,
    /// End, outside the window.
    pub until: Timestamp,
}

/// Traffic within one bin of time.
///
/// All bins of a capture have one width and lie on one grid; empty bins may be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Start of the bin.
    pub start: Timestamp,
    /// Width of the bin.
    pub width: TimeDelta,
    /// The part of the bin between the first and the last packet of the capture.
    pub covered: TimeDelta,
    /// Bytes that count against the capacity of the link.
    pub link_bytes: u64,
    /// Payload bytes without retransmissions.
    pub goodput_bytes: u64,
    /// Number of packets.
    pub packets: u64,
    /// Of these, the packets with the ECN codepoint CE; `None` if unknown.
    pub ce_packets: Option<u64>,
}

/// The grid of a capture's bins, including empty ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    width: i64,
    /// Middle of one bin of the grid, in nanoseconds.
    middle: i64,
    /// Start of the capture's last bin, and its last packet.
    last: (Timestamp, Timestamp),
}

impl Window {
    /// The intersection; may be empty.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        Self {
            from: self.from.max(other.from),
            until: self.until.min(other.until),
        }
    }

    /// The smallest window that contains both.
    #[must_use]
    pub fn span_with(self, other: Self) -> Self {
        Self {
            from: self.from.min(other.from),
            until: self.until.max(other.until),
        }
    }

    /// The window from a packet to a later one, both inside.
    #[must_use]
    pub fn with_both(first: Timestamp, last: Timestamp) -> Self {
        Self {
            from: first,
            until: last + LEAST,
        }
    }

    /// The last point in time inside.
    pub(super) fn last(self) -> Timestamp {
        self.until - LEAST
    }

    /// Its length in seconds; `None` if it is empty or contains a single point in time, where nothing has a
    /// rate.
    pub(super) fn seconds(self) -> Option<f64> {
        let length = self.until - self.from;
        (length > LEAST).then(|| length.as_seconds_f64())
    }

    /// True if the window contains `at`.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.until
    }

    /// Consecutive parts of `width`, without the remainder at the end.
    pub(super) fn parts(self, width: TimeDelta) -> impl Iterator<Item = Self> {
        let starts = std::iter::successors(Some(self.from), move |from| Some(*from + width));
        starts
            .map(move |from| Self {
                from,
                until: from + width,
            })
            // A width of 0 would give empty parts without end.
            .take_while(move |part| part.until <= self.until && part.from < part.until)
    }
}

impl Bin {
    /// Middle of the bin, which decides the part of a window that it belongs to in [`rates`]: bins seldom start
    /// where parts do.
    fn middle(&self) -> Timestamp {
        self.start + TimeDelta::from_nanos(self.width.as_nanos() / 2)
    }
}

impl Grid {
    /// The grid of the bins of one capture; `None` without bins.
    pub(super) fn of<'a>(bins: impl Iterator<Item = &'a Bin>) -> Option<Self> {
        let bin = bins.max_by_key(|bin| bin.start)?;
        let width = bin.width.as_nanos();
        (width > 0).then(|| Self {
            width,
            middle: bin.middle().as_nanos(),
            last: (bin.start, bin.start + bin.covered),
        })
    }

    /// Total time of the grid's bins in a window, empty ones included, in seconds.
    ///
    /// Bins count in full, but the last bin of the capture ends with the window or with its last packet,
    /// whichever is later: nothing arrived after it, and a window that ends there has no time left.
    pub(super) fn seconds(&self, window: Window) -> f64 {
        let before = |at: Timestamp| {
            let after = i128::from(at.as_nanos()) - i128::from(self.middle);
            let width = i128::from(self.width);
            // `after / width`, rounded up, counts the middles before `at` from `self.middle` on.
            // Earlier times give a negative count.
            after.div_euclid(width) + i128::from(after.rem_euclid(width) > 0)
        };
        // The intersection of disjoint windows ends before it starts.
        let bins = (before(window.until) - before(window.from)).max(0);
        (bins as f64 * self.width as f64 - self.beyond(window).as_nanos() as f64) / 1e9
    }

    /// The part of the capture's last bin that is beyond the window and the capture.
    fn beyond(&self, window: Window) -> TimeDelta {
        let (start, last_packet) = self.last;
        let width = TimeDelta::from_nanos(self.width);
        let end = start + width;
        if !window.holds(start + TimeDelta::from_nanos(self.width / 2)) {
            return TimeDelta::ZERO;
        }
        end - last_packet.max(window.until.min(end))
    }
}

/// Rates of several series in consecutive parts of a window, in bits per second.
///
/// `bytes` selects the bytes of a bin. Parts without a bin are left out. `None` if the parts are shorter than
/// a bin, which does not show how the rate changes inside it.
pub(super) fn rates(
    series: &[&[Bin]],
    grid: Grid,
    window: Window,
    width: TimeDelta,
    bytes: fn(&Bin) -> u64,
) -> Option<Vec<Vec<f64>>> {
    if width.as_nanos() < grid.width {
        return None;
    }
    let parts: Vec<Window> = window.parts(width).collect();
    let mut sums = vec![vec![0_u64; series.len()]; parts.len()];
    for (column, bins) in series.iter().enumerate() {
        for bin in *bins {
            let after = (bin.middle() - window.from)
                .as_nanos()
                // Rounded down, so that bins before the window get a negative number and are left
                // out.
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
    Some(parts.iter().zip(sums).filter_map(rate).collect())
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

    /// Bins of 100 ms with the given bytes, the first at 30 ms.
    fn bins(bytes: &[u64]) -> Vec<Bin> {
        let bin = |(place, bytes): (usize, &u64)| Bin {
            start: at(30 + 100 * i64::try_from(place).unwrap()),
            width: TimeDelta::from_millis(100),
            covered: TimeDelta::from_millis(100),
            link_bytes: bytes + 1,
            goodput_bytes: *bytes,
            packets: 1,
            ce_packets: None,
        };
        bytes.iter().enumerate().map(bin).collect()
    }

    #[test]
    fn empty_bins_count_as_time() {
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
    fn the_last_bin_of_a_capture_counts_by_its_true_length() {
        let mut bins = bins(&[1, 2, 3]);
        // The last bin, from 230 to 330 ms, has its last packet at 290 ms.
        bins[2].covered = TimeDelta::from_millis(60);
        let grid = Grid::of(bins.iter()).unwrap();
        let millis = |from, until| (grid.seconds(window(from, until)) * 1e3).round();
        let expected = [
            // The window ends with the capture, within the bin after it, and after the bin.
            (30, 290, 260.0),
            (30, 310, 280.0),
            (30, 330, 300.0),
            (30, 1030, 1000.0),
            // The middle of the bin, with its bytes, is in the window, and the last packet is not.
            (30, 285, 260.0),
            // The window ends before the middle of the bin.
            (30, 270, 200.0),
        ];
        for (from, until, time) in expected {
            assert!(
                (millis(from, until) - time).abs() < 0.1,
                "{from} to {until}"
            );
        }
    }

    #[test]
    fn parts_of_a_window_leave_out_the_remainder() {
        let parts: Vec<_> = window(0, 350).parts(TimeDelta::from_millis(100)).collect();
        assert_eq!(parts, [window(0, 100), window(100, 200), window(200, 300)]);
        assert_eq!(window(0, 0).parts(TimeDelta::from_millis(1)).count(), 0);
        assert_eq!(window(0, 9).parts(TimeDelta::ZERO).count(), 0);
    }

    #[test]
    fn rates_of_each_part_list_all_series_unless_a_part_is_shorter_than_a_bin() {
        let (a, b) = (bins(&[100, 200, 300, 400]), bins(&[0, 25]));
        let width = TimeDelta::from_millis(200);
        let grid = Grid::of(a.iter()).unwrap();
        let in_parts = |width: TimeDelta| {
            rates(&[&a, &b], grid, window(0, 400), width, |bin| {
                bin.goodput_bytes
            })
        };
        // 300 and 25 bytes in 200 ms, then 700 and none.
        let expected = vec![vec![12_000.0, 1_000.0], vec![28_000.0, 0.0]];
        assert_eq!(in_parts(width), Some(expected));
        assert_eq!(in_parts(TimeDelta::from_millis(99)), None);
    }
}
