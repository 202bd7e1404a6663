//! Packet fates and delays on a path, as text for a terminal.

use tcpexp_flow::Direction;
use tcpexp_pair::path::{PathFlow, PathSummary};
use tcpexp_units::{RateUnit, TimeDelta};

use crate::cells::{NO_VALUE, Unit, count, percent, show_rate, wrapped};
use crate::order::{Order, longest, ordered};
use crate::text::FLOW_TABLE_WIDTH;
use crate::top::{Rest, Top};

/// Names of the lines for all flows together, by [`PathDirection::index`](tcpexp_pair::spp::PathDirection::index).
const WAYS: [&str; 2] = ["src > dst", "dst > src"];

/// Orders of the flows on a path.
pub(crate) const ORDERS: [Order<PathFlow>; 5] = [
    Order {
        name: ("packets", "Packets that were sent, most first"),
        key: |flow| Some(flow.directions.iter().map(PathSummary::sent).sum()),
    },
    Order {
        name: ("lost", "Packets that the path lost, most first"),
        key: |flow| Some(flow.directions.iter().map(PathSummary::lost).sum()),
    },
    Order {
        name: (
            "delay",
            "The larger median queueing delay of the two directions, longest first",
        ),
        key: |flow| {
            let delays = flow.directions.iter().filter_map(|way| way.queueing_delay);
            longest(delays.map(|delay| delay.median))
        },
    },
    Order {
        name: (
            "rtt",
            "The larger median round-trip time of the two directions, longest first",
        ),
        key: |flow| longest(flow.summary.rtt.iter().flatten().map(|rtt| rtt.median)),
    },
    Order {
        name: (
            "number",
            "The number of the flow, which is the order of first appearance",
        ),
        key: |flow| Some(u64::MAX - u64::from(flow.summary.flow.number.0)),
    },
];

ordered!(TopPath, top, ORDERS);

/// The flows with the most packets on the path.
#[derive(Clone, Debug)]
pub struct TopPath {
    top: Top<PathFlow>,
    flows: u64,
}

impl TopPath {
    /// Shows at most `most` flows.
    pub fn new(most: usize) -> Self {
        Self {
            top: Top::new(most, |flow| {
                let packets = flow.directions.iter().map(PathSummary::sent).sum();
                (packets, flow.summary.flow.number.0)
            }),
            flows: 0,
        }
    }

    /// Counts a finished flow in the total number of flows.
    pub fn count(&mut self) {
        self.flows += 1;
    }

    /// Adds a finished flow to the candidates for display.
    pub fn add(&mut self, flow: PathFlow) {
        self.top.add(flow);
    }

    /// Formats the tables of packets and delays for a terminal of `width` columns, at least 80.
    ///
    /// The flows with the most packets come first, one line sums up the rest, and `ways` gives the
    /// totals of all flows. The share of lost packets refers to packets with a known fate. One-way
    /// delays are omitted if the error of the clock offset is unbounded.
    pub fn into_text(
        self,
        path_directions: &[PathSummary; 2],
        is_offset_known: bool,
        width: usize,
    ) -> String {
        let (flows, rest) = self.top.into_rows();
        let width = width.max(FLOW_TABLE_WIDTH);
        let sections: Vec<Section> = flows
            .iter()
            .map(|flow| Section::of(flow, width, is_offset_known))
            // The total of a single flow would repeat its lines.
            .chain(
                (self.flows > 1)
                    .then(|| Section::of_all(self.flows, path_directions, is_offset_known)),
            )
            .collect();
        tables(&sections, flows.len(), rest)
    }
}

/// The tables of packets and delays of `shown` flows and their total. `rest` are the other flows.
pub(crate) fn tables(sections: &[Section<'_>], shown: usize, rest: Rest) -> String {
    let units = Units::of(sections);
    let mut packets = vec![packets_header()];
    let mut delays = units.header();
    for (place, section) in sections.iter().enumerate() {
        // The last section is the total of all flows, those below the limit included.
        if place == shown {
            packets.extend(rest.line("more flow", "packet", ""));
        }
        for lines in [&mut packets, &mut delays] {
            lines.extend_from_slice(&section.title);
        }
        for line in &section.lines {
            packets.push(
                line.path
                    .map_or(line.name.clone(), |path| packets_line(&line.name, path)),
            );
            delays.push(line.path.map_or(line.name.clone(), |path| {
                units.line(&line.name, path, line.is_offset_known)
            }));
        }
    }
    packets.push(String::new());
    packets.append(&mut delays);
    packets.join("\n") + "\n"
}

/// A flow, or the total of all flows, with its lines.
pub(crate) struct Section<'a> {
    pub(crate) title: Vec<String>,
    pub(crate) lines: Vec<Line<'a>>,
}

/// One direction, or a heading.
pub(crate) struct Line<'a> {
    /// Indented.
    pub(crate) name: String,
    /// `None` for a heading.
    pub(crate) path: Option<&'a PathSummary>,
    /// False if the error of one-way delays is unbounded.
    pub(crate) is_offset_known: bool,
}

impl<'a> Section<'a> {
    fn of(flow: &'a PathFlow, width: usize, is_offset_known: bool) -> Self {
        let names = Direction::BOTH.map(Direction::name);
        Self {
            title: flow_title(flow, width),
            lines: with_packets(names, &flow.directions, is_offset_known),
        }
    }

    fn of_all(flows: u64, path_directions: &'a [PathSummary; 2], is_offset_known: bool) -> Self {
        Self {
            title: vec![total_title(flows)],
            lines: with_packets(WAYS, path_directions, is_offset_known),
        }
    }
}

pub(crate) fn flow_title(flow: &PathFlow, width: usize) -> Vec<String> {
    let pair = &flow.summary.flow;
    wrapped(
        &[
            format!("{} {} {}", pair.number, pair.protocol, pair.initiator),
            format!("> {}", pair.responder),
            format!(" {:.1}", flow.summary.duration),
        ],
        width,
    )
}

pub(crate) fn total_title(flows: u64) -> String {
    format!("all {} flows", count(flows, usize::MAX))
}

pub(crate) fn has_packets(path: &PathSummary) -> bool {
    path.counts.seen > 0 || path.counts.arrived > 0
}

/// The lines with at least one packet.
fn with_packets<'a>(
    names: [&'static str; 2],
    paths: &'a [PathSummary; 2],
    is_offset_known: bool,
) -> Vec<Line<'a>> {
    names
        .into_iter()
        .zip(paths)
        .filter(|(_, path)| has_packets(path))
        .map(|(name, path)| Line {
            name: format!("  {name}"),
            path: Some(path),
            is_offset_known,
        })
        .collect()
}

/// One line of counts, 80 columns wide.
fn packets_row(name: &str, cells: [&str; 8]) -> String {
    let [
        sent,
        received,
        unknown,
        lost,
        share,
        reordered,
        duplicate,
        run,
    ] = cells;
    format!(
        "{name:11} {sent:>8} {received:>8} {unknown:>7} {lost:>7} {share:>7} {reordered:>9} {duplicate:>6} {run:>8}"
    )
}

fn packets_header() -> String {
    let cells = [
        "sent",
        "received",
        "unknown",
        "lost",
        "",
        "reordered",
        "dup.",
        "loss run",
    ];
    packets_row("packets", cells)
}

fn packets_line(name: &str, path: &PathSummary) -> String {
    // Missed packets arrived, as their ACKs show; only the capture lacks them.
    let known = path.delivered() + path.missed() + path.lost();
    let longest = path.losses.longest;
    packets_row(
        name,
        [
            &count(path.sent(), 8),
            &count(path.delivered() + path.missed(), 8),
            &count(path.unknown(), 7),
            &count(path.lost(), 7),
            &percent(path.lost(), known).unwrap_or(NO_VALUE.to_owned()),
            &count(path.reordered, 9),
            &count(path.duplicated(), 6),
            &longest.map_or(NO_VALUE.to_owned(), |run| count(run, 8)),
        ],
    )
}

/// The units of one table of delays.
struct Units {
    delay: Unit,
    rate: RateUnit,
}

impl Units {
    fn of(sections: &[Section<'_>]) -> Self {
        let lines = || sections.iter().flat_map(|section| &section.lines);
        let paths = || lines().filter_map(|line| line.path);
        let delays =
            paths().flat_map(|path| path.one_way_delay.into_iter().chain(path.queueing_delay));
        let highest = paths().filter_map(|path| path.bottleneck_bps).max();
        Self {
            delay: Unit::of(delays.map(|delay| (delay.min, delay.max))),
            // Without a bottleneck, the heading of the empty column has the usual unit.
            rate: RateUnit::of(highest.unwrap_or(1_000_000)),
        }
    }

    fn header(&self) -> Vec<String> {
        vec![
            format!(
                "{:11} {:>30}   {:>23}  {:>10}",
                "", "one-way delay", "queueing delay", "bottleneck"
            )
            .trim_end()
            .to_owned(),
            delays_row(
                &format!("in {}", self.delay.name),
                [
                    "min",
                    "median",
                    "p95",
                    "max",
                    "median",
                    "p95",
                    "max",
                    self.rate.name(),
                ],
            ),
        ]
    }

    fn line(&self, name: &str, path: &PathSummary, is_offset_known: bool) -> String {
        let show = |span: Option<TimeDelta>| {
            span.map_or(NO_VALUE.to_owned(), |span| self.delay.show(span))
        };
        // Queueing delays need no such filter: a constant clock offset cancels in them.
        let one_way = path.one_way_delay.filter(|_| is_offset_known);
        let queueing = path.queueing_delay;
        let bottleneck = path.bottleneck_bps;
        delays_row(
            name,
            [
                &show(one_way.map(|delay| delay.min)),
                &show(one_way.map(|delay| delay.median)),
                &show(one_way.map(|delay| delay.p95)),
                &show(one_way.map(|delay| delay.max)),
                &show(queueing.map(|delay| delay.median)),
                &show(queueing.map(|delay| delay.p95)),
                &show(queueing.map(|delay| delay.max)),
                &bottleneck.map_or(NO_VALUE.to_owned(), |bps| show_rate(self.rate, bps)),
            ],
        )
    }
}

/// One line of delays, 80 columns wide.
fn delays_row(name: &str, cells: [&str; 8]) -> String {
    let [
        min,
        median,
        p95,
        max,
        queue_median,
        queue_p95,
        queue_max,
        bottleneck,
    ] = cells;
    format!(
        "{name:11} {min:>6}  {median:>6}  {p95:>6}  {max:>6}   {queue_median:>7} {queue_p95:>7} {queue_max:>7}  {bottleneck:>10}"
    )
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_pair::path::LossRuns;
    use tcpexp_pair::spp::{DirectionCounts, PathDirection};

    use super::*;
    use crate::testdata::{acks, bulk, rtt_micros};

    /// An upload through a queue, with its ACKs.
    fn upload(id: u32) -> PathFlow {
        let summary = bulk(id);
        let [data, acks] = summary.counts;
        PathFlow {
            summary,
            forward: Some(PathDirection::Out),
            directions: [queued(data), straight(acks)],
        }
    }

    fn queued(counts: DirectionCounts) -> PathSummary {
        let delays = [0, 60, 43_191, 72_914, 74_104, 75_628];
        PathSummary {
            counts,
            reordered: 12,
            largest_extent_packets: Some(3),
            ce_marked: 0,
            marking: None,
            losses: LossRuns {
                runs: 9,
                packets: 28,
                longest: Some(7),
            },
            one_way_delay: Some(rtt_micros(25_979, delays.map(|micros| micros + 20_016))),
            queueing_delay: Some(rtt_micros(25_979, delays)),
            one_way_delay_error: None,
            queueing_delay_error: None,
            bottleneck_bps: Some(9_907_123),
        }
    }

    fn straight(counts: DirectionCounts) -> PathSummary {
        let delays = [0, 0, 1, 2, 24, 31];
        PathSummary {
            counts,
            reordered: 0,
            largest_extent_packets: None,
            ce_marked: 0,
            marking: None,
            losses: LossRuns::default(),
            one_way_delay: Some(rtt_micros(13_340, delays.map(|micros| micros + 20_016))),
            queueing_delay: Some(rtt_micros(13_340, delays)),
            one_way_delay_error: None,
            queueing_delay_error: None,
            bottleneck_bps: None,
        }
    }

    fn table(flows: Vec<PathFlow>, most: usize, is_offset_known: bool) -> String {
        let mut top = TopPath::new(most);
        let path_directions = flows[0].directions.clone();
        for flow in flows {
            top.count();
            top.add(flow);
        }
        top.into_text(&path_directions, is_offset_known, 80)
    }

    #[test]
    fn a_flow_has_its_packets_and_its_delays() {
        assert_snapshot!(table(vec![upload(0)], 10, true), @r"
        packets         sent received unknown    lost         reordered   dup. loss run
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward     26 012   25 979       5      28   0.1 %        12      0        7
          reverse     13 340   13 340       0       0     0 %         0      0        -

                                     one-way delay            queueing delay  bottleneck
        in ms          min  median     p95     max    median     p95     max      Mbit/s
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward    20.02   63.21   92.93   95.64     43.19   72.91   75.63       9.907
          reverse    20.02   20.02   20.02   20.05     0.001   0.002   0.031           -
        ");
    }

    #[test]
    fn totals_are_per_direction_and_flows_beyond_the_limit_are_one_line() {
        assert_snapshot!(table(vec![upload(0), upload(1), upload(2)], 1, true), @r"
        packets         sent received unknown    lost         reordered   dup. loss run
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward     26 012   25 979       5      28   0.1 %        12      0        7
          reverse     13 340   13 340       0       0     0 %         0      0        -
        and 2 more flows (78 704 packets)
        all 3 flows
          src > dst   26 012   25 979       5      28   0.1 %        12      0        7
          dst > src   13 340   13 340       0       0     0 %         0      0        -

                                     one-way delay            queueing delay  bottleneck
        in ms          min  median     p95     max    median     p95     max      Mbit/s
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward    20.02   63.21   92.93   95.64     43.19   72.91   75.63       9.907
          reverse    20.02   20.02   20.02   20.05     0.001   0.002   0.031           -
        all 3 flows
          src > dst  20.02   63.21   92.93   95.64     43.19   72.91   75.63       9.907
          dst > src  20.02   20.02   20.02   20.05     0.001   0.002   0.031           -
        ");
    }

    #[test]
    fn without_reverse_packets_only_queueing_delays_are_known() {
        let mut flow = upload(0);
        flow.directions[1] = straight(DirectionCounts::default());
        assert_snapshot!(table(vec![flow], 10, false), @r"
        packets         sent received unknown    lost         reordered   dup. loss run
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward     26 012   25 979       5      28   0.1 %        12      0        7

                                     one-way delay            queueing delay  bottleneck
        in ms          min  median     p95     max    median     p95     max      Mbit/s
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward        -       -       -       -     43.19   72.91   75.63       9.907
        ");
    }

    #[test]
    fn packets_of_unknown_fate_are_neither_lost_nor_received() {
        let mut flow = upload(0);
        flow.directions[1].counts = DirectionCounts {
            seen: 100,
            ambiguous: 60,
            outside: 40,
            ..acks(0)
        };
        flow.directions[1].one_way_delay = None;
        flow.directions[1].queueing_delay = None;
        assert_snapshot!(table(vec![flow], 10, true), @r"
        packets         sent received unknown    lost         reordered   dup. loss run
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward     26 012   25 979       5      28   0.1 %        12      0        7
          reverse        100        0     100       0       -         0      0        -

                                     one-way delay            queueing delay  bottleneck
        in ms          min  median     p95     max    median     p95     max      Mbit/s
        0 tcp 172.16.10.3:47652 > 172.16.11.2:5201  30.1 s
          forward    20.02   63.21   92.93   95.64     43.19   72.91   75.63       9.907
          reverse        -       -       -       -         -       -       -           -
        ");
    }

    #[test]
    fn every_line_fits_a_terminal() {
        let mut flow = upload(u32::MAX);
        for path in &mut flow.directions {
            path.counts = acks(u64::MAX / 4);
            path.reordered = u64::MAX;
            path.losses.longest = Some(u64::MAX);
            path.bottleneck_bps = Some(u64::MAX);
            path.one_way_delay = Some(rtt_micros(
                1,
                [i64::MIN / 1000, -1, 0, 1, 1, i64::MAX / 1000],
            ));
        }
        let text = table(vec![flow.clone(), flow], 10, true);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(80), "{text}");
    }
}
