//! A measurement point: a clock, a capture file and its defects.

use std::io::{self, Write};

use tcpexp_units::Timestamp;

use super::network::Point;
use super::scenario::{CaptureSpec, Scenario};
use super::truth::{PacketId, Sightings};
use crate::{CaptureWriter, FrameSpec, Interface, Prng};

/// Where a tap is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// At a host.
    End(Point),
    /// At a middle point: its number from 0, in the order from SRC to DST.
    Middle(usize),
}

#[derive(Debug)]
pub(crate) struct Tap<W> {
    place: Place,
    spec: CaptureSpec,
    /// Decides which packets the capture misses, apart from the traffic's own randomness.
    misses: Prng,
    missed_ppm: u32,
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
        place: Place,
        out: W,
        remember: bool,
    ) -> io::Result<Self> {
        let (spec, missed_ppm) = match place {
            Place::End(point) => (*scenario.capture(point), 0),
            Place::Middle(middle) => {
                let middle = &scenario.middles[middle];
                (middle.capture, middle.missed_ppm)
            }
        };
        let interface = Interface {
            link_type: spec.framing.link_type(),
            snaplen: spec.snaplen,
            resolution: spec.resolution,
        };
        Ok(Self {
            place,
            spec,
            misses: Prng::new(scenario.seed),
            missed_ppm,
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
        if self.missed_ppm > 0 && self.misses.chance_ppm(self.missed_ppm) {
            return Ok(());
        }
        let wire_len = frame.write(&mut self.frame, self.spec.snaplen);
        let shown = match self.place {
            Place::End(point) => scenario.clock(point, at),
            Place::Middle(middle) => scenario.clock_between(&scenario.middles[middle], at),
        };
        for _ in 0..if self.spec.twice { 2 } else { 1 } {
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
