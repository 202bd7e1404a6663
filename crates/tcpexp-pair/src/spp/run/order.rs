//! The order of the results of a round.

use super::yields::Yield;
use crate::spp::matching::PacketOutcome;
use tcpexp_units::Timestamp;

/// Places of one kind of results, in order of their keys: the shard and the place there. Results with
/// equal keys keep the order of their places. `keys` returns the function that gives the keys of one
/// shard's results, from the first to the last.
pub(super) fn in_order<T, K: Ord, F: FnMut(&T) -> K>(
    yields: &[Yield],
    of: impl Fn(&Yield) -> &Vec<T>,
    keys: impl Fn() -> F,
) -> impl ExactSizeIterator<Item = [u32; 2]> {
    let results = yields.iter().map(|yielded| of(yielded).len()).sum();
    let mut order = Vec::with_capacity(results);
    for (shard, yielded) in (0..).zip(yields) {
        let mut key = keys();
        let keyed = |(place, result)| (key(result), [shard, place]);
        order.extend((0..).zip(of(yielded)).map(keyed));
    }
    order.sort();
    order.into_iter().map(|(_, place)| place)
}

/// Returns the times of one shard's outcomes such that arrivals keep the order of their capture.
///
/// Times fall back at a step of the downstream clock that the timeline lacks or overestimates. Sorted
/// by these times, the packets after the step would seem to overtake those before it. Each pass
/// sorts the records that a capture has out of order, so a remaining decrease is a clock step. Packets of one
/// flow are in one shard, and reordering is counted per flow.
pub(super) fn times_in_order() -> impl FnMut(&PacketOutcome) -> Timestamp {
    let mut reached = [Timestamp::MIN; 2];
    move |outcome| {
        let at = outcome.known_at();
        if outcome.received.is_none() {
            return at;
        }
        let reached = &mut reached[outcome.path_direction.index()];
        *reached = at.max(*reached);
        *reached
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{Direction, FlowId};
    use tcpexp_wire::Ecn;

    use super::*;
    use crate::spp::crossing::PathDirection;
    use crate::spp::matching::{Fate, Passing};

    /// A packet that was sent, or a packet that was received, at a time in milliseconds.
    fn outcome(number: u64, sent: Option<i64>, received: Option<i64>) -> PacketOutcome {
        let passing = |millis: i64| Passing {
            record: number,
            time: Timestamp::from_nanos(millis * 1_000_000),
            at: Timestamp::from_nanos(millis * 1_000_000),
            ecn: Ecn::NotEct,
        };
        PacketOutcome {
            flow: FlowId(0),
            direction: Direction::Forward,
            path_direction: PathDirection::Out,
            fate: Fate::Delivered,
            number: Some(number),
            sent: sent.map(passing),
            received: received.map(passing),
            one_way_delay: None,
            packets: 1,
            payload_bytes: 0,
            ip_bytes: 40,
        }
    }

    #[test]
    fn arrivals_whose_times_fall_back_keep_the_order_of_their_capture() {
        let yielded = |outcomes: &[PacketOutcome]| Yield {
            outcomes: outcomes.to_vec(),
            ..Yield::default()
        };
        let yields = [
            // The clock is set back by 5 ms after the second packet; the last one was given up.
            yielded(&[
                outcome(0, Some(0), Some(10)),
                outcome(1, Some(4), Some(14)),
                outcome(3, Some(5), Some(11)),
                outcome(2, Some(3), None),
            ]),
            yielded(&[outcome(0, Some(2), Some(12))]),
        ];
        let order = in_order(&yields, |yielded| &yielded.outcomes, times_in_order);
        let order: Vec<[u32; 2]> = order.collect();
        assert_eq!(order, [[0, 3], [0, 0], [1, 0], [0, 1], [0, 2]]);
    }
}
