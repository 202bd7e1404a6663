//! Times at which the rate of a flow is unknown.

use tcpexp_chart::page::PageSeries;
use tcpexp_table::Frame;
use tcpexp_units::{TimeDelta, Timestamp};

/// Bins adjoin if the time between them is at most this part of their width: times in seconds are rounded.
const ADJOIN_DIVISOR: i64 = 100;

/// The times of the wanted rows without a value, and the ends of their bins that do not adjoin the next.
pub(super) fn unknown_times(
    frame: &Frame,
    column: &str,
    is_wanted: impl Fn(usize) -> bool,
) -> Vec<Timestamp> {
    let Some((times, values)) = frame.column("time_s").zip(frame.column(column)) else {
        return Vec::new();
    };
    let widths = frame.column("width_ns");
    let wanted = (0..frame.rows()).filter(|row| is_wanted(*row));
    let bins = wanted.filter_map(|row| Some((at(times.number(row)?), row)));
    let mut bins: Vec<(Timestamp, usize)> = bins.collect();
    bins.sort_unstable();
    let unknown = bins.iter().filter(|(_, row)| values.number(*row).is_none());
    let mut all: Vec<Timestamp> = unknown.map(|(start, _)| *start).collect();
    for pair in bins.windows(2) {
        let [(start, row), (next, _)] = pair else {
            continue;
        };
        let Some(width) = widths.and_then(|widths| widths.whole(*row)) else {
            continue;
        };
        let end = *start + TimeDelta::from_nanos(width);
        if (*next - end).as_nanos() > width / ADJOIN_DIVISOR {
            all.push(end);
        }
    }
    all.sort_unstable();
    all
}

/// Ends a line of rates at the times at which they are unknown.
pub(super) fn end_at(unknown: &[Timestamp], line: Option<&mut PageSeries>) {
    if let Some(line) = line {
        let seconds = |time: &Timestamp| (*time - Timestamp::from_nanos(0)).as_seconds_f64();
        line.end_at(unknown.iter().map(seconds));
    }
}

/// Converts seconds since a run's origin to a time.
pub(super) fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanos(TimeDelta::from_seconds_f64(seconds).as_nanos())
}

#[cfg(test)]
mod tests {
    use tcpexp_table::Series;

    use super::*;

    #[test]
    fn a_rate_is_unknown_in_a_bin_without_a_value_and_between_bins_that_do_not_adjoin() {
        let whole = |cells: &[Option<i64>]| Series::Whole(cells.to_vec());
        let frame = Frame::of(vec![
            (
                "time_s".into(),
                Series::Real([0.1, 0.0, 0.2, 0.4, 0.5].map(Some).to_vec()),
            ),
            ("width_ns".into(), whole(&[Some(100_000_000); 5])),
            (
                "goodput_bps".into(),
                whole(&[None, Some(1), Some(2), Some(3), Some(4)]),
            ),
        ]);
        let times = unknown_times(&frame, "goodput_bps", |_| true);
        let times: Vec<f64> = times
            .iter()
            .map(|time| time.as_nanos() as f64 / 1e9)
            .collect();
        assert_eq!(times, [0.1, 0.3]);
        assert_eq!(unknown_times(&frame, "goodput_bps", |row| row > 2), []);
    }
}
