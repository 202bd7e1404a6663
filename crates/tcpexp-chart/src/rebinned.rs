//! Rates in wider bins.

use std::collections::BTreeMap;

use tcpexp_table::{Frame, Series};
use tcpexp_units::TimeDelta;

use crate::Error;
use crate::flow_line::{TIMES, flow_columns};
use crate::levels::Levels;
use crate::numbers::numbers;

/// The columns with the time that a rate is of, in order of preference.
const COVERED: [&str; 2] = ["covered_ns", "width_ns"];

/// The rows of one wider bin of a line.
#[derive(Clone, Copy, Debug, Default)]
struct Wider {
    first_row: usize,
    /// Start of the first row.
    start: i64,
    /// End of the last row.
    end: i64,
    /// Sum of rate × covered time.
    amount: f64,
    covered_ns: i64,
}

/// The rates of `column` in bins of `width`, for each line of a chart over time.
///
/// The wider bins count from the first bin of the table. The rate of a wider bin is the mean of the
/// rates in it, weighted by the time that each rate covers. If a flow begins or ends within a wider
/// bin, the bin is shorter: it starts at the flow's first bin in the table, or ends at its last one.
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
    let mut bins: BTreeMap<(usize, i64), Wider> = BTreeMap::new();
    for row in rows {
        let covered_ns = covered.and_then(|covered| covered.whole(row));
        let (Some(start), Some(rate), Some(covered_ns)) =
            (starts.whole(row), rates.number(row), covered_ns)
        else {
            continue;
        };
        let number = start.saturating_sub(origin).div_euclid(wanted);
        let bin = bins.entry((lines.of_row(row), number)).or_insert(Wider {
            first_row: row,
            start,
            end: start,
            ..Wider::default()
        });
        bin.start = bin.start.min(start);
        bin.end = bin.end.max(start.saturating_add(covered_ns));
        bin.amount += rate * covered_ns as f64;
        bin.covered_ns = bin.covered_ns.saturating_add(covered_ns);
    }
    let mut of_rows: Vec<Wider> = bins
        .into_values()
        .filter(|bin| bin.covered_ns > 0)
        .collect();
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
    let rate = |bin: &Wider| Some(bin.amount / bin.covered_ns as f64);
    wider.set(column, Series::Real(of_rows.iter().map(rate).collect()));
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
