//! Rows of a load generator's warm-up.

use tcpexp_table::Frame;

/// Columns that are true in rows of the warm-up: of the table of intervals, and of the logs of a dataset.
pub(super) const OMITTED: [&str; 2] = ["omitted", "interval_omitted"];
/// Words on the rows that [`without_warm_up`] leaves out.
pub(super) const WITHOUT_WARM_UP: &str = "without the load generator's warm-up";

/// Leaves out each row that is true in one of `columns`. The sums of the load generator and the printed summary
/// leave out the same rows. Returns `None` if no row is left out.
pub(super) fn without_warm_up(rows: &Frame, columns: &[&str]) -> Option<Frame> {
    let columns = columns.iter().filter_map(|name| rows.column(name));
    let columns: Vec<_> = columns.collect();
    let counts = |row: usize| {
        let mut columns = columns.iter();
        !columns.any(|column| column.text(row) == Some("true"))
    };
    let keep: Vec<bool> = (0..rows.rows()).map(counts).collect();
    keep.contains(&false).then(|| rows.filtered(&keep))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{folder, goodputs};
    use super::super::{Selection, UsualGroups};

    const INTERVALS: &str = "flow_id,direction,goodput_bps,omitted\n\
        0,forward,100,true\n0,forward,900,false\n0,forward,700,false\n";

    /// The values, and the note under the chart.
    fn drawn(filter: Option<&str>, group: &[String]) -> (Vec<Option<i64>>, Option<String>) {
        let (_dir, tables) = folder(&[("intervals", INTERVALS)]);
        let filters = filter.map(|filter| filter.parse().unwrap());
        let selection = Selection::of(tables).filters(filters.into_iter().collect());
        let rows = selection.grouped("goodput", &[(group, UsualGroups::No)], &[], &[]);
        let rows = rows.unwrap();
        (goodputs(&rows.frame), rows.pool_note())
    }

    #[test]
    fn intervals_of_the_warm_up_count_only_if_a_filter_or_a_group_names_them() {
        let note = "without the load generator's warm-up";
        let counted = vec![Some(900), Some(700)];
        assert_eq!(drawn(None, &[]), (counted, Some(note.to_owned())));
        let warm_up = vec![Some(100)];
        assert_eq!(drawn(Some("omitted=true"), &[]), (warm_up, None));
        let (all, note) = drawn(None, &["omitted".to_owned()]);
        assert_eq!((all.len(), note), (3, None));
    }
}
