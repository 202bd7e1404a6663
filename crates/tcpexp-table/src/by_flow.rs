//! Tables of senders as text, with the senders of a flow below its title.

use std::collections::HashMap;

use tcpexp_metrics::Quantiles;
use tcpexp_units::TimeDelta;

use crate::cells::{Unit, wrapped};
use crate::labels::SenderLabel;
use crate::text::FLOW_TABLE_WIDTH;
use crate::top::Top;

/// A sender in such a table.
pub(crate) trait OfFlow {
    fn label(&self) -> &SenderLabel;

    /// Its smoothed round-trip times.
    fn srtts(&mut self) -> &mut Quantiles;
}

/// Formats the table for a terminal of `width` columns, at least 80.
///
/// `lines` formats a sender and the median of its smoothed round-trip times. One line sums up the senders that are
/// not shown; `rest` names them and their weight.
pub(crate) fn by_flow<R: OfFlow>(
    top: Top<R>,
    header: impl Fn(&Unit) -> String,
    lines: impl Fn(&R, Option<TimeDelta>, &Unit) -> Vec<String>,
    rest: [&str; 2],
    width: usize,
) -> String {
    let width = width.max(FLOW_TABLE_WIDTH);
    let (mut shown, others) = top.into_rows();
    // The title names a flow once, so both senders of a flow must be adjacent.
    together(&mut shown);
    // The unit holds for all rows, so every median is known before the first line.
    let medians: Vec<Option<TimeDelta>> = shown
        .iter_mut()
        .map(|sender| Some(sender.srtts().summary()?.median))
        .collect();
    let unit = Unit::of(medians.iter().flatten().map(|srtt| (*srtt, *srtt)));
    let mut text = vec![header(&unit)];
    let mut before = None;
    for (sender, srtt) in shown.iter().zip(medians) {
        let label = sender.label();
        if before != Some(label.flow) {
            text.extend(title(label, width));
        }
        before = Some(label.flow);
        text.extend(lines(sender, srtt, &unit));
    }
    let [sender, weight] = rest;
    text.extend(others.line(sender, weight, ""));
    text.join("\n") + "\n"
}

/// Groups senders by flow; each group is at the position of its first sender.
fn together<R: OfFlow>(senders: &mut [R]) {
    let mut places = HashMap::new();
    for sender in senders.iter() {
        let next = places.len();
        places.entry(sender.label().flow).or_insert(next);
    }
    senders.sort_by_key(|sender| places[&sender.label().flow]);
}

/// A flow's number and endpoints.
pub(crate) fn title(label: &SenderLabel, width: usize) -> Vec<String> {
    match label.ends {
        None => vec![format!("{} endpoints unknown", label.flow)],
        Some((initiator, responder)) => wrapped(
            &[
                format!("{} {initiator}", label.flow),
                format!("> {responder}"),
            ],
            width,
        ),
    }
}
