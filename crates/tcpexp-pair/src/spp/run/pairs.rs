//! The pairs of one shard by flow number.

use crate::spp::pairing::Pair;
use tcpexp_flow::FlowId;
use tcpexp_units::prefetch;

/// Number of shards that the flows are distributed to. It is fixed, so the result does not depend
/// on the number of threads.
pub(in crate::spp) const SHARDS: usize = 16;

/// Number of packets by which a flow is prefetched before its next packet: the work on as many
/// packets takes as long as a cache miss.
const AHEAD: usize = 4;

/// A shard with fewer flows finds them in the cache, so prefetching them would only cost time.
const FEW_FLOWS: usize = 64;

/// The flows of the shard, indexed by flow number.
#[derive(Debug, Default)]
pub(super) struct Pairs(Vec<Option<Box<Pair>>>);

impl Pairs {
    #[inline]
    pub(super) fn get(&mut self, flow: FlowId) -> Option<&mut Pair> {
        self.0.get_mut(flow.0 as usize / SHARDS)?.as_deref_mut()
    }

    /// Prefetch distance in packets. With few flows, the distance exceeds every round, so nothing is
    /// prefetched.
    pub(super) fn ahead(&self) -> usize {
        if self.0.len() < FEW_FLOWS {
            usize::MAX
        } else {
            AHEAD
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, flow: FlowId) {
        if let Some(Some(pair)) = self.0.get(flow.0 as usize / SHARDS) {
            prefetch(&**pair);
        }
    }

    pub(super) fn insert(&mut self, flow: FlowId, pair: Pair) {
        let place = flow.0 as usize / SHARDS;
        if self.0.len() <= place {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place] = Some(Box::new(pair));
    }

    /// Number of flows so far, live or ended.
    pub(super) fn flows_found(&self) -> usize {
        self.0.len()
    }

    pub(super) fn each(&mut self) -> impl Iterator<Item = &mut Pair> {
        self.0.iter_mut().flatten().map(|pair| &mut **pair)
    }

    pub(super) fn remove(&mut self, flow: FlowId) -> Option<Pair> {
        self.0
            .get_mut(flow.0 as usize / SHARDS)?
            .take()
            .map(|pair| *pair)
    }
}
