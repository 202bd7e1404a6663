//! `tcpexp path` with more than two captures.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use insta::assert_snapshot;
use tcpexp_testkit::{Middle, Path, Scenario, TcpLoad, TwoCaptures, simulate};
use tcpexp_units::{Skew, TimeDelta};

use crate::desk::{Desk, ordinary, text, time};

type Row = BTreeMap<String, serde_json::Value>;

/// An upload and a telephone call over two hops: the first is narrow, both lose packets.
static TWO_HOPS: LazyLock<TwoCaptures> = LazyLock::new(|| simulate(&two_hops(0)));

fn two_hops(missed_ppm: u32) -> Scenario {
    Scenario {
        tcp: vec![TcpLoad {
            bytes: 1_500_000,
            ..TcpLoad::default()
        }],
        rate_bps: 20_000_000,
        queue_bytes: 60_000,
        delay: TimeDelta::from_millis(4),
        loss_ppm: 3_000,
        middles: vec![Middle {
            path: Path {
                delay: TimeDelta::from_millis(15),
                loss_ppm: 9_000,
                ..Path::default()
            },
            offset: TimeDelta::from_seconds(-40),
            skew: Skew::from_ppt(50_000_000),
            missed_ppm,
            ..Middle::default()
        }],
        ..ordinary()
    }
}

fn desk_with(captures: &TwoCaptures) -> Desk {
    let desk = Desk::with(captures);
    desk.put("mid.pcap", &captures.middles[0]);
    desk
}

fn desk() -> Desk {
    desk_with(&TWO_HOPS)
}

fn rows(json: &[u8]) -> Vec<Row> {
    let lines = text(json);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of_segment<'a>(rows: &'a [Row], segment: &'a str) -> impl Iterator<Item = &'a Row> {
    rows.iter().filter(move |row| row["segment"] == segment)
}

const COMMAND: &str = "path src.pcap mid.pcap dst.pcap";

#[test]
fn table_shows_each_segment_and_the_whole_path() {
    let table = desk().text(COMMAND);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert_snapshot!(table);
}

#[test]
fn losses_of_the_segments_sum_to_those_of_the_whole_path() {
    let desk = desk();
    desk.text(&format!("{COMMAND} -q --flows flows.json"));
    let flows = rows(&desk.get("flows.json"));
    let lost = |segment: &str, direction: &str| {
        let rows = of_segment(&flows, segment).filter(|row| row["direction"] == direction);
        rows.map(|row| row["lost_packets"].as_u64().unwrap())
            .sum::<u64>()
    };
    for direction in ["forward", "reverse"] {
        let parts = [lost("1>2", direction), lost("2>3", direction)];
        assert_eq!(parts[0] + parts[1], lost("1>3", direction));
        assert!(
            direction == "reverse" || parts.iter().all(|lost| *lost > 3),
            "{parts:?}"
        );
    }
}

/// Name of a row's column about the point of its segment that is nearer to the first point.
fn near(row: &Row, what: &str) -> String {
    let passed = if row["way"] == "out" {
        "sent"
    } else {
        "received"
    };
    format!("{passed}_{what}")
}

fn far(row: &Row, what: &str) -> String {
    let passed = if row["way"] == "out" {
        "received"
    } else {
        "sent"
    };
    format!("{passed}_{what}")
}

#[test]
fn delays_of_the_segments_sum_to_those_of_the_whole_path() {
    let rows = rows(&desk().bytes(&format!("{COMMAND} --format json")));
    let by_record_near = |segment| -> BTreeMap<u64, &Row> {
        of_segment(&rows, segment)
            .filter(|row| row["fate"] == "delivered")
            .map(|row| (row[&near(row, "record")].as_u64().unwrap(), row))
            .collect()
    };
    let [first, second, whole] = ["1>2", "2>3", "1>3"].map(by_record_near);
    let delay = |row: &Row| row["one_way_delay_ns"].as_i64().unwrap();
    let mut summed = 0;
    for (record, whole) in whole {
        let Some(first) = first.get(&record) else {
            continue;
        };
        let in_middle = first[&far(first, "record")].as_u64().unwrap();
        let second = second[&in_middle];
        assert_eq!(delay(first) + delay(second), delay(whole));
        let sent_and_received = time(&whole["received_time"]) - time(&whole["sent_time"]);
        assert_eq!(sent_and_received, delay(whole));
        assert_eq!(whole[&near(whole, "time")], first[&near(first, "time")]);
        assert_eq!(whole[&far(whole, "time")], second[&far(second, "time")]);
        summed += 1;
    }
    assert!(summed > 1_000, "{summed}");
}

#[test]
fn a_packet_that_the_middle_capture_missed_is_not_lost() {
    let desk = desk_with(&simulate(&two_hops(30_000)));
    let output = desk.run(&format!("{COMMAND} -q --flows flows.json"));
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(text(&output.stderr));
    let flows = rows(&desk.get("flows.json"));
    let sum = |segment: &str, column: &str| {
        of_segment(&flows, segment)
            .map(|row| row[column].as_u64().unwrap())
            .sum::<u64>()
    };
    assert!(sum("1>2", "missed_packets") > 10);
    let parts = ["1>2", "2>3"].map(|segment| sum(segment, "lost_packets"));
    assert!(parts.iter().sum::<u64>() <= sum("1>3", "lost_packets"));
    assert_eq!(sum("1>3", "missed_packets"), 0);
}

#[test]
fn selecting_a_flow_selects_it_on_all_segments() {
    let desk = desk();
    desk.text(&format!(
        "{COMMAND} -q --flow :5001 --flows flows.csv -o packets.csv"
    ));
    for name in ["flows.csv", "packets.csv"] {
        let table = text(&desk.get(name));
        let mut flows: Vec<[&str; 2]> = table
            .lines()
            .skip(1)
            .map(|line| {
                let cells: Vec<&str> = line.split(',').collect();
                [cells[0], cells[1]]
            })
            .collect();
        flows.sort_unstable();
        flows.dedup();
        let numbers: Vec<_> = flows.iter().map(|[_, flow]| flow).collect();
        assert_eq!(flows.len(), 3, "{name} {flows:?}");
        assert!(numbers.windows(2).all(|pair| pair[0] == pair[1]), "{name}");
    }
    assert_snapshot!(
        desk.failure(&format!("{COMMAND} --flow 77")),
        @"no packet measured between src.pcap and dst.pcap: no flow matches 77"
    );
}

#[test]
fn charts_and_a_second_standard_input_are_refused() {
    let desk = desk();
    assert_snapshot!(
        [
            "path src.pcap mid.pcap dst.pcap --plot path.svg",
            "path src.pcap - -",
            "path src.pcap dst.pcap mid.csv -o mid.csv",
        ]
        .map(|line| desk.misuse(line))
        .join("\n")
    );
}

#[test]
fn standard_input_may_be_any_of_the_points() {
    let desk = desk();
    let named = desk.text(&format!("{COMMAND} -q"));
    for (line, file) in [
        ("path - mid.pcap dst.pcap -q", "src.pcap"),
        ("path src.pcap - dst.pcap -q", "mid.pcap"),
        ("path src.pcap mid.pcap - -q", "dst.pcap"),
    ] {
        let piped = desk.command(line).write_stdin(desk.get(file)).unwrap();
        assert_eq!(text(&piped.stdout), named, "{line}");
    }
}
