//! Flow numbers and names in all tables of a dataset.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_pair::spp::{PairedFlow, Point};
use tcpexp_table::dataset::DatasetFlow;

use super::survey::Surveyed;
use super::traffic::TrafficNames;

type Map<K, V> = HashMap<K, V, FixedState>;

/// Maps the flows of two captures to the flows of the dataset.
///
/// A flow keeps its number from the first capture. Flows in the second capture alone get the
/// numbers after them. If the captures disagree on the initiator, the dataset takes the initiator
/// of the paired flow.
#[derive(Default)]
pub(super) struct Names {
    traffic: TrafficNames,
    /// By [`Point::index`]: the flows of a capture that are in the dataset; `None` if all are.
    kept: [Option<Vec<FlowId>>; 2],
    /// Flows by pair number.
    pairs: Map<FlowId, Arc<DatasetFlow>>,
    /// Flows by number in the capture, by [`Point::index`].
    locals: [Map<FlowId, Local>; 2],
}

/// A capture's flow in the dataset.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub(super) flow: Arc<DatasetFlow>,
    forward_is: Direction,
}

impl Names {
    pub(super) fn new(traffic: TrafficNames) -> Self {
        Self {
            traffic,
            ..Self::default()
        }
    }

    /// Limits the dataset to the flows of `captures`, by [`Point::index`].
    pub(super) fn limit(&mut self, captures: [&Surveyed; 2]) {
        self.kept = captures.map(|capture| {
            let kept = capture.connections.iter().map(|(flow, _)| *flow);
            (capture.info.flows_left_out > 0).then(|| kept.collect())
        });
    }

    /// Adds a flow found in both captures, unless the dataset has it from neither.
    pub(super) fn pair(&mut self, pair: &PairedFlow) {
        let [src, dst] = pair.local;
        let mut kept = self.kept.iter().zip([src.flow, dst.flow]);
        if kept.all(|(kept, flow)| {
            let kept = kept.as_ref();
            kept.is_some_and(|kept| kept.binary_search(&flow).is_err())
        }) {
            return;
        }
        // The source's flow may already have a partner that the destination lost sight of. It keeps
        // its number and names.
        let known = self.locals[Point::Src.index()].get(&src.flow);
        let flow = match known {
            Some(local) => Arc::clone(&local.flow),
            None => self
                .traffic
                .flow(src.flow, pair.protocol, [pair.initiator, pair.responder]),
        };
        for (local, locals) in [src, dst].into_iter().zip(&mut self.locals) {
            locals.entry(local.flow).or_insert_with(|| Local {
                flow: Arc::clone(&flow),
                forward_is: local.forward_is,
            });
        }
        self.pairs.insert(pair.flow, flow);
    }

    /// Adds the flows that only this capture contains. Call it for the source first.
    pub(super) fn rest(&mut self, point: Point, connections: &[(FlowId, Arc<ConnectionSummary>)]) {
        let taken = self.locals[Point::Src.index()].values();
        let mut next = taken.map(|local| local.flow.flow.0 + 1).max().unwrap_or(0);
        for (_, connection) in connections {
            if self.locals[point.index()].contains_key(&connection.flow) {
                continue;
            }
            let number = match point {
                Point::Src => connection.flow,
                Point::Dst => FlowId(next),
            };
            next += u32::from(point == Point::Dst);
            let ends = [connection.initiator, connection.responder];
            let flow = self.traffic.flow(number, connection.protocol, ends);
            let forward_is = Direction::Forward;
            self.locals[point.index()].insert(connection.flow, Local { flow, forward_is });
        }
    }

    /// Returns the dataset's flow of a pair.
    pub(super) fn of_pair(&self, pair: FlowId) -> Option<&Arc<DatasetFlow>> {
        self.pairs.get(&pair)
    }

    /// Returns the dataset's flow of a capture's flow.
    pub(super) fn of_local(&self, point: Point, flow: FlowId) -> Option<&Local> {
        self.locals[point.index()].get(&flow)
    }

    /// Returns all flows of a capture in the dataset, each with its number in the capture.
    pub(super) fn of_capture(&self, point: Point) -> impl Iterator<Item = (&Local, FlowId)> {
        self.locals[point.index()]
            .iter()
            .map(|(flow, local)| (local, *flow))
    }
}

impl Local {
    /// Maps a direction in the capture to the direction in the dataset, or back.
    pub(super) fn turned(&self, direction: Direction) -> Direction {
        match self.forward_is {
            Direction::Forward => direction,
            Direction::Reverse => direction.opposite(),
        }
    }
}
