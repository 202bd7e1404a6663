//! Joins rates and round-trip times of the same time bins.

use std::collections::{BTreeSet, HashMap};

use tcpexp_table::{Frame, Series};

use crate::Error;
use crate::numbers::numbers;
use crate::quantile::Sorted;

/// The column with the median round-trip time of a bin.
pub const BIN_DELAY: &str = "rtt_ns";

/// Adds to each bin of rates the median of the flow's round-trip times that start in the bin.
///
/// Bins without a round-trip time are omitted. Both tables need the columns `flow` and `file`. If both
/// have `direction`, the round-trip times are those of the data in the bin's direction. Two single files
/// with different names count as one dataset.
pub fn delays_of_bins(rates: &Frame, delays: &Frame) -> Result<Frame, Error> {
    let is_of_one = sources(rates) == sources(delays);
    let has_directions = [rates, delays]
        .iter()
        .all(|frame| frame.column("direction").is_some());
    let key = |frame: &Frame, row: usize| {
        let text = |column: &str| frame.text(column, row).map(str::to_owned);
        let file = if is_of_one { text("file") } else { None };
        let direction = if has_directions {
            text("direction")
        } else {
            None
        };
        Some((text("flow")?, file, direction))
    };
    let (times, rtts) = (numbers(delays, "time")?, numbers(delays, "rtt_ns")?);
    let mut of_flows: HashMap<_, Vec<(i64, f64)>> = HashMap::new();
    for row in 0..delays.rows() {
        if let (Some(key), Some(time), Some(rtt)) =
            (key(delays, row), times.whole(row), rtts.number(row))
        {
            of_flows.entry(key).or_default().push((time, rtt));
        }
    }
    for samples in of_flows.values_mut() {
        // The samples are sorted, so each bin finds its samples by binary search, without a pass
        // over all of them.
        samples.sort_by_key(|sample| sample.0);
    }
    let starts = numbers(rates, "start_time").or_else(|_| numbers(rates, "time"))?;
    let widths = numbers(rates, "width_ns")?;
    let median = |row: usize| {
        let (start, width) = (starts.whole(row)?, widths.whole(row)?);
        let samples = of_flows.get(&key(rates, row)?)?;
        let first = samples.partition_point(|sample| sample.0 < start);
        // A file may hold any times and widths, and their sum may exceed an i64.
        let end = samples.partition_point(|sample| sample.0 < start.saturating_add(width));
        let inside: Vec<f64> = samples[first..end].iter().map(|sample| sample.1).collect();
        Sorted::of(&inside).quantile(0.5)
    };
    let medians: Vec<Option<f64>> = (0..rates.rows()).map(median).collect();
    let keep: Vec<bool> = medians.iter().map(Option::is_some).collect();
    let mut bins = rates.filtered(&keep);
    let medians = medians.into_iter().flatten().map(Some).collect();
    bins.add(BIN_DELAY, Series::Real(medians));
    Ok(bins)
}

fn sources(frame: &Frame) -> BTreeSet<String> {
    let Some(files) = frame.column("file") else {
        return BTreeSet::new();
    };
    let files = (0..frame.rows()).filter_map(|row| files.text(row));
    files.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(cells: &[i64]) -> Series {
        Series::Whole(cells.iter().copied().map(Some).collect())
    }

    #[test]
    fn a_bin_has_the_median_of_its_flow() {
        let flows = |flows: &[&str]| Series::texts(flows.iter().map(Some));
        let rates = Frame::of(vec![
            ("flow".into(), flows(&["a", "a", "a", "b"])),
            ("start_time".into(), whole(&[0, 10, 20, 0])),
            ("width_ns".into(), whole(&[10; 4])),
            ("goodput_bps".into(), whole(&[1, 2, 3, 4])),
        ]);
        let delays = Frame::of(vec![
            ("flow".into(), flows(&["a", "a", "a", "b", "a"])),
            ("time".into(), whole(&[9, 2, 10, 5, 5])),
            ("rtt_ns".into(), whole(&[300, 100, 500, 700, 200])),
        ]);
        let bins = delays_of_bins(&rates, &delays).unwrap();
        let expected = vec![Some(200.0), Some(500.0), Some(700.0)];
        assert_eq!(bins.column(BIN_DELAY), Some(&Series::Real(expected)));
        assert_eq!(bins.column("goodput_bps"), Some(&whole(&[1, 2, 4])));
    }

    #[test]
    fn a_bin_has_the_round_trip_times_of_the_data_in_its_direction() {
        let texts = |texts: &[&str]| Series::texts(texts.iter().map(Some));
        let ways = ["forward", "reverse"];
        let rates = Frame::of(vec![
            ("flow".into(), texts(&["a", "a"])),
            ("direction".into(), texts(&ways)),
            ("start_time".into(), whole(&[0, 0])),
            ("width_ns".into(), whole(&[10, 10])),
        ]);
        let delays = Frame::of(vec![
            ("flow".into(), texts(&["a", "a"])),
            ("direction".into(), texts(&ways)),
            ("time".into(), whole(&[1, 2])),
            ("rtt_ns".into(), whole(&[100, 300])),
        ]);
        let bins = delays_of_bins(&rates, &delays).unwrap();
        let expected = vec![Some(100.0), Some(300.0)];
        assert_eq!(bins.column(BIN_DELAY), Some(&Series::Real(expected)));
    }
}
