//! `tcpexp import`.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::desk::{Desk, gzip, reason, text};

/// A window that grows, is reduced by a loss and grows again, in tracefs format.
const TRACE: &str = "\
# tracer: nop
#
 iperf3-77 [001] ..s1.  10.000100: tcp_probe: family=AF_INET src=10.0.0.1:40000 dest=10.0.0.2:5201 mark=0x0 data_len=0 snd_nxt=0x3a98 snd_una=0x3e8 snd_cwnd=10 ssthresh=2147483647 snd_wnd=65160 srtt=40050 rcv_wnd=64512 sock_cookie=9
 iperf3-77 [001] ..s1.  10.040100: tcp_probe: family=AF_INET src=10.0.0.1:40000 dest=10.0.0.2:5201 mark=0x0 data_len=0 snd_nxt=0x6d60 snd_una=0x3a98 snd_cwnd=20 ssthresh=2147483647 snd_wnd=65160 srtt=41000 rcv_wnd=64512 sock_cookie=9
 iperf3-77 [001] ..s1.  10.080100: tcp_cong_state_set: family=AF_INET sport=40000 dport=5201 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=3
 iperf3-77 [001] ..s1.  10.080200: tcp_retransmit_skb: family=AF_INET sport=40000 dport=5201 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 state=TCP_ESTABLISHED
 iperf3-77 [001] ..s1.  10.081000: tcp_probe: family=AF_INET src=10.0.0.1:40000 dest=10.0.0.2:5201 mark=0x0 data_len=0 snd_nxt=0x6d60 snd_una=0x3a98 snd_cwnd=18 ssthresh=14 snd_wnd=65160 srtt=42000 rcv_wnd=64512 sock_cookie=9
 iperf3-77 [001] ..s1.  10.120100: tcp_cong_state_set: family=AF_INET sport=40000 dport=5201 saddr=10.0.0.1 daddr=10.0.0.2 saddrv6=::ffff:10.0.0.1 daddrv6=::ffff:10.0.0.2 cong_state=0
 iperf3-77 [001] ..s1.  10.121000: tcp_probe: family=AF_INET src=10.0.0.1:40000 dest=10.0.0.2:5201 mark=0x0 data_len=0 snd_nxt=0x9c40 snd_una=0x6d60 snd_cwnd=14 ssthresh=14 snd_wnd=65160 srtt=42500 rcv_wnd=64512 sock_cookie=9
";

/// A data file of Flent with two series; the upload begins late.
pub(crate) const FLENT: &str = r#"{"version": 4, "metadata": {"NAME": "tcp_upload", "TITLE": "fifo",
"T0": "2026-01-01T00:00:09.000000Z", "SERIES_META": {"TCP upload": {"UNITS": "Mbits/s"},
"Ping (ms) ICMP": {"UNITS": "ms"}}}, "x_values": [0.0, 0.2, 0.4, 0.6], "results": {
"TCP upload": [null, 8.5, 9.5, 10.5], "Ping (ms) ICMP": [20, 40.5, 60, 80]}, "raw_values": {}}
"#;

pub(crate) const IPERF3: &str = r#"{"start": {"connected": [{"socket": 5, "local_host": "10.0.0.1", "local_port": 33504, "remote_host": "10.0.0.2", "remote_port": 5201}],
"timestamp": {"timesecs": 1767225609}, "test_start": {"protocol": "TCP"}}, "intervals": [
{"streams": [{"socket": 5, "start": 0, "end": 1, "bytes": 900000, "retransmits": 0, "snd_cwnd": 14480, "rtt": 40500, "rttvar": 120, "omitted": true, "sender": true}]},
{"streams": [{"socket": 5, "start": 1, "end": 2, "bytes": 1250000, "retransmits": 7, "snd_cwnd": 151552, "rtt": 60021, "rttvar": 120, "omitted": false, "sender": true}]},
{"streams": [{"socket": 5, "start": 2, "end": 3, "bytes": 750000, "retransmits": 2, "snd_cwnd": 131552, "rtt": 50021, "rttvar": 90, "omitted": false, "sender": true}]}
]}
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.put("trace.txt", TRACE.as_bytes());
    desk
}

#[test]
fn a_trace_is_summarised_as_text() {
    assert_snapshot!(desk().text("import tcp_probe trace.txt"), @r"
    segs, ms    samples     span cwnd min median   max ssthresh   SRTT  retr. states
    0 10.0.0.1:40000 > 10.0.0.2:5201
      forward         4 120.9 ms       10     16    20       14  41.50      1      2

    lines           9 read, 7 used, 2 skipped (headers, comments)
    ");
}

#[test]
fn unused_lines_are_a_warning_if_the_output_has_only_rows() {
    let desk = Desk::new();
    desk.put("log", format!("{TRACE}no event\n").as_bytes());
    let warned = |arguments: &str| {
        let output = desk.command(arguments).output().unwrap();
        text(&output.stderr)
    };
    let warning =
        "tcpexp: warning: log: 1 of 10 lines not used, the first of them line 10: no event\n";
    assert_eq!(warned("import tcp_probe log --format csv"), warning);
    assert_eq!(warned("import tcp_probe log -o rows.csv -q"), warning);
    assert_eq!(warned("import tcp_probe log -o rows.csv"), "");
    assert_eq!(warned("import tcp_probe log"), "");
}

#[test]
fn compressed_logs_and_standard_input_are_the_same_log() {
    let desk = desk();
    let table = desk.text("import tcp_probe trace.txt");
    desk.put("log", &gzip(TRACE.as_bytes()));
    assert_eq!(desk.text("import tcp_probe log"), table);
    let mut piped = desk.command("import tcp_probe -");
    let output = piped.write_stdin(gzip(TRACE.as_bytes())).output().unwrap();
    assert_eq!(text(&output.stdout), table);
}

#[test]
fn rows_and_events_are_tables() {
    let desk = desk();
    desk.bytes("import tcp_probe trace.txt -o state.csv --events events.csv -q");
    let rows = text(&desk.get("state.csv"));
    assert_eq!(rows.lines().count(), 1 + 4);
    assert_snapshot!(rows.lines().nth(3).unwrap(), @"0,tcp,10.0.0.1:40000,10.0.0.2:5201,,forward,1970-01-01T00:00:10.081000000Z,15000,28000,,13000,,,18,,measured,14,fast_recovery,0,42000000,,52160,,,,,,,,,,,,");
    assert_snapshot!(text(&desk.get("events.csv")), @r"
    flow_id,protocol,initiator,responder,capture,direction,event,time,event_id,end_time,kind,recovery_epoch,start_seq,end_seq,cwnd_before_segments,ssthresh_segments,was_undone,lost_packets,earlier_copy
    0,tcp,10.0.0.1:40000,10.0.0.2:5201,,forward,state,1970-01-01T00:00:10.080100000Z,,,recovery,,,,,,,,
    0,tcp,10.0.0.1:40000,10.0.0.2:5201,,forward,retransmission,1970-01-01T00:00:10.080200000Z,,,,,,,,,,,
    0,tcp,10.0.0.1:40000,10.0.0.2:5201,,forward,state,1970-01-01T00:00:10.120100000Z,,,open,,,,,,,,
    ");
    for format in ["parquet", "arrow", "json"] {
        desk.bytes(&format!("import tcp_probe trace.txt -q -o state.{format}"));
        assert!(!desk.get(&format!("state.{format}")).is_empty());
    }
}

#[test]
fn intervals_of_iperf3_have_their_own_table() {
    let desk = Desk::new();
    desk.put("iperf3.json", IPERF3.as_bytes());
    assert_snapshot!(desk.text("import iperf3 iperf3.json"), @r"
    SRTT ms   intervals     span         bytes   Mbit/s     min     max  retr.   SRTT
    0 10.0.0.1:33504 > 10.0.0.2:5201
      forward         2    2.0 s     2 000 000    8.000   6.000  10.000      9  55.02

    intervals       3 read, 3 used
    ");
    let rows = desk.text("import iperf3 iperf3.json --format csv");
    assert_snapshot!(rows.lines().nth(2).unwrap(), @"0,tcp,10.0.0.1:33504,10.0.0.2:5201,,forward,2026-01-01T00:00:10.000000000Z,1000000000,1250000,10000000,7,151552,60021000,120000,false");
    assert_snapshot!(desk.misuse("import iperf3 iperf3.json --events events.csv"), @"error: a log of iperf3 contains no events");
}

#[test]
fn a_log_of_another_format_is_refused_by_name() {
    let desk = desk();
    for format in ["ss", "siftr", "web10g"] {
        let message = desk.misuse(&format!("import {format} trace.txt --events events.csv"));
        let without = format!("a log of {format} contains no events");
        assert!(message.contains(&without), "{message}");
    }
    let csv = "time,src,dst,snd_nxt,snd_una,snd_cwnd,ssthresh,snd_wnd,srtt_us\n\
               1.5,10.0.0.1:4,10.0.0.2:5,10,5,30,40,65160,40040\n";
    desk.put("probe.csv", csv.as_bytes());
    assert_snapshot!(desk.misuse("import tcp_probe probe.csv --events events.csv"), @"error: probe.csv contains no events: only a kernel trace has them, not /proc/net/tcpprobe or a CSV");
    desk.put("empty", b"");
    desk.put("letter", b"Dear colleague,\nattached is the trace.\n");
    desk.put("garbage", &[0xFE, 0xDC, 0x00, 0x0A, 0x1F].repeat(500));
    std::fs::create_dir(desk.path("folder")).unwrap();
    let reasons = [
        "tcp_probe missing",
        "tcp_probe folder",
        "tcp_probe empty",
        "tcp_probe letter",
        "tcp_probe garbage",
        "siftr trace.txt",
        "iperf3 trace.txt",
        "iperf3 empty",
        "tcp_probe src.pcap",
    ]
    .map(|line| desk.failure(&format!("import {line} -o out.parquet --quiet")));
    assert_eq!(
        desk.written(),
        [
            "empty",
            "folder",
            "garbage",
            "letter",
            "probe.csv",
            "trace.txt"
        ]
    );
    assert_snapshot!(reasons.join("\n"), @r"
    cannot open missing: No such file or directory (os error 2)
    cannot open folder: is a directory
    cannot read empty: none of 0 lines can be used
    cannot read letter: none of 2 lines can be used; line 1: not a line of this format
    cannot read garbage: none of 501 lines can be used; line 1: not UTF-8 text
    cannot read trace.txt: none of 9 lines can be used; line 3: not a line of this format
    cannot read trace.txt: line 1, column 1 is not JSON: expected value
    cannot read empty: none of 0 intervals can be used
    cannot read src.pcap: none of 12246 lines can be used; line 1: not UTF-8 text
    ");
    assert_snapshot!(desk.misuse("import tcpdump trace.txt"), @"error: invalid value 'tcpdump' for '<FORMAT>'");
}

#[test]
fn unusable_lines_are_counted_by_reason() {
    let desk = Desk::new();
    let mut log = TRACE.to_owned();
    writeln!(log, "CPU:1 [LOST 27 EVENTS]").unwrap();
    writeln!(
        log,
        " x-1 [000] 11.0: tcp_probe: src=10.0.0.1:40000 dest=10.0.0.2:5201 snd_nxt=0x1"
    )
    .unwrap();
    desk.put("trace.txt", log.as_bytes());
    let table = desk.text("import tcp_probe trace.txt");
    assert_snapshot!(table.split_once("\n\n").unwrap().1, @r"
    lines           11 read, 7 used, 3 skipped (headers, comments)
    not used        1: snd_una is missing
    first of them   line 11: x-1 [000] 11.0: tcp_probe: src=10.0.0.1:40000
                    dest=10.0.0.2:5201 snd_nxt=0x1
    incomplete      the kernel lost at least 27 events of this trace: counts of
                    retransmissions and of state changes may be too low
    ");
}

#[test]
fn a_truncated_log_keeps_its_whole_lines() {
    let desk = Desk::new();
    desk.put("trace.txt", &TRACE.as_bytes()[..TRACE.len() - 30]);
    let table = desk.text("import tcp_probe trace.txt");
    assert_snapshot!(table.split_once("\n\n").unwrap().1, @r"
    lines           9 read, 6 used, 2 skipped (headers, comments)
    not used        1: cut off by the end of the file
    first of them   line 9: iperf3-77 [001] ..s1.  10.121000: tcp_probe:
                    family=AF_INET src=10.0.0.1:40000
    ");

    // Long enough that the decompressor yields data before the end.
    let mut long = String::new();
    for number in 0..5_000_u32 {
        let scattered = number.wrapping_mul(2_654_435_761);
        writeln!(long, "1.{number:04} 10.0.0.1:4 10.0.0.2:5 1480 0x{scattered:x} 0x{scattered:x} 10 20 65160 400").unwrap();
    }
    let packed = gzip(long.as_bytes());
    desk.put("log.gz", &packed[..packed.len() / 2]);
    let output = desk.run("import tcp_probe log.gz");
    assert_eq!(output.status.code(), Some(0));
    let warning = reason(&output);
    assert!(
        warning.starts_with("warning: log.gz: compressed data ends early, after line "),
        "{warning}"
    );
}

#[test]
fn the_summary_of_flent_uses_samples_and_the_means_of_tools() {
    let desk = Desk::new();
    // An early version: HTTP latency in seconds, and UDP round trips in transactions per second.
    let file = r#"{"version": 2, "metadata": {"NAME": "http-1up", "T0": "2026-01-01T00:00:09Z",
        "SERIES_META": {"HTTP latency": {"UNITS": "ms"}, "TCP upload": {"UNITS": "Mbits/s",
        "MEAN_VALUE": 88.0}, "TCP upload sum": {"UNITS": "Mbits/s", "MEAN_VALUE": 88.0}}},
        "x_values": [0, 0.2], "results": {"HTTP latency": [4, 9], "Ping (ms) UDP BE": [9, 9],
        "TCP upload": [1, 1], "TCP upload sum": [1, 1]}, "raw_values": {
        "HTTP latency": [{"t": 1767225609.5, "val": 0.002}, {"t": 1767225609.6, "val": 0.004}],
        "Ping (ms) UDP BE": [{"t": 1767225610, "val": 500, "dur": 0.2}],
        "TCP upload": [{"t": 1767225610, "val": 80, "dur": 0.2}, {"t": 1767225611, "val": 90}]}}"#;
    desk.put("http.flent", file.as_bytes());
    assert_snapshot!(desk.text("import flent http.flent -q"), @r"
    series                   values   mean    min median    p95    p99    max
    HTTP latency [ms]             2  3.000  2.000  3.000  3.900  3.980  4.000
    Ping (ms) UDP BE              1  2.000  2.000  2.000  2.000  2.000  2.000
    TCP upload [Mbits/s]          2  88.00  80.00  85.00  89.50  89.90  90.00
    TCP upload sum [Mbits/s]      2  88.00      -      -      -      -      -
    ");
}

#[test]
fn the_series_of_flent_are_summarised() {
    let desk = Desk::new();
    desk.put("upload.flent.gz", &gzip(FLENT.as_bytes()));
    assert_snapshot!(desk.text("import flent upload.flent.gz"), @r"
    series               values   mean    min median    p95    p99    max
    Ping (ms) ICMP [ms]       4  50.12  20.00  50.25  77.00  79.40  80.00
    TCP upload [Mbits/s]      3  9.500  8.500  9.500  10.40  10.48  10.50

    values          8 read, 7 used, 1 skipped (times without a value)
    ");
    let csv = desk.text("import flent upload.flent.gz --format csv");
    assert_snapshot!(csv.lines().nth(5).unwrap(), @"tcp_upload,fifo,TCP upload,2026-01-01T00:00:09.200000000Z,200000000,8.5,Mbits/s,");
    assert_snapshot!(desk.misuse("import flent upload.flent.gz --events events.csv"), @"error: a data file of Flent contains no events");
    desk.put("iperf3.json", IPERF3.as_bytes());
    assert_snapshot!(desk.failure("import flent iperf3.json"), @"cannot read iperf3.json: none of 0 values can be used");
}
