//! Round-trip times, packet fates and delays between two captures.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::FlowId;
use tcpexp_measure::sender::DataFates;
use tcpexp_pair::path::{self, FirstPass, PathBatch, PathFlow, PathPacket, PathTotals};
use tcpexp_pair::spp::{self, Alignment, ClockModel, Fate, Identification, Point, RttSample};
use tcpexp_table::dataset::{FlowPath, LossRow, OwdRow, RttRow, RttSource};
use tcpexp_units::{TimeDelta, Timestamp};

use super::comparison::{Comparison, Unpaired};
use super::names::Names;
use super::queue_bins::QueueBins;
use super::tables::Tables;
use crate::Error;
use crate::alignment::first_pass;
use crate::fates::collect;
use crate::view::View;

/// Result of the passes over a pair of captures.
pub(super) struct Between {
    pub(super) clock: ClockModel,
    pub(super) totals: PathTotals,
    /// Flows by their numbers in the dataset.
    pub(super) flows: HashMap<FlowId, Arc<FlowPath>, FixedState>,
    /// Fates of the data that passes either capture first, by [`Point::index`].
    pub(super) fates: [DataFates; 2],
    /// True if any round-trip time is not zero.
    pub(super) took_time: bool,
}

impl Between {
    /// The comparison as the manifest describes it; packets are identified `by` these fields.
    pub(super) fn comparison(&self, by: &Identification) -> Comparison {
        let skew = self.clock.skew();
        let totals = &self.totals.totals;
        let unpaired = totals.unpaired.map(|unpaired| Unpaired {
            flows: unpaired.flows,
            packets: unpaired.packets,
        });
        Comparison {
            clock_offset_ns: self.clock.offset().middle.as_nanos(),
            clock_offset_error_ns: self.clock.offset().error().map(TimeDelta::as_nanos),
            clock_skew_ppm: skew.skew.as_ppm_f64(),
            clock_skew_error_ppm: skew.uncertainty.map(tcpexp_units::Skew::as_ppm_f64),
            clock_skew_is_removed: skew.detected,
            clock_steps: self.clock.steps().len() as u64,
            packets_told_apart_by: by.to_string(),
            across_clock_steps: totals.across_steps,
            only_at_src: unpaired[Point::Src.index()],
            only_at_dst: unpaired[Point::Dst.index()],
        }
    }
}

/// How the captures are compared.
pub(super) struct Passes {
    pub(super) options: spp::Options,
    /// As in [`AnalyzeOptions`](super::AnalyzeOptions).
    pub(super) after_pass: fn(),
}

/// Reads both captures twice: for the smallest delays, unless `first` has them, and for the packets.
/// Writes the rows to `tables`.
///
/// With `bins`, also writes the queueing delays to the table of queues.
pub(super) fn measure(
    [src, dst]: [View<'_>; 2],
    alignment: Alignment,
    first: Option<FirstPass>,
    Passes {
        options,
        after_pass,
    }: Passes,
    names: &mut Names,
    bins: Option<QueueBins>,
    tables: &mut Tables,
) -> Result<Between, Error> {
    let first = if let Some(first) = first {
        first
    } else {
        let walks = [src.walk_once()?, dst.walk_once()?];
        let first = first_pass(walks, &alignment, options, |_| ()).0;
        after_pass();
        first
    };
    // The bound on the offset needs the smallest delays, which the first pass has found.
    let clock = alignment
        .clock
        .settled(first.least_delays, options.symmetric);
    let mut rows = Rows {
        dst_clock: clock.clone(),
        names,
        bins,
        tables,
        flows: HashMap::default(),
        fates: Default::default(),
        took_time: false,
    };
    let (mut src_walk, mut dst_walk) = (src.walk_once()?, dst.walk_once()?);
    let totals = path::measure(
        &mut src_walk,
        &mut dst_walk,
        alignment,
        first,
        options,
        |batch| rows.take(batch),
    )?;
    after_pass();
    // After the last packet, no open bin can grow.
    if let Some(bins) = rows.bins {
        bins.finish(&mut rows.tables.queue)?;
    }
    Ok(Between {
        clock,
        totals,
        flows: rows.flows,
        fates: rows.fates,
        took_time: rows.took_time,
    })
}

/// Converts a time of the destination's clock to the source's clock.
///
/// Does not remove clock steps; the manifest warns of them.
pub(super) fn at_source(clock: &ClockModel, at: Timestamp) -> Timestamp {
    clock.reader(Point::Dst).place(0, at).at
}

/// Converts batches to rows of the dataset.
struct Rows<'a> {
    dst_clock: ClockModel,
    names: &'a mut Names,
    bins: Option<QueueBins>,
    tables: &'a mut Tables,
    flows: HashMap<FlowId, Arc<FlowPath>, FixedState>,
    fates: [DataFates; 2],
    took_time: bool,
}

impl Rows<'_> {
    fn take(&mut self, batch: PathBatch) -> Result<(), Error> {
        collect(&mut self.fates, &batch);
        // Samples and packets of a batch look up the names of its flows, so the flows come first.
        for flow in &batch.flows {
            self.names.pair(flow);
        }
        for sample in batch.samples {
            self.round_trip(sample)?;
        }
        for packet in batch.packets {
            self.packet(packet)?;
        }
        for flow in batch.ended {
            self.end(flow);
        }
        Ok(())
    }

    fn round_trip(&mut self, sample: RttSample) -> Result<(), Error> {
        let Some(flow) = self.names.of_pair(sample.flow) else {
            return Ok(());
        };
        // Two captures of one point, or two copies of one file, give no round trip that takes time.
        self.took_time |= sample.rtt != TimeDelta::ZERO;
        let at = match sample.reference {
            Point::Src => sample.time,
            Point::Dst => at_source(&self.dst_clock, sample.time),
        };
        self.tables.rtt.add(RttRow {
            flow: Arc::clone(flow),
            at,
            source: RttSource::Pair(sample),
        })
    }

    fn packet(&mut self, packet: PathPacket) -> Result<(), Error> {
        // A packet that the upstream capture missed has no departure time to sort its row by.
        let (Some(flow), Some(at)) = (self.names.of_pair(packet.flow), packet.sent_at) else {
            return Ok(());
        };
        let flow = Arc::clone(flow);
        match packet.fate {
            Fate::Delivered => {
                if let Some(bins) = &mut self.bins {
                    bins.add(&packet, &mut self.tables.queue)?;
                }
                self.tables.owd.add(OwdRow { flow, at, packet })
            }
            Fate::Lost => self.tables.loss.add(LossRow { flow, at, packet }),
            Fate::Missed
            | Fate::LostOrMissed
            | Fate::Ambiguous
            | Fate::Outside
            | Fate::Copy
            | Fate::Duplicate
            | Fate::Unseen => Ok(()),
        }
    }

    fn end(&mut self, path: PathFlow) {
        let Some(flow) = self.names.of_pair(path.summary.flow.flow) else {
            return;
        };
        let path = FlowPath::from(path);
        // A flow may be found twice; keep the part with more packets.
        let known = self.flows.get(&flow.flow);
        if known.is_none_or(|known| known.sent() < path.sent()) {
            self.flows.insert(flow.flow, Arc::new(path));
        }
    }
}
