//! The round-trip times of one capture, as text for a terminal.

use tcpexp_flow::Direction;
use tcpexp_measure::rtt::{SingleRttDirection, SingleRttFlow};
use tcpexp_metrics::RttSummary;

use crate::cells::{NO_VALUE, Unit, count, wrapped};
use crate::order::{Order, longest, ordered};
use crate::text::FLOW_TABLE_WIDTH;
use crate::top::{Rest, Top};

/// Orders of the connections of a capture, by the names of those of two captures.
const ORDERS: [Order<SingleRttFlow>; 3] = [
    Order {
        name: ("samples", "Round-trip time samples, most first"),
        key: |flow| Some(flow.directions.iter().map(samples).sum()),
    },
    Order {
        name: (
            "rtt",
            "The larger median round-trip time of the two directions, longest first",
        ),
        key: |flow| {
            let all = flow.directions.iter().flat_map(summaries);
            longest(all.map(|(_, rtt)| rtt.median))
        },
    },
    Order {
        name: (
            "number",
            "The number of the flow, which is the order of first appearance",
        ),
        key: |flow| Some(u64::MAX - u64::from(flow.flow.id.0)),
    },
];

ordered!(TopSingleRtt, 0, ORDERS);

/// The connections with the most round-trip time samples.
#[derive(Clone, Debug)]
pub struct TopSingleRtt(Top<SingleRttFlow>);

impl TopSingleRtt {
    /// Shows at most `most` connections.
    pub fn new(most: usize) -> Self {
        Self(Top::new(most, |flow| {
            let samples = flow.directions.iter().map(samples).sum();
            (samples, flow.flow.id.0)
        }))
    }

    /// Adds a finished connection.
    pub fn add(&mut self, flow: SingleRttFlow) {
        self.0.add(flow);
    }

    /// Formats the table for a terminal of `width` columns, at least 80.
    ///
    /// The connections with the most samples come first; one line sums up the rest.
    pub fn into_text(self, width: usize) -> String {
        let (kept, rest) = self.0.into_rows();
        table(&kept, rest, width.max(FLOW_TABLE_WIDTH))
    }
}

fn samples(direction: &SingleRttDirection) -> u64 {
    summaries(direction).map(|(_, rtt)| rtt.samples).sum()
}

/// The samples of one direction, summarized by method.
fn summaries(
    direction: &SingleRttDirection,
) -> impl Iterator<Item = (&'static str, RttSummary)> + use<> {
    [
        ("ACK", direction.sequence_ack),
        ("timestamp", direction.timestamps),
        ("unasked", direction.unasked),
        ("spin bit", direction.spin_bit),
        ("handshake", direction.quic_handshake),
    ]
    .into_iter()
    .filter_map(|(method, rtt)| Some((method, rtt?)))
}

fn table(shown: &[SingleRttFlow], rest: Rest, width: usize) -> String {
    let all = shown
        .iter()
        .flat_map(|flow| &flow.directions)
        .flat_map(summaries);
    let coarse_tick = shown.iter().find_map(|flow| flow.coarse_tick);
    let unit = Unit::of(all.map(|(_, rtt)| (rtt.min, rtt.max))).measured_with(coarse_tick);
    let mut lines = vec![row(
        &format!("RTT in {} by", unit.name),
        ["samples", "min", "median", "p95", "max", "SRTT", "RTO"].map(str::to_owned),
    )];
    for flow in shown {
        lines.extend(wrapped(
            &[
                format!("{} {}", flow.flow.id, flow.flow.initiator()),
                format!("> {}", flow.flow.responder()),
            ],
            width,
        ));
        for direction in Direction::BOTH {
            let of = &flow.directions[direction.index()];
            lines.extend(
                summaries(of).map(|(method, rtt)| line(direction, method, &rtt, of, &unit)),
            );
        }
    }
    lines.extend(rest.line_of_flows(shown.len(), "sample", ""));
    lines.join("\n") + "\n"
}

fn line(
    direction: Direction,
    method: &str,
    rtt: &RttSummary,
    of: &SingleRttDirection,
    unit: &Unit,
) -> String {
    // The timers depend on ACKs, not on the method; they appear with the first method shown.
    let timers = of
        .linux
        .filter(|_| summaries(of).next().is_some_and(|first| first.0 == method));
    let [srtt, rto] = timers.map_or([NO_VALUE; 2].map(str::to_owned), |timers| {
        [timers.srtt, timers.rto].map(|span| unit.show(span))
    });
    let [min, median, p95, max] =
        [rtt.min, rtt.median, rtt.p95, rtt.max].map(|span| unit.show(span));
    row(
        &format!("  {direction} {method}"),
        [count(rtt.samples, 9), min, median, p95, max, srtt, rto],
    )
}

/// One line of numbers, 80 columns wide.
fn row(name: &str, cells: [String; 7]) -> String {
    let [samples, min, median, p95, max, srtt, rto] = cells;
    format!("{name:19} {samples:>9} {min:>7} {median:>7} {p95:>7} {max:>7}   {srtt:>7} {rto:>7}")
}
