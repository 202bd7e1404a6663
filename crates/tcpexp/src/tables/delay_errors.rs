//! The maximum errors of one-way and queueing delays and of round-trip times, for the notes of charts.

mod induced;
mod known;

use tcpexp_chart::Levels;
use tcpexp_table::{Frame, Series};
use tcpexp_units::TimeDelta;

use super::Selection;
use super::queues::QUEUE;
use crate::TablesError;
use induced::{INDUCED, SMALLEST, induced_errors};
pub use known::is_noted_error;
use known::{Known, USUAL_PERCENT, usual};

/// What a delay without a bound of its error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WithoutBound {
    /// It contains an unknown offset of the clocks, and no chart draws it.
    Arbitrary,
    /// The offset cancels, and the clocks may have moved by an unknown time.
    Doubtful,
    /// One clock measured it: its error is not that of clocks.
    OfOneClock,
}

/// Delays with a column of their maximum error.
struct Delays {
    /// Start of the names of their columns.
    start: &'static str,
    /// The column of the error, in nanoseconds; null if it has no bound.
    error: &'static str,
    noun: &'static str,
    without_bound: WithoutBound,
}

const DELAYS: [Delays; 5] = [
    Delays {
        start: "owd_",
        error: "owd_error_ns",
        noun: "one-way delay",
        without_bound: WithoutBound::Arbitrary,
    },
    Delays {
        start: "one_way_delay_",
        error: "one_way_delay_error_ns",
        noun: "one-way delay",
        without_bound: WithoutBound::Arbitrary,
    },
    Delays {
        start: "queueing_delay_",
        error: "queueing_delay_error_ns",
        noun: "queueing delay",
        without_bound: WithoutBound::Doubtful,
    },
    Delays {
        start: "rtt_",
        error: "rtt_error_ns",
        noun: "round-trip time",
        without_bound: WithoutBound::OfOneClock,
    },
    Delays {
        start: INDUCED,
        error: "rtt_error_ns",
        noun: "induced round-trip time",
        without_bound: WithoutBound::OfOneClock,
    },
];
/// Ends of the names of columns with delays, and seconds of the unit; `rtt_samples` is no delay.
const UNITS: [(&str, f64); 2] = [("_ns", 1e-9), ("_ms", 1e-3)];

/// Seconds of the unit of a column; `None` if it has no delays.
fn unit_seconds(column: &str) -> Option<f64> {
    let unit = UNITS.iter().find(|(end, _)| column.ends_with(end));
    unit.map(|(_, seconds)| *seconds)
}

impl Delays {
    /// The delays of a column, and the seconds of its unit.
    fn of(column: &str) -> Option<(&'static Self, f64)> {
        let is_it = |delays: &&Self| column.starts_with(delays.start) && column != delays.error;
        DELAYS.iter().find(is_it).zip(unit_seconds(column))
    }

    /// Words on the errors of the `known` delays of each group, and on the `unknown` ones without a bound.
    fn words(&self, known: &[Known], unknown: usize) -> Vec<String> {
        let noun = self.noun;
        // The group with the small delays has a large relative error.
        let is_noted =
            self.without_bound == WithoutBound::Arbitrary || known.iter().any(Known::is_noted);
        let mut errors = Vec::new();
        if is_noted {
            errors.extend(known.iter().flat_map(|group| &group.errors));
        }
        let ends = usual(&mut errors).zip(errors.last());
        let largest = ends.map(|(usual, largest)| {
            match (rounded_up(usual), rounded_up(*largest)) {
                (usual, largest) if usual == largest => {
                    format!("{noun}s are off by up to {largest:.2}")
                }
                (usual, largest) => format!(
                    "{USUAL_PERCENT} % of the {noun}s are off by up to {usual:.2}, all by up to {largest:.2}"
                ),
            }
        });
        let unknown = match (self.without_bound, unknown) {
            (WithoutBound::OfOneClock, _) | (_, 0) => None,
            (WithoutBound::Arbitrary, 1) => {
                Some(format!("1 {noun} is left out: its error has no bound"))
            }
            (WithoutBound::Arbitrary, _) => Some(format!(
                "{unknown} {noun}s are left out: their error has no bound"
            )),
            (WithoutBound::Doubtful, 1) => Some(format!("the error of 1 {noun} has no bound")),
            (WithoutBound::Doubtful, _) => {
                Some(format!("the error of {unknown} {noun}s has no bound"))
            }
        };
        largest.into_iter().chain(unknown).collect()
    }
}

impl Selection {
    /// Describes the errors of the delays that the `column` of another table is computed from: of a bin
    /// those of its packets, of a number of `tcpexp compare` those of the flows. `groups` are the columns
    /// that divide the rows.
    ///
    /// `None` for other columns, and if the tables do not have these delays.
    pub(super) fn errors_elsewhere(
        &self,
        table: &str,
        column: &str,
        groups: &[String],
    ) -> Option<String> {
        let of_column = Delays::of(column)?.0.start;
        let is_induced = of_column == INDUCED;
        let start = if is_induced { "rtt_" } else { of_column };
        let (source, column) = if table == QUEUE {
            ("owd", format!("{start}ns"))
        } else {
            ("flows", format!("{start}median_ns"))
        };
        let elsewhere = self.clone().table(None);
        let sources = [source.to_owned()];
        let groups = groups.iter();
        let groups = groups.filter_map(|name| elsewhere.tables.resolve(&sources, name));
        let required: Vec<String> = [column].into_iter().chain(groups).collect();
        let groups_of_flows = &required[1..];
        let optional = is_induced.then(|| SMALLEST.to_owned());
        let rows = elsewhere.counted(source, &required, optional.as_slice(), &[]);
        let rows = rows.ok()?;
        if is_induced {
            return induced_errors(rows.frame, groups_of_flows);
        }
        rows.errors
    }
}

/// The columns with the errors of `columns`.
pub(super) fn error_columns(columns: &[String]) -> impl Iterator<Item = String> {
    let delays = columns.iter().filter_map(|column| Delays::of(column));
    delays.map(|(delays, _)| delays.error.to_owned())
}

/// Leaves out one-way delays without a bound of their error, whose value is arbitrary, and describes the errors of
/// the others. `groups` are the columns that divide the rows.
///
/// Fails if no delay of a column has a bound.
pub(super) fn take_delays(
    rows: &mut Frame,
    columns: &[String],
    groups: &[String],
) -> Result<Option<String>, TablesError> {
    let mut words = Vec::new();
    let mut levels = None;
    for column in columns {
        let Some((delays, unit_seconds)) = Delays::of(column) else {
            continue;
        };
        let (Some(numbers), Some(errors)) = (rows.column(column), rows.column(delays.error)) else {
            continue;
        };
        let with_value = (0..rows.rows()).filter(|row| numbers.number(*row).is_some());
        let (known, unknown): (Vec<usize>, Vec<usize>) =
            with_value.partition(|row| errors.whole(*row).is_some());
        let levels = levels.get_or_insert_with(|| Levels::of(rows, groups));
        let none = Known {
            unit_seconds,
            ..Known::default()
        };
        let mut of_groups = vec![none; levels.len()];
        for row in &known {
            let group = &mut of_groups[levels.of_row(*row)];
            group.values.extend(numbers.number(*row));
            group.errors.extend(errors.whole(*row));
        }
        if delays.without_bound == WithoutBound::Arbitrary && !unknown.is_empty() {
            if known.is_empty() {
                return Err(TablesError::NoOffset {
                    column: column.clone(),
                    error: delays.error,
                });
            }
            let known = without(numbers, &unknown);
            rows.set(column, known);
        }
        for part in delays.words(&of_groups, unknown.len()) {
            if !words.contains(&part) {
                words.push(part);
            }
        }
    }
    Ok((!words.is_empty()).then(|| words.join("; ")))
}

/// The numbers with null in some rows.
fn without(numbers: &Series, rows: &[usize]) -> Series {
    fn nulled<T: Copy>(cells: &[Option<T>], rows: &[usize]) -> Vec<Option<T>> {
        let mut cells = cells.to_vec();
        for row in rows {
            cells[*row] = None;
        }
        cells
    }
    match numbers {
        Series::Whole(cells) => Series::Whole(nulled(cells, rows)),
        Series::Real(cells) => Series::Real(nulled(cells, rows)),
        Series::Text(_) => numbers.clone(),
    }
}

/// The span to three digits, not below the exact one.
fn rounded_up(nanos: i64) -> TimeDelta {
    let nanos = nanos.unsigned_abs();
    let step = 10_u64.pow(nanos.max(1).ilog10().saturating_sub(2));
    let rounded = nanos.div_ceil(step).saturating_mul(step);
    TimeDelta::from_nanos(i64::try_from(rounded).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::super::tests::folder;
    use super::super::{Selection, UsualGroups};
    use crate::Error;

    /// The drawn values of a column of the table of delays, and the note.
    fn drawn(column: &str, owd: &str) -> Result<(Vec<Option<i64>>, Option<String>), Error> {
        let (_dir, tables) = folder(&[("owd", owd)]);
        let groups = [(&[][..], UsualGroups::No)];
        let rows = Selection::of(tables).grouped(column, &groups, &["owd"], &[])?;
        let numbers = rows.frame.column(&rows.column).unwrap();
        let numbers = (0..rows.frame.rows())
            .map(|row| numbers.whole(row))
            .collect();
        Ok((numbers, rows.pool_note()))
    }

    const OWD: &str = "owd_ns,owd_error_ns,queueing_delay_ns,queueing_delay_error_ns\n\
        15000000,34012345,0,1\n-3000000,,40,\n,,,\n45000000,1000,9,1\n";

    #[test]
    fn one_way_delays_without_a_bound_are_left_out_and_the_note_states_the_largest_error() {
        let (values, note) = drawn("owd", OWD).unwrap();
        assert_eq!(values, [Some(15_000_000), None, None, Some(45_000_000)]);
        assert_eq!(
            note.as_deref(),
            Some(
                "one-way delays are off by up to 34.10 ms; 1 one-way delay is left out: its error has no bound"
            )
        );
    }

    #[test]
    fn the_note_separates_the_few_large_errors_from_the_others() {
        let few = "0,20009000\n".repeat(19);
        let (_, note) = drawn("owd", &format!("owd_ns,owd_error_ns\n{few}0,271604000\n")).unwrap();
        assert_eq!(
            note.as_deref(),
            Some("95 % of the one-way delays are off by up to 20.10 ms, all by up to 272.00 ms")
        );
    }

    #[test]
    fn queueing_delays_without_a_bound_remain_and_are_in_the_note() {
        let (values, note) = drawn("queueing_delay", &OWD.replace(",9,", ",900,")).unwrap();
        assert_eq!(values, [Some(0), Some(40), None, Some(900)]);
        let note = note.unwrap();
        assert_eq!(note, "the error of 1 queueing delay has no bound");
    }

    #[test]
    fn the_note_states_errors_of_queueing_delays_and_rtts_above_5_percent_of_their_median() {
        for (column, noun) in [
            ("queueing_delay", "queueing delay"),
            ("rtt", "round-trip time"),
        ] {
            let note = |error_ns: i64| {
                let rows = format!("60000000,{error_ns}\n").repeat(20);
                let table = format!("{column}_ns,{column}_error_ns\n{rows}1000,90000000\n");
                drawn(column, &table).unwrap().1
            };
            let stated =
                format!("95 % of the {noun}s are off by up to 3.01 ms, all by up to 90.00 ms");
            assert_eq!(note(3_001_000), Some(stated));
            assert_eq!(note(3_000_000), None);
        }
    }

    #[test]
    fn the_note_states_an_error_above_5_percent_of_the_median_of_one_group() {
        let rows = "slow,60000000,3000000\n".repeat(20) + &"fast,14000,1820\n".repeat(3);
        let (_dir, tables) = folder(&[
            (
                "owd",
                &format!("cc,queueing_delay_ns,queueing_delay_error_ns\n{rows}"),
            ),
            (
                "queue",
                "cc,time_ns,queueing_delay_max_ns\nslow,0,60000000\nfast,1,14000\n",
            ),
        ]);
        let selection = Selection::of(tables);
        let off = "queueing delays are off by up to 3.00 ms".to_owned();
        let cc = ["cc".to_owned()];
        for (groups, expected) in [(&cc[..], Some(off)), (&[], None)] {
            let grouped = [(groups, UsualGroups::No)];
            let rows = selection.grouped("queueing_delay", &grouped, &["owd"], &[]);
            assert_eq!(rows.unwrap().errors, expected);
            let required = [&["queueing_delay_max_ns".to_owned()], groups].concat();
            let rows = selection.counted("queue", &required, &[], &[]);
            assert_eq!(rows.unwrap().errors, expected);
        }
    }

    #[test]
    fn delays_in_milliseconds_have_the_errors_of_those_in_nanoseconds() {
        let rows = "60.0,3001000\n".repeat(20);
        let note = |column: &str| {
            let table = format!("{column}_ms,{column}_error_ns\n{rows}");
            drawn(column, &table).unwrap().1
        };
        let off = |noun: &str| Some(format!("{noun}s are off by up to 3.01 ms"));
        assert_eq!(note("owd"), off("one-way delay"));
        assert_eq!(note("queueing_delay"), off("queueing delay"));
        assert_eq!(note("rtt"), off("round-trip time"));
        // A one-way delay without a bound contains an unknown offset.
        let error = drawn("owd", "owd_ms,owd_error_ns\n0.5,\n").unwrap_err();
        let unknown = "owd_ms is unknown: no packet has a bound of its error";
        assert!(error.to_string().starts_with(unknown), "{error}");
    }

    #[test]
    fn round_trip_times_of_one_clock_have_no_error_of_clocks() {
        let (values, note) = drawn("rtt", "rtt_ns,rtt_error_ns\n7,\n").unwrap();
        assert_eq!((values, note), (vec![Some(7)], None));
    }

    #[test]
    fn bins_of_queueing_delays_have_the_errors_of_their_packets() {
        let queue = "time_ns,queueing_delay_max_ns\n0,40\n";
        let (_dir, tables) = folder(&[("queue", queue), ("owd", OWD)]);
        let column = ["queueing_delay_max_ns".to_owned()];
        let rows = Selection::of(tables).counted("queue", &column, &[], &[]);
        assert_eq!(
            rows.unwrap().errors.as_deref(),
            Some(
                "queueing delays are off by up to 1 ns; the error of 1 queueing delay has no bound"
            )
        );
    }

    #[test]
    fn the_offset_of_clocks_is_unknown_if_no_one_way_delay_has_a_bound() {
        let error = drawn("owd", "owd_ns,owd_error_ns\n0,\n5,\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "owd_ns is unknown: no packet has a bound of its error (owd_error_ns is null), because the offset between \
             the clocks is unknown"
        );
    }

    #[test]
    fn a_table_without_errors_has_no_note_on_them() {
        let (values, note) = drawn("owd", "owd_ns\n7\n").unwrap();
        assert_eq!((values, note), (vec![Some(7)], None));
    }
}
