//! Which files of two points belong together.

use std::collections::{BTreeMap, BTreeSet};

use tcpexp_pair::spp::Point;
use tcpexp_table::{PairFileRow, PairName};
use tcpexp_units::Timestamp;

use super::names::{Named, without_compression};
use crate::set::natural;
use crate::stored::Stored;

/// A file of one point.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) path: String,
    pub(super) named: Named,
    pub(super) bytes: u64,
    /// The file itself; `None` for an object in a store.
    pub(super) stored: Option<Stored>,
    pub(super) contents: Contents,
}

/// What a look into a file shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    Capture {
        records: u64,
        span: Option<(Timestamp, Timestamp)>,
    },
    /// The file is no capture, or cannot be read.
    Other(String),
}

/// The files of one capture: one file, or several rotated ones.
#[derive(Debug)]
struct Unit {
    key: String,
    /// In order of time.
    files: Vec<Found>,
}

/// Pairs the files of both points, source first. Pairs are in the natural order of their names, and
/// files without a partner follow.
pub(super) fn matched(files: [Vec<Found>; 2]) -> Vec<PairFileRow> {
    let [src, dst] = files;
    let mut rows = Vec::new();
    let mut single = Vec::new();
    let mut units = [units(src), units(dst)];
    for (point, other) in [(0, 1), (1, 0)] {
        let (known, others) = (keys(&units[point]), keys(&units[other]));
        let mut left_out = Vec::new();
        units[point].retain_mut(|unit| {
            left_out.append(&mut unit.remove_others(known.contains(&unit.key), &others));
            left_out.append(&mut unit.remove_namesakes());
            !unit.files.is_empty()
        });
        single.extend(left_out.into_iter().map(|left| (point, left)));
    }
    let mut pairs = Vec::new();
    let [src, dst] = units;
    let dst = dst.into_iter().map(|unit| (unit.key.clone(), unit));
    let mut dst: BTreeMap<String, Unit> = dst.collect();
    let mut rest = Vec::new();
    for unit in src {
        match dst.remove(&unit.key) {
            Some(other) => pairs.push([unit, other]),
            None => rest.push(unit),
        }
    }
    let (by_time, unmatched) = matched_by_time([rest, dst.into_values().collect()]);
    pairs.extend(by_time);
    pairs.sort_by(|[a, _], [b, _]| natural(a.key.as_ref(), b.key.as_ref()));
    let unnamed = unnamed(&pairs);
    for (number, pair) in (1..).zip(pairs) {
        // Both captures of a pair without any other word are named by a point alone.
        let key = &pair[Point::Src.index()].key;
        let name = if key.is_empty() { &unnamed } else { key };
        let name = PairName {
            number,
            name: name.as_str().into(),
        };
        for (point, unit) in Point::BOTH.into_iter().zip(pair) {
            rows.extend(unit.files.into_iter().map(|file| {
                let reason = match &file.contents {
                    Contents::Capture { .. } => None,
                    Contents::Other(why) => Some(why.clone()),
                };
                row(point, file, Some(name.clone()), reason)
            }));
        }
    }
    for (point, unit, reason) in unmatched {
        let files = unit.files.into_iter();
        single.extend(files.map(|file| (point, (file, reason.clone()))));
    }
    single.sort_by(|(p, (a, _)), (q, (b, _))| {
        let by_name = natural(a.path.as_ref(), b.path.as_ref());
        p.cmp(q).then(by_name)
    });
    let single = single.into_iter();
    rows.extend(single.map(|(point, (file, why))| row(Point::BOTH[point], file, None, Some(why))));
    rows
}

/// Name of a pair whose files have no other words than those of their points.
const UNNAMED: &str = "captures";

/// Name of the pair without a name, which no other pair has.
fn unnamed(pairs: &[[Unit; 2]]) -> String {
    let is_taken = |name: &String| {
        let mut keys = pairs.iter().map(|[src, _]| &src.key);
        keys.any(|key| key == name)
    };
    let numbered = (2..).map(|number| format!("{UNNAMED}-{number}"));
    let mut names = std::iter::once(UNNAMED.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

pub(super) fn row(
    point: Point,
    file: Found,
    pair: Option<PairName>,
    reason: Option<String>,
) -> PairFileRow {
    let (records, span) = match file.contents {
        Contents::Capture { records, span } => (Some(records), span),
        Contents::Other(_) => (None, None),
    };
    PairFileRow {
        pair,
        point: Some(point),
        file: file.path,
        bytes: file.bytes,
        records,
        span,
        reason,
    }
}

fn units(files: Vec<Found>) -> Vec<Unit> {
    let mut units: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for file in files {
        units.entry(file.named.key.clone()).or_default().push(file);
    }
    let units = units.into_iter().map(|(key, mut files)| {
        // The sort is stable: files without a time keep the order of their names.
        files.sort_by_key(|file| file.span().map_or(Timestamp::MAX, |(first, _)| first));
        Unit { key, files }
    });
    units.collect()
}

/// Keys with a capture.
fn keys(units: &[Unit]) -> BTreeSet<String> {
    let with = units
        .iter()
        .filter(|unit| unit.files.iter().any(Found::is_capture));
    with.map(|unit| unit.key.clone()).collect()
}

/// A file without a partner, and why it has none.
type LeftOut = (Found, String);

impl Unit {
    /// Removes the files that are not captures. A single file stays if the other point has a
    /// capture of this name: the file is then a broken capture, which the analysis reports.
    fn remove_others(&mut self, has_capture: bool, others: &BTreeSet<String>) -> Vec<LeftOut> {
        if !has_capture && self.files.len() == 1 && others.contains(&self.key) {
            return Vec::new();
        }
        let files = std::mem::take(&mut self.files).into_iter();
        let (captures, rest): (Vec<_>, Vec<_>) = files.partition(Found::is_capture);
        self.files = captures;
        let why = |file: Found| match file.contents.clone() {
            Contents::Other(why) => Some((file, why)),
            Contents::Capture { .. } => None,
        };
        rest.into_iter().filter_map(why).collect()
    }

    /// Removes all files if packets would count twice: if several files have no number of a rotated file, if two
    /// have one name with and without compression, such as `a.pcap1` and `a.pcap1.gz`, or if two names are of one
    /// file.
    fn remove_namesakes(&mut self) -> Vec<LeftOut> {
        let Some(why) = self.namesakes().or_else(|| self.linked()) else {
            return Vec::new();
        };
        let files = std::mem::take(&mut self.files).into_iter();
        files.map(|file| (file, why.clone())).collect()
    }

    /// Captures of one name, for a message.
    fn namesakes(&self) -> Option<String> {
        let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for file in &self.files {
            let path = file.path.as_str();
            // All files without a number are the first file of the capture.
            let name = if file.named.is_rotated {
                without_compression(path)
            } else {
                ""
            };
            names.entry(name).or_default().push(path);
        }
        let names = names.into_values().find(|names| names.len() > 1)?;
        let names = names.join(", ");
        Some(format!("one name for several captures: {names}"))
    }

    /// Names of one file, for a message: a file and a link to it.
    fn linked(&self) -> Option<String> {
        let is_one = |a: &Found, b: &Found| {
            let both = a.stored.zip(b.stored);
            both.is_some_and(|(a, b)| a.is_same_as(&b))
        };
        let mut files = self.files.iter().enumerate();
        let (one, other) = files.find_map(|(place, file)| {
            let mut later = self.files[place + 1..].iter();
            Some((file, later.find(|other| is_one(file, other))?))
        })?;
        let (one, other) = (&one.path, &other.path);
        Some(format!("several names for one capture: {one}, {other}"))
    }

    fn span(&self) -> Option<(Timestamp, Timestamp)> {
        let spans = self.files.iter().filter_map(Found::span);
        spans.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)))
    }

    fn name(&self) -> &str {
        self.files.first().map_or("", |file| file.path.as_str())
    }
}

impl Found {
    fn is_capture(&self) -> bool {
        matches!(self.contents, Contents::Capture { .. })
    }

    fn span(&self) -> Option<(Timestamp, Timestamp)> {
        match self.contents {
            Contents::Capture { span, .. } => span,
            Contents::Other(_) => None,
        }
    }
}

/// Captures that no name pairs, each with its point and the reason.
type Unmatched = Vec<(usize, Unit, String)>;

/// Pairs captures that are taken at the same time, if no third one is.
fn matched_by_time(units: [Vec<Unit>; 2]) -> (Vec<[Unit; 2]>, Unmatched) {
    let [src, dst] = &units;
    let fits = |s: &Unit, d: &Unit| s.span().zip(d.span()).is_some_and(is_same_time);
    // By point: the captures of the other point that fit each capture.
    let of_src: Vec<Vec<usize>> = src
        .iter()
        .map(|s| (0..dst.len()).filter(|&d| fits(s, &dst[d])).collect())
        .collect();
    let of_dst: Vec<Vec<usize>> = (0..dst.len())
        .map(|d| (0..src.len()).filter(|&s| of_src[s].contains(&d)).collect())
        .collect();
    let partner = |own: &[Vec<usize>], other: &[Vec<usize>], place: usize| match own[place][..] {
        [only] if other[only].len() == 1 => Some(only),
        _ => None,
    };
    let why = |own: &[Vec<usize>], others: &[Unit], other: &str, place: usize| {
        let names: Vec<&str> = own[place]
            .iter()
            .map(|&other| others[other].name())
            .collect();
        match names[..] {
            [] => format!("{other} has no capture of the same name or time"),
            [only] => format!(
                "{only} was taken at the same time as several captures without a name in common"
            ),
            _ => format!(
                "taken at the same time as {}, without a name in common",
                names.join(" and ")
            ),
        }
    };
    let src_why: Vec<String> = (0..src.len())
        .map(|s| why(&of_src, dst, "dst", s))
        .collect();
    let dst_why: Vec<String> = (0..dst.len())
        .map(|d| why(&of_dst, src, "src", d))
        .collect();
    let [src, dst] = units;
    let mut dst: Vec<Option<Unit>> = dst.into_iter().map(Some).collect();
    let (mut pairs, mut unmatched) = (Vec::new(), Vec::new());
    for (place, (unit, why)) in src.into_iter().zip(src_why).enumerate() {
        let partner = partner(&of_src, &of_dst, place).and_then(|place| dst[place].take());
        match partner {
            Some(partner) => pairs.push([unit, partner]),
            None => unmatched.push((Point::Src.index(), unit, why)),
        }
    }
    let rest = dst.into_iter().zip(dst_why);
    unmatched.extend(rest.filter_map(|(unit, why)| Some((Point::Dst.index(), unit?, why))));
    (pairs, unmatched)
}

/// True if the common time is at least half of the shorter one. Captures of consecutive runs may
/// overlap a little where the clocks differ.
fn is_same_time(spans: ((Timestamp, Timestamp), (Timestamp, Timestamp))) -> bool {
    let ((from, to), (first, last)) = spans;
    let common = (to.min(last) - from.max(first)).as_nanos();
    let shorter = (to - from).min(last - first).as_nanos();
    common >= 0 && common >= shorter / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with its first and last second; `None` for no capture.
    fn file(path: &str, span: Option<(i64, i64)>) -> Found {
        let second = |at: i64| Timestamp::from_nanos(at * 1_000_000_000);
        Found {
            path: path.to_owned(),
            named: Named::of(path),
            bytes: 100,
            stored: None,
            contents: match span {
                Some((first, last)) => Contents::Capture {
                    records: 5,
                    span: Some((second(first), second(last))),
                },
                None => Contents::Other("no capture".to_owned()),
            },
        }
    }

    fn shown(src: &[Found], dst: &[Found]) -> String {
        let rows = matched([src.to_vec(), dst.to_vec()]);
        let lines = rows.iter().map(|row| {
            let pair = row.pair.as_ref();
            let pair = pair.map_or("-".to_owned(), |pair| {
                format!("{} {}", pair.number, pair.name)
            });
            let point = row.point.map_or("-", Point::name);
            let why = row.reason.as_deref().unwrap_or("");
            format!("{pair} | {point} {} | {why}", row.file)
                .trim_end()
                .to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn equal_names_are_a_pair_whatever_the_clocks() {
        let src = [
            file("10.pcap", Some((0, 9))),
            file("9.pcap", Some((10, 19))),
        ];
        let dst = [
            file("9.pcap.gz", Some((5_000, 5_009))),
            file("10.pcap", Some((10, 19))),
        ];
        insta::assert_snapshot!(shown(&src, &dst), @"
        1 9 | src 9.pcap |
        1 9 | dst 9.pcap.gz |
        2 10 | src 10.pcap |
        2 10 | dst 10.pcap |
        ");
    }

    #[test]
    fn no_two_pairs_have_one_name() {
        let files = |point: &str| [format!("{point}.pcap"), "captures.pcap".to_owned()];
        let [src, dst] =
            ["src", "dst"].map(|point| files(point).map(|path| file(&path, Some((0, 9)))));
        insta::assert_snapshot!(shown(&src, &dst), @"
        1 captures-2 | src src.pcap |
        1 captures-2 | dst dst.pcap |
        2 captures | src captures.pcap |
        2 captures | dst captures.pcap |
        ");
    }

    #[test]
    fn rotated_files_are_one_capture_in_order_of_time() {
        let src = [
            file("a.pcap", Some((0, 9))),
            file("a.pcap1", Some((10, 19))),
            file("a.pcap10", Some((30, 39))),
            file("a.pcap2", Some((20, 29))),
        ];
        let dst = [
            file("a.pcap", Some((0, 20))),
            file("a.pcap1", Some((20, 39))),
        ];
        insta::assert_snapshot!(shown(&src, &dst), @"
        1 a | src a.pcap |
        1 a | src a.pcap1 |
        1 a | src a.pcap2 |
        1 a | src a.pcap10 |
        1 a | dst a.pcap |
        1 a | dst a.pcap1 |
        ");
    }

    #[test]
    fn times_pair_what_names_do_not() {
        let src = [
            file("tokyo-1.pcap", Some((0, 9))),
            file("tokyo-2.pcap", Some((10, 19))),
            file("tokyo-3.pcap", Some((40, 49))),
        ];
        let dst = [
            file("oslo-a.pcap", Some((11, 20))),
            file("oslo-b.pcap", Some((1, 10))),
        ];
        insta::assert_snapshot!(shown(&src, &dst), @"
        1 tokyo-1 | src tokyo-1.pcap |
        1 tokyo-1 | dst oslo-b.pcap |
        2 tokyo-2 | src tokyo-2.pcap |
        2 tokyo-2 | dst oslo-a.pcap |
        - | src tokyo-3.pcap | dst has no capture of the same name or time
        ");
    }

    #[test]
    fn a_rotated_file_and_its_compressed_copy_have_no_partner() {
        let src = [
            file("a.pcap", Some((0, 4))),
            file("a.pcap1", Some((5, 9))),
            file("a.pcap1.gz", Some((5, 9))),
        ];
        let dst = [file("a.pcap", Some((0, 9)))];
        insta::assert_snapshot!(shown(&src, &dst), @"
        - | src a.pcap | one name for several captures: a.pcap1, a.pcap1.gz
        - | src a.pcap1 | one name for several captures: a.pcap1, a.pcap1.gz
        - | src a.pcap1.gz | one name for several captures: a.pcap1, a.pcap1.gz
        - | dst a.pcap | src has no capture of the same name or time
        ");
    }

    #[test]
    fn files_with_several_possible_partners_have_no_partner() {
        let src = [
            file("x.pcap", Some((0, 9))),
            file("b.pcap", Some((0, 9))),
            file("b.pcap.gz", Some((0, 9))),
        ];
        let dst = [
            file("y.pcap", Some((0, 9))),
            file("z.pcap", Some((0, 9))),
            file("b.pcap", Some((0, 9))),
        ];
        insta::assert_snapshot!(shown(&src, &dst), @"
        - | src b.pcap | one name for several captures: b.pcap, b.pcap.gz
        - | src b.pcap.gz | one name for several captures: b.pcap, b.pcap.gz
        - | src x.pcap | taken at the same time as b.pcap and y.pcap and z.pcap, without a name in common
        - | dst b.pcap | x.pcap was taken at the same time as several captures without a name in common
        - | dst y.pcap | x.pcap was taken at the same time as several captures without a name in common
        - | dst z.pcap | x.pcap was taken at the same time as several captures without a name in common
        ");
    }

    #[test]
    fn a_broken_capture_keeps_its_partner_and_other_files_have_none() {
        let src = [file("a.pcap", None), file("readme.txt", None)];
        let dst = [file("a.pcap", Some((0, 9))), file("readme.txt", None)];
        insta::assert_snapshot!(shown(&src, &dst), @"
        1 a | src a.pcap | no capture
        1 a | dst a.pcap |
        - | src readme.txt | no capture
        - | dst readme.txt | no capture
        ");
    }
}
