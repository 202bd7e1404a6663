//! Folders of datasets, which are read as sweeps are.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use tcpexp_testkit::{Scenario, simulate};

use crate::compare::rows;
use crate::desk::{Desk, gzip, ordinary, text};

/// Three datasets of two cells.
fn desk() -> Desk {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("sets")).unwrap();
    for (name, cc, rate, seed) in [
        ("a", "reno", "10", 1),
        ("b", "reno", "10", 2),
        ("c", "cubic", "2.5", 3),
    ] {
        let captures = simulate(&Scenario { seed, ..ordinary() });
        desk.put("one.pcap", &captures.src);
        desk.put("two.pcap", &captures.dst);
        desk.text(&format!(
            "analyze one.pcap two.pcap -q -o sets/{name} --param cc={cc} --param rate_mbps={rate}"
        ));
    }
    desk
}

#[test]
fn datasets_are_compared_by_their_parameters() {
    let desk = desk();
    let table = desk.text("compare sets --format csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    let column = |name: &str| {
        let place = rows[0].iter().position(|known| *known == name).unwrap();
        rows[1..]
            .iter()
            .filter(|row| row.contains(&"load"))
            .map(move |row| row[place])
            .collect::<Vec<_>>()
    };
    assert_eq!(column("cc"), ["cubic", "reno"]);
    assert_eq!(column("rate_mbps"), ["2.5", "10.0"]);
    assert_eq!(column("runs"), ["1", "2"]);
    // Of one run, the goodput is that of the flows that carry the load.
    let goodput: f64 = column("goodput_bps")[0].parse().unwrap();
    assert!(goodput > 0.0, "{table}");
}

#[test]
fn charts_and_reports_have_the_parameters_of_datasets() {
    let desk = desk();
    desk.text("plot bar sets --y goodput --x cc,rate_mbps -o bar.svg");
    let svg = String::from_utf8(desk.get("bar.svg")).unwrap();
    for text in ["cubic", "reno", "2.5", "10"] {
        assert!(svg.contains(text), "{text}");
    }
    desk.text("report sets -o page.html");
    let page = String::from_utf8(desk.get("page.html")).unwrap();
    assert!(page.contains("3 runs of 2 cells."));
    assert!(page.contains("\"rate_mbps\""));
}

/// Two datasets whose parameter `buffer` is a number in one and text in the other, each of captures
/// of its own.
fn mixed() -> Desk {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("sets")).unwrap();
    for (name, buffer, seed) in [("a", "10", 1), ("b", "auto", 2)] {
        let captures = simulate(&Scenario { seed, ..ordinary() });
        desk.put(&format!("{name}1.pcap"), &captures.src);
        desk.put(&format!("{name}2.pcap"), &captures.dst);
        desk.text(&format!(
            "analyze {name}1.pcap {name}2.pcap -q -o sets/{name} --param site=x --param buffer={buffer} --filter tcp"
        ));
    }
    desk
}

#[test]
fn numbers_and_names_of_a_parameter_are_text_in_charts_of_a_folder() {
    let desk = mixed();
    for paths in ["sets", "sets/a sets/b"] {
        desk.text(&format!(
            "plot bar {paths} --y goodput --x buffer -o bar.svg"
        ));
        let svg = text(&desk.get("bar.svg"));
        assert!(svg.contains("auto"), "{paths}");
    }
    desk.text("plot ecdf sets --x rtt --filter buffer=10 -o one.svg");
    let cells = desk.text("compare sets");
    assert!(cells.contains("auto"), "{cells}");
}

#[test]
fn a_folder_of_datasets_is_analysed_again_in_its_place() {
    let desk = mixed();
    let tables = |name: &str| desk.get(&format!("sets/{name}/rtt.parquet"));
    let before = tables("a");
    // One type for the parameter; everything else is as it was.
    desk.text("analyze sets -q");
    let again = tables("a");
    assert_ne!(before, again);
    let manifest = text(&desk.get("sets/b/manifest.json"));
    assert!(manifest.contains("\"filter\": \"tcp\""), "{manifest}");
    desk.text("analyze sets -q");
    assert_eq!(again, tables("a"));
    // Another option is named, since the earlier dataset is gone.
    let output = desk.run("analyze sets/a --bin 1s");
    assert_snapshot!(text(&output.stderr), @"tcpexp: warning: sets/a: the option bin_ns was 100000000 and is 1000000000");
}

#[test]
fn a_dataset_keeps_the_end_of_its_range_if_only_the_start_is_new() {
    let desk = Desk::new();
    desk.bytes("analyze src.pcap -o set --from 100ms --to 400ms -q");
    desk.bytes("analyze set --from 200ms -q");
    desk.bytes("analyze src.pcap -o expected --from 200ms --to 400ms -q");
    assert_eq!(
        desk.get("set/flows.parquet"),
        desk.get("expected/flows.parquet")
    );
}

#[test]
fn one_clock_replaces_the_symmetric_paths_of_a_dataset() {
    let desk = Desk::empty();
    let captures = simulate(&Scenario::default());
    desk.put("src.pcap", &captures.src);
    desk.put("dst.pcap", &captures.dst);
    desk.bytes("analyze src.pcap dst.pcap -o pair --symmetric -q");
    desk.bytes("analyze pair --one-clock -q");
    let manifest = text(&desk.get("pair/manifest.json"));
    assert!(manifest.contains("\"symmetric\": false"), "{manifest}");
    assert!(manifest.contains("\"one_clock\": true"), "{manifest}");
}

#[test]
fn captures_with_other_contents_leave_their_dataset_as_it_is() {
    let desk = mixed();
    desk.put("b1.pcap", &gzip(&desk.get("b1.pcap")));
    let before = desk.get("sets/b/flows.parquet");
    let output = desk.run("analyze sets -q");
    assert!(!output.status.success());
    assert_snapshot!(text(&output.stderr), @r"
    tcpexp: sets/b: b1.pcap has changed since the dataset was made
    tcpexp: the analysis of 1 of 2 runs failed
    ");
    assert_eq!(desk.get("sets/b/flows.parquet"), before);
}

#[test]
fn one_dataset_is_a_separate_run() {
    let desk = mixed();
    let goodput = |line: &str| {
        let rows = rows(&desk.text(line));
        let is_wanted = |row: &&BTreeMap<String, String>| {
            row["class"] == "load" && row["buffer"].starts_with("10")
        };
        let found: Vec<String> = rows
            .iter()
            .filter(is_wanted)
            .map(|row| row["goodput_bps"].clone())
            .collect();
        found
    };
    let one = goodput("compare sets/a --format csv");
    assert_eq!(one.len(), 1);
    assert_eq!(one, goodput("compare sets --format csv"));
}

#[test]
fn a_folder_without_runs_is_refused() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("empty")).unwrap();
    assert_snapshot!(desk.failure("compare empty"), @"there is no run in empty: expected runs/<run>/run.json, or datasets of tcpexp analyze");
}
