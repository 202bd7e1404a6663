//! A measurement point: a clock, a capture file and its defects.

use std::io::{self, Write};

use tcpexp_units::Timestamp;

use super::scenario::{Point, Scenario};
use super::truth::{PacketId, Sightings};
use crate::{CaptureWriter, FrameSpec, Interface};

#[derive(Debug)]
pub(crate) struct Tap<W> {
    point: Point,
    from: Timestamp,
    until: Timestamp,
    writer: CaptureWriter<W>,
    pub(crate) records: u64,
    /// `None` if the run keeps only totals.
    pub(crate) sightings: Option<Sightings>,
    frame: Vec<u8>,
}

impl<W: Write> Tap<W> {
    pub(crate) fn new(
        scenario: &Scenario,
        point: Point,
        out: W,
        remember: bool,
    ) -> io::Result<Self> {
        let spec = scenario.capture(point);
        let interface = Interface {
            link_type: spec.framing.link_type(),
            snaplen: spec.snaplen,
            resolution: spec.resolution,
        };
        Ok(Self {
            point,
            from: scenario.start + spec.starts_after,
            until: spec
                .stops_after
                .map_or(Timestamp::MAX, |span| scenario.start + span),
            writer: CaptureWriter::new(out, spec.container, spec.endian, &[interface])?,
            records: 0,
            sightings: remember.then(Sightings::default),
            frame: Vec::new(),
        })
    }

    /// Records a frame that passes at the true time `at`.
    pub(crate) fn record(
        &mut self,
        scenario: &Scenario,
        at: Timestamp,
        frame: &FrameSpec,
        ids: &(impl Iterator<Item = PacketId> + Clone),
    ) -> io::Result<()> {
        // The span is in true time, so a step of this point's clock does not move it.
        if at < self.from || at >= self.until {
            return Ok(());
        }
        let spec = scenario.capture(self.point);
        let wire_len = frame.write(&mut self.frame, spec.snaplen);
        let shown = scenario.clock(self.point, at);
        for _ in 0..if spec.twice { 2 } else { 1 } {
            self.writer.write(shown, &self.frame, wire_len)?;
            self.records += 1;
            if let Some(sightings) = &mut self.sightings {
                sightings.push(at, ids.clone());
            }
        }
        Ok(())
    }

    /// Ends the capture.
    pub(crate) fn finish(mut self) -> io::Result<(W, Option<Sightings>)> {
        self.writer.flush()?;
        Ok((self.writer.into_inner(), self.sightings))
    }
}
