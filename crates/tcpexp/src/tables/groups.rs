//! The rows of a column to draw, and the columns that group them.

use tcpexp_chart::bound_columns;
use tcpexp_table::{Frame, QUEUE_KEYS};

use super::arrived::{arrived_columns, take_arrived};
use super::classes::{CELL, CLASS, without_all_classes};
use super::delay_errors::{error_columns, take_delays};
use super::grouped::{Grouped, UNIT, VALUE, stated_unit};
use super::pool::{flows_query, optional_columns, pool};
use super::warm_up::{OMITTED, WITHOUT_WARM_UP, without_warm_up};
use super::{FLOW_COLUMN, FLOW_ID, SOURCE_COLUMN, Selection, queues};
use crate::Error;

/// Column with the direction of a row's packets.
const DIRECTION: &str = "direction";

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

/// Rows that count in a figure.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// The rows.
    pub frame: Frame,
    /// Description of the flows and directions that count, or of the measurement point whose rows are
    /// read; `None` if all rows count.
    pub note: Option<String>,
    /// Description of the errors of delays and round-trip times; `None` for other columns.
    pub errors: Option<String>,
    /// True if the rows are those of the flows and directions that a pooled figure counts.
    pub is_pooled: bool,
}

impl Counted {
    /// Returns the unit of a column if another column states it; `None` for other columns.
    pub fn stated_unit(&self, column: &str) -> Result<Option<String>, Error> {
        stated_unit(&self.frame, column)
    }
}

impl Selection {
    /// Reads the selected rows of a table, as [`read`](Self::read) does; of pooled rows those that
    /// count.
    ///
    /// `required` is the column to draw, followed by the columns that divide the rows. `groups` are those of
    /// them that the user names.
    pub fn counted(
        &self,
        table: &str,
        required: &[String],
        optional: &[String],
        groups: &[&str],
    ) -> Result<Counted, Error> {
        let divides = required.get(1..).unwrap_or_default();
        self.counted_by(table, required, optional, (groups, divides))
    }

    /// Reads rows as [`counted`](Self::counted) does, with the columns that divide the rows.
    fn counted_by(
        &self,
        table: &str,
        required: &[String],
        optional: &[String],
        (groups, divides): (&[&str], &[String]),
    ) -> Result<Counted, Error> {
        let mut optional = optional.to_vec();
        if self.pooling.is_some() {
            optional.extend(optional_columns());
        }
        optional.extend(error_columns(required));
        if required.iter().any(|column| column == VALUE) {
            optional.push(UNIT.to_owned());
        }
        let (mut frame, point) = self.read_at_point(table, required, &optional)?;
        let pooled = self.pool_rows(groups, &mut frame)?;
        let errors = take_delays(&mut frame, required, divides)?;
        let elsewhere = || {
            let mut columns = required.iter().filter(|_| table == queues::QUEUE);
            columns.find_map(|column| self.errors_elsewhere(table, column, divides))
        };
        Ok(Counted {
            errors: errors.or_else(elsewhere),
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
        let mut named = required.into_iter();
        let column = named.next().unwrap_or_else(|| column.to_owned());
        let mut of_groups: Vec<Vec<String>> = groups
            .iter()
            .map(|(columns, _)| named.by_ref().take(columns.len()).collect())
            .collect();
        let used: Vec<String> = of_groups.iter().flatten().cloned().collect();
        for columns in usually_grouped(&mut of_groups, groups) {
            *columns = self.usual_groups(&table);
            columns.retain(|column| !used.contains(column));
        }
        let mut required = vec![column.clone()];
        required.extend(of_groups.iter().flatten().cloned());
        // A row whose number is not known has bounds of it.
        let bounds: Vec<String> = required
            .iter()
            .filter_map(|column| bound_columns(column))
            .flatten()
            .collect();
        let bounds = bounds.iter().map(String::as_str);
        let optional: Vec<&str> = optional.iter().copied().chain(bounds).collect();
        let divides = |(columns, (_, asked)): (&Vec<String>, &(&[String], UsualGroups))| {
            (*asked != UsualGroups::OfPoints).then(|| columns.clone())
        };
        let divides = of_groups.iter().zip(groups).filter_map(divides);
        let divides: Vec<String> = divides.flatten().collect();
        let (counted, without) =
            self.counted_values(&table, &required, &optional, (&asked, &divides))?;
        if self.varied_in(&table).next().is_some() {
            for columns in usually_grouped(&mut of_groups, groups) {
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
        // Without a rule, the directions of all rows count.
        let grouped = of_groups.iter().flatten().any(|column| column == DIRECTION);
        let directions = || directions_of(&counted.frame).filter(|_| !grouped);
        let note = counted.note.or_else(directions).into_iter();
        let note = note.chain(without.map(str::to_owned));
        let note = note.reduce(|note, without| format!("{note}, {without}"));
        Ok(Grouped {
            frame: counted.frame,
            table,
            column,
            groups: of_groups,
            note,
            errors: counted.errors,
            is_pooled: counted.is_pooled,
            differing,
        })
    }

    /// Reads the rows that count, and the values to draw in the first required column: of rates those of
    /// the data that arrived, and of queues the queue that the filters and the `asked` groups choose. Also
    /// returns the description of the rows that are left out.
    fn counted_values(
        &self,
        table: &str,
        required: &[String],
        optional: &[&str],
        (asked, divides): (&[&str], &[String]),
    ) -> Result<(Counted, Option<&'static str>), Error> {
        let column = required.first().map_or("", String::as_str);
        let filtered = self.filters.iter().map(|filter| filter.column.as_str());
        let chosen: Vec<&str> = filtered.chain(asked.iter().copied()).collect();
        let is_of_queues = queues::are_of_table(table, &chosen);
        let keys = if is_of_queues {
            [&QUEUE_KEYS[..], &queues::KEYS[..]].concat()
        } else {
            Vec::new()
        };
        let has_classes = [CELL, CLASS].iter().all(|name| self.has(table, name));
        let classes: &[&str] = if has_classes { &[CELL, CLASS] } else { &[] };
        let is_omitted = |name: &&&str| self.has(table, name) && !chosen.contains(*name);
        let omitted: Vec<&str> = OMITTED.iter().filter(is_omitted).copied().collect();
        let omitted = omitted.as_slice();
        let optional = [
            optional,
            arrived_columns(column),
            keys.as_slice(),
            classes,
            omitted,
        ]
        .concat();
        let optional: Vec<String> = optional.into_iter().map(str::to_owned).collect();
        let mut counted = self.counted_by(table, required, &optional, (asked, divides))?;
        take_arrived(&mut counted.frame, column);
        let mut without = None;
        if let Some(rows) = without_warm_up(&counted.frame, omitted) {
            counted.frame = rows;
            without = Some(WITHOUT_WARM_UP);
        }
        if has_classes && !chosen.contains(&CLASS) {
            counted.frame = without_all_classes(&counted.frame, column);
        }
        Ok((
            self.of_main_queues((table, column), asked, counted),
            without,
        ))
    }

    /// Of rows of the table `queue`, keeps those of the queue that the filters and the `asked` groups choose, and
    /// describes them. Rows of other tables stay.
    pub fn of_main_queues(
        &self,
        (table, column): (&str, &str),
        asked: &[&str],
        mut counted: Counted,
    ) -> Counted {
        let filtered = self.filters.iter().map(|filter| filter.column.as_str());
        let chosen: Vec<&str> = filtered.chain(asked.iter().copied()).collect();
        if queues::are_of_table(table, &chosen) {
            (counted.frame, counted.note) = queues::take(&counted.frame, column, &chosen);
        }
        counted
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

/// Describes the directions of the rows; `None` for tables without directions.
fn directions_of(rows: &Frame) -> Option<String> {
    let directions = rows.column(DIRECTION)?;
    let has = |name: &str| (0..rows.rows()).any(|row| directions.text(row) == Some(name));
    match ["forward", "reverse"].map(has) {
        [true, true] => Some("both directions".to_owned()),
        [true, false] => Some("forward".to_owned()),
        [false, true] => Some("reverse".to_owned()),
        [false, false] => None,
    }
}

/// The groupings without requested columns that take the usual ones.
fn usually_grouped<'a>(
    of_groups: &'a mut [Vec<String>],
    asked: &'a [(&[String], UsualGroups)],
) -> impl Iterator<Item = &'a mut Vec<String>> {
    of_groups
        .iter_mut()
        .zip(asked)
        .filter(|(_, (columns, default))| columns.is_empty() && *default == UsualGroups::Yes)
        .map(|(columns, _)| columns)
}

#[cfg(test)]
mod tests {
    use tcpexp_metrics::pooling::Pooling;

    use super::super::tests::{RATES, folder, goodputs};
    use super::*;

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
            "all bins of one run, flows with at least 1 % of the payload, direction with more payload"
        );
    }

    #[test]
    fn without_a_table_of_flows_the_note_names_the_directions_of_all_rows() {
        let delays = "flow_id,direction,owd_ns\n0,forward,40\n0,reverse,41\n1,forward,42\n";
        let (_dir, tables) = folder(&[("owd", delays)]);
        let note = |group: &[String], filter: Option<&str>| {
            let filters = filter.map(|filter| filter.parse().unwrap());
            let selection = Selection::of(tables.clone()).filters(filters.into_iter().collect());
            let groups = [(group, UsualGroups::No)];
            let rows = selection
                .pooled(Pooling::default())
                .grouped("owd", &groups, &["owd"], &[]);
            rows.unwrap().sample_note()
        };
        let both = note(&[], None).unwrap();
        assert_eq!(both, "all packets of one run, both directions");
        let one = note(&[], Some("direction=reverse")).unwrap();
        assert_eq!(one, "all packets of one run, reverse");
        assert_eq!(note(&["direction".to_owned()], None), None);
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

    #[test]
    fn lines_of_groups_show_the_fullest_queue() {
        let rows = "time,cc,way,queueing_delay_max_ns\n1,reno,out,70\n1,reno,back,1\n2,bbr,out,2\n";
        let (_dir, tables) = folder(&[("queue", rows)]);
        let selection = Selection::of(tables);
        let column = "queueing_delay_max_ns";
        let drawn = |group: &[&str], table: &str| {
            let columns: Vec<String> = group.iter().map(ToString::to_string).collect();
            let required = [&[column.to_owned()][..], &columns].concat();
            let way = ["way".to_owned()];
            let all = selection.counted("queue", &required, &way, group);
            let main = selection.of_main_queues((table, column), group, all.unwrap());
            (main.frame.rows(), main.note)
        };
        let note = "queue on the way out, the fullest way".to_owned();
        assert_eq!(drawn(&["cc"], "queue"), (2, Some(note)));
        assert_eq!(drawn(&["cc", "way"], "queue").0, 3);
        assert_eq!(drawn(&["cc"], "rtt"), (3, None));
    }
}
