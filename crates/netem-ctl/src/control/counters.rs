//! Counters of a bottleneck's queues.

use serde::Serialize;
use tcpexp_host::Qdisc;

use crate::plan::{Must, Plan};

/// Counters of all stages since the bottleneck was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// The queue from left to right; `None` if there is none.
    pub forward: Option<QueueCounters>,
    /// The queue from right to left.
    pub reverse: Option<QueueCounters>,
    /// Packets that delay stages dropped. Without emulated loss, anything but 0 means that a delay
    /// stage ran out of room.
    pub delay_drops: u64,
    /// Packets that bypassed a rate stage. Anything but 0 is a fault of the emulation.
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
    /// Packets marked instead of dropped; 0 for queues that cannot mark.
    pub marks: u64,
    /// Packets queued.
    pub queue_packets: u64,
    /// Bytes queued.
    pub queue_bytes: u64,
}

/// The part of a bottleneck that a device belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Delay,
    Forward,
    Reverse,
}

/// The command that reads the counters of each device of the plan.
pub(crate) fn commands(plan: &Plan) -> Vec<Vec<String>> {
    let devices = devices(plan);
    devices.map(|(_, argv)| argv.to_vec()).collect()
}

/// Adds up the counters that the commands printed. `None` if one of them printed no counters.
pub(crate) fn read(plan: &Plan, sections: &[(&str, &str)]) -> Option<Counters> {
    let mut all = Counters {
        forward: None,
        reverse: None,
        delay_drops: 0,
        unshaped_packets: 0,
    };
    for (index, (device, _)) in devices(plan).enumerate() {
        let (_, text) = sections.get(index)?;
        // A command that failed printed nothing, which must not count as no drops.
        let qdiscs = Qdisc::list(text).ok().filter(|list| !list.is_empty())?;
        match stage(plan, device) {
            Stage::Delay => {
                for qdisc in &qdiscs {
                    all.delay_drops += qdisc.drops?;
                }
            }
            Stage::Forward => all.forward = Some(queue(&qdiscs, device)?),
            Stage::Reverse => all.reverse = Some(queue(&qdiscs, device)?),
        }
        let unshaped = qdiscs.iter().filter_map(Qdisc::unshaped_packets);
        all.unshaped_packets += unshaped.sum::<u64>();
    }
    Some(all)
}

/// The devices that a plan puts queues on, each with the command that reads them.
fn devices(plan: &Plan) -> impl Iterator<Item = (&str, &[String])> {
    plan.verify.iter().filter_map(|check| match &check.must {
        Must::Qdiscs(facts) => {
            let fact = facts.first()?;
            Some((fact.device.as_str(), check.argv.as_slice()))
        }
        _ => None,
    })
}

fn stage(plan: &Plan, device: &str) -> Stage {
    // A queue is at the interface that packets leave by: forward packets leave by the right one.
    if device == plan.router.right.as_str() {
        Stage::Forward
    } else if device == plan.router.left.as_str() {
        Stage::Reverse
    } else {
        Stage::Delay
    }
}

fn queue(qdiscs: &[Qdisc], device: &str) -> Option<QueueCounters> {
    let queue = Qdisc::queue_of(qdiscs, device)?;
    Some(QueueCounters {
        packets_sent: queue.packets?,
        bytes_sent: queue.bytes?,
        drops: queue.drops?,
        marks: queue.marks().unwrap_or(0),
        queue_packets: queue.qlen?,
        queue_bytes: queue.backlog?,
    })
}
