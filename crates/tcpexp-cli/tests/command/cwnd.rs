//! `tcpexp cwnd`.

use std::fmt::Write as _;

use insta::assert_snapshot;
use tcpexp_testkit::script;

use crate::desk::{Desk, fixture, gzip, reason, text};
use crate::score::desk as desk_with_log;

fn reno(options: &str) -> String {
    let src = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    Desk::new().text(&format!("cwnd {src} {options}"))
}

#[test]
fn a_sender_is_reported_with_the_basis_of_its_window() {
    assert_snapshot!(reno("--flow :54058"), @r"
    segs, ms       ACKs     span cwnd p25 median   p75 ssthresh   SRTT  retr. recov.
    1 172.16.10.3:54058 > 172.16.11.2:5201
      forward     2 969   30.3 s       36     44    52       28  267.4     63      5
        captured    at the sender; segments of 1448 bytes
        window      87.2 % of the ACKs filled, 12.3 % recovery, 0.4 % application
                    limited, 0.2 % receiver limited
        recoveries  5 fast
        busy        30.3 s; cwnd-limited 99.4 %, rwnd-limited 0.2 %
        control     may be Reno: 5 reductions of a full window, median to 50 %
    ");
}

#[test]
fn each_direction_is_reconstructed_from_the_capture_at_its_sender() {
    let desk = Desk::new();
    let [src, dst] = ["src", "dst"].map(|at| fixture(&format!("reno-2mbit-40ms-50p/{at}.pcap.gz")));
    let rows = desk.text(&format!("cwnd {src} {dst} --format csv"));
    let count = |direction: &str, capture: &str| {
        let is_so = |row: &&str| {
            let cells: Vec<&str> = row.split(',').collect();
            cells[4] == capture && cells[5] == direction
        };
        rows.lines().filter(is_so).count()
    };
    assert!(count("forward", "src") > 2_000);
    assert_eq!(count("forward", "dst"), 0);
    assert!(count("reverse", "dst") > 10);
    assert_eq!(count("reverse", "src"), 0);
    // The first flow of the capture has this number in the rows of both captures.
    assert!(
        rows.lines()
            .any(|row| row.starts_with("0,tcp,") && row.contains(",dst,reverse,"))
    );
    let table = desk.text(&format!("cwnd {src} {dst}"));
    assert_eq!(table.matches("at the sender").count(), 3, "{table}");
    assert_eq!(table.matches("at the receiver").count(), 0, "{table}");
}

#[test]
fn rows_and_events_are_tables() {
    let desk = Desk::new();
    let src = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    let printed = desk.text(&format!(
        "cwnd {src} --flow 1 -o state.csv --events events.csv"
    ));
    assert!(printed.contains("may be Reno"));
    let rows = text(&desk.get("state.csv"));
    assert_snapshot!(rows.lines().nth(1000).unwrap(), @"1,tcp,172.16.10.3:54058,172.16.11.2:5201,src,forward,2026-01-01T00:00:18.936255000Z,3532581265,3532662353,1448,81088,81088,56,56,81088,filled,28,congestion_avoidance,,334600000,536000000,750144,congestion_window,,,,,,,,,,,");
    let events = text(&desk.get("events.csv"));
    let is = |event: &str| events.lines().filter(|row| row.contains(event)).count();
    assert_eq!((is(",recovery,"), is(",retransmission,")), (5, 63));
    assert_snapshot!(events.lines().find(|row| row.contains(",recovery,")).unwrap(), @"1,tcp,172.16.10.3:54058,172.16.11.2:5201,src,forward,recovery,2026-01-01T00:00:10.578694000Z,forward.recovery.0,2026-01-01T00:00:11.263024000Z,fast,0,,3530749545,114,57,false,,");
    for format in ["parquet", "arrow", "json"] {
        desk.bytes(&format!("cwnd {src} -q -o state.{format}"));
        assert!(!desk.get(&format!("state.{format}")).is_empty());
    }
}

#[test]
fn the_capture_position_is_inferred_or_given() {
    let dst = fixture("reno-2mbit-40ms-50p/dst.pcap.gz");
    let desk = Desk::new();
    let found = desk.text(&format!("cwnd {dst} --flow 1"));
    assert!(found.contains("captured    at the receiver; "), "{found}");
    let said = desk.text(&format!(
        "cwnd {dst} --flow 1 --position sender --profile freebsd"
    ));
    assert!(
        said.contains("captured    at the sender, as given; "),
        "{said}"
    );
    let second = |table: &str| table.lines().nth(2).unwrap().to_owned();
    assert_ne!(second(&found), second(&said));
}

#[test]
fn unmeasurable_input_is_refused_by_name() {
    let desk = Desk::new();
    desk.put("empty", b"");
    desk.put("letter", b"Dear colleague,\nattached is the trace.\n");
    desk.put("header.pcap", &desk.get("src.pcap")[..24]);
    let reasons = [
        "empty",
        "letter",
        "header.pcap",
        "missing",
        "src.pcap --flow 77",
    ]
    .map(|line| desk.failure(&format!("cwnd {line} -o out.csv --events events.csv")));
    assert_snapshot!(reasons.join("\n"), @r#"
    cannot read empty: the file is empty
    cannot read letter: not a capture: it starts with 44 65 61 72 20 63 6f 6c ("Dear col")
    nothing usable in header.pcap: no records
    cannot open missing: No such file or directory (os error 2)
    no TCP flow in src.pcap matches 77
    "#);
    assert_eq!(desk.written(), ["empty", "header.pcap", "letter"]);
    let misuses = [
        "cwnd - -",
        "cwnd src.pcap dst.pcap --position sender",
        "cwnd src.pcap --profile windows",
        "cwnd src.pcap --events events.txt",
    ]
    .map(|line| desk.misuse(line));
    assert_snapshot!(misuses.join("\n"), @r"
    error: only one of the two captures can be standard input
    error: --position requires a single capture
    error: invalid value 'windows' for '--profile <SYSTEM>'
    error: events.txt has an unknown extension: use .parquet, .csv, .json or .arrow
    ");
}

#[test]
fn a_truncated_capture_yields_a_result_and_a_warning() {
    let desk = Desk::new();
    let src = desk.get("src.pcap");
    desk.put("cut.pcap", &src[..src.len() / 2]);
    let output = desk.run("cwnd cut.pcap");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).starts_with("segs, ms"));
    assert!(reason(&output).starts_with("warning: cut.pcap: "));
}

#[test]
fn standard_input_and_compressed_captures_are_read() {
    let desk = Desk::new();
    let table = desk.text("cwnd src.pcap");
    let mut piped = desk.command("cwnd -");
    let output = piped
        .write_stdin(gzip(&desk.get("src.pcap")))
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), table);
}

#[test]
fn windows_are_drawn() {
    let desk = desk_with_log();
    desk.bytes("cwnd src.pcap -q --plot cwnd.svg");
    desk.bytes("cwnd src.pcap -q --plot cwnd.png");
    desk.bytes("cwnd src.pcap -q --plot cwnd.pdf");
    let svg = text(&desk.get("cwnd.svg"));
    for said in [
        "cwnd, estimated",
        "ssthresh",
        "flight size",
        "fast recovery",
        "172.16.10.3:54058",
    ] {
        assert!(svg.contains(said), "{said}");
    }
    // The control connection has too few samples for a panel.
    assert!(!svg.contains("cwnd, measured") && !svg.contains("54048"));
    assert!(desk.get("cwnd.png").starts_with(b"\x89PNG"));
    assert!(desk.get("cwnd.pdf").starts_with(b"%PDF"));
    assert_snapshot!(
        desk.misuse("cwnd src.pcap --plot cwnd.gif"),
        @"error: invalid value 'cwnd.gif' for '--plot <FILE>': the name must end in .svg, .pdf or .png"
    );
}

#[test]
fn a_chart_without_a_window_is_refused_with_the_reason() {
    let desk = Desk::empty();
    let mut lines = String::new();
    for segment in 0..40 {
        let (at, from) = (f64::from(segment) * 0.010_007, 1 + segment * 1_000);
        writeln!(
            lines,
            "{at:.6} > . {from}:{}(1000) ack 1 win 60000",
            from + 1_000
        )
        .unwrap();
        let acked_at = at + 0.000_013;
        writeln!(
            lines,
            "{acked_at:.6} < . 1:1(0) ack {} win 60000",
            from + 1_000
        )
        .unwrap();
    }
    desk.put("dst.pcap", &script::capture(&lines));
    let refused = desk.failure("cwnd dst.pcap -q --position receiver --plot cwnd.svg");
    assert_snapshot!(refused, @"cannot draw cwnd.svg: there are no congestion windows to draw: the order of a sender's events is unknown, and so is its window");
}

#[test]
fn logged_window_is_drawn_and_scored_beside_the_estimate() {
    let desk = desk_with_log();
    let table = desk.text("cwnd src.pcap --flow 1 --truth probe.csv --plot cwnd.svg");
    let (_, score) = table.split_once("\n\n").unwrap();
    assert_snapshot!(score.lines().take(3).collect::<Vec<_>>().join("\n"), @r"
    against the log 172.16.10.3:54058 > 172.16.11.2:5201
      number                       error <=5 % <=10%  matched   truth  flight <=5 %
      cwnd                        0.82 %    90   100    2 969   2 969     9.1    80
    ");
    assert!(text(&desk.get("cwnd.svg")).contains("cwnd, measured"));
    desk.bytes("import tcp_probe probe.csv -q -o truth.parquet");
    let line = "cwnd src.pcap --flow 1 --truth probe.csv --truth-format tcp_probe";
    assert_eq!(desk.text(line), table);
    assert_eq!(
        desk.text("cwnd src.pcap --flow 1 --truth truth.parquet"),
        table
    );
    let reasons = [
        "--truth missing",
        "--truth probe.csv --flow 0",
        "--truth probe.csv --truth-format ss",
    ]
    .map(|options| desk.failure(&format!("cwnd src.pcap -q --plot none.svg {options}")));
    assert_snapshot!(reasons.join("\n"), @r"
    cannot open missing: No such file or directory (os error 2)
    the log contains none of the selected senders of the capture
    cannot read probe.csv: none of 2970 lines can be used; line 1: not a line of this format
    ");
    assert!(!desk.path("none.svg").exists());
}

#[test]
fn captures_of_different_data_yield_no_losses() {
    let desk = Desk::new();
    let src = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    let foreign = fixture("short-cubic-reordering/rcv.pcap.gz");
    let warnings = |line: &str| {
        let output = desk.run(line);
        assert!(output.status.success());
        assert!(!text(&output.stdout).contains("lost  "));
        text(&output.stderr)
    };
    let warning = "losses on the path are unknown";
    assert!(warnings(&format!("cwnd {src} {foreign}")).contains(warning));
    // With one capture there is no warning.
    assert!(!warnings(&format!("cwnd {src}")).contains(warning));
}

#[test]
fn the_capture_at_the_other_end_yields_true_losses() {
    let desk = Desk::new();
    let [src, dst] =
        ["snd", "rcv"].map(|end| fixture(&format!("short-cubic-reordering/{end}.pcap.gz")));
    let table = desk.text(&format!("cwnd {src} {dst} -q --events events.csv"));
    let lost: Vec<&str> = table
        .lines()
        .skip_while(|line| !line.starts_with("    recoveries"))
        .take(3)
        .collect();
    assert_snapshot!(lost.join("\n"), @r"
    recoveries  33 fast, 6 of them undone, 8 without a loss
    lost        43 packets on the path, 43 retransmitted after a loss,
                19 although only overtaken
    ");
    assert!(table.lines().all(|line| line.chars().count() <= 80));
    let events = text(&desk.get("events.csv"));
    let ends = |with: &str| events.lines().filter(|row| row.ends_with(with)).count();
    assert_eq!([",lost", ",overtaken", ",arrived"].map(ends), [43, 19, 0]);
    let alone = desk.text(&format!("cwnd {src} -q"));
    assert!(!alone.contains("    lost "));
}

#[test]
fn flows_counts_and_names_the_senders_of_each_control_as_cwnd_does() {
    let desk = Desk::empty();
    let src = fixture("veno-10mbit-1-percent-loss/src.pcap.gz");
    let all = desk.text(&format!(
        "flows {src} --control --control-table flows.csv --quiet --limit 1"
    ));
    let (_, controls) = all.split_once("congestion control of ").unwrap();
    assert_snapshot!(controls, @r"
    3 senders: 1 veno, 2 not certain
    1 forward: veno (99 %): 130 round trips and 20 reductions compared; error veno
        0.00, next yeah 1.19, over a million times less likely
    ");
    desk.text(&format!("cwnd {src} --control-table cwnd.csv"));
    assert_eq!(text(&desk.get("flows.csv")), text(&desk.get("cwnd.csv")));
    // With one flow selected, its senders alone are counted.
    let one = desk.text(&format!("flows {src} --control --flow #0 --quiet"));
    assert!(one.contains("congestion control of 2 senders: 2 not certain\n"));
}
