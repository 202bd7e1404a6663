//! Rates in wider bins.

use std::collections::BTreeMap;

use tcpexp_table::{Frame, Series};
use tcpexp_units::TimeDelta;

use crate::Error;
use crate::flow_line::{TIMES, adjoin, flow_columns};
use crate::levels::Levels;
use crate::numbers::numbers;

/// The columns with the time that a rate is of, in order of preference.
const COVERED: [&str; 2] = ["covered_ns", "width_ns"];

/// The bin of one row.
#[derive(Clone, Copy, Debug)]
struct Bin {
    row: usize,
    start: i64,
    end: i64,
    width_ns: i64,
    /// Time that the rate is of.
    covered_ns: i64,
    rate: Option<f64>,
}

/// The rows of one wider bin of a line.
#[derive(Clone, Copy, Debug)]
struct Wider {
    first_row: usize,
    /// Start of the first row.
    start: i64,
    /// End of the last row.
    end: i64,
    covered_ns: i64,
    rate: Option<f64>,
}

impl Wider {
    /// The wider bin of the `bins` in it; `None` if they cover no time.
    fn of(mut bins: Vec<Bin>) -> Option<Self> {
        // A bin that lies to more than a half before or after the capture has no rate, and lacks none.
        bins.retain(|bin| bin.rate.is_some() || bin.covered_ns >= bin.width_ns / 2);
        let first_row = bins.iter().map(|bin| bin.row).min()?;
        bins.sort_by_key(|bin| bin.start);
        let covered_ns = bins
            .iter()
            .fold(0_i64, |sum, bin| sum.saturating_add(bin.covered_ns));
        let has_gap = !bins.is_sorted_by(|a, b| adjoin((a.start, a.end), b.start));
        let amounts = bins
            .iter()
            .map(|bin| Some(bin.rate? * bin.covered_ns as f64));
        let amount: Option<f64> = amounts.sum();
        Some(Self {
            first_row,
            start: bins.first()?.start,
            end: bins.last()?.end,
            covered_ns,
            rate: amount
                .filter(|_| !has_gap)
                .map(|amount| amount / covered_ns as f64),
        })
    }
}

/// The rates of `column` in bins of `width`, for each line of a chart over time.
///
/// The wider bins count from the first bin of the table. The rate of a wider bin is the mean of the
/// rates in it, weighted by the time that each rate covers. If a flow begins or ends within a wider
/// bin, the bin is shorter: it starts at the flow's first bin in the table, or ends at its last one. The
/// rate of a wider bin is null if that of a part of it is unknown.
pub fn rebinned(frame: &Frame, column: &str, width: TimeDelta) -> Result<Frame, Error> {
    let starts = TIMES.into_iter().find(|name| frame.column(name).is_some());
    let start_name = starts.ok_or_else(|| Error::NoColumn {
        column: TIMES.join(" or "),
    })?;
    let starts = numbers(frame, start_name)?;
    let widths = numbers(frame, "width_ns")?;
    let rates = numbers(frame, column)?;
    let covered = COVERED.iter().find_map(|name| frame.column(name));
    let rows = 0..frame.rows();
    let (Some(own), Some(origin)) = (
        rows.clone().filter_map(|row| widths.whole(row)).max(),
        rows.clone().filter_map(|row| starts.whole(row)).min(),
    ) else {
        return Ok(frame.clone());
    };
    let wanted = width.as_nanos();
    if own <= 0 || wanted < own || wanted % own != 0 {
        return Err(Error::BinWidth {
            width,
            own: TimeDelta::from_nanos(own),
        });
    }
    let lines = Levels::of(frame, &flow_columns(frame));
    let mut ends = vec![i64::MIN; lines.len()];
    for row in rows.clone().filter(|row| rates.number(*row).is_some()) {
        let end = &mut ends[lines.of_row(row)];
        *end = (*end).max(starts.whole(row).unwrap_or(i64::MIN));
    }
    let mut bins: BTreeMap<(usize, i64), Vec<Bin>> = BTreeMap::new();
    for row in rows {
        let (Some(start), Some(width)) = (starts.whole(row), widths.whole(row)) else {
            continue;
        };
        let rate = rates.number(row);
        let covered_ns = covered.and_then(|covered| covered.whole(row));
        let is_last = start == ends[lines.of_row(row)];
        let covered_ns = covered_ns.unwrap_or(width);
        let number = start.saturating_sub(origin).div_euclid(wanted);
        bins.entry((lines.of_row(row), number))
            .or_default()
            .push(Bin {
                row,
                start,
                // The capture ends within the last bin of a line, and begins within the first.
                end: start.saturating_add(if is_last { covered_ns } else { width }),
                width_ns: width,
                covered_ns,
                rate,
            });
    }
    let mut of_rows: Vec<Wider> = bins.into_values().filter_map(Wider::of).collect();
    of_rows.sort_by_key(|bin| bin.first_row);
    let mut keep = vec![false; frame.rows()];
    for bin in &of_rows {
        keep[bin.first_row] = true;
    }
    let mut wider = frame.filtered(&keep);
    let wholes = |of: fn(&Wider) -> i64| {
        let cells = of_rows.iter().map(|bin| Some(of(bin)));
        Series::Whole(cells.collect())
    };
    wider.set(start_name, wholes(|bin| bin.start));
    wider.set(COVERED[1], wholes(|bin| bin.end.saturating_sub(bin.start)));
    wider.set(COVERED[0], wholes(|bin| bin.covered_ns));
    let rates = of_rows.iter().map(|bin| bin.rate);
    wider.set(column, Series::Real(rates.collect()));
    Ok(wider)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn whole(cells: &[i64]) -> Series {
        Series::Whole(cells.iter().copied().map(Some).collect())
    }

    /// Two flows of one capture in bins of one second, which ends in the middle of the last bin.
    fn frame() -> Frame {
        let starts = [10, 11, 12, 13, 14, 12, 13, 14].map(|seconds| seconds * SECOND);
        let mut covered = [SECOND; 8];
        (covered[4], covered[7]) = (SECOND / 2, SECOND / 2);
        Frame::of(vec![
            ("flow_id".into(), whole(&[0, 0, 0, 0, 0, 1, 1, 1])),
            ("start_time".into(), whole(&starts)),
            ("width_ns".into(), whole(&[SECOND; 8])),
            ("covered_ns".into(), whole(&covered)),
            (
                "goodput_bps".into(),
                whole(&[8, 16, 24, 32, 80, 100, 200, 400]),
            ),
        ])
    }

    fn rebin(seconds: i64) -> Result<Vec<(i64, f64)>, Error> {
        let width = TimeDelta::from_seconds(seconds);
        let wider = rebinned(&frame(), "goodput_bps", width)?;
        let cells = (0..wider.rows()).map(|row| {
            let start = wider.column("start_time").unwrap().whole(row).unwrap();
            let rate = wider.column("goodput_bps").unwrap().number(row).unwrap();
            (start / SECOND, rate)
        });
        Ok(cells.collect())
    }

    #[test]
    fn a_wider_bin_has_the_mean_over_the_time_that_is_covered() {
        let expected = [(10, 12.0), (12, 28.0), (14, 80.0), (12, 150.0), (14, 400.0)];
        assert_eq!(rebin(2).unwrap(), expected);
        // The last bin of each flow counts for half a second.
        let expected = [(10, 16.0), (13, 48.0), (12, 100.0), (13, 400.0 / 1.5)];
        assert_eq!(rebin(3).unwrap(), expected);
    }

    #[test]
    fn a_wider_bin_with_an_unknown_part_has_no_rate() {
        let rates = |times: &[i64], rates: &[Option<i64>]| {
            let starts: Vec<i64> = times.iter().map(|time| time * SECOND).collect();
            let frame = Frame::of(vec![
                ("start_time".into(), whole(&starts)),
                ("width_ns".into(), whole(&vec![SECOND; times.len()])),
                ("goodput_bps".into(), Series::Whole(rates.to_vec())),
            ]);
            let wider = rebinned(&frame, "goodput_bps", TimeDelta::from_seconds(4)).unwrap();
            let rates = wider.column("goodput_bps").unwrap();
            (0..wider.rows())
                .map(|row| rates.number(row))
                .collect::<Vec<_>>()
        };
        let unknown = rates(&[0, 1, 2, 3, 4], &[Some(1), None, None, Some(3), Some(5)]);
        assert_eq!(unknown, [None, Some(5.0)]);
        let missing = rates(&[0, 3, 4, 5], &[Some(1), Some(3), Some(5), Some(7)]);
        assert_eq!(missing, [None, Some(6.0)]);
    }

    #[test]
    fn the_same_width_changes_nothing() {
        assert_eq!(rebin(1).unwrap().len(), frame().rows());
    }

    #[test]
    fn a_width_that_the_bins_do_not_fill_is_refused() {
        let width = TimeDelta::from_millis(1500);
        let refused = rebinned(&frame(), "goodput_bps", width).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "bins of 1.500 s cannot be made of bins of 1.000 s: choose a multiple"
        );
        let narrow = TimeDelta::from_millis(100);
        assert!(rebinned(&frame(), "goodput_bps", narrow).is_err());
    }
}
