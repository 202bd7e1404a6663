//! Losses and delays on the segments of a path, as text for a terminal.

use std::collections::HashMap;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_pair::path::{PathFlow, PathSegment, PathSummary};
use tcpexp_pair::spp::PathDirection;

use crate::order::ordered;
use crate::path_text::{Line, ORDERS, Section, flow_title, has_packets, tables, total_title};
use crate::text::FLOW_TABLE_WIDTH;
use crate::top::{Rest, Top};

/// Headings of the totals, by [`PathDirection::index`].
const WAYS: [&str; 2] = ["out", "back"];

/// The flows with the most packets on a path of several segments.
#[derive(Clone, Debug)]
pub struct TopPoints {
    whole: PathSegment,
    top: Top<PathFlow>,
    flows: u64,
    /// Set once all flows of the whole path are known.
    shown: Option<Shown>,
}

/// The flows in the table.
#[derive(Clone, Debug)]
struct Shown {
    whole: Vec<PathFlow>,
    rest: Rest,
    places: HashMap<FlowId, usize>,
    /// Segments of each flow, in the order along the path.
    segments: Vec<Vec<(PathSegment, PathFlow)>>,
}

/// All flows between two points.
#[derive(Clone, Copy, Debug)]
pub struct SegmentTotal<'a> {
    /// The two points.
    pub segment: PathSegment,
    /// Totals, by [`PathDirection::index`].
    pub path_directions: &'a [PathSummary; 2],
    /// False if the error of one-way delays is unbounded.
    pub is_offset_known: bool,
}

ordered!(TopPoints, top, ORDERS);

impl TopPoints {
    /// Shows at most `most` flows of the path from the first point of `whole` to its second.
    pub fn new(whole: PathSegment, most: usize) -> Self {
        Self {
            whole,
            top: Top::new(most, |flow| {
                let packets = flow.directions.iter().map(PathSummary::sent).sum();
                (packets, flow.summary.flow.number.0)
            }),
            flows: 0,
            shown: None,
        }
    }

    /// Counts a finished flow of the whole path.
    pub fn count(&mut self, segment: PathSegment) {
        self.flows += u64::from(segment == self.whole);
    }

    /// Adds a finished flow. All flows of the whole path come before those of segments.
    pub fn add(&mut self, segment: PathSegment, flow: PathFlow) {
        if segment == self.whole {
            self.top.add(flow);
            return;
        }
        let top = &self.top;
        let shown = self.shown.get_or_insert_with(|| Shown::of(top.clone()));
        if let Some(&place) = shown.places.get(&flow.summary.flow.flow) {
            shown.segments[place].push((segment, flow));
        }
    }

    /// Formats the tables of packets and delays for a terminal of `width` columns, at least 80.
    ///
    /// Each direction of a flow has a line per segment, in the order in which its packets pass
    /// them, and one for the whole path. `totals` are those of all flows, the segments in the order
    /// along the path, then the whole path.
    pub fn into_text(self, totals: &[SegmentTotal<'_>], width: usize) -> String {
        let width = width.max(FLOW_TABLE_WIDTH);
        let Self {
            whole, top, flows, ..
        } = self;
        let mut shown = self.shown.unwrap_or_else(|| Shown::of(top));
        for segments in &mut shown.segments {
            segments.sort_by_key(|(segment, _)| *segment);
        }
        let is_known = |segment: PathSegment| {
            let total = totals.iter().find(|total| total.segment == segment);
            total.is_some_and(|total| total.is_offset_known)
        };
        let all = (flows > 1).then(|| of_all(flows, totals));
        let of_flows = shown.whole.iter().zip(&shown.segments);
        let sections: Vec<Section<'_>> = of_flows
            .map(|(flow, segments)| {
                let parts = segments.iter().map(|(segment, flow)| (*segment, flow));
                let parts: Vec<_> = parts.chain([(whole, flow)]).collect();
                Section {
                    title: flow_title(flow, width),
                    lines: Direction::BOTH
                        .into_iter()
                        .flat_map(|direction| of_direction(direction, &parts, is_known))
                        .collect(),
                }
            })
            .chain(all)
            .collect();
        tables(&sections, shown.whole.len(), shown.rest)
    }
}

impl Shown {
    fn of(top: Top<PathFlow>) -> Self {
        let (whole, rest) = top.into_rows();
        let numbers = whole.iter().map(|flow| flow.summary.flow.flow);
        Self {
            places: numbers.zip(0..).collect(),
            segments: vec![Vec::new(); whole.len()],
            whole,
            rest,
        }
    }
}

fn of_all<'a>(flows: u64, totals: &[SegmentTotal<'a>]) -> Section<'a> {
    let lines = PathDirection::BOTH.into_iter().flat_map(|way| {
        let parts = totals.iter().map(|total| {
            let path = &total.path_directions[way.index()];
            (total.segment, path, total.is_offset_known)
        });
        lines(WAYS[way.index()], way, parts.collect())
    });
    Section {
        title: vec![total_title(flows)],
        lines: lines.collect(),
    }
}

fn of_direction<'a>(
    direction: Direction,
    parts: &[(PathSegment, &'a PathFlow)],
    is_known: impl Fn(PathSegment) -> bool,
) -> Vec<Line<'a>> {
    let mut ways = parts
        .iter()
        .filter_map(|(_, flow)| flow.path_direction(direction));
    // Without a packet that shows the way, there are no lines either.
    let way = ways.next_back().unwrap_or(PathDirection::Out);
    let parts = parts.iter().map(|(segment, flow)| {
        let path = &flow.directions[direction.index()];
        (*segment, path, is_known(*segment))
    });
    lines(direction.name(), way, parts.collect())
}

/// The lines of one direction. `parts` are in the order along the path, the whole path last.
fn lines<'a>(
    heading: &str,
    way: PathDirection,
    mut parts: Vec<(PathSegment, &'a PathSummary, bool)>,
) -> Vec<Line<'a>> {
    if way == PathDirection::Back
        && let Some((_, segments)) = parts.split_last_mut()
    {
        segments.reverse();
    }
    let parts = parts.into_iter().filter(|(_, path, _)| has_packets(path));
    let mut lines: Vec<Line<'_>> = parts
        .map(|(segment, path, is_offset_known)| Line {
            name: name(segment, way),
            path: Some(path),
            is_offset_known,
        })
        .collect();
    if !lines.is_empty() {
        let heading = Line {
            name: format!("  {heading}"),
            path: None,
            is_offset_known: false,
        };
        lines.insert(0, heading);
    }
    lines
}

/// The points in the order in which packets pass them.
fn name(segment: PathSegment, way: PathDirection) -> String {
    let [from, to] = match way {
        PathDirection::Out => [segment.from, segment.to],
        PathDirection::Back => [segment.to, segment.from],
    };
    format!("    {} > {}", from + 1, to + 1)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_pair::path::LossRuns;
    use tcpexp_pair::spp::DirectionCounts;

    use super::*;
    use crate::testdata::{bulk, rtt_micros};

    const WHOLE: PathSegment = PathSegment { from: 0, to: 2 };
    const PARTS: [PathSegment; 2] = [
        PathSegment { from: 0, to: 1 },
        PathSegment { from: 1, to: 2 },
    ];

    /// A path of `owd_micros` that loses `lost` of 10 000 packets.
    fn summary(lost: u64, missed: u64, owd_micros: i64) -> PathSummary {
        let counts = DirectionCounts {
            seen: 10_000,
            matched: 10_000 - lost - missed,
            lost,
            missed,
            ..DirectionCounts::default()
        };
        let delays = [0, 60, 4_191, 7_914, 8_104, 8_628];
        PathSummary {
            counts,
            reordered: 0,
            largest_extent_packets: None,
            ce_marked: 0,
            marking: None,
            losses: LossRuns {
                runs: lost,
                packets: lost,
                longest: (lost > 0).then_some(1),
            },
            one_way_delay: Some(rtt_micros(9_000, delays.map(|micros| micros + owd_micros))),
            queueing_delay: Some(rtt_micros(9_000, delays)),
            one_way_delay_error: None,
            queueing_delay_error: None,
            bottleneck_bps: None,
        }
    }

    fn flow(id: u32, directions: [PathSummary; 2]) -> PathFlow {
        PathFlow {
            summary: bulk(id),
            forward: Some(PathDirection::Out),
            directions,
        }
    }

    fn table(flows: u32, most: usize, known: [bool; 2]) -> String {
        let of = |segment| match segment {
            segment if segment == PARTS[0] => [summary(2, 3, 2_000), summary(0, 0, 2_500)],
            segment if segment == PARTS[1] => [summary(7, 0, 30_000), summary(1, 0, 31_000)],
            _ => [summary(9, 0, 32_000), summary(1, 0, 33_500)],
        };
        let mut top = TopPoints::new(WHOLE, most);
        for segment in [WHOLE, PARTS[0], PARTS[1]] {
            for id in 0..flows {
                top.count(segment);
                top.add(segment, flow(id, of(segment)));
            }
        }
        let totals = [PARTS[0], PARTS[1], WHOLE].map(|segment| (segment, of(segment)));
        let totals = totals
            .iter()
            .zip([known[0], known[1], known[0] && known[1]]);
        let totals: Vec<_> = totals
            .map(
                |((segment, path_directions), is_offset_known)| SegmentTotal {
                    segment: *segment,
                    path_directions,
                    is_offset_known,
                },
            )
            .collect();
        top.into_text(&totals, 80)
    }

    #[test]
    fn each_direction_has_its_segments_in_the_order_of_passage() {
        assert_snapshot!(table(1, 10, [true, true]));
    }

    #[test]
    fn totals_have_the_same_segments() {
        assert_snapshot!(table(3, 1, [true, true]));
    }

    #[test]
    fn one_way_delays_of_an_unknown_offset_are_not_shown() {
        assert_snapshot!(table(1, 10, [true, false]));
    }

    #[test]
    fn every_line_fits_a_terminal() {
        let text = table(12, 10, [true, true]);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }
}
