//! `tcpexp flows` and `tcpexp rtt` with one capture.

use std::collections::HashMap;
use std::fs::File;

use arrow::ipc::reader::FileReader;
use arrow::record_batch::RecordBatch;
use insta::assert_snapshot;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tcpexp_testkit::script;

use crate::desk::{Desk, cell, fixture, fixtures, reason, text};

/// The commands that take one capture.
pub(crate) const COMMANDS: [&str; 2] = ["flows", "rtt"];

/// A table as cells of text with the header first, independent of the format.
pub(crate) type Rows = Vec<Vec<String>>;

pub(crate) fn csv(bytes: &[u8]) -> Rows {
    let cells = |line: &str| line.split(',').map(str::to_owned).collect();
    text(bytes).lines().map(cells).collect()
}

fn json(bytes: &[u8], header: &[String]) -> Rows {
    let row = |line: &str| {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).unwrap();
        assert_eq!(object.len(), header.len());
        let cell = |column: &String| match &object[column] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => String::new(),
            other => other.to_string(),
        };
        header.iter().map(cell).collect()
    };
    let mut rows = vec![header.to_vec()];
    rows.extend(text(bytes).lines().map(row));
    rows
}

fn batches(batches: impl Iterator<Item = RecordBatch>) -> Rows {
    let mut rows = Rows::new();
    for batch in batches {
        if rows.is_empty() {
            let schema = batch.schema();
            rows.push(schema.fields().iter().map(|f| f.name().clone()).collect());
        }
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter();
            rows.push(cells.map(|array| cell(array, row)).collect());
        }
    }
    rows
}

/// Returns the values of some columns.
pub(crate) fn columns(rows: &Rows, names: &[&str]) -> Vec<Vec<String>> {
    let place = |name: &&str| rows[0].iter().position(|column| column == name).unwrap();
    let places: Vec<usize> = names.iter().map(place).collect();
    let pick = |row: &Vec<String>| places.iter().map(|place| row[*place].clone()).collect();
    rows[1..].iter().map(pick).collect()
}

fn assert_fits(table: &str) {
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
        assert_eq!(line.trim_end(), line, "blanks at the end");
    }
}

#[test]
fn tables_show_each_connection_and_its_two_directions() {
    let desk = Desk::new();
    let udp_too = fixture("adsl-udp-upload/src.pcap.gz");
    assert_snapshot!(desk.text(&format!("flows {udp_too}")));
    assert_snapshot!(desk.text(&format!("rtt {udp_too}")));
    let reordered = fixture("short-cubic-reordering/rcv.pcap.gz");
    assert_snapshot!(desk.text(&format!("flows {reordered}")));
    assert_snapshot!(desk.text(&format!("rtt {reordered}")));
}

#[test]
fn tables_fit_a_terminal_of_80_columns() {
    let desk = Desk::new();
    for capture in fixtures().iter().flatten() {
        for command in COMMANDS {
            assert_fits(&desk.text(&format!("{command} {capture}")));
        }
    }
}

#[test]
fn a_row_of_flows_has_all_columns_of_a_direction() {
    let desk = Desk::new();
    let capture = fixture("short-cubic-reordering/rcv.pcap.gz");
    let rows = csv(&desk.bytes(&format!("flows {capture} --format csv")));
    let lines: Vec<String> = (1..rows[0].len())
        .map(|column| {
            let [name, forward, reverse] = [0, 1, 2].map(|row| rows[row][column].as_str());
            format!("{name}: {forward} | {reverse}")
        })
        .collect();
    assert_snapshot!(lines.join("\n"));
}

#[test]
fn every_format_holds_the_same_rows() {
    let desk = Desk::new();
    for command in COMMANDS {
        let table = desk.text(&format!("{command} src.pcap"));
        let written = |name: &str| {
            let shown = desk.text(&format!("{command} src.pcap -o {name}"));
            assert_eq!(shown, table, "beside a file there is the table");
            desk.get(name)
        };
        let rows = csv(&written("rows.csv"));
        assert!(rows.len() > 2, "{command}");
        assert!(json(&written("rows.json"), &rows[0]) == rows, "{command}");
        written("rows.arrow");
        let arrow = FileReader::try_new(File::open(desk.path("rows.arrow")).unwrap(), None);
        assert!(
            batches(arrow.unwrap().map(Result::unwrap)) == rows,
            "{command}"
        );
        written("rows.parquet");
        let file = File::open(desk.path("rows.parquet")).unwrap();
        let parquet = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let parquet = parquet.build().unwrap();
        assert!(batches(parquet.map(Result::unwrap)) == rows, "{command}");
        for format in ["csv", "json", "arrow", "parquet"] {
            let printed = desk.bytes(&format!("{command} src.pcap --format {format}"));
            assert!(printed == desk.get(&format!("rows.{format}")), "{format}");
        }
        assert_eq!(desk.text(&format!("{command} src.pcap -o rows.txt")), "");
        assert_eq!(text(&desk.get("rows.txt")), table);
        assert_eq!(
            desk.misuse(&format!("{command} src.pcap --format spp")),
            "error: the format spp requires rtt with two captures"
        );
    }
}

#[test]
fn several_captures_yield_one_csv_and_a_printed_table_each() {
    let desk = Desk::new();
    let tables = ["src.pcap", "dst.pcap"].map(|name| {
        let table = desk.text(&format!("flows {name}"));
        format!("{name}\n{table}")
    });
    assert_eq!(desk.text("flows src.pcap dst.pcap"), tables.join("\n"));
    let both = csv(&desk.bytes("flows src.pcap dst.pcap --format csv"));
    let [src, dst] = ["src.pcap", "dst.pcap"]
        .map(|name| csv(&desk.bytes(&format!("flows {name} --format csv"))));
    // The rows of one capture need no name of their capture.
    let named = |rows: Vec<Vec<String>>, name: &str| {
        let row = |row: Vec<String>| [&[name.to_owned()], &row[1..]].concat();
        rows.into_iter().map(row).collect::<Vec<_>>()
    };
    assert_eq!(both[0], src[0]);
    let (src, dst) = (named(src, "src.pcap"), named(dst, "dst.pcap"));
    assert_eq!(both[1..], [&src[1..], &dst[1..]].concat());
}

#[test]
fn round_trip_times_of_the_summary_match_the_rows() {
    let desk = Desk::new();
    let rows = csv(&desk.bytes("rtt src.pcap --format csv"));
    let mut counts: HashMap<String, usize> = HashMap::new();
    for row in columns(&rows, &["direction", "method", "ack_class"]) {
        let method = match (row[1].as_str(), row[2].as_str()) {
            (_, "unasked") => "unasked",
            ("timestamps", _) => "timestamp",
            _ => "ACK",
        };
        *counts.entry(format!("{} {method}", row[0])).or_default() += 1;
    }
    let table = desk.text("rtt src.pcap");
    let lines: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("  "))
        .collect();
    assert_eq!(lines.len(), counts.len());
    for line in lines {
        let (name, numbers) = line.split_at(19);
        let samples: String = numbers[..10].chars().filter(char::is_ascii_digit).collect();
        assert_eq!(samples, counts[name.trim()].to_string(), "{line}");
    }
}

#[test]
fn a_flow_is_selected_by_number_or_part_of_an_address() {
    let desk = Desk::new();
    let capture = fixture("adsl-udp-upload/src.pcap.gz");
    for command in COMMANDS {
        let all = csv(&desk.bytes(&format!("{command} {capture} --format csv")));
        for flow in ["1", "172.16.10.3:57866"] {
            let line = format!("{command} {capture} --format csv --flow {flow}");
            let chosen = csv(&desk.bytes(&line));
            let mut expected = all.clone();
            let place = all[0]
                .iter()
                .position(|column| column == "flow_id")
                .unwrap();
            expected.retain(|row| row[place] == "1" || row[place] == "flow_id");
            assert!(expected.len() > 1);
            assert_eq!(chosen, expected, "{line}");
        }
        let table = desk.text(&format!("{command} {capture} --flow 1"));
        assert!(
            table.contains("57866") && !table.contains("57878"),
            "{table}"
        );
    }
}

#[test]
fn flows_beyond_the_limit_are_summarised_in_one_line() {
    let desk = Desk::new();
    let capture = fixture("adsl-udp-upload/src.pcap.gz");
    let last = |line: &str| {
        let table = desk.text(&format!("{line} {capture} -q"));
        table.lines().last().unwrap().to_owned()
    };
    assert_snapshot!(last("flows --limit 1"), @"and 2 more flows (306 751 bytes of payload)");
    assert_snapshot!(last("flows --limit 2"), @"and 1 more flow (799 bytes of payload)");
    assert_snapshot!(last("flows --limit 0"), @"and 3 flows (3 919 548 bytes of payload)");
    assert_snapshot!(last("rtt --limit 1"), @"and 1 more flow (33 samples)");
    assert_snapshot!(last("rtt --limit 0"), @"and 2 flows (4 467 samples)");
}

#[test]
fn quiet_prints_only_the_numbers() {
    let desk = Desk::new();
    let mut frames = script::capture("0.0 > S\n0.1 < S.\n0.1 > .");
    // A record of 20 bytes without a packet.
    frames.extend([1_u32, 0, 20, 20].map(u32::to_le_bytes).concat());
    frames.extend([0; 20]);
    desk.put("odd.pcap", &frames);
    let (loud, quiet) = (desk.text("flows odd.pcap"), desk.text("flows odd.pcap -q"));
    assert_snapshot!(loud, @r"
    Mbit/s, ms   packets   payload B  goodput   retr. reordered RTTmin median    p95
    0 tcp 10.0.0.1:40000 > 10.0.0.2:80  100.0 ms, open, seen at initiator
      forward          2           0        0       0         0  100.0  100.0  100.0
      reverse          1           0        0       0         0  0.000  0.000  0.000

    skipped         1 not IP
    ");
    assert!(loud.starts_with(&quiet) && !quiet.contains("skipped"));
    for command in COMMANDS {
        assert_eq!(desk.text(&format!("{command} odd.pcap -q -o rows.csv")), "");
    }
}

#[test]
fn captures_without_packets_are_left_out_of_several_with_a_warning() {
    let desk = Desk::new();
    desk.put("empty.pcap", b"");
    desk.put("header.pcap", &desk.get("src.pcap")[..24]);
    let output = desk.run("flows empty.pcap src.pcap header.pcap");
    assert!(output.status.success());
    assert!(text(&output.stdout).starts_with("src.pcap\n"));
    assert_snapshot!(text(&output.stderr), @r"
    tcpexp: warning: cannot read empty.pcap: the file is empty; left out
    tcpexp: warning: nothing usable in header.pcap: no records; left out
    ");
    let none = desk.run("flows header.pcap empty.pcap");
    assert!(!none.status.success());
    assert_snapshot!(text(&none.stderr), @r"
    tcpexp: warning: nothing usable in header.pcap: no records; left out
    tcpexp: cannot read empty.pcap: the file is empty
    ");
}

#[test]
fn a_file_that_is_not_a_capture_is_refused_by_name() {
    let desk = Desk::new();
    desk.put("empty", b"");
    desk.put("letter.txt", b"Dear colleague,\nattached is the trace.\n");
    desk.put("header.pcap", &desk.get("src.pcap")[..24]);
    desk.put("half-a-header.pcap", &desk.get("src.pcap")[..13]);
    let names = [
        "missing",
        "empty",
        "letter.txt",
        "header.pcap",
        "half-a-header.pcap",
    ];
    let mut reasons = Vec::new();
    for name in names {
        let reason = desk.failure(&format!("flows {name} -o rows.csv"));
        assert_eq!(desk.failure(&format!("rtt {name} --format csv")), reason);
        assert_eq!(desk.failure(&format!("rtt {name} --live")), reason);
        // A capture without packets is left out of several.
        if !["empty", "header.pcap"].contains(&name) {
            assert_eq!(desk.failure(&format!("flows src.pcap {name}")), reason);
        }
        reasons.push(reason);
    }
    assert!(!desk.path("rows.csv").exists());
    assert_snapshot!(reasons.join("\n"), @r#"
    cannot open missing: No such file or directory (os error 2)
    cannot read empty: the file is empty
    cannot read letter.txt: not a capture: it starts with 44 65 61 72 20 63 6f 6c ("Dear col")
    nothing usable in header.pcap: no records
    cannot read half-a-header.pcap: the file ends after 13 of the 24 bytes of its header
    "#);
}

#[test]
fn a_truncated_capture_yields_a_result_and_a_warning_with_the_place() {
    let desk = Desk::new();
    let src = desk.get("src.pcap");
    desk.put("cut.pcap", &src[..src.len() - 1]);
    for line in [
        "flows cut.pcap",
        "flows cut.pcap -q",
        "rtt cut.pcap",
        "rtt cut.pcap --live",
    ] {
        let output = desk.run(line);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).lines().count() > 2, "{line}");
        let warning = reason(&output);
        assert!(warning.starts_with("warning: cut.pcap: "), "{warning}");
        assert!(warning.contains("at byte "), "{warning}");
    }
}

#[test]
fn a_capture_without_acks_has_flows_and_no_round_trip_times() {
    let desk = Desk::new();
    desk.put(
        "asked.pcap",
        &script::capture("0.0 > S\n1.0 > S\n1.5 > udp 10 flow 1"),
    );
    assert_snapshot!(desk.text("flows asked.pcap"), @r"
    Mbit/s, ms   packets   payload B  goodput   retr. reordered RTTmin median    p95
    1 udp 10.0.0.1:40001 > 10.0.0.2:80  0 ns
      forward          1          10        -       -         -      -      -      -
    0 tcp 10.0.0.1:40000 > 10.0.0.2:80  1.0 s, unanswered
      forward          2           0        0       1         0      -      -      -
    ");
    assert_snapshot!(desk.failure("rtt asked.pcap -o rows.csv"), @"no round-trip time in asked.pcap: no TCP segment was acknowledged, and no handshake or spin bit of QUIC gives one");
    assert_snapshot!(
        desk.failure("rtt asked.pcap --flow 0"),
        @"no round-trip time in asked.pcap: no TCP segment of 0 was acknowledged"
    );
    assert_snapshot!(
        desk.failure("rtt asked.pcap --flow 1"),
        @"no round-trip time in asked.pcap: no TCP flow and no QUIC connection with one matches 1"
    );
    assert_eq!(desk.text("rtt asked.pcap --live"), "");
    assert_eq!(desk.written(), ["asked.pcap"]);
}

#[test]
fn an_option_of_two_captures_requires_both() {
    let desk = Desk::new();
    assert_snapshot!(desk.misuse("rtt src.pcap --max-owd 1s"), @"error: the following required arguments were not provided:");
    assert_snapshot!(desk.misuse("rtt src.pcap --symmetric"), @"error: the following required arguments were not provided:");
}

#[test]
fn counts_that_need_sequence_numbers_are_null_for_datagrams() {
    let desk = Desk::empty();
    let call = script::capture(
        "
        0.0 > udp 100
        0.1 > udp 100
        0.2 < udp 100
        0.3 > 1:1001(1000) flow 1
        0.4 < ack 1001 flow 1
    ",
    );
    desk.put("call.pcap", &call);
    let rows = csv(&desk.bytes("flows call.pcap --format csv"));
    let names = [
        "protocol",
        "direction",
        "data_packets",
        "missed_bytes",
        "retransmitted_packets",
        "reordered_packets",
        "duplicate_packets",
        "duplicate_ack_packets",
    ];
    let counts: Vec<String> = columns(&rows, &names)
        .iter()
        .map(|row| row.join(","))
        .collect();
    assert_snapshot!(counts.join("\n"), @"
    udp,forward,2,,,,,
    udp,reverse,1,,,,,
    tcp,forward,1,0,0,0,0,0
    tcp,reverse,0,0,0,0,0,0
    ");
}
