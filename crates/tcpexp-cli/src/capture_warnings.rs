//! Warnings about a capture.

use std::path::Path;

use tcpexp::{
    CaptureInfo, coarse_clock_warning, cut_options_warning, damage_warning, dropped_warning,
    fragments_warning, further_records_warning, impossible_lengths_warning, missed_acks_warning,
    missed_warning, set_back_warning, several_tags_warning,
};
use tcpexp_units::counted;
use tcpexp_wire::Skipped;

/// Returns the warnings about one capture.
pub(crate) fn capture_warnings(capture: &CaptureInfo, name: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(damage_warning(
        name.display(),
        capture.damage.as_deref(),
        capture.damaged_places,
    ));
    for remark in capture.set.iter().flat_map(|set| set.remarks()) {
        warnings.push(format!("{}: {remark}", name.display()));
    }
    // The first record after a clock was set back is out of order too.
    if capture.moved_records > u64::from(capture.set_back.is_some()) {
        warnings.push(format!(
            "{}: records out of order in time, sorted: {}",
            name.display(),
            capture.moved_records
        ));
    }
    if capture.unsorted_records > 0 && capture.set_back.is_none() {
        warnings.push(format!(
            "{}: {} so late in the file that they were not sorted: times, rates and the order of packets next to them are wrong",
            name.display(),
            counted(capture.unsorted_records, "record")
        ));
    }
    if capture.flows_shed > 0 {
        warnings.push(format!(
            "{}: too many flows at once: {} of them, the least active, ended early, and their later packets began new flows (--max-flows)",
            name.display(),
            capture.flows_shed
        ));
    }
    if capture.flows_left_out > 0 {
        warnings.push(format!(
            "{}: too many flows: {} of them, those with the least data, were left out (--max-flows)",
            name.display(),
            capture.flows_left_out
        ));
    }
    warnings.extend(missed_warning(
        name.display(),
        capture.missed.bytes,
        capture.missed.possible_bytes,
    ));
    warnings.extend(missed_acks_warning(name.display(), capture.missed.ack_gaps));
    warnings.extend(coarse_clock_warning(name.display(), capture.coarse_tick));
    warnings.extend(further_records_warning(
        name.display(),
        capture.records_per_packet,
    ));
    warnings.extend(several_tags_warning(
        name.display(),
        capture.flows_with_several_tags,
    ));
    let fragments = capture.tally.skipped_for(Skipped::LaterFragment);
    warnings.extend(fragments_warning(name.display(), fragments));
    warnings.extend(set_back_warning(name.display(), capture.set_back));
    warnings.extend(cut_options_warning(
        name.display(),
        capture.tally.cut_options(),
    ));
    let packets = capture.tally.impossible_lengths();
    warnings.extend(impossible_lengths_warning(name.display(), packets));
    let dropped = capture.dropped().unwrap_or(0);
    warnings.extend(dropped_warning(name.display(), dropped));
    warnings
}
