//! Lost packets in words.

use tcpexp_measure::sender::LostPackets;

use crate::cells::count;

/// The number of lost packets: `6`, or `6 to 67` if the fate of some packets is unknown.
pub(crate) fn lost_count(lost: LostPackets) -> String {
    let number = |packets| count(packets, usize::MAX);
    match lost.exact() {
        Some(packets) => number(packets),
        None => format!(
            "{} to {}",
            number(lost.known),
            number(lost.known + lost.unknown)
        ),
    }
}

/// The number with its noun: `1 packet`, `6 to 67 packets`.
pub(crate) fn lost_packets(lost: LostPackets) -> String {
    let noun = if lost.exact() == Some(1) {
        "packet"
    } else {
        "packets"
    };
    format!("{} {noun}", lost_count(lost))
}
