//! Surveys as files.

use std::fs;

use tcpexp::{Error, PairSurvey, PathOptions, Recording, SurveyError, survey};

use crate::common::fixture;

fn short_survey() -> PairSurvey {
    let captures = fixture("short-cubic-15-percent-loss");
    let open = |name: &str| Recording::open(&captures.join(name)).unwrap();
    let (src, dst) = (open("snd.pcap.gz"), open("rcv.pcap.gz"));
    survey(&src, &dst, &PathOptions::default()).unwrap().0
}

#[test]
fn a_survey_with_a_flipped_bit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.json");
    let mut whole = Vec::new();
    short_survey().write(&mut whole).unwrap();
    fs::write(&path, &whole).unwrap();
    PairSurvey::read(&path).unwrap();
    // Each byte would take minutes.
    for at in (0..whole.len()).step_by(whole.len() / 50) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        fs::write(&path, flipped).unwrap();
        assert!(PairSurvey::read(&path).is_err(), "byte {at}");
    }
    // The fields are the same.
    let text = String::from_utf8(whole).unwrap();
    let changed = text.replacen("\"alignment\": {", "\"alignment\":  {", 1);
    fs::write(&path, changed).unwrap();
    let error = PairSurvey::read(&path).unwrap_err();
    assert!(matches!(error, Error::Survey(SurveyError::Damaged { .. })));
}

#[test]
fn a_survey_that_was_read_is_written_with_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("survey.json");
    let mut first = Vec::new();
    short_survey().write(&mut first).unwrap();
    fs::write(&path, &first).unwrap();
    let mut second = Vec::new();
    PairSurvey::read(&path).unwrap().write(&mut second).unwrap();
    assert!(first == second);
}
