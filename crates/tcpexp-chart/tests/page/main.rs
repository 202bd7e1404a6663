//! A page in a real browser: opened from disk, it draws, filters, zooms and sorts. A chart there: its
//! letters take the room of the layout in any font.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod gaps;
mod print;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tcpexp_chart::page::{
    Page, PageAxis, PageFlow, PageParameter, PageRow, PageRun, PageSeries, PageTable, TableColumn,
    page_quantiles,
};
use tcpexp_chart::{FigureSize, RateSeries, Thinned, rate_figure};
use tcpexp_table::compare::main_compare_columns;
use tcpexp_units::{TimeDelta, Timestamp};

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

/// Remembers the box of each text that a canvas shows.
const RECORDER: &str = "
    const proto = CanvasRenderingContext2D.prototype;
    const { fillText, clearRect } = proto;
    proto.clearRect = function (...args) { this.canvas.shown = []; return clearRect.apply(this, args); };
    proto.fillText = function (text, x, y, ...rest) {
      const m = this.measureText(text);
      const at = this.getTransform();
      const corners = [[x - m.actualBoundingBoxLeft, y - m.actualBoundingBoxAscent], [x + m.actualBoundingBoxRight, y + m.actualBoundingBoxDescent]]
        .map(([a, b]) => new DOMPoint(a, b).matrixTransform(at));
      const [xs, ys] = [corners.map((p) => p.x), corners.map((p) => p.y)];
      if (text !== '') (this.canvas.shown ??= []).push({ text, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) });
      return fillText.call(this, text, x, y, ...rest);
    };";

#[test]
fn names_below_boxes_neither_overlap_nor_leave_the_chart() {
    const REPORTER: &str = "
        window.addEventListener('load', () => setTimeout(() => {
          const crossings = (canvas) => {
            const all = canvas.shown ?? [];
            const cross = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            const pairs = all.flatMap((one, index) => all.slice(index + 1).filter((other) => cross(one, other)).map((other) => one.text + ' x ' + other.text));
            const outside = all.filter((text) => text.left < 0 || text.top < 0 || text.right > canvas.width || text.bottom > canvas.height);
            return pairs.concat(outside.map(({ text }) => text + ' is outside'));
          };
          const canvases = [...document.querySelectorAll('#charts canvas')];
          const names = canvases[canvases.length - 1].shown.filter(({ text }) => /[a-z]/.test(text));
          const found = { faults: canvases.flatMap(crossings), names: names.length };
          document.body.append(element('pre', { id: 'found' }, JSON.stringify(found)));
        }, 200));";
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    for flows in [2, 40] {
        let mut page = page();
        for run in &mut page.runs {
            let first = run.flows[0].clone();
            run.flows = (0..flows)
                .map(|port| PageFlow {
                    label: format!("172.16.10.3:{} > 172.16.11.2:5201", 40_000 + port),
                    ..first.clone()
                })
                .collect();
        }
        let html = page.html().unwrap();
        let html = html.replacen("<head>", &format!("<head><script>{RECORDER}</script>"), 1);
        let html = html.replace("</body>", &format!("<script>{REPORTER}</script></body>"));
        let path = dir.path().join("boxes.html");
        fs::write(&path, html).unwrap();
        for width in WIDTHS {
            let found = read(browser, dir.path(), &path, width);
            let case = format!("{flows} flows at {width} pixels: {found}");
            assert_eq!(found["faults"], json!([]), "{case}");
            // The quantity of the vertical axis, and at least two boxes.
            assert!(found["names"].as_u64().unwrap() > 2, "{case}");
        }
    }
}

#[test]
fn the_columns_of_a_comparison_need_no_scrolling_on_a_small_screen() {
    const REPORTER: &str = "
        window.addEventListener('load', () => setTimeout(() => {
          const hidden = [...document.querySelectorAll('.scroll')].map((frame) => frame.scrollWidth - frame.clientWidth);
          const titles = [...document.querySelectorAll('table.rows th')].filter((title) => title.scrollWidth > title.clientWidth);
          document.body.append(element('pre', { id: 'found' }, JSON.stringify({ hidden, cut: titles.length })));
        }, 200));";
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut page = page();
    let parameters = ["cc", "delay_ms", "rate_mbps"].map(str::to_owned);
    let names: Vec<String> = parameters
        .into_iter()
        .chain(main_compare_columns())
        // The page has the columns of lower bounds only where a number is unknown.
        .filter(|name| !name.contains("_least"))
        .collect();
    // Numbers of four digits, as the page shows them, with the largest units of a usual sweep.
    let value = |name: &String| match name.as_str() {
        "cc" => json!("westwood"),
        "class" => json!("voice"),
        "runs" => json!(10),
        name if name.ends_with("_bps") => json!(123_456_789.0),
        name if name.ends_with("_ms") => json!(123.456),
        _ => json!(0.123_456),
    };
    let row = |run: usize| PageRow {
        runs: vec![run],
        values: names.iter().map(value).collect(),
    };
    let column = |name: &String| TableColumn {
        name: name.clone(),
        definition: String::new(),
        is_main: true,
    };
    let columns = names.iter().map(column).collect();
    page.tables = vec![PageTable::new("Cells", columns, (0..4).map(row).collect())];
    let html = page.html().unwrap();
    let html = html.replace("</body>", &format!("<script>{REPORTER}</script></body>"));
    let path = dir.path().join("columns.html");
    fs::write(&path, html).unwrap();
    for width in [1_100, 1_900] {
        let found = read(browser, dir.path(), &path, width);
        let fits = json!({"hidden": [0, 0], "cut": 0});
        assert_eq!(found, fits, "{width} pixels");
    }
}

#[test]
fn legends_have_quantities_with_units_the_dashes_of_their_lines_and_values_beside_long_names() {
    const REPORTER: &str = "
        window.addEventListener('load', () => setTimeout(() => {
          const series = [...document.querySelectorAll('#charts .chart:first-child .u-legend .u-series')].slice(1);
          const dashes = series.map((one) => getComputedStyle(one.querySelector('.u-marker')).borderTopStyle);
          // The last line of the name and the value.
          const bottoms = (one) => ['.u-label', '.u-value'].map((part) => [...one.querySelector(part).getClientRects()].at(-1).bottom);
          const below = series.map(bottoms).filter(([name, value]) => value > name + 2).length;
          document.body.append(element('pre', { id: 'found' }, JSON.stringify({ name: series[0].querySelector('.u-label').textContent, dashes, below })));
        }, 200));";
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut page = page();
    page.runs.truncate(1);
    let run = &mut page.runs[0];
    run.flows.push(PageFlow {
        label: "172.16.10.3:40001 > 172.16.11.2:5202".into(),
        ..run.flows[0].clone()
    });
    run.name = "a-run-with-a-long-name-of-many-words-".repeat(3);
    let html = page.html().unwrap();
    let html = html.replace("</body>", &format!("<script>{REPORTER}</script></body>"));
    let path = dir.path().join("legend.html");
    fs::write(&path, html).unwrap();
    for width in WIDTHS {
        assert_eq!(
            read(browser, dir.path(), &path, width),
            json!({"name": "cubic, rate 2 Mbit/s, 172.16.10.3:40000 &gt; 172.16.11.2:5201", "dashes": ["solid", "dashed"], "below": 0}),
            "{width} pixels"
        );
    }
}

/// Families whose letters have other widths than the layout's; generic names are fonts of the system.
const FAMILIES: [&str; 3] = ["monospace", "serif", "DejaVu Sans"];
/// Largest difference between the width of a text in the layout and in the browser, in units of 0.1 mm.
const MAX_DIFFERENCE: f64 = 1.0;

#[test]
fn letters_of_any_font_have_the_width_of_the_layout() {
    const MEASURE: &str = "
        const svg = document.querySelector('svg');
        const all = [...svg.querySelectorAll('text')].map((text) => {
          const { x, width } = text.getBBox();
          return { text: text.textContent.trim(), x, width, length: Number(text.getAttribute('textLength')) };
        });
        const pre = document.createElement('pre');
        pre.id = 'found';
        pre.textContent = JSON.stringify(all);
        document.body.append(pre);";
    let Some(browser) = browser() else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut rates = RateSeries::new("172.16.10.3:40000 > 172.16.11.2:5201, an upload of a backup");
    for bin in 0..100_i64 {
        let start = Timestamp::from_nanos(bin * 100_000_000);
        let width = TimeDelta::from_millis(100);
        rates.add(start, width, width, u64::try_from(bin).unwrap() * 1_000_000);
    }
    let size = FigureSize {
        width_mm: 85,
        height_mm: 60,
    };
    let svg = rate_figure((&[rates], 1), &[], None, size).unwrap();
    for family in FAMILIES {
        let of_family = svg
            .as_str()
            .replace("Liberation Sans, Arial, Helvetica", family);
        let path = dir.path().join("font.html");
        let page = format!("<!doctype html><body>{of_family}<script>{MEASURE}</script></body>");
        fs::write(&path, page).unwrap();
        let found = read(browser, dir.path(), &path, 1_000);
        let texts = found.as_array().unwrap();
        assert!(texts.len() > 10, "{texts:?}");
        for text in texts {
            let number = |key: &str| text[key].as_f64().unwrap();
            let off = (number("width") - number("length")).abs();
            assert!(off <= MAX_DIFFERENCE, "{family}: {text}");
        }
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
    let parameter = |name: &str, values: [Value; 2]| PageParameter::new(name, values.into());
    let axis = |key: &str, title: &str, axis: &str| PageAxis {
        key: key.into(),
        title: title.into(),
        axis: axis.into(),
        is_rate: false,
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
        chosen_flows: 1,
    }
}
