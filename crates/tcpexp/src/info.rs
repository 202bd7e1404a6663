//! Contents and condition of a capture.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tcpexp_capture::{Compression, Format, Interface, PartEnd, PartHead};
use tcpexp_flow::Packets;
use tcpexp_measure::MissedData;
use tcpexp_units::{TimeDelta, Timestamp};
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
    /// Number of flow directions whose packets alternate between VLAN tags or MPLS labels, among the first
    /// records: packets of several connections, or several records of a packet. 0 for a live capture.
    pub flows_with_several_tags: u32,
    /// The files of the capture, if it is made of several.
    pub set: Option<Arc<CaptureSet>>,
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
