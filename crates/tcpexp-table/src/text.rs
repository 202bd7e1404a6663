//! The flow table as text for a terminal.

use tcpexp_flow::Direction;
use tcpexp_pair::spp::{DirectionCounts, FlowSummary};

use crate::cells::{NO_VALUE, Unit, count, wrapped};
use crate::order::{Order, longest, ordered};
use crate::top::{Rest, Top};

/// Minimum width of the flow table, in terminal columns.
pub const FLOW_TABLE_WIDTH: usize = 80;

/// Orders of flows between two captures.
const ORDERS: [Order<FlowSummary>; 3] = [
    Order {
        name: ("samples", "Round-trip time samples, most first"),
        key: |flow| Some(flow.samples()),
    },
    Order {
        name: (
            "rtt",
            "The larger median round-trip time of the two directions, longest first",
        ),
        key: |flow| longest(flow.rtt.iter().flatten().map(|rtt| rtt.median)),
    },
    Order {
        name: (
            "number",
            "The number of the flow, which is the order of first appearance",
        ),
        key: |flow| Some(u64::MAX - u64::from(flow.flow.number.0)),
    },
];

ordered!(TopFlows, 0, ORDERS);

/// The flows with the most round-trip time samples.
#[derive(Clone, Debug)]
pub struct TopFlows(Top<FlowSummary>);

impl TopFlows {
    /// Shows at most `most` flows.
    pub fn new(most: usize) -> Self {
        Self(Top::new(most, |summary| {
            (summary.samples(), summary.flow.number.0)
        }))
    }

    /// Adds a finished flow.
    pub fn add(&mut self, summary: FlowSummary) {
        self.0.add(summary);
    }

    /// Formats the table for a terminal of `width` columns, at least 80.
    ///
    /// The flows with the most samples come first; one line sums up the rest. `matched` is the
    /// share of packets found at both points, of the packets sent while both captures ran. It is
    /// rounded down, so only a flow without a miss shows 100 %.
    pub fn into_text(self, width: usize) -> String {
        let (kept, rest) = self.0.into_rows();
        flow_table(&kept, rest, width)
    }
}

/// Formats flows and their round-trip times for a terminal of `width` columns, at least 80.
///
/// Flows keep the given order; one line sums up the `rest`. A direction without data has no line.
/// `matched` is the share of packets found at both points, of the packets sent while both captures
/// ran. It counts each packet once, even if a capture has several records of it. It is rounded
/// down, so only a flow without a miss shows 100 %. `absent` packets were lost on the path or missed
/// by a capture: without the fate of each packet, the two look alike.
pub(crate) fn flow_table<'a>(
    shown: impl IntoIterator<Item = &'a FlowSummary>,
    rest: Rest,
    width: usize,
) -> String {
    let shown: Vec<_> = shown.into_iter().collect();
    if shown.is_empty() && rest.rows == 0 {
        return "no flows\n".to_owned();
    }
    let all = shown
        .iter()
        .flat_map(|summary| summary.rtt.iter().flatten());
    let unit = Unit::of(all.map(|rtt| (rtt.min, rtt.max)));
    let width = width.max(FLOW_TABLE_WIDTH);
    let mut lines = Vec::new();
    if !shown.is_empty() {
        lines.push(header(&unit));
    }
    for summary in &shown {
        lines.extend(endpoints(summary, width));
        lines.extend(
            (0..Direction::BOTH.len()).filter_map(|index| direction(summary, index, &unit)),
        );
    }
    lines.extend(rest.line_of_flows(shown.len(), "sample", ""));
    lines.join("\n") + "\n"
}

/// One line of numbers. No cell exceeds its column's width, see [`Unit::show`] and [`count`].
fn row(name: &str, samples: &str, rtt: &[String; 6], matched: &str, absent: &str) -> String {
    let [min, p5, median, p95, p99, max] = rtt;
    format!(
        "{name:9} {samples:>9} {min:>6} {p5:>6} {median:>6} {p95:>6} {p99:>6} {max:>6} {matched:>8} {absent:>7}"
    )
}

fn header(unit: &Unit) -> String {
    let quantiles = ["min", "p5", "median", "p95", "p99", "max"].map(str::to_owned);
    row(
        &format!("RTT in {}", unit.name),
        "samples",
        &quantiles,
        "matched",
        "absent",
    )
}

fn direction(summary: &FlowSummary, index: usize, unit: &Unit) -> Option<String> {
    let (counts, rtt) = (&summary.counts[index], summary.rtt[index].as_ref());
    if rtt.is_none() && counts.seen == 0 && counts.arrived == 0 {
        return None;
    }
    let cells = rtt.map_or([NO_VALUE; 6].map(str::to_owned), |rtt| {
        [rtt.min, rtt.p5, rtt.median, rtt.p95, rtt.p99, rtt.max].map(|span| unit.show(span))
    });
    let samples = count(rtt.map_or(0, |rtt| rtt.samples), 9);
    let name = format!("  {}", Direction::BOTH[index].name());
    Some(row(
        &name,
        &samples,
        &cells,
        &matched(counts),
        &count(counts.not_found(), 7),
    ))
}

/// The heading of a flow: number, protocol, endpoints, duration, and endpoints after translation.
fn endpoints(summary: &FlowSummary, width: usize) -> Vec<String> {
    let flow = &summary.flow;
    let mut lines = wrapped(
        &[
            format!("{} {} {}", flow.number, flow.protocol, flow.initiator),
            format!("> {}", flow.responder),
            format!(" {:.1}", summary.duration),
        ],
        width,
    );
    if let Some((initiator, responder)) = flow.translated.as_deref() {
        let at_dst = [format!("  at dst {initiator}"), format!("> {responder}")];
        lines.extend(wrapped(&at_dst, width));
    }
    lines
}

/// The share of matched packets, `99.7 %`.
///
/// It is rounded down: a flow with one miss in a million packets does not show 100 %.
fn matched(counts: &DirectionCounts) -> String {
    let sent = counts.seen.saturating_sub(counts.copies);
    let eligible = sent.saturating_sub(counts.outside);
    if eligible == 0 {
        return NO_VALUE.to_owned();
    }
    let permille = u128::from(counts.matched) * 1000 / u128::from(eligible);
    match permille {
        1000 => "100 %".to_owned(),
        _ => format!("{}.{} %", permille / 10, permille % 10),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;
    use tcpexp_flow::Protocol;

    use tcpexp_metrics::RttSummary;
    use tcpexp_units::TimeDelta;

    use super::*;
    use crate::cells::columns;
    use crate::testdata::{acks, address, bulk, flow, rtt_micros};

    fn table(summaries: &[FlowSummary], most: usize) -> String {
        let mut top = TopFlows::new(most);
        for summary in summaries {
            top.add(summary.clone());
        }
        top.into_text(80)
    }

    fn shown(summaries: &[FlowSummary]) -> String {
        table(summaries, 10)
    }

    #[test]
    fn a_bulk_transfer_is_three_lines() {
        assert_snapshot!(shown(&[bulk(0)]), @r"
        RTT in ms   samples    min     p5 median    p95    p99    max  matched  absent
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward    14 468  40.02  40.10  83.21  112.9  114.1  115.6   99.8 %      28
          reverse         0      -      -      -      -      -      -    100 %       0
        ");
    }

    #[test]
    fn the_absence_of_flows_is_stated_in_words() {
        assert_eq!(shown(&[]), "no flows\n");
    }

    #[test]
    fn two_ipv6_endpoints_take_two_lines() {
        let mut summary = bulk(17);
        summary.flow = flow(
            17,
            Protocol::Tcp,
            "[2001:db8:1234:5678:9abc:def0:1234:5678]:47652",
            "[2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa]:5201",
        );
        summary.rtt[1] = Some(rtt_micros(
            12,
            [-1_250, 40_000, 41_000, 42_000, 43_000, 3_600_000_000],
        ));
        assert_snapshot!(shown(&[summary]), @r"
        RTT in ms   samples    min     p5 median    p95    p99    max  matched  absent
        17 tcp [2001:db8:1234:5678:9abc:def0:1234:5678]:47652
            > [2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa]:5201  30.1 s
          forward    14 468  40.02  40.10  83.21  112.9  114.1  115.6   99.8 %      28
          reverse        12 -1.250  40.00  41.00  42.00  43.00  3.6e6    100 %       0
        ");
    }

    #[test]
    fn one_way_udp_has_packets_but_no_samples() {
        let mut summary = bulk(3);
        summary.flow = flow(3, Protocol::Udp, "10.0.0.1:40000", "10.0.0.2:5001");
        summary.counts = [acks(1_700), DirectionCounts::default()];
        summary.counts[0].matched -= 1;
        summary.counts[0].lost = 1;
        summary.rtt = [None, None];
        assert_snapshot!(shown(&[summary]), @r"
        RTT in ms   samples    min     p5 median    p95    p99    max  matched  absent
        3 udp 10.0.0.1:40000 > 10.0.0.2:5001  30.1 s
          forward         0      -      -      -      -      -      -   99.9 %       1
        ");
    }

    #[test]
    fn a_translated_flow_shows_both_pairs_of_endpoints() {
        let mut summary = bulk(0);
        summary.flow.translated = Some(Box::new((
            address("203.0.113.7:62001"),
            address("172.16.11.2:5201"),
        )));
        summary.counts[0].outside = summary.counts[0].seen;
        assert_snapshot!(shown(&[summary]), @r"
        RTT in ms   samples    min     p5 median    p95    p99    max  matched  absent
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          at dst 203.0.113.7:62001 > 172.16.11.2:5201
          forward    14 468  40.02  40.10  83.21  112.9  114.1  115.6        -      28
          reverse         0      -      -      -      -      -      -    100 %       0
        ");
    }

    #[test]
    fn samples_below_a_millisecond_are_shown_in_microseconds() {
        let mut summary = bulk(0);
        summary.rtt[0] = Some(rtt_micros(200, [38, 41, 57, 99, 412, 999]));
        assert_snapshot!(shown(&[summary]), @r"
        RTT in µs   samples    min     p5 median    p95    p99    max  matched  absent
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward       200  38.00  41.00  57.00  99.00  412.0  999.0   99.8 %      28
          reverse         0      -      -      -      -      -      -    100 %       0
        ");
    }

    #[test]
    fn samples_above_ten_seconds_are_shown_in_seconds() {
        let mut summary = bulk(0);
        summary.rtt[0] = Some(rtt_micros(200, [10_500_000; 6]));
        assert_snapshot!(shown(&[summary]), @r"
        RTT in s    samples    min     p5 median    p95    p99    max  matched  absent
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward       200  10.50  10.50  10.50  10.50  10.50  10.50   99.8 %      28
          reverse         0      -      -      -      -      -      -    100 %       0
        ");
    }

    #[test]
    fn flows_beyond_the_limit_are_one_line() {
        let flows: Vec<_> = (0..5)
            .map(|id| {
                let mut summary = bulk(id);
                summary.rtt[0].as_mut().unwrap().samples = 1_000 * u64::from(1 + id % 3);
                summary
            })
            .collect();
        assert_snapshot!(table(&flows, 2), @r"
        RTT in ms   samples    min     p5 median    p95    p99    max  matched  absent
        2 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward     3 000  40.02  40.10  83.21  112.9  114.1  115.6   99.8 %      28
          reverse         0      -      -      -      -      -      -    100 %       0
        1 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward     2 000  40.02  40.10  83.21  112.9  114.1  115.6   99.8 %      28
          reverse         0      -      -      -      -      -      -    100 %       0
        and 3 more flows (4 000 samples)
        ");
        assert_eq!(table(&flows, 0), "and 5 flows (9 000 samples)\n");
    }

    #[test]
    fn counts_are_grouped_or_scaled() {
        let shown =
            [0, 999, 14_468, 9_999_999, 10_000_000, 123_456_789, u64::MAX].map(|n| count(n, 9));
        assert_eq!(
            shown,
            [
                "0",
                "999",
                "14 468",
                "9 999 999",
                "10.0 M",
                "123.5 M",
                "18.4 E"
            ]
        );
    }

    prop_compose! {
        fn any_summary()(
            id in any::<u32>(),
            v6 in any::<bool>(),
            translated in any::<bool>(),
            duration in any::<i64>(),
            counts in prop::array::uniform6(any::<u64>()),
            samples in 0..u64::MAX / 16,
            nanos in prop::option::of(prop::array::uniform6(any::<i64>())),
        ) -> FlowSummary {
            let mut summary = bulk(id);
            if v6 {
                let longest = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
                summary.flow = flow(id, Protocol::Tcp, longest, longest);
            }
            let ends = (summary.flow.initiator, summary.flow.responder);
            summary.flow.translated = translated.then(|| Box::new(ends));
            summary.duration = TimeDelta::from_nanos(duration);
            let [seen, matched, ambiguous, copies, lost, outside] = counts;
            summary.counts[0] =
                DirectionCounts { seen, matched, ambiguous, copies, lost, outside, ..summary.counts[0] };
            summary.rtt[0] = nanos.map(|nanos| {
                let [min, p5, median, p95, p99, max] = nanos.map(TimeDelta::from_nanos);
                RttSummary { samples, min, p5, median, p95, p99, max }
            });
            summary
        }
    }

    proptest! {
        #[test]
        fn every_line_fits_eighty_columns(flows in prop::collection::vec(any_summary(), 0..4), most in 0_usize..4) {
            for line in table(&flows, most).lines() {
                prop_assert!(columns(line) <= 80, "{line:?}");
                prop_assert_eq!(line, line.trim_end());
            }
        }
    }
}
