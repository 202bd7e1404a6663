//! The same rows in every format, and the packet pairs of SPP.

use std::fs::File;
use std::io::Read;

use arrow::datatypes::Schema;
use arrow::ipc::reader::FileReader;
use arrow::record_batch::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tcpexp_table::rtt_columns;

use crate::desk::{Desk, cell, fixture, text};

/// A table as cells of text, independent of the format.
type Rows = Vec<Vec<String>>;

fn columns() -> Vec<String> {
    names(&rtt_columns().schema())
}

fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|f| f.name().clone()).collect()
}

fn csv(bytes: &[u8]) -> Rows {
    let text = text(bytes);
    let mut lines = text
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect());
    assert_eq!(lines.next(), Some(columns()), "the header");
    lines.collect()
}

fn json(bytes: &[u8]) -> Rows {
    let row = |line: &str| {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(line).unwrap();
        assert_eq!(object.len(), columns().len());
        let cell = |column: &String| match &object[column] {
            serde_json::Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        columns().iter().map(cell).collect()
    };
    text(bytes).lines().map(row).collect()
}

fn batches(batches: impl Iterator<Item = RecordBatch>) -> Rows {
    let mut rows = Rows::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter();
            rows.push(cells.map(|array| cell(array, row)).collect());
        }
    }
    rows
}

fn arrow(file: File) -> Rows {
    let reader = FileReader::try_new(file, None).unwrap();
    assert_eq!(names(&reader.schema()), columns());
    batches(reader.map(Result::unwrap))
}

fn parquet(file: File) -> Rows {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(reader.schema(), &rtt_columns().schema());
    batches(reader.build().unwrap().map(Result::unwrap))
}

#[test]
fn every_format_holds_the_same_rows() {
    let desk = Desk::new();
    let table = desk.text("rtt src.pcap dst.pcap");
    let written = |name: &str| {
        let shown = desk.text(&format!("rtt src.pcap dst.pcap -o {name}"));
        assert_eq!(shown, table, "beside a file there is the table");
        File::open(desk.path(name)).unwrap()
    };
    let bytes = |name: &str| {
        let mut bytes = Vec::new();
        written(name).read_to_end(&mut bytes).unwrap();
        bytes
    };
    let rows = csv(&bytes("rtt.csv"));
    assert!(rows.len() > 1000, "{} rows", rows.len());
    for name in ["rtt.json", "rtt.jsonl", "rtt.NDJSON"] {
        assert!(json(&bytes(name)) == rows, "{name}");
    }
    for name in ["rtt.arrow", "rtt.feather", "rtt.ipc"] {
        assert!(arrow(written(name)) == rows, "{name}");
    }
    assert!(parquet(written("rtt.parquet")) == rows);
    assert_eq!(desk.text("rtt src.pcap dst.pcap -o rtt.txt"), "");
    assert_eq!(text(&desk.get("rtt.txt")), table);
}

#[test]
fn standard_output_gets_the_bytes_that_a_file_gets() {
    let desk = Desk::new();
    for format in ["csv", "json", "parquet", "arrow", "spp"] {
        let name = format!("rtt.{format}");
        desk.text(&format!("rtt src.pcap dst.pcap -q -o {name}"));
        let file = desk.get(&name);
        for line in ["", " -o -"] {
            let printed = desk.bytes(&format!("rtt src.pcap dst.pcap --format {format}{line}"));
            assert!(printed == file, "{format}");
        }
        // The requested format takes precedence over the file extension.
        desk.text(&format!(
            "rtt src.pcap dst.pcap -q -o other.csv --format {format}"
        ));
        assert!(desk.get("other.csv") == file, "{format}");
    }
}

#[test]
fn table_of_flows_accounts_for_every_packet() {
    let desk = Desk::new();
    desk.text("rtt src.pcap dst.pcap -q --flows flows.csv");
    let flows = text(&desk.get("flows.csv"));
    let mut lines = flows
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let mut samples = 0;
    for row in lines {
        let count = |name: &str| row[column(name)].parse::<u64>().unwrap();
        let upstream = ["matched", "ambiguous", "duplicate", "absent", "outside"];
        let accounted: u64 = upstream
            .map(|what| count(&format!("{what}_packets")))
            .iter()
            .sum();
        assert_eq!(count("seen_packets"), accounted);
        samples += count("samples");
    }
    let rows = csv(&desk.bytes("rtt src.pcap dst.pcap --format csv"));
    assert_eq!(samples, rows.len() as u64);
}

#[test]
fn spp_lines_are_the_pairs_at_the_source() {
    let desk = Desk::new();
    let rows = csv(&desk.bytes("rtt src.pcap dst.pcap --format csv"));
    let column = |name: &str| columns().iter().position(|c| c == name).unwrap();
    let nanos = |row: &Vec<String>, name| row[column(name)].parse::<f64>().unwrap();
    let at_src: Vec<_> = rows
        .iter()
        .filter(|row| row[column("reference")] == "src")
        .collect();
    let lines = text(&desk.bytes("rtt src.pcap dst.pcap --format spp"));
    assert_eq!(lines.lines().count(), at_src.len());
    for (line, row) in lines.lines().zip(at_src) {
        let seconds: Vec<f64> = line.split(' ').map(|cell| cell.parse().unwrap()).collect();
        let names = ["rtt_ns", "turnaround_ns", "owd_out_ns", "owd_back_ns"];
        for (seconds, name) in seconds[1..].iter().zip(names) {
            let off = (seconds * 1e9 - nanos(row, name)).abs();
            assert!(off <= 1_000.0, "{name} in {line} is off by {off} ns");
        }
    }
}

#[test]
fn output_of_the_classic_tool_is_reproduced_line_by_line() {
    let mut expected = Vec::new();
    let file = File::open(fixture("reno-2mbit-40ms-50p/spp-0.4.2.txt.gz")).unwrap();
    flate2::read::GzDecoder::new(file)
        .read_to_end(&mut expected)
        .unwrap();
    let desk = Desk::new();
    let [src, dst] =
        ["src", "dst"].map(|point| fixture(&format!("reno-2mbit-40ms-50p/{point}.pcap.gz")));
    let line = format!("rtt {src} {dst} --compat spp-0.4.2 --mask 16895");
    assert_eq!(desk.text(&line), text(&expected));
    let hosts = "--src-host 172.16.10.3 --dst-host 172.16.11.2";
    assert_eq!(desk.text(&format!("{line} {hosts} -o pairs.spp")), "");
    assert_eq!(text(&desk.get("pairs.spp")), text(&expected));
}
