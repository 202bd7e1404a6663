//! Every kind of chart with few and many series, of a capture, a folder of datasets and a sweep: no
//! text overlaps another text, the data or the edge.
//!
//! `TCPEXP_GALLERY=DIR cargo test -p tcpexp-cli --test command gallery` also writes all charts in all
//! themes, and a page with them, to DIR.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::json;
use tcpexp_testkit::{Scenario, TcpLoad, simulate};
use tcpexp_units::TimeDelta;

use crate::desk::Desk;
use crate::layouts::Layouts;

/// Numbers of series.
const SERIES: [usize; 4] = [1, 2, 7, 12];
/// The number of series that is drawn in all themes.
const THEMED: usize = 2;
const WIDTHS: [&str; 2] = ["column", "page"];
const THEMES: [&str; 3] = ["paper", "dark", "grey"];
/// The tables that charts of runs read. Without the others, which a chart opens too, the test is faster.
const TABLES: [&str; 3] = ["flows.parquet", "rtt.parquet", "throughput.parquet"];
/// Congestion controls, whose names are the labels of series.
const NAMES: [&str; 12] = [
    "reno",
    "cubic",
    "vegas",
    "bbr",
    "westwood",
    "illinois",
    "cdg",
    "htcp",
    "veno",
    "yeah",
    "highspeed",
    "scalable",
];

/// Writes captures of a path with this delay, and a queue that grows with the seed.
fn captures(desk: &Desk, flows: usize, seed: u64, delay_ms: i64) {
    let captures = simulate(&Scenario {
        seed,
        tcp: vec![TcpLoad {
            flows: u32::try_from(flows).unwrap(),
            bytes: 1_000_000_000,
            ..TcpLoad::default()
        }],
        rate_bps: 4_000_000,
        queue_bytes: 15_000 + 5_000 * seed,
        delay: TimeDelta::from_millis(delay_ms),
        max_time: Some(TimeDelta::from_seconds(1)),
        ..Scenario::default()
    });
    desk.put("a.pcap", &captures.src);
    desk.put("b.pcap", &captures.dst);
}

/// Number of runs of each cell of a control: several of the first two controls, so that charts have both
/// intervals and single runs.
fn repetitions(number: u64) -> u64 {
    if number <= 2 { 3 } else { 1 }
}

/// Names of the runs of a control at a delay, with their repetitions.
fn runs(number: u64, cc: &str, delay: i64) -> impl Iterator<Item = (u64, String)> {
    let runs = 1..=repetitions(number);
    runs.map(move |repetition| (repetition, format!("{cc}{delay}r{repetition}")))
}

/// Writes a sweep with each control at two delays, in the folder `all`.
fn all_runs(desk: &Desk) {
    let cells = (1..).zip(NAMES).flat_map(|cell| [(cell, 10), (cell, 40)]);
    for ((number, cc), delay) in cells {
        for (repetition, name) in runs(number, cc, delay) {
            captures(desk, 2, number + 3 * (repetition - 1), delay);
            let run = desk.path(&format!("all/{name}"));
            fs::create_dir_all(&run).unwrap();
            desk.bytes(&format!(
                "analyze a.pcap b.pcap -o all/{name}/data --bin 10ms --quiet --param run={name} \
                 --param cc={cc} --param delay_ms={delay}"
            ));
            let record = json!({
                "schema": 1, "run": name, "cell": format!("{cc}{delay}"), "repetition": repetition, "seed": 7,
                "plan_hash": "ab", "status": "complete", "reason": null,
                "parameters": {"cc": cc, "delay_ms": delay}, "varied": ["cc", "delay_ms"],
                "t0_ns": 1_700_000_000_000_000_000_i64, "bottleneck": {}, "calibration": null, "queue": null,
                "started_ns": 1, "finished_ns": 2,
            });
            fs::write(run.join("run.json"), record.to_string()).unwrap();
        }
    }
}

/// Copies the first controls to the desk: as the sweep `sweep` and as datasets in `folder`.
fn take_runs(desk: &Desk, all: &Desk, series: usize) {
    for (number, cc) in (1..).zip(&NAMES[..series]) {
        let names = [10, 40]
            .into_iter()
            .flat_map(|delay| runs(number, cc, delay));
        for (_, name) in names {
            let run = all.path(&format!("all/{name}"));
            let as_run = desk.path(&format!("sweep/runs/{name}"));
            copy(&run.join("data"), &as_run.join("data"));
            fs::copy(run.join("run.json"), as_run.join("run.json")).unwrap();
            copy(&run.join("data"), &desk.path(&format!("folder/{name}")));
        }
    }
}

/// Copies these tables of a dataset, and the manifest without the others.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for table in TABLES {
        fs::copy(from.join(table), to.join(table)).unwrap();
    }
    let manifest = fs::read_to_string(from.join("manifest.json")).unwrap();
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let listed = manifest["tables"].as_array_mut().unwrap();
    listed.retain(|entry| TABLES.contains(&entry["file"].as_str().unwrap()));
    fs::write(to.join("manifest.json"), manifest.to_string()).unwrap();
}

/// The charts of runs: name, and arguments after the data.
const OF_RUNS: [(&str, &str); 18] = [
    ("ecdf", "--group cc"),
    ("ecdf", ""),
    ("box", ""),
    ("box", "--x delay --colour cc"),
    ("violin", "--x cc"),
    ("bar", ""),
    ("bar", "--x delay --colour cc"),
    ("heatmap", "--value goodput --x cc --y delay"),
    ("fairness", "--x delay --colour cc"),
    ("throughput-delay", "--group cc"),
    ("ecdf", "--group cc --facet delay"),
    ("ecdf", "--group delay --facet cc"),
    ("box", "--x cc --facet delay"),
    ("box", "--x delay --colour delay --facet cc"),
    ("violin", "--x delay --facet cc"),
    ("bar", "--x delay --facet cc"),
    ("fairness", "--x delay --colour cc --labels"),
    ("throughput-delay", "--group delay --facet cc"),
];

/// The charts of one capture: name, data, and arguments after it.
const OF_FLOWS: [(&str, &str, &str); 10] = [
    ("ecdf", "rtt.parquet", ""),
    ("box", "rtt.parquet", ""),
    ("violin", "rtt.parquet", ""),
    ("box", "data", "--y goodput"),
    ("bar", "data", ""),
    ("timeseries", "data", ""),
    ("timeseries", "data", "--panel throughput,rtt --labels"),
    // A number at the very top of the axis, below the marks of losses.
    ("timeseries", "data", "--panel throughput --y-limits 0:4"),
    ("throughput-delay", "data", ""),
    ("sequence", "a.pcap", "--flow #0"),
];

#[test]
fn no_text_of_a_chart_overlaps_text_or_data() {
    let page = std::env::var_os("TCPEXP_GALLERY");
    let mut gallery = Gallery::new(page.as_deref().map(Path::new));
    let all = Desk::empty();
    all_runs(&all);
    for series in SERIES {
        let desk = Desk::empty();
        take_runs(&desk, &all, series);
        for data in ["sweep", "folder"] {
            for (kind, options) in OF_RUNS {
                gallery.add(&desk, series, &format!("{kind} {data} {options}"));
            }
        }
        captures(&desk, series, 5, 10);
        desk.bytes("rtt a.pcap b.pcap -q -o rtt.parquet");
        desk.bytes("analyze a.pcap b.pcap -o data --quiet");
        for (kind, data, options) in OF_FLOWS {
            gallery.add(&desk, series, &format!("{kind} {data} {options}"));
        }
    }
    gallery.finish();
}

struct Gallery<'a> {
    folder: Option<&'a Path>,
    page: String,
    faults: Vec<String>,
    layouts: Layouts,
}

impl<'a> Gallery<'a> {
    fn new(folder: Option<&'a Path>) -> Self {
        Self {
            folder,
            page: "<!doctype html><meta charset=utf-8><title>Charts</title>".to_owned(),
            faults: Vec::new(),
            layouts: Layouts::new(),
        }
    }

    /// Draws a chart in both widths, and checks its texts.
    fn add(&mut self, desk: &Desk, series: usize, line: &str) {
        for width in WIDTHS {
            let mut checked: Vec<String> = Vec::new();
            // One number of series shows whether a theme changes the layout, with each theme in one
            // width.
            let themes = match (series, width) {
                _ if self.folder.is_some() => &THEMES[..],
                (THEMED, "page") => &["paper", "dark"],
                (THEMED, _) => &["paper", "grey"],
                _ => &THEMES[..1],
            };
            for theme in themes {
                let output = desk.run(&format!(
                    "plot {line} --width {width} --theme {theme} -o chart.svg"
                ));
                let name = format!("{series} series: plot {line} --width {width} --theme {theme}");
                if !output.status.success() {
                    let why = String::from_utf8_lossy(&output.stderr);
                    self.faults.push(format!("{name}: {}", why.trim()));
                    break;
                }
                let svg = String::from_utf8(desk.get("chart.svg")).unwrap();
                // Themes differ in colours, and also in dashes and hatches.
                let layout = without_colours(&svg);
                if !checked.contains(&layout) {
                    let found = self.layouts.overlaps(&svg, line.starts_with("heatmap"));
                    let found = found.iter().map(|fault| format!("{name}: {fault}"));
                    self.faults.extend(found);
                    checked.push(layout);
                }
                if let Some(folder) = self.folder {
                    fs::create_dir_all(folder).unwrap();
                    let file = format!("{:04}.svg", self.page.matches("<img").count());
                    fs::write(folder.join(&file), &svg).unwrap();
                    let _ = write!(self.page, "<p>{name}<br><img src={file}>");
                }
            }
        }
    }

    fn finish(self) {
        if let Some(folder) = self.folder {
            fs::write(folder.join("index.html"), &self.page).unwrap();
        }
        assert!(self.faults.is_empty(), "{}", self.faults.join("\n"));
    }
}

/// The chart with all colours alike.
fn without_colours(svg: &str) -> String {
    const DIGITS: usize = 6;
    let mut parts = svg.split("\"#");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(&part[DIGITS..]);
    }
    plain
}
