//! Unusual captures from other sources, if present next to this repository.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::desk::{Desk, reason, text};
use crate::info::assert_balanced;

/// Time limit per file; the collection has no large files.
const LIMIT: Duration = Duration::from_secs(10);

fn files_under(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_under(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn strange_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    files_under(&shared, &mut files);
    files.sort();
    if files.is_empty() {
        eprintln!("skipped: no strange captures at hand");
    }
    files
}

#[test]
fn strange_captures_are_read_or_refused_with_a_message() {
    let files = strange_files();
    let desk = Desk::new();
    for file in files {
        let began = Instant::now();
        let output = desk.command("info --format json").arg(&file).output();
        let output = output.unwrap();
        match output.status.code() {
            Some(0) => assert_balanced(&serde_json::from_slice(&output.stdout).unwrap()),
            Some(1) => assert!(!reason(&output).is_empty()),
            other => panic!("info {}: {other:?}", file.display()),
        }
        for (command, captures) in [("rtt", 2), ("rtt", 1), ("path", 2), ("throughput", 1)] {
            let mut run = desk.command(&format!("{command} --format csv"));
            let output = run.args(vec![&file; captures]).output().unwrap();
            let said = text(&output.stderr);
            match output.status.code() {
                Some(0) => assert!(text(&output.stdout).lines().count() > 1),
                Some(1) => {
                    assert!(output.stdout.is_empty());
                    assert!(
                        said.lines().all(|line| line.starts_with("tcpexp: ")),
                        "{said}"
                    );
                }
                other => panic!("{command} {}: {other:?} {said}", file.display()),
            }
        }
        assert!(began.elapsed() < LIMIT, "{}", file.display());
    }
}

#[test]
fn flows_of_strange_captures_contain_every_used_packet() {
    let desk = Desk::new();
    let mut packets_of_all = 0;
    for file in strange_files() {
        let info = desk.command("info --format json").arg(&file).output();
        let info = info.unwrap();
        let flows = desk.command("flows --format json").arg(&file).output();
        let flows = flows.unwrap();
        let mut packets = 0;
        for line in text(&flows.stdout).lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            let count = |name: &str| row[name].as_u64().unwrap();
            packets += count("packets");
            assert!(count("unique_bytes") <= count("payload_bytes"), "{line}");
            // Null for other protocols than TCP.
            let behind = ["retransmitted", "reordered", "undecided", "duplicate"]
                .map(|what| row[format!("{what}_packets")].as_u64().unwrap_or(0));
            assert!(behind.iter().sum::<u64>() <= count("packets"), "{line}");
        }
        let used = match info.status.code() {
            Some(0) => serde_json::from_slice::<serde_json::Value>(&info.stdout).unwrap()["used"]
                .as_u64()
                .unwrap(),
            _ => 0,
        };
        assert_eq!(packets, used, "{}", file.display());
        let expected = if used > 0 { Some(0) } else { Some(1) };
        assert_eq!(flows.status.code(), expected, "{}", file.display());
        packets_of_all += packets;
    }
    println!("{packets_of_all} packets");
}
