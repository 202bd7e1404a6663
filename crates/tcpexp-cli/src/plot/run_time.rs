//! Times since the start of a run.

use tcpexp::SOURCE_COLUMN;
use tcpexp_chart::{Levels, TIMES};
use tcpexp_table::{Frame, Series};
use tcpexp_units::{TimeDelta, Timestamp};

/// Column with the seconds since the origin of a run.
pub(super) const SINCE_ORIGIN: &str = "time_s";
/// Column with the nanoseconds since the start of the test, in tables of a test tool's series.
pub(super) const SINCE_START: &str = "elapsed_ns";

/// Columns with times.
const ALL_TIMES: [&str; 4] = [TIMES[0], TIMES[1], TIMES[2], "end_time"];

/// Time zero of the run, from which the tables of a dataset count [`SINCE_ORIGIN`] or [`SINCE_START`]. `None`
/// for tables without these columns and for several runs.
pub(super) fn origin(frame: &Frame) -> Option<Timestamp> {
    let mut origins = (0..frame.rows()).filter_map(|row| origin_of(frame, row));
    let first = origins.next()?;
    // The seconds are rounded to an f64.
    let is_same = |origin: Timestamp| (origin - first).abs() <= TimeDelta::from_micros(1);
    origins.all(is_same).then_some(first)
}

/// Counts the times of each run from its own origin, which becomes time zero. Times of tables without
/// [`SINCE_ORIGIN`] and [`SINCE_START`] stay as they are.
pub(super) fn count_from_origins(frame: &mut Frame) {
    let runs = Levels::of(frame, &[SOURCE_COLUMN.to_owned()]);
    let mut origins = vec![None; runs.len()];
    for row in 0..frame.rows() {
        let origin = &mut origins[runs.of_row(row)];
        *origin = origin.or_else(|| origin_of(frame, row));
    }
    for name in ALL_TIMES {
        let Some(times) = frame.column(name) else {
            continue;
        };
        let since = (0..frame.rows()).map(|row| {
            let time = times.whole(row)?;
            let origin = origins[runs.of_row(row)];
            Some(origin.map_or(time, |origin| {
                (Timestamp::from_nanos(time) - origin).as_nanos()
            }))
        });
        let since = Series::Whole(since.collect());
        frame.set(name, since);
    }
}

/// Time zero of the run of a row.
fn origin_of(frame: &Frame, row: usize) -> Option<Timestamp> {
    let times = TIMES.into_iter().find_map(|time| frame.column(time))?;
    let seconds = || frame.column(SINCE_ORIGIN)?.number(row);
    let nanos = || frame.column(SINCE_START)?.whole(row);
    let since = seconds()
        .map(TimeDelta::from_seconds_f64)
        .or_else(|| nanos().map(TimeDelta::from_nanos))?;
    Some(Timestamp::from_nanos(times.whole(row)?) - since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_series_count_from_the_start_of_each_test() {
        let whole = |cells: [i64; 3]| Series::Whole(cells.map(Some).to_vec());
        let mut frame = Frame::of(vec![
            (
                SOURCE_COLUMN.to_owned(),
                Series::texts(["a", "a", "b"].map(Some)),
            ),
            ("time".to_owned(), whole([1_000, 1_005, 9_007])),
            (SINCE_START.to_owned(), whole([0, 5, 7])),
        ]);
        assert_eq!(origin(&frame), None);
        count_from_origins(&mut frame);
        let times = frame.column("time").unwrap();
        assert_eq!([0, 1, 2].map(|row| times.whole(row)), [0, 5, 7].map(Some));
    }
}
