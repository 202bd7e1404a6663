//! What each flow is called in all tables of a dataset.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_measure::spp::{PairedFlow, Point};
use tcpexp_table::dataset::DatasetFlow;

use super::traffic::TrafficNames;

type Map<K, V> = HashMap<K, V, FixedState>;

/// The flows of a dataset by what the two captures call them.
///
/// A flow has the number that it has in the first capture; one that only the second has comes after
/// all of these. Where the captures disagree on who began, the one that knows better is followed.
#[derive(Default)]
pub(super) struct Names {
    traffic: TrafficNames,
    /// By the number of the pair.
    pairs: Map<FlowId, Arc<DatasetFlow>>,
    /// By the number in the capture, by [`Point::index`].
    locals: [Map<FlowId, Local>; 2],
}

/// What a capture's flow is in the dataset.
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

    /// A flow was found in both captures.
    pub(super) fn pair(&mut self, pair: &PairedFlow) {
        let [src, dst] = pair.local;
        // Number and names of a flow that had a partner before, which the other capture lost sight
        // of, stay.
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

    /// Names the flows of a capture that are not in the other one; those of the source first.
    pub(super) fn rest(&mut self, point: Point, connections: &[ConnectionSummary]) {
        let taken = self.locals[Point::Src.index()].values();
        let mut next = taken.map(|local| local.flow.flow.0 + 1).max().unwrap_or(0);
        for connection in connections {
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

    /// The flow that the pair of this number is.
    pub(super) fn of_pair(&self, pair: FlowId) -> Option<&Arc<DatasetFlow>> {
        self.pairs.get(&pair)
    }

    /// What a capture's flow is.
    pub(super) fn of_local(&self, point: Point, flow: FlowId) -> Option<&Local> {
        self.locals[point.index()].get(&flow)
    }

    /// All flows of a capture: what they are, and what the capture calls them.
    pub(super) fn of_capture(&self, point: Point) -> impl Iterator<Item = (&Local, FlowId)> {
        self.locals[point.index()]
            .iter()
            .map(|(flow, local)| (local, *flow))
    }
}

impl Local {
    /// What a direction that the capture names is in the dataset, or the other way round.
    pub(super) fn turned(&self, direction: Direction) -> Direction {
        match self.forward_is {
            Direction::Forward => direction,
            Direction::Reverse => direction.opposite(),
        }
    }
}
