//! `tcpexp throughput`.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use tcpexp_testkit::{Scenario, Sighting, UdpLoad, script, simulate};

use crate::desk::{Desk, ORDINARY, fixture, ordinary, reason, text, time};

fn desk_with(trace: &str) -> Desk {
    let desk = Desk::new();
    desk.put("trace.pcap", &script::capture(trace));
    desk
}

fn rows(desk: &Desk, line: &str) -> Vec<BTreeMap<String, serde_json::Value>> {
    let lines = desk.text(&format!("{line} --format json"));
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_table_shows_rates_per_flow_direction_and_total() {
    let capture = fixture("adsl-udp-upload/src.pcap.gz");
    let line = format!("throughput {capture} --rate 1Mbit --bin 500ms");
    let table = Desk::new().text(&line);
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert_snapshot!(table);
}

#[test]
fn a_row_is_a_bin_of_a_flow_direction_or_of_the_total() {
    let desk = desk_with(
        "
        0.000 > udp 958
        0.100 < udp 58
        2.050 > udp 458
        ",
    );
    assert_snapshot!(desk.text("throughput trace.pcap --rate 100kbit --format csv"));
}

#[test]
fn rates_refer_to_the_time_that_the_capture_covers() {
    let desk = Desk::new();
    let seen = ORDINARY.truth.src.records();
    let nanos = |seen: &Sighting| seen.at.as_nanos();
    let (first, last) = (nanos(&seen[0]), nanos(seen.last().unwrap()));
    // The last bin is covered by more than half, and by less.
    let mut covers = [false; 2];
    for millis in [100, 130, 170, 230, 310, 400] {
        let width = millis * 1_000_000;
        for row in rows(
            &desk,
            &format!("throughput src.pcap --bin {millis}ms --rate 1gbit"),
        ) {
            let start = time(&row["start_time"]);
            let covered = last.min(start + width) - first.max(start);
            assert_eq!(row["width_ns"], width);
            assert_eq!(row["covered_ns"], covered);
            let is_rated = 2 * covered >= width;
            covers[usize::from(is_rated)] |= covered < width;
            for (bytes, rate) in [
                ("wire_bytes", "wire_rate_bps"),
                ("ip_bytes", "throughput_bps"),
                ("goodput_bytes", "goodput_bps"),
            ] {
                let bits = row[bytes].as_i64().unwrap() * 8;
                let expected = is_rated.then(|| bits * 1_000_000_000 / covered);
                assert_eq!(row[rate].as_i64(), expected, "{rate} {row:?}");
            }
            assert_eq!(row["utilisation_share"].is_null(), !is_rated);
        }
    }
    assert_eq!(covers, [true; 2]);
}

#[test]
fn bins_of_flows_sum_to_the_total_bins() {
    let desk = Desk::new();
    let (mut flows, mut all) = (BTreeMap::new(), BTreeMap::new());
    for row in rows(&desk, "throughput src.pcap --bin 100ms") {
        let sums = if row["flow_id"].is_null() {
            &mut all
        } else {
            &mut flows
        };
        let bin = (row["start_time"].to_string(), row["direction"].to_string());
        let sum = sums.entry(bin).or_insert([0; 4]);
        for (sum, name) in
            sum.iter_mut()
                .zip(["packets", "wire_bytes", "ip_bytes", "goodput_bytes"])
        {
            *sum += row[name].as_u64().unwrap();
        }
    }
    all.retain(|(_, direction), _| direction != "null");
    assert!(all.len() > 20, "{}", all.len());
    for (bin, sum) in all {
        assert_eq!(flows.get(&bin).copied().unwrap_or_default(), sum, "{bin:?}");
    }
}

#[test]
fn an_origin_shifts_the_bins_and_keeps_the_sums() {
    let desk = Desk::new();
    let starts = |options: &str| -> Vec<i64> {
        let rows = rows(&desk, &format!("throughput src.pcap --bin 200ms {options}"));
        rows.iter().map(|row| time(&row["start_time"])).collect()
    };
    let remainder = |start: &i64| start.rem_euclid(200_000_000);
    assert!(
        starts("--origin 0")
            .iter()
            .all(|start| remainder(start) == 0)
    );
    let at = starts("--origin 1700000000.123456789");
    assert!(at.iter().all(|start| remainder(start) == 123_456_789));
    assert!(starts("").iter().any(|start| remainder(start) != 0));
}

#[test]
fn selecting_a_flow_keeps_the_total() {
    let desk = Desk::new();
    let all = rows(&desk, "throughput src.pcap");
    let chosen = rows(&desk, "throughput src.pcap --flow 0");
    let of = |rows: &[BTreeMap<String, serde_json::Value>], flow: serde_json::Value| {
        rows.iter().filter(|row| row["flow_id"] == flow).count()
    };
    assert!(of(&all, 1.into()) > 0);
    assert_eq!(of(&chosen, 1.into()), 0);
    for flow in [0.into(), serde_json::Value::Null] {
        assert_eq!(of(&chosen, flow.clone()), of(&all, flow));
    }
    assert_snapshot!(
        desk.failure("throughput src.pcap --flow 77 -o rates.csv --plot rates.svg"),
        @"no flow in src.pcap matches 77"
    );
    assert_eq!(desk.written(), [""; 0]);
}

#[test]
fn every_format_holds_the_same_rows() {
    let desk = Desk::new();
    let table = desk.text("throughput src.pcap");
    for name in ["rates.csv", "rates.parquet", "rates.arrow", "rates.json"] {
        let line = format!("throughput src.pcap -o {name}");
        assert_eq!(desk.text(&line), table, "the table is there as well");
        assert_eq!(desk.text(&format!("{line} -q")), "");
    }
    let lines = |name| text(&desk.get(name)).lines().count();
    assert_eq!(lines("rates.csv"), lines("rates.json") + 1);
    assert!(desk.get("rates.parquet").starts_with(b"PAR1"));
    assert!(desk.get("rates.arrow").starts_with(b"ARROW1"));
}

#[test]
fn one_way_traffic_has_one_line() {
    let captures = simulate(&Scenario {
        tcp: vec![],
        udp: vec![UdpLoad {
            reverse: false,
            ..UdpLoad::default()
        }],
        ..ordinary()
    });
    let table = Desk::with(&captures).text("throughput src.pcap --quiet");
    assert!(
        table.contains("forward") && !table.contains("reverse"),
        "{table}"
    );
}

#[test]
fn out_of_order_packet_is_counted_in_its_bin() {
    let desk = desk_with(
        "
        0.000 > udp 100
        5.000 > udp 100
        5.001 > udp 100
        1.000 > udp 100
        5.002 > udp 100
        ",
    );
    let output = desk.run("throughput trace.pcap --format csv");
    let (rows, warnings) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    assert!(warnings.contains("out of order in time"), "{warnings}");
    assert!(!warnings.contains("in no bin"), "{warnings}");
    let rows = String::from_utf8(rows).unwrap();
    // The bin from 1 s to 2 s has the packet of 142 bytes that the capture holds last but one.
    let row = "forward,1970-01-01T00:00:01.000000000Z,1000000000,1000000000,1,142,";
    assert!(rows.contains(row), "{rows}");
}

#[test]
fn charts_are_reproducible_in_both_formats() {
    let desk = Desk::new();
    let table = desk.text("throughput src.pcap --rate 10Mbit");
    for round in ["1", "2"] {
        for ending in ["svg", "png"] {
            let line = format!("throughput src.pcap --rate 10Mbit --plot {round}.{ending}");
            assert_eq!(desk.text(&line), table);
        }
    }
    assert!(desk.get("1.svg").starts_with(b"<svg "));
    assert!(desk.get("1.png").starts_with(b"\x89PNG\r\n"));
    for ending in ["svg", "png"] {
        assert_eq!(
            desk.get(&format!("1.{ending}")),
            desk.get(&format!("2.{ending}"))
        );
    }
    let drawn = text(&desk.get("1.svg"));
    for label in [
        "wire rate (Mbit/s)",
        "time (s)",
        "link: 10 Mbit/s",
        "all 2 flows, forward",
    ] {
        assert!(drawn.contains(label), "{label}");
    }
}

#[test]
fn a_file_that_is_not_a_capture_is_refused_by_name() {
    let desk = Desk::new();
    desk.put("empty", b"");
    desk.put("garbage", &[0xFE, 0xDC, 0xBA, 0x98].repeat(500));
    desk.put("header.pcap", &desk.get("src.pcap")[..24]);
    let reasons = ["missing", "empty", "garbage", "header.pcap"]
        .map(|name| desk.failure(&format!("throughput {name} -o rates.csv --plot rates.svg")));
    assert_snapshot!(reasons.join("\n"));
    assert_eq!(desk.written(), ["empty", "garbage", "header.pcap"]);
}

#[test]
fn a_truncated_capture_yields_a_result_and_a_warning_with_the_place() {
    let desk = Desk::new();
    let src = desk.get("src.pcap");
    desk.put("cut.pcap", &src[..src.len() / 2]);
    let output = desk.run("throughput cut.pcap");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("all 2 flows"));
    let warning = reason(&output);
    assert!(warning.starts_with("warning: cut.pcap: "), "{warning}");
    assert!(warning.contains("at byte "), "{warning}");
}

#[test]
fn invalid_arguments_exit_with_2_and_a_reason() {
    let desk = Desk::new();
    assert_snapshot!(
        [
            "throughput",
            "throughput src.pcap dst.pcap",
            "throughput src.pcap --bin 0s",
            "throughput src.pcap --bin 5",
            "throughput src.pcap --origin last",
            "throughput src.pcap --rate 10",
            "throughput src.pcap --rate 0bit",
            "throughput src.pcap -o rates.xlsx",
            "throughput src.pcap --format spp",
            "throughput src.pcap --plot rates.gif",
        ]
        .map(|line| desk.misuse(line))
        .join("\n")
    );
    assert_eq!(desk.written(), [""; 0]);
}

#[test]
fn standard_input_is_read_like_a_file() {
    let desk = Desk::new();
    let named = desk.text("throughput src.pcap");
    let piped = desk
        .command("throughput -")
        .write_stdin(desk.get("src.pcap"))
        .unwrap();
    assert_eq!(text(&piped.stdout), named);
}

#[test]
fn help_fits_a_terminal() {
    assert_snapshot!(Desk::new().text("throughput -h"));
}

#[test]
fn a_capture_with_hours_of_silence_is_refused_before_output() {
    let desk = desk_with("0 > udp 100\n40000 > udp 100\n");
    let message = desk.failure("throughput trace.pcap --bin 1ms -o bins.csv --quiet");
    assert!(
        message.ends_with(
            "more than 5000000 rows of empty bins for the first 4 rows with packets: use a longer \
             --bin, or --empty-bins to write all of them"
        ),
        "{message}"
    );
    let message = desk.failure("analyze trace.pcap --bin 1ms -o data --quiet");
    assert!(
        message.ends_with(
            "more than 5000000 rows of empty bins for the first 4 rows with packets: use a longer --bin"
        ),
        "{message}"
    );
    assert_eq!(desk.written(), ["trace.pcap"]);
    desk.text("throughput trace.pcap --bin 1min -o bins.csv --quiet");
    // The silence splits the datagrams into two flows, each with one bin per direction.
    assert_eq!(
        text(&desk.get("bins.csv")).lines().count(),
        1 + 667 * 3 + 2 * 2
    );
    // Enough empty rows to count them first, and few enough to write them.
    desk.text("throughput trace.pcap --bin 1s -o bins.csv --quiet");
    assert_eq!(
        text(&desk.get("bins.csv")).lines().count(),
        1 + 40_001 * 3 + 2 * 2
    );
}
