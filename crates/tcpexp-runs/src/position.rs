//! Position of a capture: at the sender of a flow's direction, or elsewhere.
//!
//! An ACK shows the round trip from the capture to the receiver and back, which is the round trip of the data
//! only if the capture is at its sender.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::SocketAddr;

/// True if a capture with this `vantage` is at or near the host that sends this direction; `None` if unknown.
pub fn is_at_sender(vantage: Option<&str>, is_forward: bool) -> Option<bool> {
    let sender = if is_forward { "initiator" } else { "responder" };
    vantage.map(|vantage| vantage == sender)
}

/// Returns the positions, of the directions that each host sends, with those that the other flows of the host
/// show: a capture at the sender of all other flows of a host is at that host.
///
/// The position is unknown for a connection that is older than the capture and carries data one way.
pub fn completed<H: Eq + Hash>(
    positions: impl Iterator<Item = (H, Option<bool>)> + Clone,
) -> Vec<Option<bool>> {
    let mut of_hosts: HashMap<H, bool> = HashMap::new();
    for (host, is_at_sender) in positions.clone() {
        if let Some(is_at_sender) = is_at_sender {
            *of_hosts.entry(host).or_insert(true) &= is_at_sender;
        }
    }
    positions
        .map(|(host, is_at_sender)| is_at_sender.or_else(|| of_hosts.get(&host).copied()))
        .collect()
}

/// The host of an end of a flow: its address without the port.
pub fn host_of(end: &str) -> String {
    end.parse()
        .map_or_else(|_| end.to_owned(), |end: SocketAddr| end.ip().to_string())
}
