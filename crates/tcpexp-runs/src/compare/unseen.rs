//! Planned traffic without a flow in the dataset of its run.

use tcpexp_metrics::compare::{Run, Sender, Window};
use tcpexp_units::Timestamp;

use super::PING;
use super::cells::RunDir;
use crate::origin::Origin;
use crate::record::TrafficRecord;

/// Why a run with a plan lacks a part of its traffic; `None` if it does not, or if the captures or the analysis
/// may have left the packets out.
pub(super) fn fault(run: &RunDir, read: &Run) -> Option<String> {
    // A probe has its values from its log, without flows.
    let is_unseen = |sender: &Sender| !sender.is_probe && sender.seen.is_none();
    if !read.senders.is_empty() && read.senders.iter().all(is_unseen) {
        return Some("its captures have no flow of its traffic".to_owned());
    }
    // The other traffic used the share of the missing traffic, so the run does not represent its cell.
    let mut planned = run.record.traffic.iter().zip(&read.senders);
    let (silent, _) = planned.find(|(one, sender)| one.is_captured && sender.is_unseen)?;
    let has_all_packets = Origin::of(&run.data).is_some_and(|origin| origin.has_all_packets());
    has_all_packets.then(|| format!("its captures have no flow of {}", silent.name))
}

/// The tool that runs any program, which may have no connection.
const COMMAND: &str = "command";

/// True if the dataset should have a flow of the traffic and has none: the tool sent nothing, or the captures or
/// the analysis left its packets out. `all` is the planned traffic with its senders.
///
/// Instances of a tool may share a port, as those of scp do. Their flows are those of the first one.
pub(super) fn is_unseen(
    (traffic, sender): (&TrafficRecord, &Sender),
    all: &[(&TrafficRecord, &Sender)],
) -> bool {
    let is_expected = ![PING, COMMAND].contains(&traffic.tool.as_str());
    let ends = |of: &TrafficRecord| {
        let mut hosts = [of.from.clone(), of.to.clone()];
        hosts.sort_unstable();
        (hosts, of.port)
    };
    let is_shared = || {
        let mut seen = all.iter().filter(|(_, sender)| sender.seen.is_some());
        seen.any(|(other, _)| ends(other) == ends(traffic))
    };
    is_expected && sender.seen.is_none() && !is_shared()
}

/// Marks what an unseen sender sent as unknown: without flows, its bins have no bytes.
pub(super) fn mark(sender: &mut Sender) {
    sender.is_unseen = true;
    sender.unknown = vec![Window {
        from: sender.active.from,
        until: Timestamp::MAX,
    }];
}
