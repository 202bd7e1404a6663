//! The records of a capture that a pass uses.

use tcpexp_capture::{NoTime, Record};
use tcpexp_flow::SecondRecords;
use tcpexp_wire::{LinkType, Skipped, Tunnels, decode};

use crate::selection::Selected;

/// Decides which records a pass uses.
#[derive(Debug)]
pub(crate) struct Admission<'a> {
    /// The user's selection; `None` for all records.
    selected: Option<Selected<'a>>,
    /// `None` if the capture has each packet once.
    second_records: Option<SecondRecords>,
}

impl<'a> Admission<'a> {
    /// Returns `None` if a pass uses all records.
    pub(crate) fn of(selected: Option<Selected<'a>>, has_twins: bool) -> Option<Self> {
        (selected.is_some() || has_twins).then(|| Self {
            selected,
            second_records: has_twins.then(SecondRecords::default),
        })
    }

    /// The reason for which a record is not used, if there is one.
    pub(crate) fn admits(&mut self, record: &Record<'_>, tunnels: Tunnels) -> Result<(), Skipped> {
        if let Some(selected) = &self.selected {
            selected.admits(record)?;
        }
        let Some(second_records) = &mut self.second_records else {
            return Ok(());
        };
        let link = LinkType(record.link_type);
        // A record that is of no use has no second one either.
        if let Ok(at) = record.at
            && let Ok(packet) = decode(link, record.captured, record.wire_bytes, tunnels)
            && second_records.is_second(&packet, at)
        {
            return Err(Skipped::SecondRecord);
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
