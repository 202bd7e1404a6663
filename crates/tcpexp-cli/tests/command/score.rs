//! `tcpexp score`.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::desk::{Desk, fixture, gzip, reason, text, time};

/// Returns the log of the kernel of the sender in `src.pcap`, if the reconstruction is exact except
/// for every tenth window, which the log has 10 % larger.
pub(crate) fn log(desk: &Desk) -> String {
    let rows = desk.text("cwnd src.pcap --flow 1 --format csv");
    let mut log = "time,src,dst,snd_nxt,snd_una,snd_cwnd,ssthresh,snd_wnd,srtt_us\n".to_owned();
    for (number, row) in rows.lines().skip(1).enumerate() {
        let cells: Vec<&str> = row.split(',').collect();
        let &[_, _, src, dst, _, "forward", at, una, nxt, ..] = cells.as_slice() else {
            panic!("{row}");
        };
        let (cwnd, ssthresh, srtt) = (cells[13], cells[16], cells[19]);
        let nanos = time(&at.into()).to_string();
        let (seconds, fraction) = nanos.split_at(nanos.len() - 9);
        let mut cwnd: u32 = cwnd.parse().unwrap();
        if number % 10 == 0 {
            cwnd = cwnd * 11 / 10;
        }
        let ssthresh = if ssthresh.is_empty() {
            "2147483647"
        } else {
            ssthresh
        };
        let srtt_us = srtt.parse::<u64>().unwrap_or(0) / 1_000;
        writeln!(
            log,
            "{seconds}.{fraction},{src},{dst},{nxt},{una},{cwnd},{ssthresh},999999,{srtt_us}"
        )
        .unwrap();
    }
    log
}

/// Creates a desk with a real capture in `src.pcap` and the log in `probe.csv`.
pub(crate) fn desk() -> Desk {
    let desk = Desk::new();
    let capture = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    desk.put("src.pcap", &std::fs::read(capture).unwrap());
    let log = log(&desk);
    desk.put("probe.csv", log.as_bytes());
    desk
}

#[test]
fn a_reconstruction_is_scored_against_the_kernel_log() {
    assert_snapshot!(desk().text("score src.pcap probe.csv"), @r"
    src.pcap 172.16.10.3:54058 > 172.16.11.2:5201
      number                       error <=5 % <=10%  matched   truth  flight <=5 %
      cwnd                        0.82 %    90   100    2 969   2 969     9.1    80
      cwnd, filled                0.82 %    90   100    2 588   2 588    0.82    90
      cwnd, recovery              0.81 %    90   100      364     364      68   5.2
      cwnd, receiver limited       1.3 %    83   100        6       6     2.7    83
      cwnd, application limited   0.83 %    91   100       11      11     8.3    91
      cwnd, not filled            0.98 %    88   100       17      17     6.3    88
      rtt mean cwnd               0.88 %   100   100      114     114     5.8    90
      rtt max cwnd                 7.4 %   7.9   100      114     114      13   4.4
      srtt                           0 %   100   100    2 969   2 969
    ");
}

#[test]
fn runs_of_a_sweep_are_scored_against_the_logs_of_their_sources() {
    let desk = desk();
    for folder in ["captures", "logs"] {
        std::fs::create_dir_all(desk.path(&format!("results/runs/r1/{folder}"))).unwrap();
    }
    let (capture, log) = (desk.get("src.pcap"), desk.get("probe.csv"));
    desk.put("results/runs/r1/captures/src1.pcap", &capture);
    desk.put("results/runs/r1/captures/dst1.pcap", &capture);
    desk.put("results/runs/r1/logs/src1-tcp_probe.txt", &log);
    let of_files = desk.text("score src.pcap probe.csv");
    let of_sweep = desk.text("score results");
    assert_eq!(of_sweep, of_files.replace("src.pcap ", "r1 "));
    assert_eq!(desk.text("score results/runs/r1"), of_sweep);
    desk.bytes("score results --position receiver -o scores.csv");
    let scores = String::from_utf8(desk.get("scores.csv")).unwrap();
    assert!(scores.contains("captures/dst1.pcap"), "{scores}");
}

#[test]
fn tables_yield_the_scores_of_captures_and_logs() {
    let desk = desk();
    let windows = |table: &str| {
        let lines = table
            .lines()
            .filter(|line| line.starts_with("  cwnd") || line.starts_with("  rtt"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let whole = windows(&desk.text("score src.pcap probe.csv"));
    for format in ["parquet", "arrow", "csv", "json"] {
        desk.bytes(&format!("cwnd src.pcap -q -o ours.{format}"));
        desk.bytes(&format!("import tcp_probe probe.csv -q -o theirs.{format}"));
        let table = desk.text(&format!("score ours.{format} theirs.{format}"));
        assert_eq!(windows(&table), whole, "{format}");
    }
}

#[test]
fn options_without_effect_on_a_table_are_refused() {
    let desk = desk();
    desk.bytes("cwnd src.pcap -q -o ours.csv");
    desk.bytes("import tcp_probe probe.csv -q -o theirs.csv");
    let misuses = [
        "score ours.csv theirs.csv --from 5s",
        "score ours.csv theirs.csv --to 6s",
        "score ours.csv theirs.csv --inner",
        "score ours.csv theirs.csv --max-flows 7",
        "score ours.csv theirs.csv --position receiver",
        "score ours.csv theirs.csv --profile freebsd",
        "score src.pcap theirs.csv --truth-format ss",
        "cwnd src.pcap --truth theirs.csv --truth-format ss",
    ]
    .map(|line| desk.misuse(line));
    assert_snapshot!(misuses.join("\n"), @r"
    error: --from is for captures, and ours.csv is a table
    error: --to is for captures, and ours.csv is a table
    error: --inner is for captures, and ours.csv is a table
    error: --max-flows is for captures, and ours.csv is a table
    error: --position is for captures, and ours.csv is a table
    error: --profile is for captures, and ours.csv is a table
    error: --truth-format is for logs, and theirs.csv is a table
    error: --truth-format is for logs, and theirs.csv is a table
    ");
}

#[test]
fn each_folder_and_pair_is_a_line_of_the_table() {
    let desk = desk();
    for name in ["one", "two/inside"] {
        std::fs::create_dir_all(desk.path(name)).unwrap();
        desk.put(&format!("{name}/src.pcap"), &desk.get("src.pcap"));
        desk.put(
            &format!("{name}/probe.csv.gz"),
            &gzip(&desk.get("probe.csv")),
        );
    }
    assert_snapshot!(desk.text("score one two"), @r"
    error in %                     ACKs known  cwnd within flight SRTT       epochs
                                                       5 %   size      hit/found/is
    one                           2 969   100  0.82     90    9.1    0            -
    inside                        2 969   100  0.82     90    9.1    0            -
    ");
    let pairs = desk.text("score src.pcap probe.csv one/src.pcap two/inside/probe.csv.gz");
    assert_eq!(pairs.lines().count(), 4);
    let rows = desk.text("score one two --format csv");
    assert_snapshot!(rows.lines().take(2).collect::<Vec<_>>().join("\n"), @r"
    reconstructed,truth,sender,receiver,is_reconstructed,metric,subset,matched,truth_count,value,flight_size_matched,flight_size_value
    one/src.pcap,one/probe.csv.gz,172.16.10.3:54058,172.16.11.2:5201,true,cwnd_error_ratio,all,2969,2969,0.008168331812588525,2969,0.09103170544686254
    ");
}

#[test]
fn incomparable_input_is_refused_by_name() {
    let desk = desk();
    desk.put("empty", b"");
    desk.put("letter", b"Dear colleague,\nattached is the trace.\n");
    desk.put("garbage", &[0xFE, 0xDC, 0x00, 0x0A, 0x1F].repeat(500));
    desk.put("cut.parquet", b"PAR1 and no more");
    desk.bytes("rtt src.pcap -q -o rtt.parquet");
    std::fs::create_dir(desk.path("folder")).unwrap();
    let other = text(&desk.get("probe.csv")).replace("172.16.10.3", "172.16.10.9");
    desk.put("other.csv", other.as_bytes());
    let reasons = [
        "missing probe.csv",
        "src.pcap missing",
        "empty probe.csv",
        "src.pcap empty",
        "letter probe.csv",
        "src.pcap letter",
        "src.pcap garbage",
        "src.pcap probe.csv --truth-format siftr",
        "cut.parquet probe.csv",
        "rtt.parquet probe.csv",
        "src.pcap other.csv",
        "folder",
    ]
    .map(|line| desk.failure(&format!("score {line} -q")));
    assert_snapshot!(reasons.join("\n"), @r#"
    cannot open missing: No such file or directory (os error 2)
    cannot open missing: No such file or directory (os error 2)
    cannot read empty: the file is empty
    empty is not a log of a known format: expected one of tcp_probe, tcpinfo, ss, siftr, web10g, iperf3, flent
    cannot read letter: not a capture: it starts with 44 65 61 72 20 63 6f 6c ("Dear col")
    letter is not a log of a known format: expected one of tcp_probe, tcpinfo, ss, siftr, web10g, iperf3, flent
    garbage is not a log of a known format: expected one of tcp_probe, tcpinfo, ss, siftr, web10g, iperf3, flent
    cannot read probe.csv: none of 2970 lines can be used; line 1: not a line of this format
    cannot read cut.parquet: cannot read the table: the Parquet data is damaged: Invalid Parquet file. Corrupt footer
    cannot read rtt.parquet: the table has no column snd_una_seq of the type that tcpexp writes
    nothing to compare: reconstruction and truth have no sender in common
    folder and its subdirectories contain no capture with a log of a kernel or a bottleneck beside it
    "#);
    let misuses = [
        "score src.pcap",
        "score src.pcap folder",
        "score - -",
        "score",
    ]
    .map(|line| desk.misuse(line));
    assert_snapshot!(misuses.join("\n"), @r"
    error: expected pairs of files (reconstruction and truth), or folders only
    error: expected pairs of files (reconstruction and truth), or folders only
    error: only one file can be standard input
    error: the following required arguments were not provided:
    ");
}

#[test]
fn a_truncated_log_is_scored_up_to_its_end() {
    let desk = desk();
    let log = desk.get("probe.csv");
    desk.put("cut.csv", &log[..log.len() / 2]);
    let table = desk.text("score src.pcap cut.csv");
    assert!(
        table.lines().nth(2).unwrap().starts_with("  cwnd "),
        "{table}"
    );
    desk.put("cut.csv.gz", &gzip(&log)[..9_000]);
    let output = desk.run("score src.pcap cut.csv.gz");
    assert_eq!(output.status.code(), Some(0));
    assert!(reason(&output).starts_with("warning: cut.csv.gz: compressed data ends early"));
}

#[test]
fn losses_between_two_captures_are_scored_against_the_bottleneck_log() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("loss")).unwrap();
    for name in ["snd.pcap.gz", "rcv.pcap.gz", "drops.log.gz"] {
        let file = fixture(&format!("short-reno-without-sack/{name}"));
        desk.put(&format!("loss/{name}"), &std::fs::read(file).unwrap());
    }
    assert_snapshot!(desk.text("score loss"), @r"
    packets lost, %                       precision        recall      hit/found/is
    loss                                        100           100       105/105/105
    ");
    let rows = desk.text("score loss --format csv");
    assert_snapshot!(rows.lines().skip(1).collect::<Vec<_>>().join("\n"), @r#"
    "loss/snd.pcap.gz,loss/rcv.pcap.gz",loss/drops.log.gz,,,true,loss_precision_ratio,all,105,105,1.0,,
    "loss/snd.pcap.gz,loss/rcv.pcap.gz",loss/drops.log.gz,,,true,loss_recall_ratio,all,105,105,1.0,,
    "#);
    // All but one of the drops are missing, and the remaining drop is duplicated.
    std::fs::remove_file(desk.path("loss/drops.log.gz")).unwrap();
    let log = "o 3713796825 1500\nq 3713796825 1500\nq 3713796825 1500\n";
    desk.put("loss/drops.log", log.as_bytes());
    assert_snapshot!(desk.text("score loss"), @r"
    packets lost, %                       precision        recall      hit/found/is
    loss                                       0.95            50           1/105/2
    ");
    // The logger was killed while it wrote a line.
    desk.put("loss/drops.log", b"q 3713796825 1500\nq 3713798273 15");
    assert_eq!(
        reason(&desk.run("score loss")),
        "warning: loss/drops.log: the log ends early; its complete lines were used"
    );
    desk.put("loss/drops.log", b"q 3713796825 1500\ndropped 17\n");
    assert_snapshot!(
        desk.failure("score loss -q"),
        @"cannot read loss/drops.log: line 2 cannot be used: not a line of this format"
    );
}

#[test]
fn a_log_of_intervals_has_no_states_to_compare() {
    let desk = Desk::new();
    desk.put("first.json", b"{\"start\": {}, \"intervals\": []}");
    assert_snapshot!(desk.failure("score src.pcap first.json"), @"nothing usable in first.json: a log of iperf3 has numbers of whole intervals, and no states to compare");
}
