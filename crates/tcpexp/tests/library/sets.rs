//! Captures in several files: rotated files, directories, interfaces.

use std::fs;
use std::path::Path;

use crate::common::{captures_in, fixture};
use tcpexp::{
    AnalyzeInputs, AnalyzeOptions, CaptureInfo, CaptureOptions, DatasetDir, Manifest, PathOptions,
    Recording, TimeDelta, Timestamp, analyze, path,
};
use tcpexp_capture::{Capture, PcapngWriter};
use tcpexp_testkit::Prng;

/// A record: time, link type, length on the wire, captured bytes.
type Record = (Timestamp, u16, u32, Vec<u8>);

fn records(file: &Path) -> Vec<Record> {
    let mut capture = Capture::from_file(fs::File::open(file).unwrap()).unwrap();
    let mut records = Vec::new();
    while let Some(record) = capture.next_record() {
        records.push((
            record.at.unwrap(),
            record.link_type,
            record.wire_bytes,
            record.captured.to_vec(),
        ));
    }
    records
}

fn write(file: &Path, records: &[Record]) {
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    for (at, link_type, wire_bytes, captured) in records {
        writer
            .packet(*at, *link_type, *wire_bytes, captured)
            .unwrap();
    }
    fs::write(file, writer.into_inner()).unwrap();
}

/// Writes the records as `count` files, `name1` and so on, in `folder`.
fn cut(folder: &Path, name: &str, records: &[Record], count: usize) {
    fs::create_dir_all(folder).unwrap();
    for part in 0..count {
        let range = records.len() * part / count..records.len() * (part + 1) / count;
        write(&folder.join(format!("{name}{}", part + 1)), &records[range]);
    }
}

/// Tables of the dataset of two captures, by name, and the manifest.
fn dataset(src: &Path, dst: &Path) -> (Vec<(String, Vec<u8>)>, Manifest) {
    let (src, dst) = (Recording::open(src).unwrap(), Recording::open(dst).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let out = DatasetDir::create(&folder.path().join("data")).unwrap();
    let inputs = AnalyzeInputs::new(&src, Some(&dst));
    let manifest = analyze(inputs, &AnalyzeOptions::default(), out).unwrap();
    let tables = manifest.tables.iter().map(|table| {
        let file = folder.path().join("data").join(&table.file);
        (table.name.clone(), fs::read(file).unwrap())
    });
    (tables.collect(), manifest)
}

fn info(path: &Path) -> CaptureInfo {
    CaptureInfo::read(&Recording::open(path).unwrap(), &CaptureOptions::default()).unwrap()
}

#[test]
fn a_capture_cut_into_fifty_files_gives_the_same_tables() {
    for name in [
        "short-cubic-15-percent-loss",
        "short-cubic-reordering",
        "adsl-udp-upload",
    ] {
        let (src, dst) = captures_in(&fixture(name)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut prng = Prng::new(3);
        let mut whole = Vec::new();
        for (file, point) in [(&src, "src"), (&dst, "dst")] {
            let mut all = records(file);
            // Some records are out of order by less than 5 ms, also where the files are cut.
            for _ in 0..all.len() / 20 {
                let place = usize::try_from(prng.below(all.len() as u64 - 20)).unwrap();
                if all[place + 15].0 - all[place].0 < TimeDelta::from_millis(5) {
                    all.swap(place, place + 15);
                }
            }
            cut(&folder.path().join(point), "cap", &all, 50);
            let single = folder.path().join(format!("{point}.pcapng"));
            write(&single, &all);
            whole.push(single);
        }
        for point in ["src", "dst"] {
            let set = info(&folder.path().join(point)).set.unwrap();
            let merged = set.files.iter().filter(|file| file.overlaps).count();
            assert_eq!(merged, 0, "{name} {point}");
        }
        let parts = dataset(&folder.path().join("src"), &folder.path().join("dst"));
        let whole = dataset(&whole[0], &whole[1]);
        for ((name, bytes), (_, expected)) in parts.0.iter().zip(&whole.0) {
            assert!(bytes == expected, "{name} differs");
        }
        let (parts, whole) = (&parts.1.captures[0], &whole.1.captures[0]);
        assert_eq!(parts.files.len(), 50);
        assert_eq!(parts.records, whole.records);
        assert_eq!(parts.first_ns, whole.first_ns);
        assert!(parts.remarks.is_empty(), "{:?}", parts.remarks);
    }
}

#[test]
fn removed_files_of_a_series_are_reported_with_the_missing_time() {
    let (src, _) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let all = records(&src);
    cut(folder.path(), "cap", &all, 50);
    assert_eq!(info(folder.path()).set.unwrap().gaps, []);
    for removed in [20, 21, 30] {
        fs::remove_file(folder.path().join(format!("cap{removed}"))).unwrap();
    }
    let set = info(folder.path()).set.unwrap();
    assert_eq!(set.files.len(), 47);
    let missing: Vec<u64> = set.gaps.iter().map(|gap| gap.missing_files).collect();
    assert_eq!(missing, [2, 1]);
    let at = |part: usize| all[all.len() * part / 50].0;
    let last = |part: usize| all[all.len() * part / 50 - 1].0;
    assert_eq!((set.gaps[0].from, set.gaps[0].to), (last(19), at(21)));
    let text = set.gaps[0].to_string();
    assert!(
        text.ends_with("between cap19 and cap22: 2 files of the series are missing"),
        "{text}"
    );
    // Names without numbers leave only the pause.
    for part in 1..=50 {
        let old = folder.path().join(format!("cap{part}"));
        let letters: String = part
            .to_string()
            .bytes()
            .map(|digit| char::from(digit + 49))
            .collect();
        let _ = fs::rename(old, folder.path().join(letters));
    }
    let set = info(folder.path()).set.unwrap();
    assert!(
        set.gaps.iter().any(|gap| gap.from == last(19)),
        "{:?}",
        set.gaps
    );
    assert!(set.gaps.iter().all(|gap| gap.missing_files == 0));
}

#[test]
fn files_of_two_interfaces_are_merged_by_time() {
    let (src, _) = captures_in(&fixture("short-cubic-15-percent-loss")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let all = records(&src);
    let (even, odd): (Vec<_>, Vec<_>) = all
        .iter()
        .cloned()
        .enumerate()
        .partition(|(i, _)| i % 2 == 0);
    for (name, half) in [("eth0-", even), ("eth1-", odd)] {
        let half: Vec<Record> = half.into_iter().map(|(_, record)| record).collect();
        cut(folder.path(), name, &half, 7);
    }
    fs::write(folder.path().join("notes.txt"), "not a capture").unwrap();
    let recording = Recording::open(folder.path()).unwrap();
    let set = recording.set().unwrap();
    assert!(set.files.iter().all(|file| file.overlaps));
    assert_eq!((set.files.len(), set.ignored), (14, 1));
    let remarks = set.remarks();
    assert_eq!(
        remarks,
        ["14 of 14 files overlap in time and were merged, as captures of one host"]
    );
    let read = CaptureInfo::read(&recording, &CaptureOptions::default()).unwrap();
    assert_eq!(read.tally.records(), all.len() as u64);
    assert_eq!(read.moved_records, 0);
    // A pattern names the files of one interface, which follow each other.
    let pattern = folder.path().join("eth0-*");
    let set = info(&pattern).set.unwrap();
    assert_eq!(set.files.len(), 7);
    assert!(set.files.iter().all(|file| !file.overlaps));
    assert!(set.files[6].path.ends_with("eth0-7"));
}

#[test]
fn damage_of_any_file_is_reported_with_the_name_of_the_file() {
    let (src, _) = captures_in(&fixture("short-cubic-15-percent-loss")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    cut(folder.path(), "cap", &records(&src), 5);
    for name in ["cap2", "cap4"] {
        let file = folder.path().join(name);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() - 5]).unwrap();
    }
    let info = info(folder.path());
    assert_eq!(info.damaged_places, 2);
    let names = |info: &CaptureInfo, name: &str| {
        let file = folder.path().join(name).display().to_string();
        let damage = info.damage.as_ref().unwrap();
        assert!(damage.starts_with(&format!("{file}: ")), "{damage}");
    };
    names(&info, "cap2");
    // Files whose times overlap are read from a merged copy.
    let overlapping = &records(&folder.path().join("cap4"))[1..];
    write(&folder.path().join("other"), overlapping);
    fs::remove_file(folder.path().join("cap2")).unwrap();
    names(&self::info(folder.path()), "cap4");
}

#[test]
fn a_file_that_is_not_a_capture_is_an_error_unless_a_directory_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "not a capture").unwrap();
    let error = |path: &Path| Recording::open(path).unwrap_err().to_string();
    assert!(error(folder.path()).contains("none of 1 file is a capture with records"));
    assert!(error(&folder.path().join("a*")).contains("cannot read"));
    assert!(error(&folder.path().join("b*")).contains("cannot open"));
}

#[test]
fn packets_of_missing_files_are_not_called_lost() {
    let (src, dst) = captures_in(&fixture("reno-2mbit-40ms-50p")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let lost = |dst: &Path| {
        let (src, dst) = (
            Recording::open(&src).unwrap(),
            Recording::open(dst).unwrap(),
        );
        let mut lost = 0;
        path(&src, &dst, &PathOptions::default(), |batch| {
            let directions = batch.ended.iter().flat_map(|flow| &flow.directions);
            lost += directions
                .map(tcpexp_pair::path::PathSummary::lost)
                .sum::<u64>();
            Ok::<(), tcpexp::Error>(())
        })
        .unwrap();
        lost
    };
    let whole = lost(&dst);
    cut(folder.path(), "cap", &records(&dst), 50);
    for removed in [20, 21, 30] {
        fs::remove_file(folder.path().join(format!("cap{removed}"))).unwrap();
    }
    assert!(
        lost(folder.path()) <= whole,
        "{} of {whole}",
        lost(folder.path())
    );
}
