//! The flows of captures, by which the rows of a log find theirs.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::Direction;
use tcpexp_logs::import::ImportedFlow;
use tcpexp_table::dataset::DatasetFlow;

use super::names::Names;
use super::survey::Surveyed;

/// A captured flow, and true if the log swaps its directions; `None` for a flow in no capture.
pub(super) type Known = Option<(Arc<DatasetFlow>, bool)>;

/// The flows of the captures, each with the end that sends forward.
#[derive(Debug)]
pub(super) struct CapturedFlows(
    HashMap<(SocketAddr, SocketAddr), (Arc<DatasetFlow>, SocketAddr), FixedState>,
);

impl CapturedFlows {
    pub(super) fn of(names: &Names, captures: [Option<&Surveyed>; 2]) -> Self {
        let mut flows = HashMap::default();
        for (point, capture) in tcpexp_pair::spp::Point::BOTH.into_iter().zip(captures) {
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
                let key = unordered(connection.initiator, connection.responder);
                let flow = || (Arc::clone(&local.flow), forward_from);
                // Of several flows on the same ports, the first one counts.
                flows.entry(key).or_insert_with(flow);
            }
        }
        Self(flows)
    }

    /// Finds the captured flow of a log's flow.
    pub(super) fn known(&self, flow: &ImportedFlow) -> Known {
        let (local, remote) = flow.local.zip(flow.remote)?;
        let (known, forward_from) = self.0.get(&unordered(local, remote))?;
        Some((Arc::clone(known), *forward_from != local))
    }
}

fn unordered(a: SocketAddr, b: SocketAddr) -> (SocketAddr, SocketAddr) {
    (a.min(b), a.max(b))
}
