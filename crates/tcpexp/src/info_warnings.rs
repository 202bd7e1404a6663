//! Warnings about the contents and condition of a capture.

use tcpexp_pair::spp::TickMeter;
use tcpexp_units::{TimeDelta, counted};

use crate::set_back::SetBack;

/// The warning of the damage in a capture file that has `damaged_places`; `None` if the file is sound.
pub fn damage_warning(
    name: impl std::fmt::Display,
    damage: Option<&str>,
    damaged_places: u64,
) -> Option<String> {
    let damage = damage?;
    let which = match damaged_places {
        0 | 1 => String::new(),
        places => format!(" (one of {places} damaged places)"),
    };
    Some(format!(
        "{name}: {damage}{which}; all records that could be read were used"
    ))
}

/// The warning of the fragments of datagrams that only their first fragment assigns to a flow; `None`
/// without any.
pub fn fragments_warning(name: impl std::fmt::Display, fragments: u64) -> Option<String> {
    (fragments > 0).then(|| {
        format!(
            "{name}: {} not used: bytes, rates and goodput of their flows are too low",
            counted(fragments, "later IP fragment")
        )
    })
}

/// The warning of the data that a capture missed, or may have missed; `None` if all data that was
/// acknowledged was captured.
pub fn missed_warning(
    name: impl std::fmt::Display,
    missed_bytes: u64,
    possibly_missed_bytes: u64,
) -> Option<String> {
    const UNLESS: &str = "unless they were sent before the capture of their flow began";
    let missed = match (missed_bytes, possibly_missed_bytes) {
        (0, 0) => return None,
        (bytes, 0) => format!(
            "at least {} of data that their receivers acknowledged",
            counted(bytes, "byte")
        ),
        (0, possible) => {
            let possible = counted(possible, "byte");
            format!("{possible} of data that their receivers acknowledged, {UNLESS}")
        }
        (bytes, possible) => format!(
            "at least {} of data that their receivers acknowledged, and {possible} more {UNLESS}",
            counted(bytes, "byte")
        ),
    };
    Some(format!(
        "{name}: the capture missed {missed}: times, rates and windows next to them are not certain"
    ))
}

/// The warning that a capture missed ACKs in `ack_gaps` places; `None` if there are none.
pub fn missed_acks_warning(name: impl std::fmt::Display, ack_gaps: u64) -> Option<String> {
    (ack_gaps > 0).then(|| {
        format!(
            "{name}: the capture missed ACKs in at least {}, as later data shows: round-trip times and windows there are unknown",
            counted(ack_gaps, "place")
        )
    })
}

/// The warning of packets that were given up before they could have arrived; `None` if there were none.
pub fn given_up_warning(given_up_packets: u64) -> Option<String> {
    (given_up_packets > 0).then(|| {
        format!(
            "too many flows ended with packets in flight: {} given up early, with unknown fate (--max-flows)",
            counted(given_up_packets, "packet")
        )
    })
}

/// The warning of packets at both points that have no row, because there were too many to hold back
/// until their flow was found at the other point; `None` if there were none.
pub fn not_held_warning(not_held_packets: [u64; 2]) -> Option<String> {
    let packets: u64 = not_held_packets.iter().sum();
    (packets > 0).then(|| {
        format!(
            "{} from before their flow began in the other capture: not used, and without a row in tables of packets",
            counted(packets, "packet")
        )
    })
}

/// The warning of packets that a capture program dropped; `None` if it dropped none.
pub fn dropped_warning(name: impl std::fmt::Display, dropped_packets: u64) -> Option<String> {
    (dropped_packets > 0).then(|| {
        format!(
            "{name}: the capture dropped {}; packets missing from it are not necessarily lost",
            counted(dropped_packets, "packet")
        )
    })
}

/// The warning of a clock that is coarser than one microsecond; `None` for all other clocks.
pub fn coarse_clock_warning(
    name: impl std::fmt::Display,
    coarse_tick: Option<TimeDelta>,
) -> Option<String> {
    let tick = coarse_tick?;
    Some(format!(
        "{name}: the clock of the capture advances in steps of {}, which limits the accuracy of times and round-trip times; time bins must be longer",
        TickMeter::text(tick)
    ))
}

/// The warning of TCP options that the capture has only in part; `None` if it has all.
pub fn cut_options_warning(name: impl std::fmt::Display, cut_packets: u64) -> Option<String> {
    (cut_packets > 0).then(|| {
        format!(
            "{name}: the capture cuts off the TCP options of {}: the options that the SYNs agreed on and the SACK blocks may be unknown, so windows and causes of retransmissions are less certain, and the numbers of duplicate ACKs and D-SACKs may be unknown (capture at least 128 bytes of each packet)",
            counted(cut_packets, "packet")
        )
    })
}

/// The warning of records whose stated length their packet cannot have had; `None` without any.
pub fn impossible_lengths_warning(name: impl std::fmt::Display, packets: u64) -> Option<String> {
    (packets > 0).then(|| {
        format!(
            "{name}: the capture states an impossible length of {}, for example that of the captured part: bytes on the wire are those of the link and IP headers",
            counted(packets, "packet")
        )
    })
}

/// The warning of a clock that was set back; `None` if it was not.
pub fn set_back_warning(name: impl std::fmt::Display, set_back: Option<SetBack>) -> Option<String> {
    let SetBack {
        record,
        by,
        in_blocks,
    } = set_back?;
    let by_s = by.as_seconds_f64();
    Some(match in_blocks {
        Some(true) => format!(
            "{name}: the file stores the records of each interface in blocks: record {record} is {by_s:.3} s earlier than the latest record before it, too far to sort: times, rates and the order of packets are wrong; sort the file first, for example with reordercap"
        ),
        Some(false) => format!(
            "{name}: the clock of the capture was set back by at least {by_s:.3} s at record {record}: times, rates and round-trip times across this place are wrong by the size of this step"
        ),
        None => format!(
            "{name}: record {record} is {by_s:.3} s earlier than the latest record before it: the clock of the capture was set back, or the file stores the records of each interface in blocks: times, rates and the order of packets across this place are wrong; sort a file with blocks first, for example with reordercap"
        ),
    })
}

/// The warning of flows whose packets alternate between VLAN tags or MPLS labels; `None` without any.
pub fn several_tags_warning(name: impl std::fmt::Display, flows: u32) -> Option<String> {
    (flows > 0).then(|| {
        format!(
            "{name}: packets with equal addresses and ports alternate between VLAN tags or MPLS labels in {}: each such flow may be several connections, or several records of one packet, and its numbers may be wrong; select one network with a filter, such as --filter 'vlan 10'",
            counted(u64::from(flows), "flow direction")
        )
    })
}

/// The warning of a capture that has several records of each packet; `None` for all other captures.
pub fn further_records_warning(
    name: impl std::fmt::Display,
    records_per_packet: u32,
) -> Option<String> {
    let has = match records_per_packet {
        0 | 1 => return None,
        2 => "twice: the second record of each packet is left out".to_owned(),
        records => format!("{records} times: all records of a packet after the first are left out"),
    };
    Some(format!("{name}: the capture has nearly every packet {has}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warning_of_damage_states_how_many_places_are_damaged() {
        let warning = |places| damage_warning("a.pcap", Some("record at byte 24 is odd"), places);
        assert_eq!(
            warning(1).as_deref(),
            Some("a.pcap: record at byte 24 is odd; all records that could be read were used")
        );
        assert_eq!(
            warning(3).as_deref(),
            Some(
                "a.pcap: record at byte 24 is odd (one of 3 damaged places); all records that could be read were used"
            )
        );
        assert_eq!(damage_warning("a.pcap", None, 0), None);
    }
}
