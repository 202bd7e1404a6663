//! Rows of all flows together in a table of rates.

use std::collections::BTreeSet;

use tcpexp_table::{Cell, Frame};

use super::{FLOW_ID, SOURCE_COLUMN};

/// Column that only tables of rates have. Other tables have rows without a flow that are no totals, such as
/// the log of a sender that no capture has.
pub(super) const OF_RATES: &str = "covered_ns";

/// Leaves out the totals of files that also have rows of flows: together, each packet would count twice.
///
/// A file that has only totals keeps them.
pub(super) fn without_totals(rows: Frame) -> Frame {
    let flow = match rows.column(FLOW_ID) {
        Some(flow) if (0..rows.rows()).any(|row| flow.cell(row) == Cell::Null) => flow,
        _ => return rows,
    };
    let source = |row: usize| match rows.column(SOURCE_COLUMN)?.cell(row) {
        Cell::Text(source) => Some(source),
        _ => None,
    };
    let is_of_flow = |row: &usize| flow.cell(*row) != Cell::Null;
    let with_flows: BTreeSet<Option<&str>> =
        (0..rows.rows()).filter(is_of_flow).map(source).collect();
    let keep: Vec<bool> = (0..rows.rows())
        .map(|row| is_of_flow(&row) || !with_flows.contains(&source(row)))
        .collect();
    rows.filtered(&keep)
}

#[cfg(test)]
mod tests {
    use tcpexp_metrics::pooling::Pooling;

    use super::super::tests::{folder, goodputs};
    use super::super::{Selection, UsualGroups};

    /// The drawn values of a table of rates, as `tcpexp throughput` writes it, and the number of groups.
    fn drawn(rates: &str, filter: Option<&str>) -> Vec<Option<i64>> {
        let (_dir, tables) = folder(&[("throughput", rates)]);
        let filters = filter.map(|filter| filter.parse().unwrap());
        let selection = Selection::of(tables).filters(filters.into_iter().collect());
        let usual = [(&[][..], UsualGroups::Yes)];
        let rows =
            selection
                .pooled(Pooling::default())
                .grouped("goodput", &usual, &["throughput"], &[]);
        goodputs(&rows.unwrap().frame)
    }

    #[test]
    fn totals_of_all_flows_do_not_count_beside_the_flows() {
        let rates = "flow_id,initiator,responder,direction,covered_ns,goodput_bps\n\
            0,a:1,b:2,forward,9,900\n1,a:3,b:2,reverse,9,70\n\
            ,,,forward,9,900\n,,,reverse,9,70\n,,,,9,970\n";
        assert_eq!(drawn(rates, None), [Some(900), Some(70)]);
        assert_eq!(drawn(rates, Some("direction=reverse")), [Some(70)]);
    }

    #[test]
    fn totals_count_in_a_table_without_rows_of_flows() {
        let rates = "flow_id,initiator,responder,direction,covered_ns,goodput_bps\n\
            ,,,forward,9,900\n,,,reverse,9,70\n";
        assert_eq!(drawn(rates, None), [Some(900), Some(70)]);
    }

    #[test]
    fn rows_without_a_flow_count_in_tables_that_have_no_totals() {
        // A log of a sender that no capture has.
        let logs = "flow_id,initiator,responder,direction,goodput_bps\n\
            0,a:1,b:2,forward,900\n,,,,70\n";
        assert_eq!(drawn(logs, None), [Some(900), Some(70)]);
    }
}
