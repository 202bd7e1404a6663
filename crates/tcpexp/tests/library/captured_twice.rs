//! Measurements on one capture that has each packet twice, as mirror ports record it.

use tcpexp::{CaptureInfo, CaptureOptions, Error, flows};
use tcpexp_testkit::CaptureSpec;
use tcpexp_wire::Skipped;

use crate::common::{limited_upload_as, spooled};

/// An upload with losses, captured once or twice at its source.
fn upload(twice: bool) -> Vec<u8> {
    let spec = CaptureSpec {
        twice,
        ..CaptureSpec::default()
    };
    limited_upload_as(spec).src
}

/// Packets by direction, and what the capture says of itself.
fn counts(file: &[u8]) -> (Vec<[u64; 5]>, CaptureInfo) {
    let capture = spooled("capture", file);
    let mut counts = Vec::new();
    let info = flows(&capture, &CaptureOptions::default(), |connections| {
        for direction in connections.iter().flat_map(|one| &one.directions) {
            let rare = direction.rare();
            let again = rare.retransmitted.iter().map(|of_cause| of_cause.packets);
            counts.push([
                direction.packets,
                direction.unique_bytes,
                again.sum(),
                rare.reordered_packets,
                rare.duplicate_ack_packets.unwrap(),
            ]);
        }
        Ok::<(), Error>(())
    });
    (counts, info.unwrap())
}

#[test]
fn second_records_are_left_out() {
    let (once, info) = counts(&upload(false));
    assert_eq!(info.records_per_packet, 1);
    let (twice, info) = counts(&upload(true));
    assert_eq!(info.records_per_packet, 2);
    let packets: u64 = once.iter().map(|direction| direction[0]).sum();
    assert_eq!(info.tally.skipped_for(Skipped::FurtherRecord), packets);
    assert_eq!(once, twice);
    assert!(once[0][2] > 10 && once[1][4] > 10, "{once:?}");
}
