//! Gives up packets and closes flows after their time.

use super::shard::{SHARDS, Shard};
use crate::spp::crossing::PathDirection;
use crate::spp::matching::{Expired, Setting};
use crate::spp::pairing::Pair;
use tcpexp_units::Timestamp;

/// Number of ended flows that a shard keeps for late packets before it closes those without packets
/// in flight. Chosen for memory: 3 kB each, 65 536 in all shards together, a quarter
/// of the live flows that a [`FlowTable`](tcpexp_flow::FlowTable) keeps.
const MAX_ENDING: usize = (1 << 16) / SHARDS;

impl Shard {
    pub(super) fn sweep(&mut self, now: Timestamp, setting: &Setting) {
        for path_direction in PathDirection::BOTH {
            // Overdue packets leave the queue, since lost packets would push the others out of the
            // cache.
            let longest = setting.max_owd[path_direction.index()];
            self.in_flight[path_direction.index()]
                .set_apart(now - longest - longest - setting.slack());
        }
        self.shed();
        // Sweep once per quarter of the horizon, so that each packet in flight is visited at most
        // four times.
        if now == Timestamp::MAX || (now - self.swept).as_nanos() < setting.horizon.as_nanos() / 4 {
            return;
        }
        self.swept = now;
        // Packets are given up before their flow closes, since `give_up` counts them in the flow.
        self.give_up(now - setting.horizon, setting);
        while let Some((at, flow)) = self.ending.front().copied() {
            if at > now {
                break;
            }
            self.ending.pop_front();
            let summary = self.close(flow);
            self.yields.ended.extend(summary);
        }
    }

    /// Closes ended flows without packets in flight, if too many wait for late packets.
    fn shed(&mut self) {
        // Visiting the flows only after their number has doubled keeps the cost per flow constant.
        if self.ending.len() <= MAX_ENDING.max(2 * self.kept) {
            return;
        }
        let Self { pairs, yields, .. } = self;
        self.ending.retain(|(_, flow)| {
            let is_settled = pairs.get(*flow).is_none_or(|pair| pair.is_settled());
            if is_settled {
                yields.ended.extend(pairs.remove(*flow).map(Pair::close));
            }
            !is_settled
        });
        self.kept = self.ending.len();
    }

    /// Counts packets that left before `horizon` and did not arrive.
    pub(super) fn give_up(&mut self, horizon: Timestamp, setting: &Setting) {
        let Self {
            pairs,
            in_flight,
            outcomes,
            ..
        } = self;
        let reported_before = outcomes.as_ref().map_or(0, Vec::len);
        for path_direction in PathDirection::BOTH {
            in_flight[path_direction.index()].expire(horizon, |expired| {
                let Expired {
                    flow,
                    departure,
                    packets,
                    ambiguous,
                } = expired;
                if let Some(pair) = pairs.get(flow) {
                    let stream = &pair.streams[departure.direction.index()];
                    let ambiguous = ambiguous || !setting.is_unambiguous(path_direction, stream);
                    let outcomes = outcomes.as_mut();
                    pair.settle_missing(&departure, packets, ambiguous, setting, outcomes);
                }
            });
        }
        for pair in pairs.each() {
            pair.give_up(horizon, setting, outcomes);
        }
        // A hash map has no order.
        if let Some(outcomes) = outcomes {
            outcomes[reported_before..]
                .sort_by_key(|o| (o.known_at(), o.flow, o.direction, o.number));
        }
    }
}
