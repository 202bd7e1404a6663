//! Analysis of the captures and logs of one run, written as one dataset.

#[cfg(feature = "runs")]
mod again;
mod between;
#[cfg(feature = "runs")]
mod by_table;
mod captured_flows;
mod checked;
mod column_log;
mod comparison;
mod dataset_dir;
mod flow_rows;
mod inputs;
mod log_source;
mod logs;
mod manifest;
mod manifest_file;
mod merge;
mod names;
mod option_words;
mod ping_log;
mod queue_bins;
mod queue_log;
mod replaceable;
mod replay;
#[cfg(feature = "runs")]
mod run_dir;
mod span;
mod survey;
mod tables;
mod test_start;
mod to_store;
mod traffic;
mod warnings;

#[cfg(feature = "runs")]
pub use again::RecordedDataset;
#[cfg(feature = "runs")]
pub use by_table::{WrittenTable, merge_by_table};
pub use comparison::{Comparison, Unpaired};
pub use dataset_dir::DatasetDir;
pub use inputs::{AnalyzeInputs, AnalyzeOptions};
pub use log_source::{LogKind, LogSource};
pub(crate) use manifest::columns_of_run;
pub use manifest::{CaptureInput, Checked, ClockSetBack, LogInput, Manifest};
pub use manifest_file::FILE_NAME as MANIFEST_FILE_NAME;
pub(crate) use manifest_file::PAIRS_KIND;
pub use merge::merge;
pub(crate) use merge::{difference, shard_of};
pub(crate) use option_words::{OF_CAPTURES, SHARD, option_words};
#[cfg(feature = "runs")]
pub use run_dir::{
    Parameters, RUN_DATASET, SweepColumns, analyze_run, analyze_run_into, columns_beside,
    recorded_runs,
};
pub(crate) use tables::{file_name, unwritten, written};
pub use tcpexp_table::dataset::TableEntry;
pub use traffic::Traffic;

use std::sync::Arc;

use tcpexp_flow::Packets;
use tcpexp_measure::sender::SenderOptions;
use tcpexp_measure::throughput::{Origin, ThroughputOptions};
use tcpexp_pair::path::FirstPass;
use tcpexp_pair::spp::{self, Alignment, Identification, Point};
use tcpexp_table::dataset::{EventRow, Layout, RunEvent};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::alignment::{Aligned, both, incomparable};
use crate::selection::Reading;
use crate::survey::{applied, set_order};
use crate::view::View;
use crate::{Error, Recording};
use between::{Between, at_source};
use checked::{CheckedFiles, checked};
use flow_rows::Flows;
use logs::Logs;
use names::Names;
use queue_bins::QueueBins;
use replay::{Chosen, Replay, Summaries};
use survey::{Compared, Surveyed};
use tables::Tables;
use traffic::TrafficNames;

/// Number of passes of [`analyze`] over each capture: with two captures, and with one.
pub const ANALYZE_PASSES: [u64; 2] = [4, 2];

/// Runs all measurements on the captures and writes the results as a dataset.
///
/// Reads each of two captures four times, and a single capture twice. Memory grows with the number
/// of flows, of retransmissions and of packets in flight, but not with the length of the captures.
/// The dataset has the flows with the most packets, up to the limit of the recording
/// ([`Recording::with_max_flows`]).
/// The same input gives the same bytes. `out` contains the complete dataset on success, and nothing
/// on failure.
pub fn analyze(
    inputs: AnalyzeInputs<'_>,
    options: &AnalyzeOptions,
    out: DatasetDir,
) -> Result<Manifest, Error> {
    inputs.require_text_paths()?;
    let reading = options.reading();
    if inputs.dst.is_none() {
        let what = "the table of throughput depends";
        inputs.src.require_all_flows(what)?;
    }
    let (src, dst, known) = match inputs.dst {
        Some(dst) => {
            let captures = [inputs.src, dst];
            let known = known(captures, &reading, options.spp())?;
            let [src, dst] = match &known {
                Some(known) => known.views,
                None => both(inputs.src, dst, &reading, options.clocks)?,
            };
            (src, Some(dst), known)
        }
        None => (View::of(inputs.src, &reading)?, None, None),
    };
    let origin = match options.origin {
        Some(origin) => origin,
        None => first_packet(src)?,
    };
    let layout = Layout {
        origin,
        run: options.run.clone(),
    };
    let mut tables = Tables::create(&out, &layout, options.shard)?;
    let run = Run {
        inputs,
        views: [Some(src), dst],
        known: known.map(|known| (known.alignment, known.first)),
        options,
        origin,
    };
    let mut manifest = run.measure(&mut tables)?;
    if let Some(known) = inputs.known {
        manifest.require_inputs(known)?;
    }
    // The manifest has the rows and bytes of each table, so it comes after them.
    manifest.tables = tables.finish(&out)?;
    for view in [Some(src), dst].into_iter().flatten() {
        let grown = view.recording().grown();
        manifest.warnings.extend(warnings::of_grown_files(&grown));
    }
    manifest.write(&out)?;
    for view in [Some(src), dst].into_iter().flatten() {
        view.recording().require_whole_passes()?;
    }
    out.finish()?;
    Ok(manifest)
}

/// The results about the captures that the survey in the options contains.
fn known<'a>(
    captures: [&'a Recording; 2],
    reading: &'a Reading,
    options: spp::Options,
) -> Result<Option<Aligned<'a>>, Error> {
    let Some(survey) = &reading.survey else {
        return Ok(None);
    };
    // Without limits in time, the first pass of this analysis finds the order itself.
    if reading.selection.has_range() {
        set_order(survey, captures)?;
    }
    applied(survey, captures, reading, options).map(Some)
}

/// Time of the first usable packet; 1970 if the capture has none.
fn first_packet(view: View<'_>) -> Result<Timestamp, Error> {
    let mut first = Timestamp::from_nanos(0);
    view.walk_once()?.show(1, |sighted| first = sighted.at);
    Ok(first)
}

/// One analysis.
struct Run<'a> {
    inputs: AnalyzeInputs<'a>,
    /// The captures, source first.
    views: [Option<View<'a>>; 2],
    /// The results of a survey of the two captures.
    known: Option<(Alignment, Option<FirstPass>)>,
    options: &'a AnalyzeOptions,
    origin: Timestamp,
}

/// A value for each capture, source first; `None` for a capture that is not given.
type OfBoth<T> = [Option<T>; 2];

impl Run<'_> {
    fn measure(&self, tables: &mut Tables) -> Result<Manifest, Error> {
        let ([mut src, mut dst], checked) = self.survey_and_check()?;
        (self.options.after_pass)();
        let mut names = Names::new(TrafficNames::new(&self.options.traffic, self.options.shard));
        let mut compared = None;
        // The replay needs the flow numbers, the clock and the fates of this comparison.
        if let (Some(dst), [Some(from), Some(to)]) = (&mut dst, self.views)
            && let Some(src) = &mut src
        {
            names.limit([&*src, &*dst]);
            let samples = [&mut src.sample, &mut dst.sample].map(std::mem::take);
            let (mut between, by) = self.compare(samples, [from, to], &mut names, tables)?;
            // With the fates, the replay separates repairs of a loss from spurious retransmissions.
            let [of_src, of_dst] = std::mem::take(&mut between.fates);
            src.hindsight.learn(of_src);
            dst.hindsight.learn(of_dst);
            compared = Some((between, by));
        }
        // The source comes first in `Point::BOTH`: its flows keep their numbers.
        for (point, capture) in Point::BOTH.into_iter().zip([&src, &dst]) {
            if let Some(capture) = capture {
                names.rest(point, &capture.connections);
            }
        }
        let between = compared.as_ref().map(|(between, _)| between);
        let chosen = replay::choose(&names, [src.as_ref(), dst.as_ref()]);
        for (capture, chosen) in [&mut src, &mut dst].into_iter().zip(&chosen) {
            if let Some(capture) = capture {
                let is_chosen = |flow, direction| chosen.contains(&(flow, direction));
                capture.hindsight.retain(is_chosen);
            }
        }
        let captures = [src.as_ref(), dst.as_ref()];
        let (senders, too_late) = self.replay(captures, between, &names, &chosen, tables)?;
        let no_paths = std::collections::HashMap::default();
        // Each row has the summary of its sender, so the replay comes before this table.
        Flows {
            names: &names,
            captures,
            paths: between.map_or(&no_paths, |between| &between.flows),
            senders: &senders,
            at_source: &|at| between.map_or(at, |between| at_source(&between.clock, at)),
        }
        .write(&mut tables.flows)?;
        self.path_changes(tables)?;
        let logs = Logs::new(&names, self.views, captures, tables).read(self.inputs.logs)?;
        let mut manifest = Manifest::new(&self.options.run, self.origin.as_nanos());
        let range = self.views[0].and_then(|view| view.range());
        let (has_dst, max_flows) = (self.inputs.dst.is_some(), self.inputs.max_flows());
        manifest.options = option_words(self.options, range, has_dst, max_flows);
        let inputs = checked.into_iter().zip(captures).zip(too_late);
        for (point, ((file, capture), too_late)) in Point::BOTH.into_iter().zip(inputs) {
            if let (Some(file), Some(capture)) = (file, capture) {
                let input = CaptureInput::new(point.name(), file, &capture.info, too_late);
                manifest.captures.push(input);
            }
        }
        manifest.comparison = compared
            .as_ref()
            .map(|(between, by)| between.comparison(by));
        let rtts = tables.rtt.seen();
        manifest.logs = logs.read;
        manifest.warnings = warnings::of(&manifest, between, rtts);
        manifest.warnings.extend(logs.warnings);
        Ok(manifest)
    }

    fn path_changes(&self, tables: &mut Tables) -> Result<(), Error> {
        self.inputs.path_changes.iter().try_for_each(|(at, what)| {
            tables.events.add(EventRow {
                capture: None,
                log: None,
                flow: None,
                event: RunEvent::PathChange {
                    at: *at,
                    what: Arc::clone(what),
                },
            })
        })
    }

    fn captures(&self) -> [Option<&Recording>; 2] {
        self.views.map(|view| view.map(|view| view.recording()))
    }

    /// Reads the captures, and computes the checksums of their files.
    fn survey_and_check(&self) -> Result<(OfBoth<Surveyed>, OfBoth<CheckedFiles>), Error> {
        // The checksum and the survey would move the one file position that spooled input has.
        let shares_its_place = |capture: &Recording| !capture.can_be_read_twice_at_once();
        let (checked, surveyed) = if self.captures().into_iter().flatten().any(shares_its_place) {
            (self.check(), self.survey())
        } else {
            // A checksum is slower than any analysis (`guide::rejected`), so the two run at the
            // same time.
            rayon::join(|| self.check(), || self.survey())
        };
        Ok((surveyed?, checked?))
    }

    fn check(&self) -> Result<OfBoth<CheckedFiles>, Error> {
        let [src, dst] = self.captures();
        let check = |recording: Option<&Recording>| recording.map(checked).transpose();
        Ok([check(src)?, check(dst)?])
    }

    fn survey(&self) -> Result<OfBoth<Surveyed>, Error> {
        let [src, dst] = self.views;
        let compared = match (dst, &self.known) {
            (None, _) => Compared::Not,
            (Some(_), Some(_)) => Compared::Before,
            (Some(_), None) => Compared::Next,
        };
        let survey =
            |view: Option<View<'_>>| view.map(|view| Surveyed::of(view, compared)).transpose();
        let (src, dst) = rayon::join(|| survey(src), || survey(dst));
        Ok([src?, dst?])
    }

    fn compare(
        &self,
        [src, dst]: [spp::Survey; 2],
        views: [View<'_>; 2],
        names: &mut Names,
        tables: &mut Tables,
    ) -> Result<(Between, Identification), Error> {
        let compare = || {
            let aligned = Alignment::with_clocks(src, dst, self.options.clocks);
            let aligned = aligned.and_then(|aligned| aligned.within(self.options.max_owd));
            aligned.map_err(|source| incomparable(views[0], views[1], source))
        };
        let (alignment, first) = match &self.known {
            Some(known) => known.clone(),
            None => (compare()?, None),
        };
        let identification = alignment.identification.clone();
        let options = self.options.spp();
        // A log of the queue's counters is better.
        let is_queue = |log: &LogSource| log.kind == Some(LogKind::Queue);
        let has_log = self.inputs.logs.iter().any(is_queue);
        let bins =
            (!has_log).then(|| QueueBins::new(self.origin, self.options.bin, self.options.max_owd));
        let passes = between::Passes {
            options,
            after_pass: self.options.after_pass,
        };
        let between = between::measure(views, alignment, first, passes, names, bins, tables)?;
        Ok((between, identification))
    }

    /// Runs the last pass over each capture. Returns the senders, and the number of packets too
    /// late for their bins by capture.
    fn replay(
        &self,
        captures: [Option<&Surveyed>; 2],
        between: Option<&Between>,
        names: &Names,
        chosen: &[Chosen; 2],
        tables: &mut Tables,
    ) -> Result<(Summaries, [u64; 2]), Error> {
        let mut senders = Summaries::default();
        let mut too_late = [0; 2];
        for point in Point::BOTH {
            let (Some(view), Some(surveyed)) = (self.views[point.index()], captures[point.index()])
            else {
                continue;
            };
            let clock = between
                .filter(|_| point == Point::Dst)
                .map(|between| &between.clock);
            // The bins of both captures start at the same moments, each on its own clock.
            let moved = clock.map_or(TimeDelta::ZERO, |clock| clock.offset().middle);
            let sender = match between {
                Some(_) => SenderOptions {
                    position: None,
                    ..self.options.sender
                },
                None => self.options.sender,
            };
            let pass = Replay {
                view,
                point,
                surveyed,
                names,
                options: sender,
                throughput: ThroughputOptions {
                    origin: Origin::At(self.origin + moved),
                    link_rate_bps: self.options.link_rate_bps,
                    ..ThroughputOptions::new(self.options.bin)
                },
                bins_moved: moved,
                chosen: &chosen[point.index()],
                // With two captures, packet pairs give the round-trip times.
                has_round_trips: between.is_none(),
                at_source: &|at| clock.map_or(at, |clock| at_source(clock, at)),
            };
            let totals = pass.run(tables, &mut senders)?;
            (self.options.after_pass)();
            too_late[point.index()] = totals.late.packets;
        }
        Ok((senders, too_late))
    }
}
