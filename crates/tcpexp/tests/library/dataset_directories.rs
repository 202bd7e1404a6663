//! The directory of a dataset appears complete or not at all.

use std::fs;

use crate::common::{fixture, spooled};
use tcpexp::{AnalyzeInputs, AnalyzeOptions, DatasetDir, Manifest, Recording, analyze};

#[test]
fn only_a_dataset_is_replaced() {
    let src = Recording::open(&fixture("short-cubic-reordering/snd.pcap.gz")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("data");
    let inputs = AnalyzeInputs::new(&src, None);
    let make = || {
        let dir = DatasetDir::create(&place)?;
        analyze(inputs, &AnalyzeOptions::default(), dir)
    };
    let first = make().unwrap();
    assert_eq!(make().unwrap(), first);
    assert_eq!(Manifest::read(&place).unwrap(), first);
    fs::write(place.join("notes.txt"), "mine").unwrap();
    let refusal = make().unwrap_err().to_string();
    assert!(refusal.ends_with("contains something other than a dataset: name another directory"));
    fs::remove_dir_all(&place).unwrap();
    fs::create_dir(&place).unwrap();
    make().unwrap();
    // No temporary directory is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let nothing = spooled("nothing", &[]);
    let folder = tempfile::tempdir().unwrap();
    let dir = DatasetDir::create(&folder.path().join("data")).unwrap();
    let inputs = AnalyzeInputs::new(&nothing, None);
    assert!(analyze(inputs, &AnalyzeOptions::default(), dir).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let missing = DatasetDir::create(&folder.path().join("no/data")).unwrap_err();
    assert!(missing.to_string().contains("does not exist"));
}
