//! A column to draw, with the columns that group its rows.

use std::collections::BTreeSet;

use tcpexp_chart::{Levels, Quantity};
use tcpexp_table::{Cell, Frame, QUEUE_KEYS, Series};

use super::pool::{flows_query, optional_columns, pool};
use super::selection::FLOW_ID;
use super::words::listed;
use super::{FLOW_COLUMN, SOURCE_COLUMN, Selection, queues};
use crate::{Error, TablesError};

/// Unique payload per time, at the capture of the flow's first point.
const GOODPUT: &str = "goodput_bps";
/// The same at the other point, where the payload arrives.
const ARRIVED_GOODPUT: &str = "arrived_goodput_bps";
/// IP bytes per time, at the capture of the flow's first point.
const THROUGHPUT: &str = "throughput_bps";
/// The bytes and the time, in nanoseconds, of the same at the other point.
const ARRIVED_BYTES: [&str; 2] = ["arrived_ip_bytes", "arrived_span_ns"];

/// Column of values whose units are in another column.
const VALUE: &str = "value";
/// The column of these units.
const UNIT: &str = "unit";

/// Default for rows without requested groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsualGroups {
    /// The parameters that distinguish the runs of a sweep, else the files, else the flows.
    Yes,
    /// One group with all rows.
    No,
    /// The columns are an axis of points, and group no rows.
    OfPoints,
}

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
    /// True if the rows are those of the flows and directions that a pooled figure counts.
    pub is_pooled: bool,
    /// The parameters in which runs of one group differ.
    pub differing: Vec<String>,
}

/// Rows that count in a figure.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// The rows.
    pub frame: Frame,
    /// Description of the flows and directions that count, or of the measurement point whose rows are
    /// read; `None` if all rows count.
    pub note: Option<String>,
    /// True if the rows are those of the flows and directions that a pooled figure counts.
    pub is_pooled: bool,
}

impl Selection {
    /// Reads the selected rows of a table, as [`read`](Self::read) does; of pooled rows those that
    /// count. `groups` are the columns that divide the rows.
    pub fn counted(
        &self,
        table: &str,
        required: &[String],
        optional: &[String],
        groups: &[&str],
    ) -> Result<Counted, Error> {
        let mut optional = optional.to_vec();
        if self.pooling.is_some() {
            optional.extend(optional_columns());
        }
        let (mut frame, point) = self.read_at_point(table, required, &optional)?;
        let pooled = self.pool_rows(groups, &mut frame)?;
        Ok(Counted {
            frame,
            is_pooled: pooled.is_some(),
            note: pooled.or_else(|| point.map(|point| format!("only rows with {point}"))),
        })
    }

    /// Reads the rows of the first table that has the column and all group columns. Tries the
    /// tables in `usual` before all others.
    pub fn grouped(
        &self,
        column: &str,
        groups: &[(&[String], UsualGroups)],
        usual: &[&str],
        optional: &[&str],
    ) -> Result<Grouped, Error> {
        let asked = groups.iter().flat_map(|(columns, _)| columns.iter());
        let asked: Vec<&str> = asked.map(String::as_str).collect();
        // Flows are selected in a table that has them.
        let number: &[&str] = if self.flows.is_empty() {
            &[]
        } else {
            &[FLOW_ID]
        };
        let wanted = [&[column], asked.as_slice(), number].concat();
        let (table, required) = self.resolve(&wanted, usual)?;
        // `resolve` keeps the order of `wanted`: first the column, then the columns of each
        // grouping.
        let mut named = required.iter().cloned();
        let column = named.next().unwrap_or_else(|| column.to_owned());
        let mut of_groups: Vec<Vec<String>> = groups
            .iter()
            .map(|(columns, _)| named.by_ref().take(columns.len()).collect())
            .collect();
        let used: Vec<String> = of_groups.iter().flatten().cloned().collect();
        let takes_usual = |(columns, default): &(&[String], UsualGroups)| {
            columns.is_empty() && *default == UsualGroups::Yes
        };
        for (columns, asked) in of_groups.iter_mut().zip(groups) {
            if takes_usual(asked) {
                *columns = self.usual_groups(&table);
                columns.retain(|column| !used.contains(column));
            }
        }
        let mut required = vec![column.clone()];
        required.extend(of_groups.iter().flatten().cloned());
        let mut optional: Vec<String> = optional.iter().map(|name| (*name).to_owned()).collect();
        if column == GOODPUT {
            optional.push(ARRIVED_GOODPUT.to_owned());
        }
        if column == THROUGHPUT {
            optional.extend(ARRIVED_BYTES.map(str::to_owned));
        }
        let filtered = self.filters.iter().map(|filter| filter.column.as_str());
        let chosen: Vec<&str> = filtered.chain(asked.iter().copied()).collect();
        let is_of_queues = queues::are_of_table(&table, &chosen);
        if column == VALUE {
            optional.push(UNIT.to_owned());
        }
        if is_of_queues {
            optional.extend(QUEUE_KEYS.map(str::to_owned));
        }
        let mut counted = self.counted(&table, &required, &optional, &asked)?;
        take_arrived(&mut counted.frame, &column);
        if is_of_queues {
            (counted.frame, counted.note) = queues::take(&counted.frame, &column, &chosen);
        }
        if self.varied_in(&table).next().is_some() {
            for (columns, _) in of_groups
                .iter_mut()
                .zip(groups)
                .filter(|(_, asked)| takes_usual(asked))
            {
                *columns = self.distinguishing(&table, &counted.frame, &used)?;
            }
        }
        let grouping: Vec<Vec<String>> = of_groups
            .iter()
            .zip(groups)
            .filter(|(_, (_, asked))| *asked != UsualGroups::OfPoints)
            .map(|(columns, _)| columns.clone())
            .collect();
        let differing = self.differing(&table, &counted.frame, &grouping)?;
        Ok(Grouped {
            frame: counted.frame,
            table,
            column,
            groups: of_groups,
            note: counted.note,
            is_pooled: counted.is_pooled,
            differing,
        })
    }

    /// Keeps the rows that count, and describes them.
    ///
    /// `None` if nothing is pooled, for tables without flows, and without a table of each flow's
    /// payload.
    fn pool_rows(&self, groups: &[&str], rows: &mut Frame) -> Result<Option<String>, Error> {
        let (Some(pooling), query) = (&self.pooling, flows_query()) else {
            return Ok(None);
        };
        let is_of_flows = rows.column("flow_id").is_some() && rows.column("direction").is_some();
        if !is_of_flows || self.tables.choose(&query).is_err() {
            return Ok(None);
        }
        let flows = self.tables.read(&query)?;
        let filtered = self.filters.iter().map(|filter| filter.column.as_str());
        let named = (!self.flows.is_empty()).then_some(FLOW_ID);
        pool(pooling, filtered.chain(named), groups, &flows, rows).map(Some)
    }

    /// Returns the default groups: the parameters that a sweep varies, else the files if there are
    /// several, else the flows.
    fn usual_groups(&self, table: &str) -> Vec<String> {
        let varied: Vec<String> = self.varied_in(table).cloned().collect();
        if !varied.is_empty() {
            return varied;
        }
        if self.tables.paths > 1 {
            return vec![SOURCE_COLUMN.to_owned()];
        }
        if super::ENDS.iter().all(|end| self.has(table, end)) {
            return vec![FLOW_COLUMN.to_owned()];
        }
        Vec::new()
    }
}

/// Replaces a rate of flows by the rate at the receiving point, if the rows have it: data that was sent and
/// never arrived is not goodput (RFC 2647, section 3.17). `tcpexp compare` uses the same rule.
fn take_arrived(frame: &mut Frame, column: &str) {
    let arrived = match column {
        GOODPUT => frame.column(ARRIVED_GOODPUT).cloned(),
        THROUGHPUT => arrived_throughput(frame),
        _ => None,
    };
    if let Some(arrived) = arrived
        && (0..frame.rows()).any(|row| arrived.number(row).is_some())
    {
        frame.set(column, arrived);
    }
}

/// IP bytes that arrived over the time in which they arrived, in bits per second, rounded down.
fn arrived_throughput(frame: &Frame) -> Option<Series> {
    let [bytes, nanos] = ARRIVED_BYTES.map(|name| frame.column(name));
    let (bytes, nanos) = (bytes?, nanos?);
    let rate = |row: usize| {
        // A flow of one packet has no duration, and so no rate.
        let nanos = nanos.whole(row).filter(|nanos| *nanos > 0)?;
        let bits = i128::from(bytes.whole(row)?) * 8;
        i64::try_from(bits * 1_000_000_000 / i128::from(nanos)).ok()
    };
    Some(Series::Whole((0..frame.rows()).map(rate).collect()))
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
        if self.column != VALUE {
            return Ok(None);
        }
        let values = self.frame.column(VALUE);
        let units = self.frame.column(UNIT);
        let unit = |row: usize| {
            values?.number(row)?;
            match units?.cell(row) {
                Cell::Text(unit) => Some(unit),
                _ => None,
            }
        };
        let units: BTreeSet<&str> = (0..self.frame.rows()).filter_map(unit).collect();
        let mut units = units.into_iter();
        match (units.next(), units.next()) {
            (Some(first), Some(second)) => Err(TablesError::SeveralUnits {
                column: self.column.clone(),
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

    /// Describes the rows of a group: the pooled flows and directions, and in which parameters its runs
    /// differ. `None` if all rows of equal runs are read.
    pub fn pool_note(&self) -> Option<String> {
        let names = self.differing.iter();
        let names: Vec<String> = names
            .map(|name| Quantity::stem(name).replace('_', " "))
            .collect();
        let differing = (!names.is_empty())
            .then(|| format!("runs that differ in {} are pooled", listed(&names)));
        let parts = [self.note.clone(), differing].into_iter().flatten();
        parts.reduce(|note, differing| format!("{note}; {differing}"))
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
        let runs = match (least, most) {
            (1, 1) if runs.len() == 1 => "all values of one run".to_owned(),
            (1, 1) => "all values of one run each".to_owned(),
            (least, most) if least == most => format!("all values of {most} runs together"),
            (least, most) => format!("all values of {least} to {most} runs together"),
        };
        Some(format!("{runs}, {pool}"))
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_metrics::pooling::Pooling;

    use super::super::tests::folder;
    use super::*;

    const RATES: &str = "flow_id,initiator,responder,direction,goodput_bps\n\
        0,a:1,b:2,forward,900\n0,a:1,b:2,reverse,10\n1,a:3,b:2,reverse,700\n1,a:3,b:2,forward,20\n";

    fn goodputs(frame: &Frame) -> Vec<Option<i64>> {
        let column = frame.column("goodput_bps").unwrap();
        (0..frame.rows()).map(|row| column.whole(row)).collect()
    }

    #[test]
    fn goodput_is_that_of_the_payload_that_arrived_if_known() {
        for (arrived, expected) in [
            (["800", "0", ""], [Some(800), Some(0), None]),
            (["", "", ""], [Some(900), Some(700), Some(50)]),
        ] {
            let [a, b, c] = arrived;
            let flows = format!(
                "flow_id,direction,goodput_bps,arrived_goodput_bps\n\
                0,forward,900,{a}\n1,forward,700,{b}\n2,forward,50,{c}\n"
            );
            let (_dir, tables) = folder(&[("flows", &flows)]);
            let rows = Selection::of(tables).grouped("goodput", &[], &[], &[]);
            assert_eq!(goodputs(&rows.unwrap().frame), expected);
        }
    }

    #[test]
    fn throughput_of_flows_is_that_of_the_data_that_arrived_if_known() {
        let flows = "flow_id,direction,throughput_bps,arrived_ip_bytes,arrived_span_ns\n\
            0,forward,900,100,1000000000\n1,forward,700,1,0\n2,forward,50,,\n";
        let (_dir, tables) = folder(&[("flows", flows)]);
        let rows = Selection::of(tables).grouped("throughput", &[], &["flows"], &[]);
        let rows = rows.unwrap();
        let column = rows.frame.column("throughput_bps").unwrap();
        let rates: Vec<_> = (0..3).map(|row| column.whole(row)).collect();
        assert_eq!(rates, [Some(800), None, None]);
    }

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
    fn without_requested_groups_the_flows_are_the_groups() {
        let (_dir, tables) = folder(&[("throughput", RATES)]);
        let selection = Selection::of(tables);
        let usual = [(&[][..], UsualGroups::Yes), (&[], UsualGroups::No)];
        let rows = selection.grouped("goodput", &usual, &[], &[]).unwrap();
        assert_eq!(rows.column, "goodput_bps");
        assert_eq!(rows.groups, [vec!["flow".to_owned()], vec![]]);
        let flow = ["flow_id".to_owned()];
        let asked = [(&flow[..], UsualGroups::Yes)];
        let rows = selection.grouped("goodput", &asked, &[], &[]).unwrap();
        assert_eq!(rows.groups, [vec!["flow_id".to_owned()]]);
    }

    #[test]
    fn a_number_of_samples_is_not_the_quantity_that_they_show() {
        let flows = "flow_id,direction,rtt_samples\n0,forward,400\n";
        let rtts = "flow_id,direction,rtt_ns\n0,forward,40\n";
        let (_dir, tables) = folder(&[("flows", flows), ("rtt", rtts)]);
        let selection = Selection::of(tables);
        let drawn = |name: &str| {
            let rows = selection.grouped(name, &[], &["flows", "rtt"], &[]);
            rows.unwrap().column
        };
        assert_eq!(["rtt", "rtt_samples"].map(drawn), ["rtt_ns", "rtt_samples"]);
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
                Some("all values of one run, only rows with reference=src")
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

    #[test]
    fn pooled_rows_are_those_of_the_flows_that_carry_the_load() {
        // Flow 1 carries less than 1 % of the payload.
        let flows = "flow_id,direction,unique_bytes\n\
            0,forward,5000\n0,reverse,9\n1,forward,40\n1,reverse,1\n";
        let (_dir, tables) = folder(&[("throughput", RATES), ("flows", flows)]);
        let selection = Selection::of(tables).pooled(Pooling::default());
        let all = [(&[][..], UsualGroups::No)];
        let rows = selection
            .grouped("goodput", &all, &["throughput"], &[])
            .unwrap();
        assert_eq!(goodputs(&rows.frame), [Some(900)]);
        assert_eq!(
            rows.sample_note().unwrap(),
            "all values of one run, flows with at least 1 % of the payload, direction with more payload"
        );
    }

    #[test]
    fn a_filter_replaces_the_default_rule_for_flows_and_a_group_does_not() {
        let flows = "flow_id,direction,unique_bytes,traffic_class\n\
            0,forward,5000,bulk\n0,reverse,9,bulk\n1,forward,40,control\n1,reverse,1,control\n";
        let rates = RATES.replace("flow_id,", "traffic_class,flow_id,");
        let rates = rates
            .replace("\n0,", "\nbulk,0,")
            .replace("\n1,", "\ncontrol,1,");
        let (_dir, tables) = folder(&[("throughput", &rates), ("flows", flows)]);
        let drawn = |are_flows_requested: bool, filter: Option<&str>, group: &str| {
            let pooling = Pooling {
                are_flows_requested,
                ..Pooling::default()
            };
            let filters = filter.map(|filter| filter.parse().unwrap());
            let selection = Selection::of(tables.clone()).filters(filters.into_iter().collect());
            let group = [group.to_owned()];
            let groups = [(&group[..], UsualGroups::No)];
            let rows = selection
                .pooled(pooling)
                .grouped("goodput", &groups, &["throughput"], &[]);
            let rows = rows.unwrap();
            (goodputs(&rows.frame), rows.note.unwrap())
        };
        for group in ["flow_id", "initiator", "responder", "flow"] {
            for are_flows_requested in [false, true] {
                let (values, note) = drawn(are_flows_requested, None, group);
                assert_eq!(values, [Some(900)], "{group}");
                assert_eq!(note, "bulk flows, direction with more payload");
            }
        }
        let (values, note) = drawn(false, Some("flow_id<=1"), "responder");
        assert_eq!(values, [Some(900), Some(20)]);
        assert_eq!(note, "selected flows, direction with more payload");
        let (values, note) = drawn(true, Some("flow_id<=1"), "responder");
        assert_eq!(values, [Some(900)]);
        assert_eq!(note, "bulk flows, direction with more payload");
        // Groups by class compare classes.
        let (values, _) = drawn(false, None, "traffic_class");
        assert_eq!(values, [Some(900), Some(20)]);
        assert_eq!(drawn(true, None, "traffic_class").0, [Some(900)]);
    }
}
