//! A number has one value: in charts, in `compare`, in the report, and in SQL over the raw tables.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::chart_marks::{Chart, Label};
use crate::compare::{grid, python, query, rows};
use crate::desk::{Desk, data_of_page};
use crate::drawn_values::sweep;

/// Numbers of the class `bulk`.
const OF_BULK: [&str; 17] = [
    "goodput_bps",
    "flow_goodput_bps",
    "utilisation",
    "rtt_base_ms",
    "rtt_min_ms",
    "rtt_median_ms",
    "rtt_p95_ms",
    "rtt_p99_ms",
    "rtt_mean_ms",
    "induced_rtt_median_ms",
    "induced_rtt_p95_ms",
    "loss_ratio",
    "retransmission_ratio",
    "jain",
    "max_min_ratio",
    "epsilon",
    "jain_window_median",
];
/// Numbers of transfers that end by themselves.
const OF_FILES: [&str; 4] = [
    "completion_median_s",
    "completion_p95_s",
    "slowdown_median",
    "goodput_bps",
];

type Row = BTreeMap<String, String>;

/// The factor from the unit in the name of an axis or a column to that of the column.
fn factor(column: &str, shown: &str) -> f64 {
    let unit = shown
        .rsplit_once('(')
        .map_or("", |(_, unit)| unit.trim_end_matches(')'));
    match (column.rsplit_once('_').map_or("", |(_, unit)| unit), unit) {
        ("bps", "kbit/s") | ("ms", "s") => 1e3,
        ("bps", "Mbit/s") => 1e6,
        ("ms", "µs") | ("s", "ms") => 1e-3,
        (_, "%") => 0.01,
        ("ms", "ms") | ("s", "s") | (_, "") => 1.0,
        other => panic!("{column} in {shown}: {other:?}"),
    }
}

/// Values of `column` in rows of this class, in order of generators and congestion control.
fn of_class(rows: &[Row], class: &str, column: &str) -> Vec<f64> {
    let mut found: Vec<(String, String, f64)> = rows
        .iter()
        .filter(|row| row["class"] == class)
        .filter_map(|row| {
            let value = row[column].parse().ok()?;
            Some((row["generators"].clone(), row["cc"].clone(), value))
        })
        .collect();
    found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    found.into_iter().map(|(.., value)| value).collect()
}

fn assert_near(ours: &[f64], theirs: &[f64], error: impl Fn(f64) -> f64, place: &str) {
    assert_eq!(ours.len(), theirs.len(), "{place}: {ours:?} and {theirs:?}");
    for (our, their) in ours.iter().zip(theirs) {
        let most = error(*their);
        assert!((our - their).abs() <= most, "{place}: {our} and {their}");
    }
}

#[test]
fn a_number_is_the_same_in_charts_comparison_report_and_sql() {
    let Some(python) = python() else {
        return;
    };
    let desk = sweep(&grid());
    let compared = rows(&desk.text("compare . --format csv"));
    // The statements of a comparison without the start of each run, here with the whole.
    let views = include_str!("compare.sql").replace("AS 2000000000;", "AS 0;");
    let computed = query(
        &python,
        &desk.path("."),
        &views,
        "SELECT r.cc, r.generators, c.* FROM cells c
        JOIN (SELECT DISTINCT cell, cc, generators FROM runs) r USING (cell)",
    );
    let reported = reported(&desk);
    let bulk = OF_BULK.iter().map(|measure| ("bulk", *measure));
    let files = OF_FILES.iter().map(|measure| ("file", *measure));
    for (class, measure) in bulk.chain(files) {
        let place = format!("{measure} of {class}");
        let own = of_class(&compared, class, measure);
        assert!(!own.is_empty(), "{place}");
        let exactly = |value: f64| 1e-9 * value.abs().max(1e-6);
        assert_near(
            &own,
            &of_class(&computed, class, measure),
            exactly,
            &format!("{place}, SQL"),
        );
        // The report has values in their units of display.
        let (heading, shown) = &reported[measure];
        let shown = of_class(shown, class, measure);
        let shown: Vec<f64> = shown
            .iter()
            .map(|value| value * factor(measure, heading))
            .collect();
        assert_near(&shown, &own, exactly, &format!("{place}, report"));
        bars(&desk, (class, measure), &own);
    }
    let sack: Vec<Row> = compared
        .iter()
        .filter(|row| row["cc"] == "sack")
        .cloned()
        .collect();
    for measure in ["jain", "max_min_ratio"] {
        dots(&desk, measure, &of_class(&sack, "bulk", measure));
    }
    heat(&desk, &of_class(&compared, "bulk", "rtt_median_ms"));
}

/// Heading and rows of each column of the report's cells.
fn reported(desk: &Desk) -> BTreeMap<String, (String, Vec<Row>)> {
    desk.text("report . -o page.html");
    let page = data_of_page(&desk.get("page.html"));
    let cells = &page["tables"][0];
    assert_eq!(cells["title"], "Cells");
    let columns: Vec<&Value> = cells["columns"].as_array().unwrap().iter().collect();
    let headings: Vec<&str> = columns
        .iter()
        .map(|one| one["heading"].as_str().unwrap())
        .collect();
    let place = |heading: &str| {
        headings
            .iter()
            .position(|one| one.starts_with(heading))
            .unwrap()
    };
    let keys = [
        ("class", place("class")),
        ("cc", place("congestion")),
        ("generators", place("generators")),
    ];
    let written = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let of_measure = |measure: &&str| {
        let name = tcpexp_chart::Quantity::of_column(measure).name;
        let is_it = |heading: &&str| **heading == name || heading.starts_with(&format!("{name} ("));
        let column = headings.iter().position(is_it).unwrap();
        let row = |row: &Value| -> Row {
            let values = &row["values"];
            let keys = keys.map(|(key, place)| (key.to_owned(), written(&values[place])));
            let own = ((*measure).to_owned(), written(&values[column]));
            keys.into_iter().chain([own]).collect()
        };
        let rows = cells["rows"].as_array().unwrap().iter().map(row).collect();
        ((*measure).to_owned(), (headings[column].to_owned(), rows))
    };
    OF_BULK.iter().chain(&OF_FILES).map(of_measure).collect()
}

/// Compares the bars of a chart: slots in order, and the colours of each.
fn bars(desk: &Desk, (class, measure): (&str, &str), own: &[f64]) {
    let line = format!("bar . --y {measure} --x generators --colour cc --flows {class}");
    let chart = Chart::of(desk, &line);
    let scale = chart.y();
    let unit = factor(measure, &axis(&chart, measure));
    let tops = chart.areas.iter().filter(|(_, points)| points.len() == 4);
    let tops = tops.map(|(_, points)| points.iter().fold(f64::MAX, |top, point| top.min(point.1)));
    let drawn: Vec<f64> = tops.map(|top| scale.value(top) * unit).collect();
    assert_near(&drawn, own, |_| scale.error() * unit, &line);
    let note = format!("{class} flows, direction with more payload");
    let texts: Vec<&str> = chart
        .texts
        .iter()
        .map(|label| label.text.as_str())
        .collect();
    assert!(texts.join(" ").contains(&note), "{texts:?}");
}

/// The name of the vertical axis.
fn axis(chart: &Chart, measure: &str) -> String {
    let name = tcpexp_chart::Quantity::of_column(measure).name;
    let is_it = |text: &&String| **text == name || text.starts_with(&format!("{name} ("));
    let mut names = chart.texts.iter().map(|label| &label.text).filter(is_it);
    names
        .next()
        .unwrap_or_else(|| panic!("no axis is named {name}"))
        .clone()
}

/// Compares the dots of a trend with the cells that have several flows.
fn dots(desk: &Desk, measure: &str, own: &[f64]) {
    let line = format!("fairness . --y {measure} --x generators --filter cc=sack");
    let chart = Chart::of(desk, &line);
    let y = chart.y();
    let drawn: Vec<f64> = chart.dots.iter().map(|(_, at, _)| y.value(at.1)).collect();
    assert_near(&drawn, own, |_| y.error(), &line);
    // Of the six runs three have one bulk flow.
    let texts: Vec<&str> = chart
        .texts
        .iter()
        .map(|label| label.text.as_str())
        .collect();
    let texts = texts.join(" ");
    assert!(
        texts.contains("without 3 runs of a single sender each"),
        "{texts}"
    );
}

/// Compares the numbers in the cells of a heat map, which have three digits.
fn heat(desk: &Desk, own: &[f64]) {
    let chart = Chart::of(desk, "heatmap . --x generators --y cc");
    let is_inside = |label: &&Label| {
        chart.areas.iter().any(|(_, points)| {
            let [low, .., high] = [points[0], points[1], points[2]];
            (low.0.min(high.0)..low.0.max(high.0)).contains(&label.x)
                && (low.1.min(high.1)..low.1.max(high.1)).contains(&label.y)
        })
    };
    let mut cells: Vec<&Label> = chart.texts.iter().filter(is_inside).collect();
    cells.sort_by(|a, b| (a.x, -a.y).partial_cmp(&(b.x, -b.y)).unwrap());
    let drawn: Vec<f64> = cells
        .iter()
        .map(|label| label.text.parse().unwrap())
        .collect();
    assert_near(&drawn, own, |value| value * 0.005, "heatmap");
}
