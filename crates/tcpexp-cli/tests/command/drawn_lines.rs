//! A band over time, read back from the SVG and computed a second time in SQL; and the
//! room and the colours of charts with many series.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tcpexp_testkit::{Scenario, TcpLoad, simulate};
use tcpexp_units::TimeDelta;

use crate::chart_marks::{Chart, Points};
use crate::compare::{python, query};
use crate::desk::{Desk, fixture};

/// Colour of the band of flows without a colour.
const BAND: &str = "#D5D5D5";
/// Colours of axes and grids.
const AXES: [&str; 2] = ["#222222", "#DDDDDD"];
/// Flows with a colour.
const COLOURED: usize = 7;

/// Heights at which the outline of an area crosses a vertical line.
fn heights(outline: &Points, x: f64) -> Vec<f64> {
    let next = outline.iter().cycle().skip(1);
    let sides = outline.iter().zip(next);
    let crossing = sides.filter(|(from, to)| from.0.min(to.0) < x && x < from.0.max(to.0));
    let mut found: Vec<f64> = crossing.map(|(from, _)| from.1).collect();
    found.sort_by(f64::total_cmp);
    found
}

#[test]
fn flows_without_a_colour_are_one_band_with_their_number() {
    let Some(python) = python() else {
        return;
    };
    let desk = Desk::empty();
    let captures = simulate(&Scenario {
        seed: 5,
        tcp: vec![TcpLoad {
            flows: 19,
            bytes: 1_000_000_000,
            ..TcpLoad::default()
        }],
        rate_bps: 20_000_000,
        queue_bytes: 100_000,
        delay: TimeDelta::from_millis(10),
        max_time: Some(TimeDelta::from_seconds(4)),
        ..Scenario::default()
    });
    desk.put("a.pcap", &captures.src);
    desk.put("b.pcap", &captures.dst);
    desk.bytes("analyze a.pcap b.pcap -o data --quiet");
    let drawn = "timeseries data --panel goodput --filter capture=dst --filter direction=forward";
    let chart = Chart::of(&desk, drawn);
    let number = format!("{} others, 5 % to 95 %", 19 - COLOURED);
    let texts: Vec<&str> = chart
        .texts
        .iter()
        .map(|label| label.text.as_str())
        .collect();
    let is_it = |text: &&&str| **text == number;
    assert_eq!(texts.iter().filter(is_it).count(), 1, "{texts:?}");
    let lines = chart.lines.iter().map(|(colour, _)| colour.as_str());
    let of_flows = |colour: &&str| !AXES.contains(colour) && *colour != BAND;
    let colours: BTreeSet<&str> = lines.filter(of_flows).collect();
    assert_eq!(colours.len(), COLOURED, "{colours:?}");
    // The bins in which each of these flows has a rate.
    let bins = query(
        &python,
        &desk.path("."),
        "",
        "WITH rates AS (SELECT flow_id, time_s, goodput_bps AS bps FROM 'data/throughput.parquet'
            WHERE capture = 'dst' AND direction = 'forward' AND flow_id IS NOT NULL
            AND goodput_bps IS NOT NULL),
        ranked AS (SELECT flow_id, row_number() OVER (ORDER BY sum(bps) DESC) AS place
            FROM rates GROUP BY flow_id)
        SELECT time_s AS start,
            quantile_cont(bps / 1e6, 0.05) AS low, quantile_cont(bps / 1e6, 0.95) AS high
        FROM rates JOIN ranked USING (flow_id) WHERE place > 7
        GROUP BY time_s HAVING count(*) = 12 ORDER BY time_s",
    );
    let outlines: Vec<_> = chart
        .areas
        .iter()
        .filter(|(colour, _)| colour == BAND)
        .collect();
    let (x, y) = (chart.x(), chart.y());
    let mut compared = 0;
    // The capture ends within the last bin.
    for bin in &bins[..bins.len() - 1] {
        let number = |name: &str| bin[name].parse::<f64>().unwrap();
        // The middle of the bin, which is 100 ms wide.
        let at = x.position(number("start") + 0.05);
        let crossed = outlines
            .iter()
            .flat_map(|(_, outline)| heights(outline, at));
        let crossed: Vec<f64> = crossed.map(|height| y.value(height)).collect();
        let [high, low] = crossed[..] else {
            panic!("{bin:?}: {crossed:?}");
        };
        assert!(
            (high - number("high")).abs() <= y.error(),
            "{bin:?}: {high}"
        );
        assert!((low - number("low")).abs() <= y.error(), "{bin:?}: {low}");
        compared += 1;
    }
    assert!(compared > 20, "{compared} bins");
}

/// A table with values of several groups.
fn groups(names: &[String]) -> String {
    let mut table = "name,rtt_ms\n".to_owned();
    for (place, name) in names.iter().enumerate() {
        for value in 0..40 {
            let _ = writeln!(table, "{name},{}", 10 * (place + 1) + value);
        }
    }
    table
}

#[test]
fn many_series_have_colours_of_their_own_and_a_panel_with_room() {
    let desk = Desk::empty();
    let short: Vec<String> = (1..=12).map(|number| format!("series {number}")).collect();
    desk.put("short.csv", groups(&short).as_bytes());
    let chart = Chart::of(&desk, "ecdf short.csv --x rtt --group name --width column");
    let lines = chart.lines.iter().map(|(colour, _)| colour.as_str());
    let colours: BTreeSet<&str> = lines.filter(|colour| !AXES.contains(colour)).collect();
    assert_eq!(colours.len(), short.len(), "{colours:?}");
    // Eight entries of the legend that need a row each.
    let flows = (1..=8).map(|port| format!("192.168.100.{port}:4000{port} > 192.168.101.1:5201"));
    desk.put("long.csv", groups(&flows.collect::<Vec<_>>()).as_bytes());
    for line in [
        "ecdf long.csv --x rtt --group name --width column",
        "box long.csv --y rtt --x name --width column",
        "violin long.csv --y rtt --x name --width column",
        "bar long.csv --y rtt --x name --width column",
    ] {
        let chart = Chart::of(&desk, line);
        // The two axes are the lines of three points: down, then right. A unit is a tenth of a
        // millimetre.
        let axes = chart.lines.iter().filter(|(colour, _)| colour == AXES[0]);
        let mut sizes = axes.filter_map(|(_, points)| match points[..] {
            [top, corner, end] => Some(((end.0 - corner.0) / 10.0, (corner.1 - top.1) / 10.0)),
            _ => None,
        });
        let (width, height) = sizes.next_back().unwrap();
        assert!(width >= 40.0, "{line}: {width} mm wide");
        assert!(height >= 20.0, "{line}: {height} mm high");
    }
}

/// Colour of fast recoveries.
const RECOVERY: &str = "#F6E4EF";

#[test]
fn a_recovery_that_the_capture_cuts_is_shaded_to_the_last_value_of_its_flow() {
    let Some(python) = python() else {
        return;
    };
    let desk = Desk::empty();
    let [src, dst] =
        ["src", "dst"].map(|point| fixture(&format!("reno-2mbit-40ms-50p/{point}.pcap.gz")));
    let analyze = |more: &str, out: &str| {
        desk.bytes(&format!("analyze {src} {dst} {more} -o {out} --quiet"));
    };
    let numbers = |statement: &str| -> Vec<f64> {
        let rows = query(&python, &desk.path("."), "", statement);
        let number = |row: &BTreeMap<String, String>| row["x"].parse().unwrap();
        rows.iter().map(number).collect()
    };
    analyze("", "whole");
    let middles = numbers(
        "SELECT time_s + (epoch_ns(end_time) - epoch_ns(time)) / 2e9 AS x FROM 'whole/events.parquet'
        WHERE event = 'recovery' AND kind = 'fast' AND flow_id = 1 ORDER BY time",
    );
    // In the middle of the last recovery but one.
    let cut = middles[middles.len() - 2];
    analyze(&format!("--to {cut}s"), "cut");
    // The axis goes on after the end of the flow.
    let line = format!(
        "timeseries cut --flow 1 --panel cwnd --x-limits {}:{}",
        cut.floor(),
        cut.floor() + 3.0
    );
    let chart = Chart::of(&desk, &line);
    let x = chart.x();
    let shaded = chart.sides.iter().filter(|(colour, _)| colour == RECOVERY);
    let sides = shaded.map(|(_, (left, right))| (x.value(*left), x.value(*right)));
    let sides: Vec<(f64, f64)> = sides.collect();
    let values =
        "(SELECT time_s FROM 'cut/sender.parquet' WHERE flow_id = 1 AND direction = 'forward'
        AND coalesce(cwnd_segments, flight_size_bytes) IS NOT NULL)";
    // Time zero of the chart is that of the table.
    let began = numbers(
        "SELECT time_s AS x FROM 'cut/events.parquet'
        WHERE event = 'recovery' AND flow_id = 1 AND end_time IS NULL",
    );
    let last = numbers(&format!("SELECT max(time_s) AS x FROM {values}"));
    let ([began], [last]) = (&began[..], &last[..]) else {
        panic!("{began:?} {last:?}");
    };
    let is_it = |side: &&(f64, f64)| (side.0 - began).abs() <= 2.0 * x.error();
    let of_it: Vec<_> = sides.iter().filter(is_it).collect();
    let [(_, end)] = of_it[..] else {
        panic!("{began}: {sides:?}");
    };
    assert!((end - last).abs() <= 2.0 * x.error(), "{end} and {last}");
    assert!(*end > *began, "{began} to {end}");
}
