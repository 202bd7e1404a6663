//! The facts about a capture that the name of its file contains.

use tcpexp_pair::spp::Point;

/// Words of a name that stand for the source.
const SRC_WORDS: [&str; 6] = ["src", "snd", "sender", "source", "client", "ingress"];
/// Words of a name that stand for the destination.
const DST_WORDS: [&str; 7] = [
    "dst",
    "rcv",
    "receiver",
    "destination",
    "sink",
    "server",
    "egress",
];
/// Endings of compressed files.
const COMPRESSED: [&str; 5] = ["gz", "zst", "xz", "lz4", "bz2"];
/// Endings of captures.
const CAPTURES: [&str; 5] = ["pcap", "pcapng", "cap", "ntar", "dmp"];

/// Digits of the time and of the counter in a file's name of dumpcap.
const TIME: usize = "20260131100000".len();
const COUNTER: usize = "00001".len();

/// The parts of a path relative to the folder of a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The path without words of points, numbers of rotated files and endings: the same for all
    /// files of a pair.
    pub(super) key: String,
    /// The point, if a word names one; the last one counts.
    pub(super) point: Option<Point>,
    /// True if the name has the number of a rotated file.
    pub(super) is_rotated: bool,
}

impl Named {
    /// `relative` has `/` between folders.
    pub(super) fn of(relative: &str) -> Self {
        let (folders, file) = relative.rsplit_once('/').unwrap_or(("", relative));
        let (stem, is_rotated) = stem(file);
        let mut point = None;
        let mut parts = Vec::new();
        for part in folders.split('/').chain([stem]) {
            let words = part.split(|c: char| !c.is_alphanumeric());
            let mut kept = Vec::new();
            for word in words.filter(|word| !word.is_empty()) {
                match point_of(word) {
                    Some(named) => point = Some(named),
                    None => kept.push(word),
                }
            }
            if !kept.is_empty() {
                parts.push(kept.join("-"));
            }
        }
        Self {
            key: parts.join("/"),
            point,
            is_rotated,
        }
    }
}

fn point_of(word: &str) -> Option<Point> {
    let is_in = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    if is_in(&SRC_WORDS) {
        Some(Point::Src)
    } else if is_in(&DST_WORDS) {
        Some(Point::Dst)
    } else {
        None
    }
}

/// The path without the endings of compressed files.
pub(super) fn without_compression(path: &str) -> &str {
    let mut name = path;
    while let Some((before, ending)) = name.rsplit_once('.')
        && COMPRESSED.contains(&ending)
    {
        name = before;
    }
    name
}

/// A file's name without its endings and the number of a rotated file, and true if it has one.
fn stem(file: &str) -> (&str, bool) {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let mut stem = without_compression(file);
    // `tcpdump -C` appends the number to the ending: a.pcap, a.pcap1; logrotate appends `.1`.
    let mut is_rotated = false;
    if let Some((before, number)) = stem.rsplit_once('.')
        && is_digits(number)
    {
        let is_capture = before.rsplit_once('.');
        if is_capture.is_some_and(|(_, ending)| CAPTURES.contains(&ending)) {
            (stem, is_rotated) = (before, true);
        }
    }
    if let Some((before, ending)) = stem.rsplit_once('.') {
        let letters = ending.trim_end_matches(|c: char| c.is_ascii_digit());
        if CAPTURES.contains(&letters) {
            is_rotated |= letters.len() < ending.len();
            stem = before;
        }
    }
    // dumpcap writes a_00001_20260131100000.pcapng, or the two numbers in the other order.
    let mut parts = stem.rsplitn(3, '_');
    if let (Some(last), Some(other), Some(before)) = (parts.next(), parts.next(), parts.next())
        && is_digits(last)
        && is_digits(other)
    {
        let lengths = (other.len(), last.len());
        if (lengths.0 >= COUNTER && lengths.1 == TIME)
            || (lengths.0 == TIME && lengths.1 >= COUNTER)
        {
            (stem, is_rotated) = (before, true);
        }
    }
    (stem, is_rotated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_pair_have_one_key() {
        let shown = |relative: &str| {
            let named = Named::of(relative);
            let point = named.point.map_or("-", Point::name);
            let rotated = if named.is_rotated { " rotated" } else { "" };
            format!("{} {point}{rotated}", named.key)
        };
        let cases = [
            ("0001.pcap", "0001 -"),
            ("run-7-src.pcap.gz", "run-7 src"),
            ("cubic/src.pcap.gz", "cubic src"),
            ("cubic/dst.pcapng", "cubic dst"),
            ("Sender/a/b.cap", "a/b src"),
            ("a.pcap", "a -"),
            ("a.pcap12", "a - rotated"),
            ("a.pcap.3.gz", "a - rotated"),
            ("a.pcap3.zst", "a - rotated"),
            ("a_00001_20260131100000.pcapng", "a - rotated"),
            ("a_20260131100000_00002.pcapng", "a - rotated"),
            ("a_1_2.pcap", "a-1-2 -"),
            ("v1.2", "v1-2 -"),
            ("src", " src"),
        ];
        for (relative, expected) in cases {
            assert_eq!(shown(relative), expected, "{relative}");
        }
    }
}
