//! Why a panel of `tcpexp plot timeseries` has no values.

/// There is nothing to draw in a panel.
#[derive(Debug, thiserror::Error)]
#[error("there are no values for {0}")]
pub(super) struct NoValues(pub(super) String);

/// True if a table is damaged, not only without rows or columns of the selection.
pub(super) fn is_unreadable(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<tcpexp::Error>();
    error.is_some_and(|error| !matches!(error, tcpexp::Error::Tables(_)))
}

/// True if the tables have the columns of a panel, but no values in the selected rows.
pub(super) fn is_without_values(error: &anyhow::Error) -> bool {
    use tcpexp::TablesError::{EmptyTable, NoPooledRows, NoRows, NotAtSender};
    error.is::<NoValues>()
        || matches!(
            error.downcast_ref(),
            Some(tcpexp::Error::Tables(
                EmptyTable { .. } | NoRows { .. } | NoPooledRows { .. } | NotAtSender
            ))
        )
}

/// Why none of several panels has values: the reason of each. `None` without reasons.
pub(super) fn without_panels(reasons: &[anyhow::Error]) -> Option<String> {
    let mut distinct: Vec<String> = Vec::new();
    for reason in reasons.iter().map(|reason| format!("{reason:#}")) {
        if !distinct.contains(&reason) {
            distinct.push(reason);
        }
    }
    (!distinct.is_empty()).then(|| distinct.join("; "))
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_error_of_default_panels_states_the_reason_of_each_once() {
        let reasons = ["sender has no rows", "rtt has no rows", "rtt has no rows"];
        let reasons = reasons.map(|reason| anyhow!(reason));
        assert_eq!(
            without_panels(&reasons).unwrap(),
            "sender has no rows; rtt has no rows"
        );
        assert_eq!(without_panels(&[]), None);
    }
}
