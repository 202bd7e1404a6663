//! Values that charts draw, read back from the SVG and computed a second time in SQL from the tables
//! of the runs.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tcpexp_testkit::simulate;

use crate::chart_marks::{Chart, Points, is_same};
use crate::compare::{Run, grid, python, query};
use crate::desk::{Desk, data_of_page};

/// The flow directions that carry the load of each run, with the parameters of the run.
const LOAD: &str = "WITH load AS (
    SELECT r.parameters.cc AS cc, r.parameters.generators AS generators, f.*,
        f.arrived_unique_bytes * 8e9 / f.arrived_span_ns AS bps
    FROM read_json('runs/*/run.json') r JOIN 'runs/*/data/flows.parquet' f USING (run)
    WHERE f.traffic_class = 'bulk' AND f.direction = 'forward') ";

/// A sweep whose runs are analysed in place, so that their tables have parameters and traffic classes.
pub(crate) fn sweep(runs: &[Run]) -> Desk {
    let desk = Desk::empty();
    for run in runs {
        let captures = simulate(&run.scenario());
        std::fs::create_dir_all(desk.path(&format!("runs/{}/captures", run.name))).unwrap();
        let mut record = run.record();
        record["captures"] = json!([
            {"host": "src1", "role": "source", "file": "captures/src1.pcap", "packets_dropped": 0},
            {"host": "dst1", "role": "sink", "file": "captures/dst1.pcap", "packets_dropped": 0},
        ]);
        let put = |name: &str, bytes: &[u8]| desk.put(&format!("runs/{}/{name}", run.name), bytes);
        put("captures/src1.pcap", &captures.src);
        put("captures/dst1.pcap", &captures.dst);
        put("run.json", record.to_string().as_bytes());
    }
    desk.bytes("analyze . --quiet");
    desk
}

/// Runs a statement after [`LOAD`], and returns the numbers of its rows.
fn load(python: &str, desk: &Desk, statement: &str) -> Vec<Vec<f64>> {
    let rows = query(python, &desk.path("."), "", &format!("{LOAD}{statement}"));
    let numbers =
        |row: &BTreeMap<String, String>| row.values().map(|value| value.parse().unwrap()).collect();
    rows.iter().map(numbers).collect()
}

/// Asserts that the numbers agree, in any order, within the error of both axes.
fn assert_same(mut drawn: Points, computed: &[Vec<f64>], (x_error, y_error): (f64, f64)) {
    assert_eq!(drawn.len(), computed.len(), "{drawn:?}: {computed:?}");
    for row in computed {
        let [x, y] = row[..] else {
            panic!("{row:?} has no two numbers");
        };
        let is_same =
            |point: &(f64, f64)| (point.0 - x).abs() <= x_error && (point.1 - y).abs() <= y_error;
        let Some(place) = drawn.iter().position(is_same) else {
            panic!("{row:?} is not among {drawn:?}");
        };
        drawn.remove(place);
    }
}

#[test]
fn charts_draw_the_flows_that_carry_the_load_and_weigh_runs_equally() {
    let Some(python) = python() else {
        return;
    };
    let desk = sweep(&grid());
    throughput_delay_has_a_point_per_flow(&python, &desk);
    distributions_begin_at_zero(&python, &desk);
    goodput_is_a_rate_in_every_chart(&python, &desk);
    rates_use_the_covered_part_of_a_bin(&python, &desk);
    reports_draw_the_same_flows(&python, &desk);
}

fn throughput_delay_has_a_point_per_flow(python: &str, desk: &Desk) {
    let chart = Chart::of(desk, "throughput-delay . --group cc --filter cc=sack");
    let (x, y) = (chart.x(), chart.y());
    let least = chart.dots.iter().map(|dot| dot.2).fold(f64::MAX, f64::min);
    // The larger dot is the mean.
    let dots = chart.dots.iter().filter(|dot| is_same(dot.2, least));
    let drawn = dots.map(|(_, (px, py), _)| (x.value(*px), y.value(*py)));
    let computed = load(
        python,
        desk,
        "SELECT rtt_median_ns / 1e6 AS a, bps / 1e6 AS b FROM load WHERE cc = 'sack'",
    );
    assert_same(drawn.collect(), &computed, (x.error(), y.error()));
}

fn distributions_begin_at_zero(python: &str, desk: &Desk) {
    let chart = Chart::of(desk, "ecdf . --x rtt --group cc --filter cc=sack");
    let (x, y) = (chart.x(), chart.y());
    let line = chart.lines.iter().max_by_key(|line| line.1.len()).unwrap();
    let line: Points = line
        .1
        .iter()
        .map(|(px, py)| (x.value(*px), y.value(*py)))
        .collect();
    assert!(line[0].1.abs() <= y.error(), "{:?}", line[0]);
    let computed = load(
        python,
        desk,
        "SELECT unnest([0.1, 0.25, 0.5, 0.75, 0.9]) AS b, unnest(quantile_cont(r.rtt_ns / 1e6, [0.1, 0.25, 0.5, 0.75, 0.9])) AS a
        FROM load JOIN 'runs/*/data/rtt.parquet' r USING (run, flow_id, direction)
        WHERE load.cc = 'sack' AND r.method = 'packet_pairs' AND r.reference = 'src'",
    );
    for row in computed {
        let [delay, share] = row[..] else {
            panic!("{row:?} has no two numbers");
        };
        let reached = line.iter().find(|point| point.1 >= share).unwrap();
        let error = 2.0 * x.error();
        assert!(
            (reached.0 - delay).abs() <= error,
            "{delay} at {share}: {reached:?}"
        );
    }
}

fn goodput_is_a_rate_in_every_chart(python: &str, desk: &Desk) {
    let axis = |line: &str| {
        let chart = Chart::of(desk, line);
        let names = chart.texts.iter().map(|label| label.text.clone());
        names
            .filter(|name| name.starts_with("goodput ("))
            .collect::<Vec<_>>()
    };
    for line in [
        "ecdf . --x goodput --group cc",
        "bar . --y goodput",
        "box . --y goodput",
        "timeseries runs/r1 --panel goodput --flow #0",
        "throughput-delay . --y goodput",
    ] {
        assert_eq!(axis(line), ["goodput (Mbit/s)"], "{line}");
    }
    let chart = Chart::of(desk, "ecdf . --x goodput --group cc --filter cc=sack");
    let (x, y) = (chart.x(), chart.y());
    let line = chart.lines.iter().max_by_key(|line| line.1.len()).unwrap();
    let middle = line.1.iter().find(|point| y.value(point.1) >= 0.5).unwrap();
    let computed = load(
        python,
        desk,
        "SELECT median(b.goodput_bytes * 8e3 / b.covered_ns) AS a FROM load
        JOIN 'runs/*/data/throughput.parquet' b USING (run, flow_id, direction)
        WHERE load.cc = 'sack' AND b.capture = 'dst' AND 2 * b.covered_ns >= b.width_ns",
    );
    let (drawn, computed) = (x.value(middle.0), computed[0][0]);
    assert!(
        (drawn - computed).abs() <= 2.0 * x.error(),
        "{drawn} and {computed}"
    );
}

fn rates_use_the_covered_part_of_a_bin(python: &str, desk: &Desk) {
    let flow = load(
        python,
        desk,
        "SELECT flow_id AS a FROM load WHERE run = 'r1'",
    )[0][0];
    // The run ends at 8 s, within the last of the wide bins.
    for (width, from) in [("100ms", "max(b.time_s) OVER ()"), ("3s", "6")] {
        let chart = Chart::of(
            desk,
            &format!(
                "timeseries runs/r1 --panel goodput --flow #{flow} --filter capture=dst --bin {width}"
            ),
        );
        let (x, y) = (chart.x(), chart.y());
        let line = chart.lines.iter().max_by_key(|line| line.1.len()).unwrap();
        let end = line.1.last().unwrap();
        let (end, drawn) = (x.value(end.0), y.value(end.1));
        let computed = load(
            python,
            desk,
            &format!(
                ", bins AS (SELECT b.*, {from} AS last_from FROM load
                JOIN 'runs/*/data/throughput.parquet' b USING (run, flow_id, direction)
                WHERE load.run = 'r1' AND b.capture = 'dst' AND 2 * b.covered_ns >= b.width_ns)
                SELECT sum(goodput_bytes) * 8e3 / sum(covered_ns) AS a,
                max(time_s + covered_ns / 1e9) AS b FROM bins WHERE time_s >= last_from"
            ),
        );
        assert!(
            (drawn - computed[0][0]).abs() <= y.error(),
            "{drawn} and {computed:?} in bins of {width}"
        );
        assert!(
            (end - computed[0][1]).abs() <= x.error(),
            "{end} and {computed:?} in bins of {width}"
        );
    }
}

/// The page hands its charts the values in its data: boxes the quantiles at five places of a list, lines
/// the points of a series.
fn reports_draw_the_same_flows(python: &str, desk: &Desk) {
    desk.text("report . -o page.html");
    let page = data_of_page(&desk.get("page.html"));
    let runs = page["runs"].as_array().unwrap().iter();
    let flows: Vec<(&Value, &Value)> = runs
        .flat_map(|run| {
            run["flows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|flow| (&run["name"], flow))
        })
        .collect();
    let statement = |what: &str| {
        format!(
            "{LOAD} SELECT load.run AS run, load.traffic AS traffic, {what} GROUP BY ALL ORDER BY ALL"
        )
    };
    let boxes = query(
        python,
        &desk.path("."),
        "",
        &statement(
            "quantile_cont(r.rtt_ns / 1e6, 0.05) AS q10, quantile_cont(r.rtt_ns / 1e6, 0.25) AS q50,
            quantile_cont(r.rtt_ns / 1e6, 0.5) AS q100, quantile_cont(r.rtt_ns / 1e6, 0.75) AS q150,
            quantile_cont(r.rtt_ns / 1e6, 0.95) AS q190
            FROM load JOIN 'runs/*/data/rtt.parquet' r USING (run, flow_id, direction)
            WHERE r.method = 'packet_pairs' AND r.reference = 'src'",
        ),
    );
    let bins = query(
        python,
        &desk.path("."),
        "",
        &statement(
            "b.time_s AS time_s, b.goodput_bps / 1e6 AS mbps
            FROM load JOIN 'runs/*/data/throughput.parquet' b USING (run, flow_id, direction)
            WHERE b.capture = 'dst' AND b.goodput_bps IS NOT NULL",
        ),
    );
    assert_eq!(flows.len(), boxes.len());
    let is_near = |drawn: &Value, computed: &str| {
        let (drawn, computed) = (drawn.as_f64().unwrap(), computed.parse::<f64>().unwrap());
        assert!((drawn - computed).abs() <= 1e-6, "{drawn} and {computed}");
    };
    let mut compared = 0;
    for (run, flow) in flows {
        let is_it = |row: &&BTreeMap<String, String>| {
            row["run"] == *run.as_str().unwrap()
                && row["traffic"] == *flow["label"].as_str().unwrap()
        };
        let quantiles = boxes.iter().find(is_it).unwrap();
        for place in [10, 50, 100, 150, 190] {
            is_near(
                &flow["quantiles"]["rtt"][place],
                &quantiles[&format!("q{place}")],
            );
        }
        let series = &flow["series"]["goodput"];
        let computed: Vec<_> = bins.iter().filter(is_it).collect();
        assert_eq!(series["values"].as_array().unwrap().len(), computed.len());
        for (place, row) in computed.into_iter().enumerate() {
            is_near(&series["time_s"][place], &row["time_s"]);
            is_near(&series["values"][place], &row["mbps"]);
            compared += 1;
        }
    }
    assert!(compared > 500, "{compared} bins");
}
