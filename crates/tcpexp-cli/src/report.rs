//! What a person is told beside the table.

use std::fmt::Write;

use tcpexp::measure::spp::{FlowSummary, Point};
use tcpexp::units::TimeDelta;
use tcpexp::wire::Tally;
use tcpexp::{CaptureInfo, RttReport};

/// The remarks under the table: clocks, identification, and what was left out.
pub(crate) fn remarks(report: &RttReport) -> String {
    let mut text = String::new();
    line(&mut text, "clocks", &clocks(report));
    for step in report.clock.steps() {
        let first = report.captures[Point::Src.index()]
            .span
            .map_or(step.at, |(first, _)| first);
        let at = step.at - first;
        let what = format!(
            "the clock at {} was set by {}, {:.1} into the capture",
            step.point, step.size, at
        );
        line(&mut text, "", &what);
    }
    line(
        &mut text,
        "packets",
        &format!("known by {}", report.identification),
    );
    if report.identification.recut {
        line(
            &mut text,
            "",
            "segmentation offload cuts data anew between the points",
        );
    }
    if report.identification.translated {
        line(
            &mut text,
            "",
            "addresses or ports are translated between the points",
        );
    }
    for point in Point::BOTH {
        left_out(&mut text, report, point);
    }
    if report.totals.across_steps > 0 {
        let what = format!(
            "{} pairs across a clock step not used",
            report.totals.across_steps
        );
        line(&mut text, "", &what);
    }
    text
}

/// What is wrong with the captures, a line each.
pub(crate) fn warnings(report: &RttReport, names: [&std::path::Path; 2]) -> Vec<String> {
    let mut warnings = Vec::new();
    for (capture, name) in report.captures.iter().zip(names) {
        if let Some(damage) = &capture.damage {
            warnings.push(format!("{}: {damage}; the rest was used", name.display()));
        }
        let dropped: u64 = capture.interfaces.iter().filter_map(|i| i.dropped).sum();
        if dropped > 0 {
            warnings.push(format!(
                "{}: the capture itself dropped {dropped} packets: they count as lost or unseen",
                name.display()
            ));
        }
    }
    warnings
}

/// Why there is not one sample.
pub(crate) fn why_empty(report: &RttReport, seen: &Seen) -> String {
    if seen.flows == 0 {
        let [src, dst] = report.totals.unpaired;
        return format!(
            "no flow was found at both points ({} flows at src only, {} at dst only)",
            src.flows, dst.flows
        );
    }
    if seen.matched == [0, 0] {
        return format!(
            "no packet was found at both points; {} could not be told apart",
            seen.ambiguous
        );
    }
    if seen.matched.contains(&0) {
        return "packets that passed both points went one way only, and a round trip needs both"
            .into();
    }
    "no packet came back after one had gone out, in any flow".into()
}

/// Sums over all flows, to explain an empty result.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) flows: u64,
    /// Forward and reverse.
    pub(crate) matched: [u64; 2],
    pub(crate) ambiguous: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, summary: &FlowSummary) {
        self.flows += 1;
        for (matched, counts) in self.matched.iter_mut().zip(&summary.counts) {
            *matched += counts.arrivals_matched;
            self.ambiguous += counts.ambiguous.max(counts.arrivals_ambiguous);
        }
    }
}

/// Reasons for skipped records with their counts: `12 not IP, 3 cut short`.
pub(crate) fn skipped(tally: &Tally) -> String {
    let reasons: Vec<String> = tally
        .skipped()
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    reasons.join(", ")
}

fn clocks(report: &RttReport) -> String {
    let offset = report.clock.offset();
    let ahead = if offset.middle < TimeDelta::ZERO {
        "behind"
    } else {
        "ahead of"
    };
    let mut text = format!("dst is {} {ahead} src", offset.middle.abs());
    if let (Some(lower), Some(upper)) = (offset.lower, offset.upper) {
        let half = TimeDelta::from_nanos((upper - lower).abs().as_nanos() / 2);
        // Writing to a string cannot fail.
        let _ = write!(text, " (within {half})");
    }
    let skew = report.clock.skew();
    let uncertainty = skew
        .uncertainty
        .map_or("?".into(), |u| format!("{:.3}", u.as_ppm_f64()));
    let _ = if skew.detected {
        write!(text, ", runs {} ± {uncertainty} fast", skew.skew)
    } else {
        write!(text, ", no skew seen (± {uncertainty} ppm)")
    };
    text
}

fn left_out(text: &mut String, report: &RttReport, point: Point) {
    let unpaired = report.totals.unpaired[point.index()];
    if unpaired.flows > 0 {
        let what = format!("{} flows ({} packets)", unpaired.flows, unpaired.packets);
        line(text, &format!("only at {point}"), &what);
    }
    let capture: &CaptureInfo = &report.captures[point.index()];
    let skipped = skipped(&capture.tally);
    if !skipped.is_empty() {
        line(text, &format!("skipped at {point}"), &skipped);
    }
}

/// One remark under its heading, wrapped at 80 columns.
fn line(text: &mut String, heading: &str, what: &str) {
    const INDENT: usize = 16;
    const WIDTH: usize = 80;
    let mut column = INDENT;
    let _ = write!(text, "{heading:INDENT$}");
    for (index, word) in what.split(' ').enumerate() {
        let width = word.chars().count();
        if index > 0 && column + 1 + width > WIDTH {
            let _ = write!(text, "\n{:INDENT$}", "");
            column = INDENT;
        } else if index > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += width;
    }
    text.push('\n');
}
