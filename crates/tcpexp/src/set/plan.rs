//! Division of the files of a set into those that follow each other and those that overlap.

use tcpexp_units::Timestamp;

use super::scan::Scan;

/// Numbers of files that belong together, for files in the order of their first times. A group of one
/// file overlaps with no other.
///
/// Records may be a few places out of order where a file was cut. Such files count as consecutive,
/// because a pass can sort so few records.
pub(super) fn groups<'a>(files: impl Iterator<Item = &'a Scan>) -> Vec<usize> {
    let mut groups: Vec<usize> = Vec::new();
    // Latest times of all files so far, and of all but the last records of each.
    let (mut latest, mut latest_inside) = (Timestamp::MIN, Timestamp::MIN);
    for scan in files {
        let (first, last) = scan.span.unwrap_or((Timestamp::MAX, Timestamp::MAX));
        let follows = latest_inside <= first && latest <= scan.earliest_inside;
        match groups.last_mut() {
            Some(group) if !follows => *group += 1,
            _ => groups.push(1),
        }
        latest = latest.max(last);
        latest_inside = latest_inside.max(scan.latest_inside);
    }
    groups
}

#[cfg(test)]
mod tests {
    use tcpexp_units::TimeDelta;

    use super::*;

    fn scan(first: i64, latest_inside: i64, earliest_inside: i64, last: i64) -> Scan {
        let at = Timestamp::from_nanos;
        Scan {
            records: 1_000,
            span: Some((at(first), at(last))),
            latest_inside: at(latest_inside),
            earliest_inside: at(earliest_inside),
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
    fn files_of_two_interfaces_overlap() {
        let files = [
            scan(0, 9, 1, 10),
            scan(1, 9, 2, 11),
            scan(11, 19, 12, 20),
            scan(15, 29, 16, 30),
        ];
        assert_eq!(planned(&files), [2, 2]);
    }
}
