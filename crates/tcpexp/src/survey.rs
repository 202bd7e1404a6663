//! The first passes over two captures, made once for all measurements.

use std::path::PathBuf;

use tcpexp_pair::spp::{self, Clocks};
use tcpexp_wire::Tunnels;

use crate::alignment::{Aligned, BETWEEN_TWO, align_for, both, first_pass};
use crate::learned::{Fingerprint, Options, Surveyed, TranslatedFlow};
use crate::selection::{Range, Reading};
use crate::view::View;
use crate::{CaptureInfo, Error, PairSurvey, PathOptions, Recording, SurveyError};

/// Reads both captures twice for what all later measurements of them share. Also returns their contents and
/// condition, source first.
pub fn survey(
    src: &Recording,
    dst: &Recording,
    options: &PathOptions,
) -> Result<(PairSurvey, [CaptureInfo; 2]), Error> {
    let PathOptions { reading, spp } = options;
    let files = [fingerprints(src)?, fingerprints(dst)?];
    let views = both(src, dst, reading, spp.clocks)?;
    let alignment = align_for(views[0], views[1], *spp)?;
    let mut translated_flows = Vec::new();
    let walks = [views[0].walk_once()?, views[1].walk_once()?];
    let (first_pass, infos) = first_pass(walks, &alignment, *spp, |flows| {
        translated_flows.extend(flows.iter().filter_map(TranslatedFlow::of));
    });
    for recording in [src, dst] {
        recording.require_whole_passes()?;
    }
    let [of_src, of_dst] = files;
    let survey = PairSurvey::new(
        [surveyed(views[0], of_src)?, surveyed(views[1], of_dst)?],
        options_of(reading, *spp, [src, dst], views[0].range()),
        alignment,
        first_pass,
        translated_flows,
    );
    Ok((survey, infos))
}

/// What the passes would have learned about these captures with these options. Fails if the
/// survey is of other captures or options.
pub(crate) fn applied<'a>(
    survey: &PairSurvey,
    captures: [&'a Recording; 2],
    reading: &'a Reading,
    spp: spp::Options,
) -> Result<Aligned<'a>, Error> {
    for (recording, known) in captures.into_iter().zip(&survey.captures) {
        recording.require_all_flows(BETWEEN_TWO)?;
        if fingerprints(recording)? != known.files {
            return Err(SurveyError::ForeignCapture {
                survey: survey.path.clone(),
                path: recording.name().to_owned(),
                known: PathBuf::from(&known.path),
            }
            .into());
        }
    }
    let range = reading.range_in(captures[0])?;
    let options = options_of(reading, spp, captures, range);
    if let Some(option) = options.first_difference(&survey.options) {
        return Err(SurveyError::Options {
            survey: survey.path.clone(),
            option,
        }
        .into());
    }
    let mut views = captures.map(|recording| View::of_all_times(recording, reading));
    for (view, known) in views.iter_mut().zip(&survey.captures) {
        let range = known.selected_ns.map(|[from, to]| Range { from, to });
        *view = view.within(range);
    }
    Ok(Aligned {
        views,
        alignment: survey.alignment.clone(),
        first: Some(survey.first_pass),
    })
}

/// Lets the next passes sort the records that the passes of the survey found out of order.
pub(crate) fn set_order(survey: &PairSurvey, captures: [&Recording; 2]) -> Result<(), Error> {
    for (recording, known) in captures.into_iter().zip(&survey.captures) {
        if known.is_out_of_order {
            recording.set_out_of_order()?;
        }
    }
    Ok(())
}

fn surveyed(view: View<'_>, files: Vec<Fingerprint>) -> Result<Surveyed, Error> {
    let range = view.range();
    Ok(Surveyed {
        path: view.name().display().to_string(),
        files,
        is_out_of_order: view.recording().is_out_of_order()?,
        selected_ns: range.map(|range| [range.from, range.to]),
    })
}

fn options_of(
    reading: &Reading,
    spp: spp::Options,
    captures: [&Recording; 2],
    range: Option<Range>,
) -> Options {
    let filter = reading.selection.filter.as_deref();
    let [src, dst] = captures.map(Recording::flow_limit);
    Options {
        filter: filter.map(ToString::to_string),
        from_ns: range.map(|range| range.from),
        to_ns: range.map(|range| range.to),
        inner: reading.tunnels == Tunnels::Entered,
        max_owd: spp.max_owd,
        one_clock: spp.clocks == Clocks::One,
        max_flows: src.max(dst).get(),
    }
}

/// The identities of the files of a capture.
fn fingerprints(recording: &Recording) -> Result<Vec<Fingerprint>, Error> {
    recording.read_files(Fingerprint::of)
}
