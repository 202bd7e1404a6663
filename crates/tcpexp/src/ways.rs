//! The ways on which flows pass the points of a path.

use std::collections::HashMap;

use tcpexp_flow::{Direction, FlowId};
use tcpexp_pair::spp::{LocalFlow, PacketOutcome, PairedFlow, PathDirection};

/// Shows whether the captures are in the order in which packets pass them: each flow then passes a point
/// on the same way in all pairs of captures.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    /// Way of the direction that the capture calls forward, by the point's number and the flow's number in
    /// its capture.
    known: HashMap<(usize, FlowId), PathDirection>,
}

/// The flows of one pair of captures.
#[derive(Debug, Default)]
pub(crate) struct WaysOfPair {
    /// Flows without a packet so far, by their number in this pair.
    unseen: HashMap<FlowId, [LocalFlow; 2]>,
    found: Vec<([LocalFlow; 2], PathDirection)>,
}

impl WaysOfPair {
    /// Adds newly found flows and the packets after them.
    pub(crate) fn add(&mut self, flows: &[PairedFlow], outcomes: &[PacketOutcome]) {
        let flows = flows.iter().map(|flow| (flow.flow, flow.local));
        self.unseen.extend(flows);
        for outcome in outcomes {
            // The first packet seen at both points decides.
            if outcome.sent.and(outcome.received).is_some()
                && let Some(local) = self.unseen.remove(&outcome.flow)
            {
                let way = outcome.path_direction;
                let forward = match outcome.direction {
                    Direction::Forward => way,
                    Direction::Reverse => way.opposite(),
                };
                self.found.push((local, forward));
            }
        }
    }
}

impl Ways {
    /// Adds the pair of captures of the points `ends`. Returns false if most of its flows go the other way
    /// than in the pairs before it. Few of them may: clocks with large errors hide their ways.
    pub(crate) fn agree(&mut self, ends: [usize; 2], pair: WaysOfPair) -> bool {
        let (mut same, mut other) = (0, 0);
        for (local, forward) in pair.found {
            for (point, local) in ends.into_iter().zip(local) {
                let way = match local.forward_is {
                    Direction::Forward => forward,
                    Direction::Reverse => forward.opposite(),
                };
                match self.known.get(&(point, local.flow)) {
                    Some(known) if *known == way => same += 1,
                    Some(_) => other += 1,
                    None => {
                        self.known.insert((point, local.flow), way);
                    }
                }
            }
        }
        other <= same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if pairs agree in which the flow has these ways.
    fn agree<const N: usize>(pairs: [([usize; 2], PathDirection); N]) -> bool {
        let mut ways = Ways::default();
        pairs.into_iter().all(|(ends, way)| {
            let local = LocalFlow {
                flow: FlowId(0),
                forward_is: Direction::Forward,
            };
            let pair = WaysOfPair {
                found: vec![([local; 2], way)],
                ..WaysOfPair::default()
            };
            ways.agree(ends, pair)
        })
    }

    #[test]
    fn captures_in_another_order_than_the_path_disagree() {
        use PathDirection::{Back, Out};
        // Given are the points of the path in this order; a pair is in order if its second point is further along.
        for (order, expected) in [
            ([0, 1, 2], true),
            ([2, 1, 0], true),
            ([1, 0, 2], false),
            ([0, 2, 1], false),
            ([1, 2, 0], false),
            ([2, 0, 1], false),
        ] {
            let pair = |from: usize, to: usize| {
                let way = if order[from] < order[to] { Out } else { Back };
                ([from, to], way)
            };
            let pairs = [pair(0, 2), pair(0, 1), pair(1, 2)];
            assert_eq!(agree(pairs), expected, "{order:?}");
        }
    }
}
