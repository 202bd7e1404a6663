//! Remarks under tables, and warnings.

use std::fmt::Write;

use tcpexp::{CaptureInfo, given_up_warning, not_held_warning};
use tcpexp_pair::spp::{self, Point, SequenceShift, TickMeter};
use tcpexp_units::{TimeDelta, Timestamp, counted};
use tcpexp_wire::Tally;

use crate::basis::{Basis, NO_BREAK, Seen};
use crate::capture_warnings::capture_warnings;

/// Returns the remarks under the table: clocks, identification, unused packets.
pub(crate) fn remarks(report: &Basis<'_>, seen: &Seen) -> String {
    let mut text = String::new();
    line(&mut text, "clocks", &clocks(report));
    for (point, tick) in Point::BOTH.into_iter().zip(report.clock.ticks()) {
        // A pcap file usually counts microseconds, which needs no remark.
        if tick > TimeDelta::from_micros(1) {
            let what = format!(
                "the clock at {} advances in steps of {}",
                report.point(point).full,
                TickMeter::text(tick)
            );
            line(&mut text, "", &what);
        }
    }
    let first = report.captures[Point::Src.index()].span;
    let into = |at: Timestamp| at - first.map_or(at, |(first, _)| first);
    for step in report.clock.steps() {
        let way = if step.size < TimeDelta::ZERO {
            "back"
        } else {
            "forward"
        };
        let what = format!(
            "clock step at {}: {way} by {}, {:.1} into the capture",
            report.point(step.point).full,
            step.size.abs(),
            into(step.at)
        );
        line(&mut text, "", &what);
    }
    for step in report.clock.suspected_steps() {
        let what = format!(
            "a clock may have been set by {}, {:.1} into the capture: no time is measured across this step",
            step.size.abs(),
            into(step.at)
        );
        line(&mut text, "", &what);
    }
    let what = format!("identified by {}", report.identification);
    line(&mut text, "packets", &what);
    if report.identification.recut {
        let what = "segmentation offload changes packet boundaries between the points; a \
             super-packet that is lost whole counts as one packet";
        line(&mut text, "", what);
    }
    if report.identification.translated {
        let what = "addresses or ports are translated between the points";
        line(&mut text, "", what);
    }
    if let Some(what) = shifted(&report.identification.shifted) {
        line(&mut text, "", &what);
    }
    if let Some(what) = absent(report, seen) {
        line(&mut text, "absent", &what);
    }
    not_used(&mut text, report, seen);
    for point in Point::BOTH {
        left_out(&mut text, report, point);
    }
    text
}

/// Reports that packets which `rtt` found at one point only are not necessarily lost, if a capture
/// is known to miss packets. `path` computes the fate of each packet.
fn absent(report: &Basis<'_>, seen: &Seen) -> Option<String> {
    if report.path.is_some() || seen.absent == 0 {
        return None;
    }
    let misses = |point: &Point| {
        let index = point.index();
        report.totals.unseen[index] > 0 || report.captures[index].unusable() > 0
    };
    let points: Vec<String> = Point::BOTH
        .into_iter()
        .filter(misses)
        .map(|point| report.point(point).full.clone())
        .collect();
    (!points.is_empty()).then(|| {
        let captures = if points.len() == 1 {
            "capture"
        } else {
            "captures"
        };
        format!(
            "lost on the path or missed by the {captures} at {}; tcpexp path distinguishes the two",
            points.join(" and ")
        )
    })
}

/// Describes the shift of sequence numbers between the points, if any.
fn shifted(shifts: &[SequenceShift]) -> Option<String> {
    // A shift of 2^32 - n is easier to read as -n.
    let mut by: Vec<i32> = shifts.iter().map(|one| one.shift.cast_signed()).collect();
    by.retain(|&shift| shift != 0);
    by.dedup();
    Some(match by[..] {
        [] => return None,
        [one] => format!("sequence numbers shifted by {one}"),
        [one, other] => format!("sequence numbers shifted by {one} and {other}"),
        _ => format!(
            "sequence numbers shifted in {} directions of flows",
            by.len()
        ),
    })
}

/// Returns the warnings about a pair of captures.
pub(crate) fn warnings(
    report: &Basis<'_>,
    seen: &Seen,
    names: [&std::path::Path; 2],
    max_owd: TimeDelta,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for (capture, name) in report.captures.iter().zip(names) {
        warnings.extend(capture_warnings(capture, name));
    }
    warnings.extend(given_up_warning(report.totals.given_up_early));
    warnings.extend(not_held_warning(report.totals.not_held));
    warnings.extend(report.clock.order_warning().map(str::to_owned));
    warnings.extend(report.totals.contradiction_warning().map(str::to_owned));
    let missed = report.capture_loss();
    // The usual limit is longer than any delay.
    if !missed.is_empty() && max_owd < spp::Options::default().max_owd {
        warnings.push(format!(
            "packets that take longer than the {} of --max-owd are not recognised: the captures may have missed fewer packets, or none",
            short(max_owd)
        ));
    }
    warnings.extend(missed);
    if seen.samples > 0 && !seen.took_time {
        warnings.push("every round-trip time is 0: one capture may be a copy of the other".into());
    }
    warnings
}

/// Returns the reason why there are no samples.
pub(crate) fn why_empty(report: &Basis<'_>, seen: &Seen) -> String {
    if seen.flows == 0 {
        let [src, dst] = report.totals.unpaired;
        return format!(
            "no flow was found at both points ({} at src only, {} at dst only)",
            src.flows, dst.flows
        );
    }
    let alike = match seen.ambiguous {
        0 => String::new(),
        packets => format!(
            "; indistinguishable from others: {}",
            counted(packets, "packet")
        ),
    };
    if seen.matched == [0, 0] {
        return format!("no packet was found at both points{alike}");
    }
    if seen.matched.contains(&0) {
        return format!("the packets that passed both points went in one direction only{alike}");
    }
    let unused = [
        (
            report.totals.uncertain,
            "each round-trip time is smaller than its error, because the clocks are too coarse or too uneven",
        ),
        (
            report.totals.across_steps,
            "a clock step lies between the two packets of each pair",
        ),
    ];
    let (pairs, why) = unused
        .into_iter()
        .max_by_key(|(pairs, _)| *pairs)
        .unwrap_or_default();
    if pairs > 0 {
        return format!("{why} ({})", counted(pairs, "pair"));
    }
    "no flow has a returning packet after an outgoing packet".into()
}

/// Formats a time in its largest whole unit: `100 ms`, `1 s`.
pub(crate) fn short(span: TimeDelta) -> String {
    let nanos = span.as_nanos();
    for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")] {
        if nanos % unit == 0 {
            return format!("{} {name}", nanos / unit);
        }
    }
    format!("{nanos} ns")
}

/// Formats the counts of skipped records by reason: `12 not IP, 3 cut short`.
pub(crate) fn skipped(tally: &Tally) -> String {
    let reasons: Vec<String> = tally
        .skipped()
        .map(|(reason, count)| reason.counted(count))
        .collect();
    reasons.join(", ")
}

fn clocks(report: &Basis<'_>) -> String {
    if report.clock.is_one_clock() {
        return "one clock for the captures (--one-clock)".to_owned();
    }
    let offset = report.clock.offset();
    let [src, dst] = Point::BOTH.map(|point| &report.point(point).full);
    let mut text = match offset.error() {
        Some(error) => {
            let way = if offset.middle < TimeDelta::ZERO {
                "behind"
            } else {
                "ahead of"
            };
            // A number, its error and its unit stay on one line.
            let ahead = unbroken(&format!("{dst} is {} ± {error}", offset.middle.abs()));
            format!("{ahead} {way} {src}; ")
        }
        None => "offset unknown; ".to_owned(),
    };
    let skew = report.clock.skew();
    let measured = match (skew.detected, skew.uncertainty) {
        (true, Some(u)) => format!("{:+.3} ± {:.3} ppm", skew.skew.as_ppm_f64(), u.as_ppm_f64()),
        (true, None) => skew.skew.to_string(),
        (false, Some(u)) => format!("0 ± {:.3} ppm", u.as_ppm_f64()),
        (false, None) => return text + "too little traffic to measure skew",
    };
    text += &unbroken(&format!("skew {measured}"));
    if skew.detected {
        text += ", removed";
    }
    text
}

/// Replaces spaces by no-break spaces.
fn unbroken(text: &str) -> String {
    text.replace(' ', NO_BREAK)
}

/// Appends the counts of packets outside any pair, by reason.
fn not_used(text: &mut String, report: &Basis<'_>, seen: &Seen) {
    let mut equal =
        " equal in all of these fields to another packet, or to a retransmission that may have left uncaptured"
            .to_owned();
    if seen.has_unmatched_flow {
        equal += ", or in a flow of which no packet matched";
    }
    if report.totals.flows_shed != [0, 0] {
        equal += ", or in a flow that ended early";
    }
    if report.totals.contradicted.is_some() {
        equal += ", or around an unknown clock step";
    }
    let overtaken = " overtaken by a later packet: each may be a retransmission and is excluded from delays and reordering";
    let reasons = [
        (seen.equal, "packet", equal.as_str()),
        (seen.overtaken, "packet", overtaken),
        (seen.fragmented, "packet", " fragmented on the path"),
        (seen.copies, "duplicate record", " of a packet"),
        (
            seen.outside,
            "packet",
            " outside the time of the other capture",
        ),
        (
            seen.unseen_upstream,
            "packet",
            " seen at the second point only",
        ),
        (
            report.totals.across_steps,
            "measurement",
            " across a clock step",
        ),
        (
            report.totals.uncertain,
            "pair",
            " whose error exceeds the round-trip time",
        ),
    ];
    let mut heading = "not used";
    for (number, thing, which) in reasons.iter().filter(|(number, ..)| *number > 0) {
        line(text, heading, &(counted(number, thing) + which));
        heading = "";
    }
}

fn left_out(text: &mut String, report: &Basis<'_>, point: Point) {
    let name = &report.point(point).short;
    let unpaired = report.totals.unpaired[point.index()];
    if unpaired.flows > 0 {
        let flows = counted(unpaired.flows, "flow");
        let what = format!("{flows} ({})", counted(unpaired.packets, "packet"));
        line(text, &format!("only at {name}"), &what);
    }
    let capture: &CaptureInfo = &report.captures[point.index()];
    let skipped = skipped(&capture.tally);
    if !skipped.is_empty() {
        line(text, &format!("skipped at {name}"), &skipped);
    }
}

/// Appends one remark under its heading, wrapped at 80 columns.
pub(crate) fn line(text: &mut String, heading: &str, what: &str) {
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
        // No-break spaces only keep words together here.
        text.push_str(&word.replace(NO_BREAK, " "));
        column += width;
    }
    text.push('\n');
}
