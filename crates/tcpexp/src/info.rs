//! Contents and condition of a capture.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tcpexp_capture::{Compression, Format, Interface, PartEnd, PartHead};
use tcpexp_flow::Packets;
use tcpexp_measure::MissedData;
use tcpexp_pair::spp::TickMeter;
use tcpexp_units::{TimeDelta, Timestamp, counted};
use tcpexp_wire::{LinkType, Skipped, Tally};

use crate::capture_set::CaptureSet;
use crate::described::Described;
use crate::set_back::SetBack;
use crate::view::View;
use crate::walk::Walk;
use crate::{CaptureOptions, Error, Recording};

/// Summary of one pass over a capture.
#[derive(Clone, Debug)]
pub struct CaptureInfo {
    /// File format.
    pub format: Format,
    /// Compression of the file; `None` if uncompressed.
    pub compression: Option<Compression>,
    /// Capture interfaces, with drop counters where the file has them.
    pub interfaces: Vec<Interface>,
    /// Number of records used, and of records skipped, by reason.
    pub tally: Tally,
    /// Earliest and latest capture time.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Captured bytes of all packets.
    pub captured_bytes: u64,
    /// Bytes of all packets on the wire.
    pub wire_bytes: u64,
    /// Description and place of the first damage in the file.
    pub damage: Option<String>,
    /// Number of damaged places.
    pub damaged_places: u64,
    /// True if this is a part of a capture and the damage is only that of the whole capture.
    pub damage_is_of_whole: bool,
    /// Number of records that stood behind later ones in the file. They are sorted by time.
    pub moved_records: u64,
    /// Number of records that stood so far behind later ones that they were not sorted. After a clock was set
    /// back, all records until its time is reached again.
    pub unsorted_records: u64,
    /// Where the clock of the capture was first set back, or seems to have been. `None` in measurements of a pair,
    /// whose clock model has it.
    pub set_back: Option<SetBack>,
    /// Number of flows ended early because too many were open; 0 if flows were not tracked.
    pub flows_shed: u32,
    /// Number of flows without results because the whole capture has too many: those with the least
    /// data. 0 in measurements that keep no data about ended flows.
    pub flows_left_out: u32,
    /// Data that was acknowledged and that the capture never shows, at least; nothing if flows were not
    /// tracked.
    pub missed: MissedData,
    /// Tick of the capture's clock, estimated from its first records, if it is coarser than one
    /// microsecond. `None` for a live capture, and in measurements of a pair, where the clock model
    /// contains the tick.
    pub coarse_tick: Option<TimeDelta>,
    /// Usual number of records of a packet, by the first data packets; all but the first are left out. 1 for a
    /// live capture, and in measurements of a pair, which leave out the further records too.
    pub records_per_packet: u32,
    /// Number of flows, by direction, whose packets alternate between VLAN tags or MPLS labels, among the first
    /// records: packets of several connections, or several records of a packet. 0 for a live capture.
    pub flows_with_several_tags: u32,
    /// The files of the capture, if it is made of several.
    pub set: Option<Arc<CaptureSet>>,
}

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
            tcpexp_units::counted(fragments, "later IP fragment")
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
            "{name}: packets with equal addresses and ports alternate between VLAN tags or MPLS labels (in {}): they count as one flow, although they may be of several connections, or records of one packet: numbers of these flows may be wrong, unless a filter selects one network, as --filter 'vlan 10' does",
            counted(u64::from(flows), "direction")
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

impl CaptureInfo {
    /// Reads a capture to its end.
    ///
    /// Returns an error if the file is not a capture. A capture without records is not an error.
    pub fn read(recording: &Recording, options: &CaptureOptions) -> Result<Self, Error> {
        let view = View::of_all_times(recording, &options.reading);
        let range = options.reading.range_in(recording)?;
        let mut walk = view.within(range).walk_once()?;
        while walk.show(usize::MAX, |_| ()) > 0 {}
        recording.require_whole_passes()?;
        Ok(Self {
            coarse_tick: recording.coarse_tick()?,
            records_per_packet: recording.records_per_packet(options.reading.tunnels)?,
            ..Self::of(&walk)
        })
    }

    /// Number of packets that the capture file reports as dropped (`isb_ifdrop` of pcapng), and of
    /// records that may hold a packet and cannot be used.
    pub fn unusable(&self) -> u64 {
        let may_hold_packet = |reason: &Skipped| {
            matches!(
                reason,
                Skipped::NoTimestamp
                    | Skipped::TimestampOutOfRange
                    | Skipped::TimestampOutlier
                    | Skipped::Cut
                    | Skipped::MalformedIp
                    | Skipped::MalformedTransport
            )
        };
        let skipped = self.tally.skipped();
        let unusable = skipped.filter(|(reason, _)| may_hold_packet(reason));
        let unusable: u64 = unusable.map(|(_, count)| count).sum();
        unusable.saturating_add(self.dropped().unwrap_or(0))
    }

    /// Number of packets that the capture file reports as dropped; `None` without a counter.
    pub fn dropped(&self) -> Option<u64> {
        let dropped = self.interfaces.iter().filter_map(|one| one.dropped);
        // A damaged file may hold any counters.
        dropped.reduce(u64::saturating_add)
    }

    /// Summary of a finished pass.
    pub(crate) fn of(walk: &Walk<'_>) -> Self {
        let mut described = walk.described();
        let mut tally = *walk.tally();
        let mut damage_is_of_whole = false;
        if walk.part.is_some() {
            if let Some(end) = walk.capture().part_end() {
                damage_is_of_whole = described.damage.is_none() && end.damage.is_some();
                add_whole(&mut described, &mut tally, walk.capture().part_head(), end);
            } else {
                let cut = || "the part ends early".to_owned();
                described.damage.get_or_insert_with(cut);
            }
        }
        let Described {
            format,
            compression,
            interfaces,
            damage,
            damaged_places,
        } = described;
        Self {
            format,
            compression,
            interfaces,
            tally,
            span: walk.span(),
            captured_bytes: walk.captured_bytes(),
            wire_bytes: walk.wire_bytes(),
            damage,
            damaged_places,
            damage_is_of_whole,
            moved_records: walk.moved_records(),
            unsorted_records: walk.unsorted_records(),
            set_back: walk.set_back(),
            flows_shed: 0,
            flows_left_out: 0,
            missed: MissedData::default(),
            coarse_tick: None,
            records_per_packet: 1,
            flows_with_several_tags: walk.flows_with_several_tags,
            set: walk.set.cloned(),
        }
    }

    /// Summaries of the finished passes over both captures of a pair.
    pub(crate) fn of_both(walks: [&Walk<'_>; 2], flows_shed: [u32; 2]) -> [Self; 2] {
        let mut both = walks.map(Self::of);
        for (info, flows_shed) in both.iter_mut().zip(flows_shed) {
            info.flows_shed = flows_shed;
            info.set_back = None;
        }
        both
    }

    /// Returns an error with the reasons if the capture has no usable packet.
    pub(crate) fn require_packets(&self, recording: &Recording) -> Result<(), Error> {
        recording.require_whole_passes()?;
        // A part may be empty although the whole is not.
        let is_sound = self.damage.is_none() || self.damage_is_of_whole;
        if recording.part()?.is_some() && is_sound {
            return Ok(());
        }
        self.require_packets_in(recording.name())
    }

    /// Like [`require_packets`](Self::require_packets), for a capture that is not a [`Recording`].
    pub(crate) fn require_packets_in(&self, name: &Path) -> Result<(), Error> {
        if self.tally.used() > 0 {
            return Ok(());
        }
        let mut reasons: Vec<String> = self
            .tally
            .skipped()
            .map(|(reason, count)| format!("{count} × {reason}{}", self.which(reason)))
            .collect();
        if self.tally.records() == 0 {
            reasons.push("no records".into());
        }
        reasons.extend(self.damage.clone());
        Err(Error::Nothing {
            path: name.to_owned(),
            why: reasons.join("; "),
        })
    }

    /// Lists the unsupported link types if `reason` is an unsupported link type.
    fn which(&self, reason: Skipped) -> String {
        if reason != Skipped::UnsupportedLinkType {
            return String::new();
        }
        let types: BTreeSet<u16> = self
            .interfaces
            .iter()
            // Several interfaces may share a link type, so a set names each type once.
            .map(|interface| interface.link_type)
            .filter(|&link_type| !LinkType(link_type).is_supported())
            .collect();
        let types: Vec<String> = types.iter().map(u16::to_string).collect();
        format!(" ({})", types.join(", "))
    }
}

/// Adds to a part what is known of the whole capture: its damage, and the records that no part has. Those
/// belong to the first part, as all records of no flow do.
fn add_whole(part: &mut Described, tally: &mut Tally, head: Option<&PartHead>, end: &PartEnd) {
    let Some(head) = head else {
        return;
    };
    if head.number == 1 {
        tally.add_skipped(Skipped::NoTimestamp, end.no_time);
        tally.add_skipped(Skipped::TimestampOutOfRange, end.time_out_of_range);
    }
    let of_whole = end.damage.as_ref();
    let of_whole = of_whole.map(|damage| format!("in {}, {damage}", head.name));
    part.damage = part.damage.take().or(of_whole);
    part.damaged_places = part.damaged_places.saturating_add(end.damaged_places);
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
