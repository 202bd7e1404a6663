//! Results of one part of the flows.
//!
//! A measurement of one part reads all packets and numbers all flows, because a flow's number, the
//! clocks and the fields that identify packets depend on all of them. Then it passes on the rows of
//! its own flows only, so the rows of all parts together are those of the undivided measurement.

use std::collections::HashSet;

use tcpexp_flow::{Flow, FlowId, FlowShard, Packets};
use tcpexp_measure::throughput::ThroughputRow;
use tcpexp_measure::{Meter, Metered, meter};
use tcpexp_pair::path::PathBatch;
use tcpexp_pair::spp::{Batch, PairedFlow};

/// [`meter`] for the flows of one part; `None` for all flows. Other flows cost only their place in
/// the flow table.
pub(crate) fn meter_part<M: Meter, E: Send>(
    packets: &mut impl Packets,
    shard: Option<FlowShard>,
    begin: impl Fn(&Flow) -> M + Sync,
    sink: impl FnMut(Vec<M::Row>) -> Result<(), E> + Send,
) -> Result<Metered, E> {
    match shard {
        None => meter(packets, begin, sink),
        Some(shard) => {
            let begin = |flow: &Flow| shard.holds_flow(flow).then(|| begin(flow));
            meter(packets, begin, sink)
        }
    }
}

/// The live flows of one part.
pub(crate) struct OwnFlows {
    /// `None` if all flows belong to the part.
    shard: Option<FlowShard>,
    live: HashSet<FlowId>,
}

impl OwnFlows {
    pub(crate) fn of(shard: Option<FlowShard>) -> Self {
        Self {
            shard,
            live: HashSet::new(),
        }
    }

    /// Removes what belongs to other parts.
    pub(crate) fn retain_in(&mut self, batch: &mut Batch) {
        let Some(shard) = self.shard else {
            return;
        };
        self.begin(shard, &mut batch.flows);
        batch.samples.retain(|row| self.live.contains(&row.flow));
        batch.outcomes.retain(|row| self.live.contains(&row.flow));
        batch.ended.retain(|row| self.live.remove(&row.flow.flow));
    }

    /// Removes what belongs to other parts.
    pub(crate) fn retain_in_path(&mut self, batch: &mut PathBatch) {
        let Some(shard) = self.shard else {
            return;
        };
        self.begin(shard, &mut batch.flows);
        batch.samples.retain(|row| self.live.contains(&row.flow));
        batch.packets.retain(|row| self.live.contains(&row.flow));
        let ended = |row: &tcpexp_pair::path::PathFlow| row.summary.flow.flow;
        batch.ended.retain(|row| self.live.remove(&ended(row)));
    }

    /// True if the row belongs to the part.
    pub(crate) fn has(&mut self, row: &ThroughputRow) -> bool {
        let Some(shard) = self.shard else {
            return true;
        };
        match row {
            ThroughputRow::Began(flow) => shard.holds_flow(flow) && self.live.insert(flow.id),
            ThroughputRow::Bin(bin) => match bin.flow {
                Some(flow) => self.live.contains(&flow),
                None => shard.is_first(),
            },
            ThroughputRow::Ended(flow) => self.live.remove(&flow.flow.id),
        }
    }

    fn begin(&mut self, shard: FlowShard, flows: &mut Vec<PairedFlow>) {
        flows.retain(|flow| shard.holds(flow.protocol, flow.initiator, flow.responder));
        self.live.extend(flows.iter().map(|flow| flow.flow));
    }
}
