//! `tcpexp survey`, and `--survey`.

use insta::assert_snapshot;
use tcpexp_testkit::{Scenario, simulate};

use crate::desk::{Desk, fixtures, ordinary};

/// Commands that take a survey, and the files that they write.
const COMMANDS: [(&str, &[&str]); 3] = [
    (
        "rtt src.pcap dst.pcap -o a.csv --flows b.csv",
        &["a.csv", "b.csv"],
    ),
    (
        "path src.pcap dst.pcap -o a.csv --flows b.csv",
        &["a.csv", "b.csv"],
    ),
    (
        "analyze src.pcap dst.pcap -o data",
        &[
            "data/rtt.parquet",
            "data/owd.parquet",
            "data/flows.parquet",
            "data/sender.parquet",
            "data/throughput.parquet",
            "data/manifest.json",
        ],
    ),
];

/// Checks that each command gives the same bytes with a survey made with the same options.
fn assert_equal(desk: &Desk, options: &str) {
    desk.run(&format!(
        "survey src.pcap dst.pcap -q -o survey.json {options}"
    ));
    for (command, files) in COMMANDS {
        let results = |survey: &str| {
            let output = desk.run(&format!("{command} {options} {survey}"));
            let written: Vec<Vec<u8>> = files.iter().map(|file| desk.get(file)).collect();
            (output.status.code(), output.stdout, output.stderr, written)
        };
        let without = results("");
        assert_eq!(without.0, Some(0), "{command} {options}");
        assert!(
            results("--survey survey.json") == without,
            "{command} {options}"
        );
    }
}

#[test]
fn results_with_a_survey_are_those_without() {
    let desk = Desk::new();
    for options in [
        "",
        "--from 200ms --to -100ms",
        "--filter tcp --max-owd 1s --max-flows 7",
    ] {
        assert_equal(&desk, options);
    }
    let nat = Scenario {
        nat: true,
        ..ordinary()
    };
    let desk = Desk::with(&simulate(&nat));
    assert_equal(&desk, "");
    let survey = String::from_utf8(desk.get("survey.json")).unwrap();
    assert_eq!(survey.matches("\"in_captures\"").count(), 2, "{survey}");
}

#[test]
fn results_of_real_captures_with_a_survey_are_those_without() {
    for [src, dst] in fixtures().into_iter().step_by(2) {
        let desk = Desk::empty();
        desk.put("src.pcap", &std::fs::read(src).unwrap());
        desk.put("dst.pcap", &std::fs::read(dst).unwrap());
        assert_equal(&desk, "");
    }
}

#[test]
fn records_out_of_order_late_in_a_capture_are_sorted_with_a_survey_too() {
    let desk = Desk::new();
    let mut src = desk.get("src.pcap");
    swap_late_records(&mut src);
    desk.put("src.pcap", &src);
    assert_equal(&desk, "");
    assert_equal(&desk, "--to -10ms");
}

#[test]
fn captures_with_coarse_clocks_give_the_same_with_a_survey() {
    let desk = Desk::new();
    for name in ["src.pcap", "dst.pcap"] {
        let mut file = desk.get(name);
        for place in records(&file) {
            let part = &mut file[place + 4..place + 8];
            let fraction_ns = u32::from_le_bytes(part.try_into().unwrap());
            // Ticks of 4 ms.
            part.copy_from_slice(&(fraction_ns / 4_000_000 * 4_000_000).to_le_bytes());
        }
        desk.put(name, &file);
    }
    assert_equal(&desk, "");
}

/// The places of the records of a little-endian pcap file.
fn records(file: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut place = 24;
    while place + 16 <= file.len() {
        places.push(place);
        let length: [u8; 4] = file[place + 8..place + 12].try_into().unwrap();
        place += 16 + u32::from_le_bytes(length) as usize;
    }
    places
}

/// Exchanges the times of two neighbouring records near the end of a little-endian pcap file.
fn swap_late_records(file: &mut [u8]) {
    let places = records(file);
    let [one, other] = [places[places.len() - 50], places[places.len() - 49]];
    for byte in 0..8 {
        file.swap(one + byte, other + byte);
    }
}

#[test]
fn a_survey_of_other_captures_or_options_is_refused() {
    let desk = Desk::new();
    desk.bytes("survey src.pcap dst.pcap -q -o survey.json");
    let rtt = "rtt src.pcap dst.pcap -q --survey survey.json";
    let path = "path src.pcap dst.pcap -q --survey";
    assert_snapshot!(desk.failure("rtt dst.pcap src.pcap -q --survey survey.json"), @"survey.json was made from src.pcap, and dst.pcap has other contents");
    assert_snapshot!(desk.failure(&format!("{rtt} --max-owd 1s")), @"survey.json was made with a different --max-owd");
    assert_snapshot!(desk.failure(&format!("{rtt} --filter tcp")), @"survey.json was made with a different --filter");
    assert_snapshot!(desk.failure(&format!("{path} nothing.json")), @"cannot open nothing.json: No such file or directory (os error 2)");
    desk.put(
        "other.json",
        b"{\"kind\": \"tcpexp dataset\", \"version\": 1, \"tcpexp_version\": \"0\"}",
    );
    assert_snapshot!(desk.failure(&format!("{path} other.json")), @r#"other.json is "tcpexp dataset", version 1, which this tcpexp does not read as a survey: make it again with `tcpexp survey`"#);
    desk.put("text.json", b"{");
    assert_snapshot!(desk.failure(&format!("{path} text.json")), @"text.json is not a survey: EOF while parsing an object at line 1 column 1");
    assert_snapshot!(desk.misuse("rtt src.pcap --survey survey.json"), @"error: the following required arguments were not provided:");
    let mut changed = desk.get("src.pcap");
    let last = changed.len() - 1;
    changed[last] ^= 1;
    desk.put("src.pcap", &changed);
    assert_snapshot!(desk.failure(rtt), @"survey.json was made from src.pcap, and src.pcap has other contents");
}

#[test]
fn a_survey_gives_the_same_bytes_again() {
    let desk = Desk::new();
    let survey = || desk.bytes("survey src.pcap dst.pcap -q -o -");
    assert!(!survey().is_empty());
    assert_eq!(survey(), survey());
}
