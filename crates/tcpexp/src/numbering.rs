//! One number per flow for all segments of a path.

use std::collections::HashMap;
use std::net::SocketAddr;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_pair::path::{PathBatch, PathFlow, PathSegment};
use tcpexp_pair::spp::{LocalFlow, PairedFlow, PathDirection, Point, Totals};

/// Numbers the flows of several pairs of captures.
///
/// A flow has the number that it has in the first capture alone. Flows that the first capture does
/// not show are numbered after them. Initiator and responder are the same in all segments.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    /// Flows by the point's number and the flow's number in its capture.
    known: HashMap<(usize, FlowId), Known>,
    /// First number that no flow of the first capture has, as far as known.
    next: u32,
}

/// A flow of one capture.
#[derive(Clone, Copy, Debug)]
struct Known {
    flow: FlowId,
    /// The direction that the capture calls forward.
    forward_is: Direction,
    /// Initiator and responder at the first point that shows the flow.
    ends: (SocketAddr, SocketAddr),
}

/// The flows of one pair of captures.
#[derive(Debug)]
pub(crate) struct OfSegment {
    segment: PathSegment,
    /// Flows by their number in this pair.
    flows: HashMap<FlowId, Renamed>,
    /// Number of flows found so far.
    found: u32,
}

#[derive(Clone, Copy, Debug)]
struct Renamed {
    flow: FlowId,
    /// True if the pair takes the other end for the initiator.
    is_turned: bool,
    ends: (SocketAddr, SocketAddr),
}

impl OfSegment {
    pub(crate) fn new(segment: PathSegment) -> Self {
        Self {
            segment,
            flows: HashMap::new(),
            found: 0,
        }
    }
}

impl Numbering {
    /// Counts the flows of the first capture. They must be known before other flows are numbered.
    pub(crate) fn count(&mut self, pair: &OfSegment, totals: &Totals) {
        let alone = totals.unpaired[Point::Src.index()].flows;
        let alone = u32::try_from(alone).unwrap_or(u32::MAX);
        self.next = self.next.max(pair.found.saturating_add(alone));
    }

    /// Renames the flows of a batch.
    pub(crate) fn rename(&mut self, pair: &mut OfSegment, batch: PathBatch) -> PathBatch {
        let flows = batch.flows;
        let flows = flows.iter().map(|flow| self.found(pair, flow)).collect();
        let directed = |flow: FlowId, direction: Direction| match pair.flows.get(&flow) {
            Some(renamed) => (renamed.flow, renamed.direction(direction)),
            None => (flow, direction),
        };
        let mut packets = batch.packets;
        for packet in &mut packets {
            (packet.flow, packet.direction) = directed(packet.flow, packet.direction);
        }
        let mut samples = batch.samples;
        for sample in &mut samples {
            (sample.flow, sample.direction) = directed(sample.flow, sample.direction);
        }
        let ended =
            batch
                .ended
                .into_iter()
                .map(|flow| match pair.flows.remove(&flow.summary.flow.flow) {
                    Some(renamed) => renamed.path_flow(flow),
                    None => flow,
                });
        PathBatch {
            flows,
            packets,
            samples,
            ended: ended.collect(),
        }
    }

    fn found(&mut self, pair: &mut OfSegment, flow: &PairedFlow) -> PairedFlow {
        let PathSegment { from, to } = pair.segment;
        let [src, dst] = flow.local;
        let keys = [(from, src.flow), (to, dst.flow)];
        let before = [0, 1].into_iter().find_map(|end: usize| {
            let known = *self.known.get(&keys[end])?;
            Some((known, known.forward_is != flow.local[end].forward_is))
        });
        let (known, is_turned) = before.unwrap_or_else(|| (self.new_flow(from, flow), false));
        let renamed = Renamed {
            flow: known.flow,
            is_turned,
            ends: known.ends,
        };
        for (key, local) in keys.into_iter().zip(flow.local) {
            self.known.entry(key).or_insert(Known {
                forward_is: renamed.direction(local.forward_is),
                ..known
            });
        }
        pair.found = pair.found.saturating_add(1);
        pair.flows.insert(flow.flow, renamed);
        renamed.paired(flow)
    }

    fn new_flow(&mut self, point: usize, flow: &PairedFlow) -> Known {
        let [at_src, _] = flow.local;
        let number = if point == 0 {
            at_src.flow
        } else {
            FlowId(self.next)
        };
        self.next = self.next.max(number.0.saturating_add(1));
        Known {
            flow: number,
            forward_is: at_src.forward_is,
            ends: (flow.initiator, flow.responder),
        }
    }
}

impl Renamed {
    fn direction(self, direction: Direction) -> Direction {
        match (self.is_turned, direction) {
            (false, direction) => direction,
            (true, Direction::Forward) => Direction::Reverse,
            (true, Direction::Reverse) => Direction::Forward,
        }
    }

    fn turned<T>(self, [forward, reverse]: [T; 2]) -> [T; 2] {
        if self.is_turned {
            [reverse, forward]
        } else {
            [forward, reverse]
        }
    }

    fn paired(self, flow: &PairedFlow) -> PairedFlow {
        let (initiator, responder) = flow.ends_at_dst();
        let [initiator, responder] = self.turned([initiator, responder]);
        let at_dst = (initiator, responder);
        PairedFlow {
            flow: self.flow,
            number: self.flow,
            initiator: self.ends.0,
            responder: self.ends.1,
            translated: (at_dst != self.ends).then(|| Box::new(at_dst)),
            local: flow.local.map(|local| LocalFlow {
                forward_is: self.direction(local.forward_is),
                ..local
            }),
            protocol: flow.protocol,
        }
    }

    fn path_flow(self, flow: PathFlow) -> PathFlow {
        let mut summary = flow.summary;
        summary.flow = self.paired(&summary.flow);
        summary.counts = self.turned(summary.counts);
        summary.rtt = self.turned(summary.rtt);
        let turn = |way: PathDirection| if self.is_turned { way.opposite() } else { way };
        PathFlow {
            summary,
            forward: flow.forward.map(turn),
            directions: self.turned(flow.directions),
        }
    }
}
