//! A page in a real browser: opened from disk, it draws, filters, zooms and sorts.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tcpexp_chart::Thinned;
use tcpexp_chart::page::{
    Page, PageAxis, PageFlow, PageParameter, PageRow, PageRun, PageSeries, PageTable, TableColumn,
    page_quantiles,
};
use tcpexp_units::Timestamp;

/// Does what a reader would and puts what came of it into the page.
const READER: &str = include_str!("reader.js");

/// Widths of the window, in pixels: a phone held across, a small and a large screen.
const WIDTHS: [u32; 3] = [500, 1_100, 1_900];

#[test]
fn a_page_opened_from_disk_draws_filters_zooms_and_sorts_at_each_width() {
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("page.html");
    let html = page().html().unwrap();
    let with_reader = html.replace("</body>", &format!("<script>{READER}</script></body>"));
    fs::write(&path, with_reader).unwrap();
    for width in WIDTHS {
        assert_eq!(
            read(browser, dir.path(), &path, width),
            json!({
                "charts": 4,
                "inked": [true, true, true, true],
                "shown": ["4 of 4 runs; 4 of 8 flows (bulk flows, forward)", "2 of 4 runs; 2 of 4 flows (bulk flows, forward)"],
                "lines": [4, 2],
                "overlaps": [0, 0],
                // Two rows of each table.
                "hidden_rows": 4,
                "columns": ["congestion control", "rate (Mbit/s)", "goodput (Mbit/s)"],
                "all_columns": 4,
                "zoomed": [true, true],
                "first_goodputs": ["9.5", "1.7"],
            }),
            "{width} pixels"
        );
    }
}

/// Opens the page in a window of this width and returns what the reader found.
fn read(browser: &str, dir: &Path, page: &Path, width: u32) -> Value {
    let profile = dir.join(format!("profile{width}"));
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--enable-logging=stderr", "--virtual-time-budget=20000"])
        .arg(format!("--window-size={width},1000"))
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = log
        .lines()
        .filter(|line| line.contains(":CONSOLE"))
        .collect();
    assert_eq!(console, [""; 0], "the console stays empty");
    let dom = String::from_utf8(output.stdout).unwrap();
    let found = dom.split("<pre id=\"found\">").nth(1).unwrap_or(&dom);
    serde_json::from_str(found.split("</pre>").next().unwrap()).unwrap()
}

/// Chromium; where there is none, the test is skipped.
fn browser() -> Option<&'static str> {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let browser = ["chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(is_there);
    if browser.is_none() {
        tcpexp_testkit::skip("needs chromium");
    }
    browser
}

/// Four runs: two congestion controls at two rates.
fn page() -> Page {
    let runs = [("cubic", 2), ("reno", 2), ("cubic", 10), ("reno", 10)];
    let parameter = |name: &str, values: [Value; 2]| PageParameter {
        name: name.into(),
        values: values.into(),
    };
    let axis = |key: &str, title: &str, axis: &str| PageAxis {
        key: key.into(),
        title: title.into(),
        axis: axis.into(),
    };
    let column = |(name, is_main): (&str, bool)| TableColumn {
        name: name.into(),
        definition: format!("The {name} of a cell"),
        is_main,
    };
    let columns = [
        ("cc", true),
        ("rate_mbps", true),
        ("goodput_bps", true),
        ("seed", false),
    ];
    let rows = runs.iter().enumerate().map(|(index, &(cc, rate))| {
        let mbps = f64::from(rate) * 0.9 + 0.5 * f64::from(u8::from(cc == "cubic" && rate == 10))
            - 0.1 * f64::from(u8::from(rate == 2));
        PageRow {
            runs: vec![index],
            values: vec![json!(cc), json!(rate), json!(mbps * 1e6), json!(1)],
        }
    });
    Page {
        title: "Two rates".into(),
        summary: "4 runs of 4 cells".into(),
        flow_rule: "bulk flows, forward".into(),
        parameters: vec![
            parameter("cc", [json!("cubic"), json!("reno")]),
            parameter("rate_mbps", [json!(2), json!(10)]),
        ],
        runs: runs.iter().map(|&(cc, rate)| run(cc, rate)).collect(),
        panels: vec![
            axis("rtt", "RTT", "RTT (ms)"),
            axis("cwnd", "Congestion window", "cwnd (segments)"),
        ],
        distributions: vec![axis("rtt", "RTT", "RTT (ms)")],
        tables: vec![PageTable::new(
            "Cells",
            columns.map(column).into(),
            rows.collect(),
        )],
    }
}

fn run(cc: &str, rate: i32) -> PageRun {
    let mut rtt = Thinned::<i64>::default();
    let mut cwnd = Thinned::<i64>::default();
    let period = if cc == "reno" { 700 } else { 1100 };
    for step in 0..3000_i64 {
        let at = Timestamp::from_nanos(step * 10_000_000);
        let queue = (step % period) * 50 / period;
        rtt.add(at, 40 + queue * 12 / i64::from(rate));
        cwnd.add(at, 10 + queue);
    }
    let samples = rtt.points(4096).iter().map(|(_, ms)| *ms as f64).collect();
    let start = Timestamp::from_nanos(0);
    let series = |points: &Thinned<i64>| PageSeries::of(points, start, 300, |value| value as f64);
    PageRun {
        name: format!("{cc}-{rate}mbit"),
        cell: Some(format!("{cc}{rate}")),
        repetition: Some(1),
        status: "complete".into(),
        reason: None,
        parameters: BTreeMap::from([("cc".into(), json!(cc)), ("rate_mbps".into(), json!(rate))]),
        flows: vec![PageFlow {
            label: "172.16.10.3:40000 > 172.16.11.2:5201".into(),
            series: BTreeMap::from([("rtt".into(), series(&rtt)), ("cwnd".into(), series(&cwnd))]),
            quantiles: BTreeMap::from([("rtt".into(), page_quantiles(samples).unwrap())]),
        }],
        all_flows: 2,
    }
}
