//! The records of a capture that a pass uses.

use tcpexp_capture::{NoTime, Record};
use tcpexp_flow::FurtherRecords;
use tcpexp_wire::{LinkType, Skipped, Tunnels, decode};

use crate::selection::Selected;

/// Decides which records a pass uses.
#[derive(Debug)]
pub(crate) struct Admission<'a> {
    /// The user's selection; `None` for all records.
    selected: Option<Selected<'a>>,
    /// `None` if the capture has each packet once.
    further_records: Option<FurtherRecords>,
}

impl<'a> Admission<'a> {
    /// Returns `None` if a pass uses all records.
    pub(crate) fn of(selected: Option<Selected<'a>>, records_per_packet: u32) -> Option<Self> {
        let has_further = records_per_packet > 1;
        (selected.is_some() || has_further).then(|| Self {
            selected,
            further_records: has_further.then(|| FurtherRecords::new(records_per_packet)),
        })
    }

    /// The reason for which a record is not used, if there is one.
    pub(crate) fn admits(&mut self, record: &Record<'_>, tunnels: Tunnels) -> Result<(), Skipped> {
        if let Some(selected) = &self.selected {
            selected.admits(record)?;
        }
        let Some(further_records) = &mut self.further_records else {
            return Ok(());
        };
        let link = LinkType(record.link_type);
        // A record that is of no use has no further one either.
        if let Ok(at) = record.at
            && let Ok(packet) = decode(link, record.captured, record.wire_bytes, tunnels)
            && further_records.is_further(&packet, at)
        {
            return Err(Skipped::FurtherRecord);
        }
        Ok(())
    }
}

/// Maps the cause of a missing time to the reason for skipping the record.
pub(crate) fn without_time(why: NoTime) -> Skipped {
    match why {
        NoTime::Missing => Skipped::NoTimestamp,
        NoTime::OutOfRange => Skipped::TimestampOutOfRange,
        NoTime::Outlier(_) => Skipped::TimestampOutlier,
    }
}
