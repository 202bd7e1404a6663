//! Rows to draw: their unit, their main direction and what they pool.

use std::collections::BTreeSet;

use tcpexp_chart::Levels;
use tcpexp_table::Frame;

use super::words::Differing;
use super::{FLOW_COLUMN, SOURCE_COLUMN};
use crate::{Error, TablesError};

/// Column of values whose units are in another column.
pub(super) const VALUE: &str = "value";
/// The column of these units.
pub(super) const UNIT: &str = "unit";

/// Rows with the column to draw and the columns that group them.
#[derive(Clone, Debug)]
pub struct Grouped {
    /// Name of the table; empty if unknown.
    pub table: String,
    /// The rows.
    pub frame: Frame,
    /// The column to draw.
    pub column: String,
    /// The columns of each grouping.
    pub groups: Vec<Vec<String>>,
    /// Description of the pooled flows and directions if rows are pooled, or of the measurement point
    /// whose rows are read.
    pub note: Option<String>,
    /// Description of the errors of delays and round-trip times; `None` for other columns.
    pub errors: Option<String>,
    /// True if the rows are those of the flows and directions that a pooled figure counts.
    pub is_pooled: bool,
    /// The parameters in which runs of one group differ.
    pub(super) differing: Differing,
}

impl Grouped {
    /// Returns, for each flow, the rows of the direction with the larger sum of the column, which
    /// is that of the flow's data.
    pub fn data_direction(&self) -> Frame {
        let lane = [SOURCE_COLUMN, FLOW_COLUMN, "direction"].map(str::to_owned);
        let lanes = Levels::of(&self.frame, &lane);
        let flows = Levels::of(&self.frame, &lane[..2]);
        let numbers = self.frame.column(&self.column);
        let mut carried = vec![0.0; lanes.len()];
        let mut most = vec![(f64::MIN, 0); flows.len()];
        for row in 0..self.frame.rows() {
            let number = numbers.and_then(|numbers| numbers.number(row));
            carried[lanes.of_row(row)] += number.unwrap_or(0.0);
        }
        for row in 0..self.frame.rows() {
            let (lane, flow) = (lanes.of_row(row), flows.of_row(row));
            if carried[lane] > most[flow].0 {
                most[flow] = (carried[lane], lane);
            }
        }
        let keep: Vec<bool> = (0..self.frame.rows())
            .map(|row| most[flows.of_row(row)].1 == lanes.of_row(row))
            .collect();
        self.frame.filtered(&keep)
    }

    /// Returns the unit of the column to draw if another column states it; `None` for other columns.
    pub fn stated_unit(&self) -> Result<Option<String>, Error> {
        stated_unit(&self.frame, &self.column)
    }

    /// Describes the rows of a group: the pooled flows and directions, and in which parameters its runs
    /// differ. `None` if all rows of equal runs are read.
    pub fn pool_note(&self) -> Option<String> {
        let differing = self.differing.words();
        let differing = differing.map(|names| format!("runs that differ in {names} are pooled"));
        let parts = [self.note.clone(), self.errors.clone(), differing];
        let parts = parts.into_iter().flatten();
        parts.reduce(|note, differing| format!("{note}; {differing}"))
    }

    /// Returns what the rows of the table are, if a run has many of them: `packets`, `bins`.
    pub fn parts(&self) -> Option<&'static str> {
        match self.table.as_str() {
            "flows" => Some("flows"),
            "throughput" => Some("bins"),
            // A row of a sender is an acknowledgment, or a reading of its kernel.
            "rtt" | "sender" => Some("samples"),
            "owd" => Some("packets"),
            "loss" => Some("lost packets"),
            _ => None,
        }
    }

    /// Returns the note for a chart that pools the values of several runs; `None` if all rows are
    /// read.
    pub fn sample_note(&self) -> Option<String> {
        let pool = self.pool_note()?;
        let columns: Vec<String> = self.groups.iter().flatten().cloned().collect();
        let groups = Levels::of(&self.frame, &columns);
        let runs = Levels::of(&self.frame, &[SOURCE_COLUMN.to_owned()]);
        let mut of_groups = vec![BTreeSet::new(); groups.len()];
        for row in 0..self.frame.rows() {
            of_groups[groups.of_row(row)].insert(runs.of_row(row));
        }
        let counts = of_groups.iter().map(BTreeSet::len);
        let (least, most) = (counts.clone().min()?, counts.max()?);
        let all = format!("all {}", self.parts().unwrap_or("values"));
        let runs = match (least, most) {
            (1, 1) if runs.len() == 1 => format!("{all} of one run"),
            (1, 1) => format!("{all} of one run each"),
            (least, most) if least == most => format!("{all} of {most} runs together"),
            (least, most) => format!("{all} of {least} to {most} runs together"),
        };
        Some(format!("{runs}, {pool}"))
    }
}

/// Returns the unit of a column if another column states it; `None` for other columns.
pub(super) fn stated_unit(frame: &Frame, column: &str) -> Result<Option<String>, Error> {
    if column != VALUE {
        return Ok(None);
    }
    let values = frame.column(VALUE);
    let units = frame.column(UNIT);
    let unit = |row: usize| {
        values?.number(row)?;
        units?.text(row)
    };
    let units: BTreeSet<&str> = (0..frame.rows()).filter_map(unit).collect();
    let mut units = units.into_iter();
    match (units.next(), units.next()) {
        (Some(first), Some(second)) => Err(TablesError::SeveralUnits {
            column: column.to_owned(),
            units: [first, second]
                .into_iter()
                .chain(units)
                .map(str::to_owned)
                .collect(),
        }
        .into()),
        (unit, _) => Ok(unit.map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_metrics::pooling::Pooling;

    use super::super::tests::{RATES, folder, goodputs};
    use super::super::{Selection, UsualGroups};

    #[test]
    fn values_of_several_units_have_no_common_unit() {
        let series = "series,value,unit\nping,20,ms\ndown,7,Mbits/s\nup,8,Mbits/s\n";
        let (_dir, tables) = folder(&[("series", series)]);
        let unit = |filters: &[&str]| {
            let filters = filters.iter().map(|filter| filter.parse().unwrap());
            let selection = Selection::of(tables.clone()).filters(filters.collect());
            let rows = selection.grouped("value", &[], &[], &[]).unwrap();
            rows.stated_unit().map_err(|error| error.to_string())
        };
        assert_eq!(unit(&["unit=ms"]), Ok(Some("ms".to_owned())));
        assert_eq!(unit(&["series!=ping"]), Ok(Some("Mbits/s".to_owned())));
        assert_eq!(
            unit(&[]).unwrap_err(),
            "the values of value are in Mbits/s and ms: select one unit, for example with --filter unit=Mbits/s"
        );
    }

    #[test]
    fn the_note_names_the_point_whose_rows_are_read() {
        let rtts = "flow_id,direction,reference,rtt_ns\n0,forward,src,40\n0,reverse,dst,41\n";
        let (_dir, tables) = folder(&[("rtt", rtts)]);
        let selection = Selection::of(tables).pooled(Pooling::default());
        let all = [(&[][..], UsualGroups::No)];
        let rows = selection.grouped("rtt", &all, &["rtt"], &[]).unwrap();
        assert_eq!(
            (rows.frame.rows(), rows.sample_note().as_deref()),
            (
                1,
                Some("all samples of one run, only rows with reference=src")
            )
        );
    }

    #[test]
    fn the_data_direction_of_a_flow_is_the_one_that_carries_more() {
        let (_dir, tables) = folder(&[("throughput", RATES)]);
        let usual = [(&[][..], UsualGroups::Yes)];
        let rows = Selection::of(tables).grouped("goodput", &usual, &[], &["direction"]);
        assert_eq!(
            goodputs(&rows.unwrap().data_direction()),
            [Some(900), Some(700)]
        );
    }
}
