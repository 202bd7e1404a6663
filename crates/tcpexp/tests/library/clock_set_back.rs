//! Measurements on one capture whose clock was set back.

use tcpexp::{
    CaptureInfo, CaptureOptions, CwndOptions, Error, Filter, Recording, flows, single_rtt, why,
};
use tcpexp_measure::rtt::SingleRttRow;
use tcpexp_units::TimeDelta;

use crate::common::retime::records_in;
use crate::common::{limited_upload, spooled};

/// Shortest round-trip times in `flows`, and what the capture says of itself.
fn shortest(capture: &Recording) -> (Vec<TimeDelta>, CaptureInfo) {
    let mut shortest = Vec::new();
    let info = flows(capture, &CaptureOptions::default(), |connections| {
        for direction in connections.iter().flat_map(|one| &one.directions) {
            shortest.extend(direction.rtt.map(|rtt| rtt.min));
        }
        Ok::<(), Error>(())
    });
    (shortest, info.unwrap())
}

#[test]
fn a_clock_that_was_set_back_is_reported_and_gives_no_negative_time() {
    let records = records_in(&limited_upload().src);
    let (first, _) = records.span();
    let half = first + TimeDelta::from_seconds(4);
    for by in [TimeDelta::from_seconds(2), TimeDelta::from_seconds(100)] {
        let set_back = records.file(|at| Some(if at < half { at } else { at - by }));
        let capture = spooled("capture", &set_back);
        let (shortest, info) = shortest(&capture);
        let found = info.set_back.unwrap();
        assert!(
            (found.by - by).abs() < TimeDelta::from_millis(50),
            "{found:?}"
        );
        assert!(!shortest.is_empty());
        assert!(
            shortest.iter().all(|rtt| *rtt > TimeDelta::ZERO),
            "{shortest:?}"
        );
        let options = CaptureOptions::default();
        let info = single_rtt(&capture, &options, |rows| {
            for row in rows {
                if let SingleRttRow::Sample(sample) = row {
                    assert!(sample.rtt > TimeDelta::ZERO, "{sample:?}");
                }
            }
            Ok::<(), Error>(())
        });
        assert_eq!(info.unwrap().set_back, Some(found));
    }
    let whole = spooled("capture", &records.file(Some));
    assert_eq!(shortest(&whole).1.set_back, None);
}

#[test]
fn a_clock_that_was_set_back_is_found_by_the_selected_packets() {
    let records = records_in(&limited_upload().src);
    let (first, _) = records.span();
    let half = first + TimeDelta::from_seconds(4);
    let by = TimeDelta::from_seconds(2);
    let set_back = records.file(|at| Some(if at < half { at } else { at - by }));
    // Data without the ACKs between them.
    let options = CaptureOptions::default().filter(Filter::parse("greater 500").unwrap());
    let capture = spooled("capture", &set_back);
    let info = flows(&capture, &options, |_| Ok::<(), Error>(())).unwrap();
    assert!(info.tally.used() < info.tally.records());
    assert!(info.set_back.is_some());
}

#[test]
fn the_times_of_all_causes_sum_to_the_duration_although_a_clock_was_set_back() {
    let records = records_in(&limited_upload().src);
    let (first, _) = records.span();
    let half = first + TimeDelta::from_seconds(4);
    for by in [0, 2, 100].map(TimeDelta::from_seconds) {
        let set_back = records.file(|at| Some(if at < half { at } else { at - by }));
        let report = why(
            &spooled("capture", &set_back),
            None,
            &CwndOptions::default(),
        );
        let verdicts = report.unwrap().verdicts;
        assert!(!verdicts.is_empty());
        for labelled in verdicts {
            let verdict = labelled.row;
            let sum: TimeDelta = verdict.times.into_iter().sum();
            assert_eq!(sum, verdict.duration, "{by}");
        }
    }
}
