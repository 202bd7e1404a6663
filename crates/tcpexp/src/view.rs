//! A capture as one measurement reads it.

use std::path::Path;

use tcpexp_units::Timestamp;
use tcpexp_wire::{Filter, Tunnels};

use crate::admission::Admission;
use crate::selection::{Moment, Range, Reading, Selected};
use crate::walk::Walk;
use crate::{Error, Recording};

/// A capture, and the packets of it that a measurement uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    recording: &'a Recording,
    tunnels: Tunnels,
    filter: Option<&'a Filter>,
    range: Option<Range>,
}

impl<'a> View<'a> {
    /// A view of all packets.
    pub(crate) const fn whole(recording: &'a Recording, tunnels: Tunnels) -> Self {
        Self {
            recording,
            tunnels,
            filter: None,
            range: None,
        }
    }

    /// The view of the only capture of a measurement.
    pub(crate) fn of(recording: &'a Recording, reading: &'a Reading) -> Result<Self, Error> {
        recording.require_part_reading(reading)?;
        let view = Self::of_all_times(recording, reading);
        let range = reading.range_in(recording)?;
        Ok(Self { range, ..view })
    }

    /// The view without the limits in time.
    pub(crate) fn of_all_times(recording: &'a Recording, reading: &'a Reading) -> Self {
        Self {
            filter: reading.selection.filter.as_deref(),
            ..Self::whole(recording, reading.tunnels)
        }
    }

    /// The same view between other limits in time.
    pub(crate) fn within(self, range: Option<Range>) -> Self {
        Self { range, ..self }
    }

    #[cfg(feature = "tables")]
    pub(crate) const fn range(&self) -> Option<Range> {
        self.range
    }

    pub(crate) const fn recording(&self) -> &'a Recording {
        self.recording
    }

    pub(crate) fn name(&self) -> &'a Path {
        self.recording.name()
    }

    /// Usual number of records of a packet, by the first data packets; 1 if most have a single one.
    pub(crate) fn records_per_packet(&self) -> Result<u32, Error> {
        self.recording.records_per_packet(self.tunnels)
    }

    /// Starts a pass: see [`Recording::walk`].
    pub(crate) fn walk(&self) -> Result<Walk<'a>, Error> {
        let walk = self.recording.walk(self.tunnels)?;
        self.select(walk)
    }

    /// Starts a pass: see [`Recording::walk_once`].
    pub(crate) fn walk_once(&self) -> Result<Walk<'a>, Error> {
        let walk = self.recording.walk_once(self.tunnels)?;
        self.select(walk)
    }

    fn select(&self, mut walk: Walk<'a>) -> Result<Walk<'a>, Error> {
        let is_selected = self.filter.is_some() || self.range.is_some();
        let selected = is_selected.then_some(Selected {
            filter: self.filter,
            range: self.range,
        });
        if self.filter.is_some() {
            walk.flows_with_several_tags = self
                .recording
                .flows_with_several_tags(self.tunnels, self.filter)?;
        }
        walk.admission = Admission::of(selected, self.records_per_packet()?);
        Ok(walk)
    }
}

impl Moment {
    /// The moment on the clock of a capture.
    pub(crate) fn on(self, recording: &Recording) -> Result<Timestamp, Error> {
        Ok(match self {
            Self::At(at) => at,
            Self::AfterStart(after) => recording.start()? + after,
            Self::BeforeEnd(before) => recording.end()? - before,
        })
    }
}

impl Reading {
    /// The selected times on the clock of `recording`; `None` for all times.
    pub(crate) fn range_in(&self, recording: &Recording) -> Result<Option<Range>, Error> {
        let selection = &self.selection;
        if !selection.has_range() {
            return Ok(None);
        }
        let from = selection.from.map(|from| from.on(recording)).transpose()?;
        let to = selection.to.map(|to| to.on(recording)).transpose()?;
        Ok(Some(Range {
            from: from.unwrap_or(Timestamp::MIN),
            to: to.unwrap_or(Timestamp::MAX),
        }))
    }
}
