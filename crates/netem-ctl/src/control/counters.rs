//! What the queues of a bottleneck have counted.

use serde::Serialize;

use crate::plan::{Plan, Qdisc, counted_queues};

/// Counters of all stages since the bottleneck was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// The queue from left to right; `None` where there is none.
    pub forward: Option<QueueCounters>,
    /// The queue from right to left.
    pub reverse: Option<QueueCounters>,
    /// Packets that delay stages dropped. Without emulated loss it must be 0: anything else is
    /// room that was too small.
    pub delay_drops: u64,
    /// Packets that went past a rate stage without being counted by it. It must be 0.
    pub unshaped_packets: u64,
}

/// Counters of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QueueCounters {
    /// Packets sent.
    pub packets_sent: u64,
    /// Bytes sent, with Ethernet headers.
    pub bytes_sent: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked instead.
    pub marks: u64,
    /// Packets waiting.
    pub queue_packets: u64,
    /// Bytes waiting.
    pub queue_bytes: u64,
}

/// A command, and the stage that it is about.
pub(crate) fn commands(plan: &Plan) -> Vec<(Stage, Vec<String>)> {
    counted_queues(plan)
}

/// What a counter belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Delay,
    Forward,
    Reverse,
}

/// Adds up what the commands said. `None` if one of them said nothing that is understood.
pub(crate) fn read(plan: &Plan, sections: &[(&str, &str)]) -> Option<Counters> {
    let mut all = Counters {
        forward: None,
        reverse: None,
        delay_drops: 0,
        unshaped_packets: 0,
    };
    for (index, (stage, _)) in commands(plan).into_iter().enumerate() {
        let (_, text) = sections.get(index)?;
        let queues = Qdisc::list(text)?;
        match stage {
            Stage::Delay => all.delay_drops += queues.iter().map(|queue| queue.drops).sum::<u64>(),
            Stage::Forward => all.forward = Some(queue(&queues)?),
            Stage::Reverse => all.reverse = Some(queue(&queues)?),
        }
        let direct = |queue: &Qdisc| queue.option("direct_packets_stat")?.as_u64();
        all.unshaped_packets += queues.iter().filter_map(direct).sum::<u64>();
    }
    Some(all)
}

/// The innermost of the stages at an interface's way out: below a rate it is the queue.
fn queue(queues: &[Qdisc]) -> Option<QueueCounters> {
    let is_stage = |queue: &&Qdisc| !matches!(queue.kind.as_str(), "clsact" | "ingress");
    let queue = queues.iter().rfind(is_stage)?;
    Some(QueueCounters {
        packets_sent: queue.packets,
        bytes_sent: queue.bytes,
        drops: queue.drops,
        marks: queue.marks(),
        queue_packets: queue.qlen,
        queue_bytes: queue.backlog,
    })
}
