//! Rows of all flows together in a table of rates.

use std::collections::BTreeSet;

use tcpexp_table::{Cell, Frame};

use super::{FLOW_ID, SOURCE_COLUMN};

/// Column that only tables of rates have. Other tables have rows without a flow that are no totals, such as
/// the log of a sender that no capture has.
pub(super) const OF_RATES: &str = "covered_ns";

/// The sources of the rows that are those of a flow.
pub(super) fn sources_with_flows(rows: &Frame) -> BTreeSet<String> {
    let of_flow = (0..rows.rows()).filter(|row| is_of_flow(rows, *row));
    let sources = of_flow.filter_map(|row| source(rows, row));
    sources.map(str::to_owned).collect()
}

/// Leaves out the totals of files that also have rows of flows, which `with_flows` names: together, each packet
/// would count twice.
///
/// A file that has only totals keeps them.
pub(super) fn without_totals(rows: Frame, with_flows: &BTreeSet<String>) -> Frame {
    let counts = |row: usize| {
        is_of_flow(&rows, row) || !source(&rows, row).is_some_and(|name| with_flows.contains(name))
    };
    let keep: Vec<bool> = (0..rows.rows()).map(counts).collect();
    if keep.iter().all(|counts| *counts) {
        return rows;
    }
    rows.filtered(&keep)
}

fn is_of_flow(rows: &Frame, row: usize) -> bool {
    let flow = rows.column(FLOW_ID);
    flow.is_some_and(|flow| flow.cell(row) != Cell::Null)
}

fn source(rows: &Frame, row: usize) -> Option<&str> {
    rows.text(SOURCE_COLUMN, row)
}

#[cfg(test)]
mod tests {
    use tcpexp_metrics::pooling::Pooling;

    use super::super::tests::{folder, goodputs};
    use super::super::{Selection, UsualGroups};
    use crate::Error;

    /// The drawn values of a table of rates, as `tcpexp throughput` writes it, and the number of groups.
    fn drawn(rates: &str, filter: Option<&str>) -> Vec<Option<i64>> {
        read(rates, filter).unwrap()
    }

    fn read(rates: &str, filter: Option<&str>) -> Result<Vec<Option<i64>>, Error> {
        let (_dir, tables) = folder(&[("throughput", rates)]);
        let filters = filter.map(|filter| filter.parse().unwrap());
        let selection = Selection::of(tables).filters(filters.into_iter().collect());
        let usual = [(&[][..], UsualGroups::Yes)];
        let rows =
            selection
                .pooled(Pooling::default())
                .grouped("goodput", &usual, &["throughput"], &[]);
        rows.map(|rows| goodputs(&rows.frame))
    }

    #[test]
    fn totals_of_all_flows_do_not_count_beside_the_flows() {
        let rates = "flow_id,initiator,responder,direction,covered_ns,goodput_bps\n\
            0,a:1,b:2,forward,9,900\n1,a:3,b:2,reverse,9,70\n\
            ,,,forward,9,900\n,,,reverse,9,70\n,,,,9,970\n";
        assert_eq!(drawn(rates, None), [Some(900), Some(70)]);
        assert_eq!(drawn(rates, Some("direction=reverse")), [Some(70)]);
        // A filter that no flow meets does not leave the totals as data.
        let error = read(rates, Some("goodput_bps>=950")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no row of throughput meets goodput_bps>=950"
        );
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
