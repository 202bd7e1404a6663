//! The error of the delay that queues add to round-trip times.

use tcpexp_table::{Frame, Series};

use super::take_delays;

/// Start of the names of columns with this delay.
pub(super) const INDUCED: &str = "induced_rtt_";
/// The column of the table `flows` with the smallest round-trip time, which is subtracted.
pub(super) const SMALLEST: &str = "rtt_min_ns";
const MEDIAN: &str = "rtt_median_ns";
const ERROR: &str = "rtt_error_ns";

/// Describes the error of the delay that queues add to the round-trip times of `flows`: that of a difference of
/// two of them. `groups` are the columns that divide the rows.
pub(super) fn induced_errors(mut flows: Frame, groups: &[String]) -> Option<String> {
    let column = format!("{INDUCED}median_ns");
    let of = |name: &str, row| flows.column(name)?.whole(row);
    let rows = 0..flows.rows();
    let induced = rows.clone().map(|row| {
        let (median, smallest) = of(MEDIAN, row).zip(of(SMALLEST, row))?;
        Some(median.saturating_sub(smallest))
    });
    let induced = Series::Whole(induced.collect());
    let errors = rows.map(|row| Some(of(ERROR, row)?.saturating_mul(2)));
    let errors = Series::Whole(errors.collect());
    flows.set(ERROR, errors);
    flows.add(&column, induced);
    take_delays(&mut flows, &[column], groups).ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_induced_delays_is_that_of_two_round_trip_times() {
        let note = |error_ns: i64| {
            let whole = |cell: i64| Series::Whole(vec![Some(cell)]);
            let flows = Frame::of(vec![
                (MEDIAN.into(), whole(60_000_000)),
                (SMALLEST.into(), whole(40_000_000)),
                (ERROR.into(), whole(error_ns)),
            ]);
            induced_errors(flows, &[])
        };
        // 5 % of 20 ms.
        assert_eq!(note(500_000), None);
        let off = "induced round-trip times are off by up to 1.01 ms".to_owned();
        assert_eq!(note(505_000), Some(off));
    }
}
