//! Reads captures of other projects, if they are next to this repository.

use std::fs::{self, File};
use std::path::Path;

use tcpexp_capture::Capture;

/// Files whose inventory entry differs from the number of records, with the true number; `None` if
/// the file is refused.
///
/// The inventory comes from a scanner that reads any file with a known magic number.
const EXCEPTIONS: [(&str, Option<u64>); 10] = [
    // Formats that the scanner counts as captures without packets.
    (".snoop.gz", None),
    (".erf.gz", None),
    ("pcap-truncated-hdr-23~3d465d0b.pcap", None),
    // Versions that the scanner does not check: 1.4 and 2.5 of pcap, 0.1 and 1.1 of pcapng.
    ("pcap-invalid-version-1.pcap", None),
    ("pcap-invalid-version-2.pcap", None),
    ("pcapng-invalid-vers-1.pcapng", None),
    ("pcapng-invalid-vers-2.pcapng", None),
    // Version 2.2, with swapped lengths: the scanner stops at the first record.
    ("bad_ack_code~d8b4a4ad.dmp.gz", Some(40)),
    ("pcap_v2.2~2956b7dd.dmp.gz", Some(40)),
    // The section's two lengths differ, so nothing in it is certain.
    ("shb-option-too-long~f7739747.pcapng", Some(0)),
];

/// Returns the records of a file and whether it is damaged, or the reason of its refusal.
fn count(path: &Path) -> Result<(u64, bool), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut capture = Capture::from_file(file).map_err(|error| {
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            message = format!("{message}: {error}");
            source = error.source();
        }
        message
    })?;
    let mut records = 0;
    while let Some(record) = capture.next_record() {
        let interface = record.interface as usize;
        assert!(interface < capture.interfaces().len());
        records += 1;
    }
    if let Some(damage) = capture.damage() {
        println!("{}: {records} records, {damage}", path.display());
    }
    Ok((records, capture.damage().is_some()))
}

#[test]
fn every_file_of_the_corpus_is_refused_or_matches_its_inventory() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let Ok(inventory) = fs::read_to_string(corpus.join("INVENTORY.md")) else {
        return;
    };
    let mut differing = Vec::new();
    let rows = inventory.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|');
        let path = cells.next()?;
        let packets: u64 = cells.nth(2)?.parse().ok()?;
        Some((path, packets))
    });
    for (path, packets) in rows {
        let exception = EXCEPTIONS.iter().find(|(end, _)| path.ends_with(end));
        let expected = exception.map_or(Some(packets), |&(_, records)| records);
        let counted = count(&corpus.join(path));
        if counted.as_ref().ok().map(|&(records, _)| records) != expected {
            differing.push(format!("{path}: {counted:?}, expected {expected:?}"));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}
