//! The flows of captures, by which the rows of a log find theirs.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId, InitiatorKnown, Protocol};
use tcpexp_logs::import::ImportedFlow;
use tcpexp_measure::flows::{ConnectionSummary, Ending};
use tcpexp_pair::spp::Point;
use tcpexp_table::dataset::DatasetFlow;
use tcpexp_units::{TimeDelta, Timestamp};

use super::names::Names;
use super::span::Span;
use super::survey::Surveyed;

/// The flows of the captures, in order of time, by protocol and ends.
#[derive(Debug)]
pub(super) struct CapturedFlows {
    flows: HashMap<(Protocol, SocketAddr, SocketAddr), Arc<[Captured]>, FixedState>,
    span: Span,
}

/// The captured flows of one log.
#[derive(Debug, Default)]
pub(super) struct LogFlows {
    flows: HashMap<FlowId, OnPorts, FixedState>,
    /// By how much the times of the log's intervals may be too early.
    pub(super) early_by: TimeDelta,
    /// Number of rows on the ports of captured flows whose flow is unknown: none was open at that time, or several
    /// may have been.
    pub(super) unplaced: u64,
    /// Number of rows that have the only captured flow on their ports although they lie outside its time.
    pub(super) outside: u64,
}

/// A log's flow, and the captured flows on its ports.
#[derive(Debug)]
struct OnPorts {
    local: SocketAddr,
    flows: Arc<[Captured]>,
    /// True if a row lay in the time of the only flow, so that the clocks agree.
    has_row_inside: bool,
}

/// A captured flow and its time.
#[derive(Clone, Debug)]
struct Captured {
    flow: Arc<DatasetFlow>,
    forward_from: SocketAddr,
    first: Timestamp,
    last: Timestamp,
    /// True if the capture has the beginning of the connection.
    has_begin: bool,
    /// True if the connection ended in the capture, so that it has no later rows.
    is_over: bool,
}

/// A row's flow in the dataset, if a capture has it, and the direction in that flow.
type Placed = (Option<Arc<DatasetFlow>>, Direction);

/// Greatest assumed offset between the clock of a log and that of the captures: hosts with NTP differ by less. A row
/// may lie outside the time of its flow by this much.
pub(super) const MAX_CLOCK_OFFSET: TimeDelta = TimeDelta::from_seconds(10);

impl CapturedFlows {
    /// `span` has the first and the last time of the captures.
    pub(super) fn of(names: &Names, captures: [Option<&Surveyed>; 2], span: Span) -> Self {
        let mut flows: HashMap<_, Vec<Captured>, FixedState> = HashMap::default();
        for (point, capture) in Point::BOTH.into_iter().zip(captures) {
            for (_, connection) in capture.iter().flat_map(|capture| &capture.connections) {
                let Some(local) = names.of_local(point, connection.flow) else {
                    continue;
                };
                let forward_from = match local.turned(Direction::Forward) {
                    Direction::Forward => connection.initiator,
                    Direction::Reverse => connection.responder,
                };
                // Either end may have the log, and a capture that began late may swap initiator and
                // responder.
                let (a, b) = unordered(connection.initiator, connection.responder);
                let on_ports = flows.entry((connection.protocol, a, b)).or_default();
                // The times of the dataset are the source's, whose capture comes first.
                if on_ports
                    .iter()
                    .all(|known| known.flow.flow != local.flow.flow)
                {
                    let flow = Arc::clone(&local.flow);
                    on_ports.push(Captured::of(flow, forward_from, connection));
                }
            }
        }
        let sorted = flows.into_iter().map(|(ports, mut flows)| {
            flows.sort_by_key(|flow| flow.first);
            (ports, flows.into())
        });
        let flows = sorted.collect();
        Self { flows, span }
    }
}

impl LogFlows {
    /// Adds flows of the log. A flow on the ports of no captured flow is in no capture.
    pub(super) fn learn(&mut self, captured: &CapturedFlows, flows: &[ImportedFlow]) {
        for flow in flows {
            let Some((local, remote)) = flow.local.zip(flow.remote) else {
                continue;
            };
            let (a, b) = unordered(local, remote);
            if let Some(found) = captured.flows.get(&(flow.protocol, a, b)) {
                let flows = Arc::clone(found);
                let on_ports = OnPorts {
                    local,
                    flows,
                    has_row_inside: false,
                };
                self.flows.insert(flow.flow, on_ports);
            }
        }
    }

    /// The captured flow of a row, and the row's direction in that flow. A log counts directions from its own
    /// first local end, the dataset from the flow's initiator.
    pub(super) fn place(
        &mut self,
        captured: &CapturedFlows,
        (flow, direction): (FlowId, Direction),
        at: Timestamp,
    ) -> Placed {
        let Some(on_ports) = self.flows.get_mut(&flow) else {
            return (None, direction);
        };
        let OnPorts {
            local,
            flows,
            has_row_inside,
        } = on_ports;
        let is_of_another_base = captured.is_of_another_base(at);
        let found = if let [flow] = &**flows {
            let is_inside = flow.may_have(at, self.early_by);
            *has_row_inside |= is_inside;
            self.outside += u64::from(!*has_row_inside && !is_of_another_base);
            // Once the clocks agree, a row of another time is of a connection in no capture.
            (is_inside || !*has_row_inside).then_some(flow)
        } else if is_of_another_base {
            None
        } else if self.early_by > TimeDelta::ZERO {
            only(
                flows
                    .iter()
                    .filter(|flow| flow.overlaps(at, at + self.early_by)),
            )
        } else {
            running(flows, at)
        };
        let Some(found) = found else {
            self.unplaced += 1;
            return (None, direction);
        };
        let direction = if found.forward_from == *local {
            direction
        } else {
            direction.opposite()
        };
        (Some(Arc::clone(&found.flow)), direction)
    }
}

impl CapturedFlows {
    fn is_of_another_base(&self, at: Timestamp) -> bool {
        let mut span = Span::default();
        span.add(at);
        span.is_apart_from(self.span)
    }
}

impl Captured {
    fn of(
        flow: Arc<DatasetFlow>,
        forward_from: SocketAddr,
        connection: &ConnectionSummary,
    ) -> Self {
        Self {
            flow,
            forward_from,
            first: connection.first_at,
            last: connection.first_at + connection.duration,
            has_begin: connection.initiator_known == InitiatorKnown::Syn,
            is_over: matches!(connection.ending, Ending::Closed | Ending::Reset(_)),
        }
    }

    /// True if a row may be of the connection although the clocks differ.
    fn may_have(&self, at: Timestamp, early_by: TimeDelta) -> bool {
        self.overlaps(at - MAX_CLOCK_OFFSET, at + early_by + MAX_CLOCK_OFFSET)
    }

    /// True if the connection may have existed between these times.
    fn overlaps(&self, from: Timestamp, until: Timestamp) -> bool {
        (self.first <= until || !self.has_begin) && (from <= self.last || !self.is_over)
    }
}

/// The flow that was running at `at`, of flows on the same ports in order of time.
fn running(flows: &[Captured], at: Timestamp) -> Option<&Captured> {
    let begun = flows.partition_point(|flow| flow.first <= at);
    let (before, after) = (flows[..begun].last(), flows.get(begun));
    if let Some(flow) = before.filter(|flow| at <= flow.last || !flow.is_over) {
        return Some(flow);
    }
    if let (None, Some(flow)) = (before, after.filter(|flow| !flow.has_begin)) {
        return Some(flow);
    }
    // No connection used the ports then, so the clocks differ, or the row's connection is in no capture.
    let late = before.map(|flow| (at - flow.last, flow));
    let early = after.map(|flow| (flow.first - at, flow));
    let nearest = late
        .into_iter()
        .chain(early)
        .min_by_key(|(apart, _)| *apart);
    nearest
        .filter(|(apart, _)| *apart <= MAX_CLOCK_OFFSET)
        .map(|(_, flow)| flow)
}

fn only<'a>(mut flows: impl Iterator<Item = &'a Captured>) -> Option<&'a Captured> {
    let first = flows.next()?;
    flows.next().is_none().then_some(first)
}

fn unordered(a: SocketAddr, b: SocketAddr) -> (SocketAddr, SocketAddr) {
    (a.min(b), a.max(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "10.0.0.1:4";
    const B: &str = "10.0.0.2:5";

    fn captured(number: u32, [first, last]: [i64; 2]) -> Captured {
        Captured {
            flow: Arc::new(DatasetFlow {
                flow: FlowId(number),
                protocol: Protocol::Tcp,
                initiator: A.into(),
                responder: B.into(),
                traffic: None,
                traffic_class: None,
                is_own: true,
            }),
            forward_from: A.parse().unwrap(),
            first: at(first),
            last: at(last),
            has_begin: true,
            is_over: true,
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_nanos(0) + TimeDelta::from_seconds(seconds)
    }

    /// The flow of a row at each time, and the number of rows without a flow.
    fn placed(flows: &[Captured], early_by: i64, times: &[i64]) -> (Vec<Option<u32>>, u64) {
        let (found, log) = placed_in_log(flows, early_by, times);
        (found, log.unplaced)
    }

    fn placed_in_log(
        flows: &[Captured],
        early_by: i64,
        times: &[i64],
    ) -> (Vec<Option<u32>>, LogFlows) {
        let (local, remote) = (A.parse().unwrap(), B.parse().unwrap());
        let mut span = Span::default();
        for flow in flows {
            span.add(flow.first);
            span.add(flow.last);
        }
        let captured = CapturedFlows {
            flows: [((Protocol::Tcp, local, remote), flows.into())]
                .into_iter()
                .collect(),
            span,
        };
        let mut log = LogFlows {
            early_by: TimeDelta::from_seconds(early_by),
            ..LogFlows::default()
        };
        let flow = ImportedFlow {
            flow: FlowId(7),
            protocol: Protocol::Tcp,
            local: Some(remote),
            remote: Some(local),
        };
        log.learn(&captured, &[flow]);
        let rows = times.iter().map(|seconds| {
            let row = (FlowId(7), Direction::Forward);
            let (flow, direction) = log.place(&captured, row, at(*seconds));
            // The log is of the responder.
            assert_eq!(direction == Direction::Reverse, flow.is_some());
            flow.map(|flow| flow.flow.0)
        });
        (rows.collect(), log)
    }

    #[test]
    fn rows_on_reused_ports_belong_to_the_connection_of_their_time() {
        let flows = [captured(1, [100, 200]), captured(3, [300, 400])];
        let found = placed(&flows, 0, &[95, 100, 150, 205, 250, 295, 300, 400, 450]);
        let (one, three) = (Some(1), Some(3));
        let expected = vec![one, one, one, one, None, three, three, three, None];
        assert_eq!(found, (expected, 2));
    }

    #[test]
    fn an_open_connection_lasts_until_its_ports_are_used_again() {
        let mut flows = [captured(1, [100, 200]), captured(3, [300, 400])];
        flows[0].is_over = false;
        flows[0].has_begin = false;
        let (found, _) = placed(&flows, 0, &[20, 299, 300]);
        assert_eq!(found, [Some(1), Some(1), Some(3)]);
    }

    #[test]
    fn rows_on_another_time_base_belong_to_the_only_connection_on_their_ports() {
        let flows = [
            captured(1, [1_700_000_000, 1_700_000_200]),
            captured(3, [1_700_000_300, 1_700_000_400]),
        ];
        assert_eq!(placed(&flows[..1], 0, &[5]), (vec![Some(1)], 0));
        assert_eq!(placed(&flows, 0, &[5]), (vec![None], 1));
    }

    #[test]
    fn rows_belong_to_the_only_connection_on_their_ports_unless_the_clocks_agree() {
        let flow = [captured(1, [100, 200])];
        for early_by in [0, 10] {
            let of = |times: &[i64]| {
                let (found, log) = placed_in_log(&flow, early_by, times);
                (found, log.outside, log.unplaced)
            };
            // The clock of the log is 500 s late, or 60 s early.
            assert_eq!(of(&[600, 700]), (vec![Some(1); 2], 2, 0));
            assert_eq!(of(&[40, 50]), (vec![Some(1); 2], 2, 0));
            // A later connection used the ports again, after the capture.
            assert_eq!(of(&[95, 205, 600]), (vec![Some(1), Some(1), None], 0, 1));
            assert_eq!(of(&[150, 9_000]), (vec![Some(1), None], 0, 1));
        }
    }

    #[test]
    fn a_row_that_may_be_early_belongs_to_the_only_connection_that_it_may_be_of() {
        let flows = [captured(1, [100, 200]), captured(3, [205, 300])];
        let (found, _) = placed(&flows, 10, &[90, 150, 198, 201]);
        assert_eq!(found, [Some(1), Some(1), None, Some(3)]);
    }
}
