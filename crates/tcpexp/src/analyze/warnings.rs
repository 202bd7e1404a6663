//! Warnings about the input of a dataset.

use std::path::PathBuf;

use tcpexp_pair::path::{CaptureLoss, PathTotals};
use tcpexp_pair::spp::Point;
use tcpexp_units::{TimeDelta, counted};
use tcpexp_wire::Skipped;

use super::between::Between;
use super::manifest::{CaptureInput, Manifest};
use crate::info_warnings::{
    coarse_clock_warning, cut_options_warning, damage_warning, dropped_warning, fragments_warning,
    further_records_warning, given_up_warning, impossible_lengths_warning, missed_acks_warning,
    missed_warning, not_held_warning, set_back_warning, several_tags_warning,
};
use crate::set_back::SetBack;

/// Returns one line per warning.
pub(super) fn of(manifest: &Manifest, between: Option<&Between>, rtts: u64) -> Vec<String> {
    let mut warnings: Vec<String> = manifest.captures.iter().flat_map(of_capture).collect();
    if let Some(between) = between {
        if rtts == 0 {
            warnings.push("no round-trip time between the captures: the packets that passed both points went in one direction only, or could not be distinguished".to_owned());
        } else if !between.took_time {
            warnings.push(
                "every round-trip time is 0: is one capture a copy of the other one?".to_owned(),
            );
        }
        warnings.extend(given_up_warning(between.totals.totals.given_up_early));
        warnings.extend(not_held_warning(between.totals.totals.not_held));
        warnings.extend(between.clock.order_warning().map(str::to_owned));
        let contradiction = between.totals.totals.contradiction_warning();
        warnings.extend(contradiction.map(str::to_owned));
        warnings.extend(of_capture_loss(&between.totals));
        for step in between.clock.suspected_steps() {
            warnings.push(format!(
                "a clock may have been set by {}: no time is measured across this step",
                step.size.abs()
            ));
        }
        for (point, tick) in Point::BOTH.into_iter().zip(between.clock.ticks()) {
            // A pcap file usually counts microseconds, which is no reason for a warning.
            if tick > TimeDelta::from_micros(1) {
                warnings.push(format!(
                    "the clock at {point} advances in steps of {tick}, which limits the accuracy of times"
                ));
            }
        }
        for step in between.clock.steps() {
            warnings.push(format!(
                "the clock at {} was set by {}: the tables sender, events and throughput contain the times that this clock showed",
                step.point, step.size
            ));
        }
    }
    warnings
}

/// Returns a line for each file that has grown, by the number of bytes.
pub(super) fn of_grown_files(files: &[(PathBuf, u64)]) -> Vec<String> {
    let line = |(path, bytes): &(PathBuf, u64)| {
        format!(
            "{} grew by {} while it was analysed: the dataset does not contain the new data",
            path.display(),
            counted(*bytes, "byte")
        )
    };
    files.iter().map(line).collect()
}

/// Returns a line for each loss of packets by a capture.
fn of_capture_loss(totals: &PathTotals) -> Vec<String> {
    let missed = CaptureLoss::of(totals)
        .into_iter()
        .filter(CaptureLoss::is_shown);
    missed.map(|loss| loss.to_string()).collect()
}

fn of_capture(capture: &CaptureInput) -> Vec<String> {
    let path = &capture.file.path;
    let mut warnings = Vec::new();
    warnings.extend(damage_warning(
        path,
        capture.damage.as_deref(),
        capture.damaged_places,
    ));
    let remarks = capture.remarks.iter();
    warnings.extend(remarks.map(|remark| format!("{path}: {remark}")));
    warnings.extend(dropped_warning(path, capture.dropped_packets.unwrap_or(0)));
    warnings.extend(missed_warning(
        path,
        capture.missed_bytes,
        capture.possibly_missed_bytes,
    ));
    warnings.extend(missed_acks_warning(path, capture.missed_ack_gaps));
    let coarse_tick = capture.clock_tick_ns.map(TimeDelta::from_nanos);
    warnings.extend(coarse_clock_warning(path, coarse_tick));
    warnings.extend(further_records_warning(path, capture.records_per_packet));
    warnings.extend(several_tags_warning(path, capture.flows_with_several_tags));
    let fragments = capture.skipped.get(Skipped::LaterFragment.words());
    warnings.extend(fragments_warning(path, fragments.copied().unwrap_or(0)));
    warnings.extend(cut_options_warning(path, capture.cut_options_packets));
    let packets = capture.impossible_length_packets;
    warnings.extend(impossible_lengths_warning(path, packets));
    let set_back = capture.clock_set_back.map(|place| SetBack {
        record: place.record,
        by: TimeDelta::from_nanos(place.by_ns),
        in_blocks: place.in_blocks,
    });
    warnings.extend(set_back_warning(path, set_back));
    if capture.flows_shed > 0 {
        warnings.push(format!(
            "{path}: too many flows at once: {} of them, the least active, ended early, and their later packets began new flows (--max-flows)",
            capture.flows_shed
        ));
    }
    if capture.flows_left_out > 0 {
        warnings.push(format!(
            "{path}: too many flows: {} of them, those with the fewest packets, are not in the dataset (--max-flows)",
            capture.flows_left_out
        ));
    }
    if capture.packets_too_late_for_bins > 0 {
        warnings.push(format!(
            "{path}: the table throughput lacks {} that came too late for the bins",
            counted(capture.packets_too_late_for_bins, "packet")
        ));
    }
    warnings
}
