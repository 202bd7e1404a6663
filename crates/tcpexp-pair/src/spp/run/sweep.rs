//! Gives up packets and closes flows after their time.

use std::collections::HashSet;

use foldhash::fast::FixedState;

use super::pairs::SHARDS;
use super::shard::Shard;
use crate::spp::crossing::PathDirection;
use crate::spp::matching::{Departure, Expired, PacketOutcome, Ranges, Setting, widen};
use crate::spp::pairing::Pair;
use tcpexp_flow::FlowId;
use tcpexp_units::Timestamp;

/// The shards together keep this share of the flow limit as ended flows that wait for late packets,
/// before they close those without packets in flight.
const ENDING_SHARE: usize = 4;

impl Shard {
    /// True if the next sweep gives packets up: once per quarter of the horizon, so that each
    /// packet in flight is visited at most four times.
    pub(in crate::spp) fn gives_up_at(&self, now: Timestamp, setting: &Setting) -> bool {
        now != Timestamp::MAX && (now - self.swept).as_nanos() >= setting.horizon.as_nanos() / 4
    }

    /// True for a point whose capture provably missed a packet that is overdue at `now`, by
    /// [`Point::index`](crate::spp::Point::index). Points that are known to miss packets are left
    /// out.
    pub(in crate::spp) fn proven_misses(&mut self, now: Timestamp, setting: &Setting) -> [bool; 2] {
        let Self {
            pairs, in_flight, ..
        } = self;
        let mut misses = [false; 2];
        let mut add = |pair: &Pair, departure: &Departure| {
            if setting.is_contradicted(departure.at) {
                return;
            }
            let downstream = departure.path_direction.upstream().opposite();
            misses[downstream.index()] |= pair.proves_miss(departure, setting);
        };
        for path_direction in PathDirection::BOTH {
            if setting.misses[path_direction.upstream().opposite().index()] {
                continue;
            }
            let due = setting.overdue(path_direction, now);
            in_flight[path_direction.index()].each_overdue(due, |flow, departure| {
                if let Some(pair) = pairs.get(flow) {
                    add(pair, departure);
                }
            });
        }
        for pair in pairs.each() {
            let ranges = pair.ranges.iter().flat_map(|ranges| &**ranges);
            for departure in ranges.flat_map(Ranges::not_whole) {
                if departure.at < setting.overdue(departure.path_direction, now) {
                    add(pair, departure);
                }
            }
        }
        misses
    }

    /// Gives up packets and closes flows whose time is over at `now`.
    pub(super) fn sweep(&mut self, now: Timestamp, setting: &Setting) {
        for path_direction in PathDirection::BOTH {
            // Overdue packets leave the queue, since lost packets would push the others out of the
            // cache.
            let due = setting.overdue(path_direction, now);
            self.in_flight[path_direction.index()].set_apart(due);
        }
        self.shed(setting);
        if !self.gives_up_at(now, setting) {
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

    /// Closes ended flows without packets in flight, if too many wait for late packets. If the
    /// captures have more flows than the limit, closes the others too.
    fn shed(&mut self, setting: &Setting) {
        let flows = setting.max_flows.div_ceil(SHARDS);
        let most = flows / ENDING_SHARE;
        let is_crowded = self.pairs.flows_found() > flows;
        // Visiting the flows only after their number has doubled keeps the cost per flow constant.
        let limit = if is_crowded {
            most
        } else {
            most.max(2 * self.kept)
        };
        if self.ending.len() <= limit {
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
        // The first half makes room for as many more.
        if is_crowded && self.ending.len() > most / 2 {
            self.hurry(self.ending.len() - most / 2, setting);
        }
        self.kept = self.ending.len();
    }

    /// Closes the `count` flows that ended first, and gives up their packets in flight.
    #[cold]
    fn hurry(&mut self, count: usize, setting: &Setting) {
        let Self {
            pairs,
            in_flight,
            outcomes,
            ending,
            yields,
            ..
        } = self;
        let ended: HashSet<FlowId, FixedState> =
            ending.drain(..count).map(|(_, flow)| flow).collect();
        let reported_before = outcomes.as_ref().map_or(0, Vec::len);
        for path_direction in PathDirection::BOTH {
            in_flight[path_direction.index()].expire_flows(
                |flow| ended.contains(&flow),
                |expired| {
                    if let Some(pair) = pairs.get(expired.flow) {
                        yields.given_up_early += expired.packets;
                        pair.is_partial = true;
                        settle(pair, path_direction, &expired, setting, outcomes.as_mut());
                    }
                },
            );
        }
        // A hash set has no order.
        let mut ended: Vec<FlowId> = ended.into_iter().collect();
        ended.sort_unstable();
        for flow in ended {
            if let Some(pair) = pairs.get(flow) {
                pair.is_partial = true;
                yields.given_up_early += pair.give_up(Timestamp::MAX, setting, outcomes);
            }
            yields.ended.extend(pairs.remove(flow).map(Pair::close));
        }
        if let Some(outcomes) = outcomes {
            sort(&mut outcomes[reported_before..]);
        }
    }

    /// Counts packets that left before `horizon` and did not arrive.
    pub(super) fn give_up(&mut self, horizon: Timestamp, setting: &Setting) {
        let Self {
            pairs,
            in_flight,
            outcomes,
            unseen,
            yields,
            ..
        } = self;
        let reported_before = outcomes.as_ref().map_or(0, Vec::len);
        for path_direction in PathDirection::BOTH {
            let unseen = &unseen[path_direction.index()];
            in_flight[path_direction.index()].expire(horizon, |mut expired| {
                // An arrival before its departure contradicts the clocks.
                let early = unseen.time_of((expired.flow, expired.digest));
                let left = expired.departure.at;
                let is_early = |arrived: &Timestamp| {
                    (left - setting.horizon..left).contains(arrived) && !expired.ambiguous
                };
                if let Some(arrived) = early.filter(is_early) {
                    expired.ambiguous = true;
                    for at in [arrived, left] {
                        widen(&mut yields.contradicted, at);
                    }
                }
                if let Some(pair) = pairs.get(expired.flow) {
                    settle(pair, path_direction, &expired, setting, outcomes.as_mut());
                }
            });
        }
        for pair in pairs.each() {
            pair.give_up(horizon, setting, outcomes);
        }
        if let Some(outcomes) = outcomes {
            sort(&mut outcomes[reported_before..]);
        }
    }
}

/// Counts a packet that was given up, and reports its fate to `outcomes`.
fn settle(
    pair: &mut Pair,
    path_direction: PathDirection,
    expired: &Expired,
    setting: &Setting,
    outcomes: Option<&mut Vec<PacketOutcome>>,
) {
    let Expired {
        digest,
        departure,
        packets,
        ambiguous,
        ..
    } = *expired;
    let stream = &pair.streams[departure.direction.index()];
    let ambiguous = ambiguous
        || !setting.is_unambiguous(path_direction, stream)
        || setting.is_contradicted(departure.at);
    let has_strayed = setting.has_strayed(path_direction, digest);
    pair.settle_missing(
        &departure,
        packets,
        ambiguous,
        has_strayed,
        setting,
        outcomes,
    );
}

/// Orders the fates of packets that were given up: they come from a hash map, which has no order.
fn sort(outcomes: &mut [PacketOutcome]) {
    outcomes.sort_by_key(|o| (o.known_at(), o.flow, o.direction, o.number));
}
