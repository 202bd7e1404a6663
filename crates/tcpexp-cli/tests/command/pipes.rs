//! `tcpexp flows` and `tcpexp rtt` with one capture, and a pipe at either end.

use std::fs::File;
#[cfg(unix)]
use std::io::{BufRead, BufReader, Read, Write};
#[cfg(unix)]
use std::process::{Child, Stdio};

use insta::assert_snapshot;
use tcpexp_testkit::script;

use crate::desk::{Desk, reason, text};
use crate::one_capture::{COMMANDS, columns, csv};

#[test]
fn a_capture_may_come_from_standard_input() {
    let desk = Desk::new();
    for line in ["flows", "rtt", "rtt --live"] {
        let piped = desk
            .command(&format!("{line} -"))
            .write_stdin(desk.get("src.pcap"))
            .unwrap();
        assert_eq!(text(&piped.stdout), desk.text(&format!("{line} src.pcap")));
    }
}

#[test]
fn warnings_name_standard_input_as_errors_do() {
    let desk = Desk::new();
    let src = desk.get("src.pcap");
    for line in ["flows -", "rtt -", "rtt - --live"] {
        let cut = &src[..src.len() - 1];
        let output = desk.command(line).write_stdin(cut).unwrap();
        let warning = reason(&output);
        let name = "warning: standard input: ";
        assert!(warning.starts_with(name), "{line}: {warning}");
    }
}

#[test]
fn live_prints_the_same_round_trip_times_as_the_rows() {
    let desk = Desk::new();
    let rows = csv(&desk.bytes("rtt src.pcap --format csv"));
    let mut expected: Vec<String> = columns(&rows, &["method"]).concat();
    let live = desk.text("rtt src.pcap --live");
    let method = |line: &str| line.split_whitespace().nth(4).unwrap().to_owned();
    let mut methods: Vec<String> = live.lines().map(method).collect();
    methods.sort();
    expected.sort();
    assert!(methods == expected);
    let first: Vec<&str> = live.lines().take(3).collect();
    assert_snapshot!(first.join("\n"), @r"
    0.000000 s  20.032 ms sequence_ack 10.1.0.1:10000 > 203.0.113.1:5001
    0.000000 s  20.032 ms timestamps   10.1.0.1:10000 > 203.0.113.1:5001
    0.000020 s  20.052 µs sequence_ack 203.0.113.1:5001 > 10.1.0.1:10000
    ");
    assert_eq!(desk.text("rtt src.pcap --live --flow 77"), "");
}

#[test]
fn live_conflicts_with_options_that_need_the_whole_input() {
    let desk = Desk::new();
    for more in [
        "dst.pcap --metrics rows.csv -o rows.csv",
        "-o rows.csv",
        "--format parquet",
        "--plot rtt.svg",
        "--flows f.csv",
    ] {
        let said = desk.misuse(&format!("rtt src.pcap {more} --live"));
        assert!(said.contains("--live"), "{said}");
    }
}

#[test]
fn live_rows_are_those_of_the_whole_capture() {
    let desk = Desk::new();
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for format in ["csv", "json"] {
        let live = sorted(desk.text(&format!("rtt src.pcap --live --format {format}")));
        let whole = sorted(desk.text(&format!("rtt src.pcap --format {format}")));
        assert!(live == whole, "{format}");
    }
    let stream = desk.bytes("rtt src.pcap --live --format arrow");
    let batches = arrow::ipc::reader::StreamReader::try_new(&stream[..], None).unwrap();
    let rows: usize = batches.map(|batch| batch.unwrap().num_rows()).sum();
    let samples = desk.text("rtt src.pcap --format json").lines().count();
    assert_eq!(rows, samples);
}

#[cfg(unix)]
#[test]
fn live_rows_of_two_pipes_are_those_of_the_captures() {
    let desk = Desk::new();
    let sorted = |text: String| {
        let rows = csv(text.as_bytes());
        let mut rows = columns(
            &rows,
            &["initiator", "direction", "reference", "time", "rtt_ns"],
        );
        rows.sort();
        rows
    };
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let fifo = rustix::fs::FileType::Fifo;
    for pipe in ["a", "b"] {
        rustix::fs::mknodat(rustix::fs::CWD, desk.path(pipe), fifo, mode, 0).unwrap();
    }
    let run = piped(&desk, "rtt a b --live --format csv --metrics live.prom");
    for (pipe, file) in [("b", "dst.pcap"), ("a", "src.pcap")] {
        std::fs::write(desk.path(pipe), desk.get(file)).unwrap();
    }
    let output = run.wait_with_output().unwrap();
    assert_eq!(text(&output.stderr), "");
    let live = sorted(text(&output.stdout));
    assert!(live == sorted(desk.text("rtt src.pcap dst.pcap --format csv")));
    let metrics = text(&desk.get("live.prom"));
    let count = |reference: &str| {
        let name = format!("tcpexp_rtt_seconds_count{{reference=\"{reference}\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&name));
        value.unwrap().parse::<usize>().unwrap()
    };
    assert_eq!(count("src") + count("dst"), live.len());
}

#[cfg(unix)]
#[test]
fn live_text_of_two_captures_has_a_line_per_round_trip_time() {
    let desk = Desk::new();
    let live = desk.text("rtt src.pcap dst.pcap --live --flow :5001");
    let samples = desk.text("rtt src.pcap dst.pcap --flow :5001 --format csv");
    assert_eq!(live.lines().count(), samples.lines().count() - 1);
    let first: Vec<&str> = live.lines().take(2).collect();
    assert_snapshot!(first.join("\n"), @r"
    0.000000 s  20.012 ms src 10.1.0.1:10000 > 203.0.113.1:5001
    0.000000 s  20.011 ms dst 203.0.113.1:5001 > 10.1.0.1:10000
    ");
}

#[test]
fn live_captures_without_common_packets_are_an_error() {
    let desk = Desk::new();
    desk.put(
        "other.pcap",
        &script::capture("0.00 > S\n0.04 < S.\n0.05 > ."),
    );
    let failure = desk.failure("rtt src.pcap other.pcap --live");
    assert_snapshot!(failure, @"no round-trip time between src.pcap and other.pcap: no packet was seen at both points (1803 packets at src, 3 at dst): are these captures of the same traffic, taken at the same time? (traffic whose addresses and sequence numbers both change between the points is not recognised)");
}

#[test]
fn a_live_capture_that_breaks_off_is_measured_with_a_warning() {
    let desk = Desk::new();
    let whole = desk.get("dst.pcap");
    desk.put("part.pcap", &whole[..whole.len() / 2]);
    let output = desk.run("rtt src.pcap part.pcap --live --format csv");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).lines().count() > 100);
    assert_snapshot!(reason(&output), @"warning: part.pcap: record at byte 832274 claims 1530 bytes but 840 remain");
}

#[test]
fn an_unusable_live_capture_is_named() {
    let desk = Desk::new();
    desk.put("text", b"this is no capture but a text");
    assert_snapshot!(desk.failure("rtt src.pcap text --live"), @r#"cannot read text: not a capture: it starts with 74 68 69 73 20 69 73 20 ("this is ")"#);
    assert_snapshot!(desk.failure("rtt src.pcap nowhere --live"), @"cannot open nowhere: No such file or directory (os error 2)");
    assert_snapshot!(desk.failure("rtt src.pcap a;b:eth0 --live"), @r#""a;b" is not a host: expected a name or an address that ssh accepts, such as "rtr""#);
}

#[cfg(unix)]
fn piped(desk: &Desk, line: &str) -> Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(line.split(' '))
        .current_dir(desk.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[cfg(unix)]
#[test]
fn live_prints_before_the_input_ends() {
    let mut run = piped(&Desk::new(), "rtt - --live");
    let mut input = run.stdin.take().unwrap();
    let mut output = BufReader::new(run.stdout.take().unwrap());
    let mut next_line = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.split_whitespace()
            .skip(2)
            .take(3)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let whole = script::capture("0.00 > S\n0.04 < S.\n0.05 > .\n1.0 > 1:101(100)\n1.03 < .");
    // A record without payload has a 16-byte header and 54 bytes of data.
    let (shaken, rest) = whole.split_at(24 + 3 * 70);
    input.write_all(shaken).unwrap();
    assert_eq!(next_line(), "40.000 ms sequence_ack");
    assert_eq!(next_line(), "10.000 ms sequence_ack");
    input.write_all(rest).unwrap();
    assert_eq!(next_line(), "30.000 ms sequence_ack");
    drop(input);
    assert_eq!(next_line(), "");
    assert_quiet_end(run, "live");
}

#[cfg(unix)]
fn assert_quiet_end(mut run: Child, what: &str) {
    let mut stderr = String::new();
    run.stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    let code = run.wait().unwrap().code();
    assert_eq!((code, stderr.as_str()), (Some(0), ""), "{what}");
}

#[cfg(unix)]
#[test]
fn a_reader_that_stops_early_is_not_a_failure() {
    let desk = Desk::new();
    let formats = ["table", "csv", "json", "parquet", "arrow"];
    let lines = COMMANDS
        .iter()
        .flat_map(|command| formats.map(|format| format!("{command} src.pcap --format {format}")));
    for line in lines.chain(["rtt src.pcap --live".to_owned()]) {
        for bytes in [0, 1] {
            let mut run = piped(&desk, &line);
            let mut stdout = run.stdout.take().unwrap();
            stdout.read_exact(&mut vec![0; bytes]).unwrap();
            drop(stdout);
            assert_quiet_end(run, &line);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error() {
    let desk = Desk::new();
    let formats = ["table", "csv", "json", "parquet", "arrow"];
    let lines = COMMANDS
        .iter()
        .flat_map(|command| formats.map(|format| format!("{command} src.pcap --format {format}")));
    for line in lines.chain(["rtt src.pcap --live".to_owned()]) {
        if !line.ends_with("--live") {
            assert_eq!(
                desk.failure(&format!("{line} -o /dev/full")),
                "cannot write /dev/full: No space left on device (os error 28)",
                "{line}"
            );
        }
        let full = File::options().write(true).open("/dev/full");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tcpexp"))
            .args(line.split(' '))
            .current_dir(desk.path("."))
            .stdout(full.unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert_eq!(
            reason(&output),
            "cannot write standard output: No space left on device (os error 28)",
            "{line}"
        );
    }
}
