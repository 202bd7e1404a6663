//! A limited number of flows, the most active of a capture.

use std::cmp::Reverse;
use std::num::NonZeroUsize;

use tcpexp_flow::FlowId;

/// The flows with the highest activity, up to a limit. Among flows with equal activity, those that
/// began first stay.
///
/// The order in which flows are added does not change the result.
#[derive(Debug)]
pub struct Busiest<T> {
    limit: usize,
    kept: Vec<(Reverse<u64>, FlowId, T)>,
    left_out: u32,
}

impl<T> Busiest<T> {
    /// Keeps at most `limit` flows.
    pub fn new(limit: NonZeroUsize) -> Self {
        Self {
            limit: limit.get(),
            kept: Vec::new(),
            left_out: 0,
        }
    }

    /// Adds a flow with its activity, such as its number of packets.
    pub fn add(&mut self, activity: u64, flow: FlowId, item: T) {
        self.kept.push((Reverse(activity), flow, item));
        // A selection takes linear time, so an eighth more flows makes its cost per flow constant.
        if self.kept.len() > self.limit + self.limit.div_ceil(8) {
            self.select();
        }
    }

    /// Returns the flows in order of their numbers, and the number of flows left out.
    pub fn finish(mut self) -> (Vec<(FlowId, T)>, u32) {
        self.select();
        let mut kept: Vec<_> = self
            .kept
            .into_iter()
            .map(|(_, id, item)| (id, item))
            .collect();
        // The list has grown to up to twice the memory that its items need, and lives on.
        kept.shrink_to_fit();
        kept.sort_unstable_by_key(|(flow, _)| *flow);
        (kept, self.left_out)
    }

    fn select(&mut self) {
        let Some(over) = self.kept.len().checked_sub(self.limit).filter(|n| *n > 0) else {
            return;
        };
        let key = |(activity, flow, _): &(Reverse<u64>, FlowId, T)| (*activity, *flow);
        self.kept.select_nth_unstable_by_key(self.limit - 1, key);
        self.kept.truncate(self.limit);
        self.left_out = self
            .left_out
            .saturating_add(u32::try_from(over).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_active_flows_stay_in_order_of_their_numbers() {
        let mut busiest = Busiest::new(NonZeroUsize::new(10).unwrap());
        for flow in (0..1_000_u32).rev() {
            // Each hundredth flow has ten packets, the others have one.
            let packets = if flow % 100 == 7 { 10 } else { 1 };
            busiest.add(packets, FlowId(flow), flow);
        }
        let (kept, left_out) = busiest.finish();
        let kept: Vec<u32> = kept.into_iter().map(|(_, flow)| flow).collect();
        assert_eq!(kept, [7, 107, 207, 307, 407, 507, 607, 707, 807, 907]);
        assert_eq!(left_out, 990);
    }

    #[test]
    fn no_flow_is_left_out_below_the_limit() {
        let mut busiest = Busiest::new(NonZeroUsize::new(3).unwrap());
        for flow in [2, 0, 1] {
            busiest.add(1, FlowId(flow), ());
        }
        let flows = [0, 1, 2].map(|flow| (FlowId(flow), ()));
        assert_eq!(busiest.finish(), (flows.to_vec(), 0));
    }
}
