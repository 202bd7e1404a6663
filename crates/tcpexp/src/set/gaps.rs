//! Times without packets between the files of a set.

use tcpexp_units::{TimeDelta, Timestamp, numbers};

use super::scan::Scan;
use crate::Recording;
use crate::capture_set::Gap;

/// A pause between files counts as a gap if it is this many times as long as the longest pause within
/// a file. Among 50 pauses between files, probably none is twice as long as the longest of the far
/// more numerous pauses within files.
const UNUSUAL: i64 = 2;

/// The gaps between files in order of time.
pub(super) fn find(files: &[(Recording, Scan)]) -> Vec<Gap> {
    let timed = || {
        files
            .iter()
            .filter_map(|(file, scan)| Some((file, scan.span?)))
    };
    let longest_pause = files.iter().map(|(_, scan)| scan.longest_pause).max();
    let longest_pause = longest_pause.unwrap_or(TimeDelta::ZERO);
    let names: Vec<String> = timed()
        .map(|(file, _)| file.name().to_string_lossy().into_owned())
        .collect();
    let missing = missing_numbers(&names);
    // A time of day in a name jumps from 59 to 100: such a hole has no unusual pause.
    let mut usual = TimeDelta::ZERO;
    for ((_, (_, last)), ((_, (first, _)), missing)) in timed().zip(timed().skip(1).zip(&missing)) {
        if *missing == 0 {
            usual = usual.max(first - last);
        }
    }
    let mut gaps = Vec::new();
    let mut latest: Option<(&Recording, Timestamp)> = None;
    let mut start = None;
    for (place, (file, (first, last))) in timed().enumerate() {
        let start = *start.get_or_insert(first);
        if let Some((after, from)) = latest
            && first > from
        {
            let missing_files = missing[place - 1];
            let pause = first - from;
            let missing_files = if pause > usual { missing_files } else { 0 };
            let unusual = longest_pause.as_nanos().saturating_mul(UNUSUAL);
            if missing_files > 0 || pause.as_nanos() > unusual {
                gaps.push(Gap {
                    after: after.name().to_owned(),
                    before: file.name().to_owned(),
                    from,
                    to: first,
                    start,
                    missing_files,
                    longest_pause,
                });
            }
        }
        if latest.is_none_or(|(_, latest)| latest < last) {
            latest = Some((file, last));
        }
    }
    gaps
}

/// Number of names that a series leaves out between each two neighbours.
///
/// The series counts in the first number of the name that grows by one between most neighbours that
/// differ in it.
fn missing_numbers(names: &[String]) -> Vec<u64> {
    let pairs: Vec<_> = names
        .windows(2)
        .map(|pair| steps(&pair[0], &pair[1]))
        .collect();
    let places = pairs.iter().map(Vec::len).max().unwrap_or(0);
    let growths = |place: usize| pairs.iter().filter_map(move |pair| *pair.get(place)?);
    let counts = |place: &usize| {
        let by_one = growths(*place).filter(|&by| by == 1).count();
        2 * by_one >= growths(*place).count() && by_one > 0
    };
    let counter = (0..places).find(counts);
    let missing = |pair: &Vec<Option<u64>>| Some((*pair.get(counter?)?)? - 1);
    pairs
        .iter()
        .map(|pair| missing(pair).unwrap_or(0))
        .collect()
}

/// By how much each number grows from one name to the other; `None` for a number that does not.
/// Empty if the names differ in their texts.
fn steps(one: &str, other: &str) -> Vec<Option<u64>> {
    let (one, other) = (numbers(one), numbers(other));
    let has_same_text = one.iter().zip(&other).all(|((a, _), (b, _))| a == b);
    if !has_same_text || one.len() != other.len() {
        return Vec::new();
    }
    let grows = |from: &str, to: &str| {
        let (from, to): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
        to.checked_sub(from).filter(|&by| by > 0)
    };
    let pairs = one.iter().zip(&other);
    pairs.map(|((_, from), (_, to))| grows(from, to)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_numbers_of_a_series_are_counted() {
        let missing = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            missing_numbers(&names)
        };
        assert_eq!(
            missing(&["d/a8", "d/a9", "d/a10", "d/a12", "d/a16"]),
            [0, 0, 1, 3]
        );
        // The first file of `tcpdump -C` has no number.
        assert_eq!(
            missing(&["a.pcap", "a.pcap1", "a.pcap2", "a.pcap4", "a.pcap5"]),
            [0, 0, 1, 0]
        );
        // Seconds since 1970, as `tcpdump -G 60` writes them, are no counter.
        assert_eq!(missing(&["a100", "a160", "a220", "a340"]), [0, 0, 0]);
        // `editcap -c` counts, and names the time.
        assert_eq!(
            missing(&[
                "a_08_1201.pcap",
                "a_09_1207.pcap",
                "a_10_1219.pcap",
                "a_13_1301.pcap"
            ]),
            [0, 0, 2]
        );
        // A ring of files begins again.
        assert_eq!(missing(&["a8", "a9", "a0", "a1"]), [0, 0, 0]);
        assert_eq!(missing(&["eth0", "wlan7"]), [0]);
    }
}
