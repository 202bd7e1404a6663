//! Folders of datasets, which are read as sweeps are.

use insta::assert_snapshot;
use tcpexp_testkit::{Scenario, simulate};

use crate::desk::{Desk, ordinary};

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

#[test]
fn a_folder_without_runs_is_refused() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("empty")).unwrap();
    assert_snapshot!(desk.failure("compare empty"), @"there is no run in empty: expected runs/<run>/run.json, or datasets of tcpexp analyze");
}
