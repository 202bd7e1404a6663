//! Rows of all classes of traffic together in the tables of `tcpexp compare`.

use std::collections::BTreeSet;

use tcpexp_chart::bound_columns;
use tcpexp_table::compare::ALL_CLASSES;
use tcpexp_table::{Frame, Series};

use super::SOURCE_COLUMN;

/// Column with the class of traffic.
pub(super) const CLASS: &str = "class";
/// Column that only the tables of a comparison have.
pub(super) const CELL: &str = "cell";

/// Leaves out the rows of all classes together where a class of the same cell has a value of `column`:
/// together, the traffic of the class would count twice.
///
/// Some measures exist for all classes together only. Their rows stay.
pub(super) fn without_all_classes(rows: &Frame, column: &str) -> Frame {
    let text = |column, row| rows.text(column, row);
    let is_all = |row: usize| text(CLASS, row) == Some(ALL_CLASSES);
    let cell = |row: usize| (text(SOURCE_COLUMN, row), text(CELL, row), text("run", row));
    // A row whose value is not known has bounds of it.
    let bounds = bound_columns(column).into_iter().flatten();
    let columns: Vec<&Series> = std::iter::once(column.to_owned())
        .chain(bounds)
        .filter_map(|name| rows.column(&name))
        .collect();
    let has_value = |row: &usize| columns.iter().any(|column| column.number(*row).is_some());
    let of_class = (0..rows.rows()).filter(|row| !is_all(*row) && text(CLASS, *row).is_some());
    let with_value: BTreeSet<_> = of_class.filter(has_value).map(cell).collect();
    let keep: Vec<bool> = (0..rows.rows())
        .map(|row| !is_all(row) || !with_value.contains(&cell(row)))
        .collect();
    rows.filtered(&keep)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder, goodputs};
    use super::super::{Selection, UsualGroups};

    const CELLS: &str = "cell,cc,class,runs,goodput_bps,queue_marked_packets\n\
        a,reno,all,3,900,5\na,reno,bulk,3,800,\na,reno,web,3,100,\nb,cubic,all,3,70,6\n";

    /// The values of a column in the table of cells, by the values of the column `group`.
    fn drawn(column: &str, group: &str, filter: Option<&str>) -> Vec<Option<i64>> {
        let (_dir, tables) = folder(&[("cells", CELLS)]);
        let filters = filter.map(|filter| filter.parse().unwrap());
        let selection = Selection::of(tables).filters(filters.into_iter().collect());
        let group = [group.to_owned()];
        let groups = [(&group[..], UsualGroups::No)];
        let rows = selection.grouped(column, &groups, &[], &[]).unwrap();
        if column == "goodput" {
            return goodputs(&rows.frame);
        }
        let column = rows.frame.column(&rows.column).unwrap();
        (0..rows.frame.rows())
            .map(|row| column.whole(row))
            .collect()
    }

    #[test]
    fn all_classes_together_do_not_count_beside_the_classes_of_their_cell() {
        assert_eq!(
            drawn("goodput", "cc", None),
            [Some(800), Some(100), Some(70)]
        );
    }

    #[test]
    fn all_classes_together_count_if_no_class_has_the_number() {
        assert_eq!(
            drawn("queue_marked", "cc", None),
            [Some(5), None, None, Some(6)]
        );
    }

    #[test]
    fn a_group_or_a_filter_by_class_can_choose_all_classes_together() {
        assert_eq!(drawn("goodput", "class", None).len(), 4);
        let all = drawn("goodput", "cc", Some("class=all"));
        assert_eq!(all, [Some(900), Some(70)]);
    }

    #[test]
    fn a_class_with_a_bound_only_counts_in_place_of_all_classes() {
        const RUNS: &str = "run,cell,class,completion_median_s,completion_median_least_s,completion_median_most_s\n\
            r1,a,all,,4,inf\nr1,a,web,,4,inf\nr2,a,all,3,,\nr2,a,web,3,,\n";
        let (_dir, tables) = folder(&[("runs", RUNS)]);
        let selection = Selection::of(tables);
        let rows = selection
            .grouped("completion_median", &[], &[], &[])
            .unwrap();
        let bound = rows.frame.column("completion_median_most_s").unwrap();
        let bounds: Vec<_> = (0..rows.frame.rows())
            .map(|row| bound.number(row))
            .collect();
        assert_eq!(bounds, [Some(f64::INFINITY), None]);
    }
}
