//! Warnings about captures and logs that several commands read.

use std::path::Path;

use tcpexp::{CaptureInfo, LogReport, Truth};
use tcpexp_logs::import::Unusable;
use tcpexp_units::counted;

use crate::capture_warnings::capture_warnings;
use crate::failure;
use crate::shared_args::STANDARD_INPUT;

/// Prints the warnings about a capture.
pub(crate) fn of_capture(info: &CaptureInfo, path: &Path) {
    // Errors have this name too.
    let is_standard_input = path.as_os_str() == "-";
    let name = if is_standard_input {
        Path::new(STANDARD_INPUT)
    } else {
        path
    };
    for warning in capture_warnings(info, name) {
        failure::print_line(&format!("warning: {warning}"));
    }
}

/// Prints the warnings about a log whose counts of lines no table shows.
pub(crate) fn of_log(report: &LogReport, name: &str) {
    of_compression(report, name);
    for gap in report.lines.gaps() {
        failure::print_line(&format!("warning: {name}: {gap}"));
    }
    let reasons = report.lines.reasons.iter();
    // The last line of a log that was still being written is cut off.
    let unusable = reasons.filter(|(reason, _)| **reason != Unusable::CutOff);
    let unusable: u64 = unusable.map(|(_, count)| count).sum();
    if let (1.., Some(first)) = (unusable, &report.lines.first_unusable) {
        failure::print_line(&format!(
            "warning: {name}: {unusable} of {} not used, the first of them {} {}: {}",
            counted(report.lines.lines, report.lines.entry.name()),
            first.entry.name(),
            first.line,
            first.begins.trim()
        ));
    }
}

/// Prints the warning about a truncated compressed log.
pub(crate) fn of_compression(report: &LogReport, name: &str) {
    if report.breaks_off {
        let entry = report.lines.entry.name();
        failure::print_line(&format!(
            "warning: {name}: compressed data ends early, after {entry} {}; the {entry}s before it were used",
            report.lines.lines
        ));
    }
}

/// Prints the warnings about the logs of a truth.
pub(crate) fn of_truth(truth: &Truth) {
    for (path, report) in &truth.logs {
        of_log(report, &path.display().to_string());
    }
}
