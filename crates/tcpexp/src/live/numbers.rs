//! Numbers of flows that stay the same over all windows of a live measurement.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;

use tcpexp_flow::{Direction, FlowId, Protocol};
use tcpexp_pair::spp::{PairedFlow, RttSample};

/// Protocol and endpoints of a flow at the source, the lower endpoint first.
type Key = (Protocol, SocketAddr, SocketAddr);

/// The flows of the latest window, with the numbers and directions of the window that showed them
/// first.
#[derive(Debug, Default)]
pub(super) struct FlowNumbers {
    known: HashMap<Key, PairedFlow>,
    next: u32,
}

/// The flows of one window, by their numbers in it.
#[derive(Debug, Default)]
pub(super) struct WindowFlows {
    flows: HashMap<FlowId, Renamed>,
    seen: HashSet<Key>,
}

#[derive(Clone, Copy, Debug)]
struct Renamed {
    flow: FlowId,
    /// True if the window takes the other end for the initiator.
    is_turned: bool,
}

impl FlowNumbers {
    /// Adds a flow of a window; returns it if it is new.
    pub(super) fn add(
        &mut self,
        window: &mut WindowFlows,
        flow: &PairedFlow,
    ) -> Option<PairedFlow> {
        let (a, b) = (flow.initiator, flow.responder);
        let key = (flow.protocol, a.min(b), a.max(b));
        window.seen.insert(key);
        let known = self.known.get(&key);
        let is_turned = known.is_some_and(|known| known.initiator != flow.initiator);
        let number = known.map_or(FlowId(self.next), |known| known.flow);
        window.flows.insert(
            flow.flow,
            Renamed {
                flow: number,
                is_turned,
            },
        );
        if known.is_some() {
            return None;
        }
        let flow = PairedFlow {
            flow: number,
            number,
            ..flow.clone()
        };
        self.next = self.next.wrapping_add(1);
        self.known.insert(key, flow.clone());
        Some(flow)
    }

    /// Forgets and returns the flows that are not in this window.
    pub(super) fn forget_others(&mut self, window: &WindowFlows) -> Vec<PairedFlow> {
        let gone = self.known.extract_if(|key, _| !window.seen.contains(key));
        let mut gone: Vec<PairedFlow> = gone.map(|(_, flow)| flow).collect();
        gone.sort_unstable_by_key(|flow| flow.flow);
        gone
    }
}

impl WindowFlows {
    /// The sample with the flow's own number and direction.
    pub(super) fn renamed(&self, sample: &RttSample) -> Option<RttSample> {
        let renamed = self.flows.get(&sample.flow)?;
        let direction = match (renamed.is_turned, sample.direction) {
            (false, direction) => direction,
            (true, Direction::Forward) => Direction::Reverse,
            (true, Direction::Reverse) => Direction::Forward,
        };
        Some(RttSample {
            flow: renamed.flow,
            direction,
            ..*sample
        })
    }
}
