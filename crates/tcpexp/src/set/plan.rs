//! Division of the files of a set into those that follow each other and those that overlap.

use tcpexp_units::Timestamp;

use super::scan::Scan;
use crate::order::LEAST_STEP;

/// Numbers of files that belong together, for files in the order of their first times. A group of one
/// file overlaps with no other.
///
/// Records may be a few places and milliseconds out of order where a file was cut. Such files count as
/// consecutive, because a pass can sort these records. Files with no more records than this overlap if
/// their middles do.
pub(super) fn groups<'a>(files: impl Iterator<Item = &'a Scan>) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    // Latest times of all files so far, and of all but the last records of each.
    let (mut latest, mut latest_inside) = (Timestamp::MIN, Timestamp::MIN);
    let mut latest_middle = Timestamp::MIN;
    for scan in files {
        let (first, last) = scan.span.unwrap_or((Timestamp::MAX, Timestamp::MAX));
        let (middle_from, middle_to) = scan.middle.unwrap_or((first, Timestamp::MIN));
        let follows = latest <= first + LEAST_STEP
            && latest_inside <= first
            && latest <= scan.earliest_inside
            && latest_middle <= middle_from;
        match groups.last_mut() {
            Some(group) if !follows => *group += 1,
            _ => groups.push(1),
        }
        latest = latest.max(last);
        latest_inside = latest_inside.max(scan.latest_inside);
        latest_middle = latest_middle.max(middle_to);
    }
    groups
}

#[cfg(test)]
mod tests {
    use tcpexp_units::TimeDelta;

    use super::super::scan::middle;
    use super::*;

    fn scan(first: i64, latest_inside: i64, earliest_inside: i64, last: i64) -> Scan {
        let at = Timestamp::from_nanos;
        Scan {
            records: 1_000,
            span: Some((at(first), at(last))),
            latest_inside: at(latest_inside),
            earliest_inside: at(earliest_inside),
            middle: None,
            longest_pause: TimeDelta::ZERO,
        }
    }

    fn planned(files: &[Scan]) -> Vec<usize> {
        groups(files.iter())
    }

    #[test]
    fn files_that_follow_each_other_are_read_in_turn() {
        let files = [
            scan(0, 9, 1, 10),
            scan(10, 19, 11, 20),
            scan(30, 39, 31, 40),
        ];
        assert_eq!(planned(&files), [1, 1, 1]);
    }

    #[test]
    fn a_few_records_out_of_order_at_the_cut_are_no_overlap() {
        let files = [scan(0, 9, 1, 12), scan(10, 19, 12, 20)];
        assert_eq!(planned(&files), [1, 1]);
    }

    #[test]
    fn files_of_which_few_records_overlap_for_seconds_are_one_group() {
        let s = 1_000_000_000;
        let files = [
            scan(0, 9 * s, s, 500 * s),
            scan(10 * s, 1_000 * s, 501 * s, 1_001 * s),
        ];
        assert_eq!(planned(&files), [2]);
    }

    #[test]
    fn files_of_two_interfaces_overlap() {
        let files = [
            scan(0, 9, 1, 10),
            scan(1, 9, 2, 11),
            scan(11, 19, 12, 20),
            scan(15, 29, 16, 30),
        ];
        assert_eq!(planned(&files), [2, 2]);
    }

    /// A file with at most 63 records, at these times.
    fn small(times: impl IntoIterator<Item = i64>) -> Scan {
        let times: Vec<Timestamp> = times.into_iter().map(Timestamp::from_nanos).collect();
        Scan {
            records: times.len() as u64,
            span: times
                .iter()
                .min()
                .zip(times.iter().max())
                .map(|(&first, &last)| (first, last)),
            latest_inside: Timestamp::MIN,
            earliest_inside: Timestamp::MAX,
            middle: middle(times),
            longest_pause: TimeDelta::ZERO,
        }
    }

    #[test]
    fn small_files_that_overlap_are_one_group() {
        for count in [2, 3, 4, 10, 63] {
            let files: Vec<Scan> = (0..16)
                .map(|file| small((0..count).map(|i| file + 16 * i)))
                .collect();
            assert_eq!(planned(&files), [16], "{count}");
        }
    }

    #[test]
    fn small_files_in_succession_are_read_in_turn() {
        for count in [1, 2, 3, 4, 10, 63] {
            let files: Vec<Scan> = (0..5)
                .map(|file| small(file * count..(file + 1) * count))
                .collect();
            assert_eq!(planned(&files), [1; 5], "{count}");
        }
    }

    #[test]
    fn a_few_records_of_small_files_out_of_order_at_the_cut_are_no_overlap() {
        let files = [
            small([0, 1, 2, 3, 4, 5, 10, 9]),
            small([8, 6, 7, 11, 12, 13, 14, 15]),
        ];
        assert_eq!(planned(&files), [1, 1]);
    }

    #[test]
    fn a_small_file_within_a_large_one_overlaps_with_it() {
        let files = [scan(0, 90, 10, 100), small([50, 51])];
        assert_eq!(planned(&files), [2]);
    }
}
