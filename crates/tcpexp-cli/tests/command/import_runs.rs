//! `tcpexp import FORMAT DIR`: experiments of other tools as runs.

use insta::assert_snapshot;

use crate::desk::{Desk, fixture, gzip};

/// A data file of Flent with an upload and a ping, both with the samples of their tools.
fn flent(version: u8, title: &str, mbps: f64, raw_values: &str) -> String {
    format!(
        r#"{{"version": {version}, "metadata": {{"NAME": "tcp_upload", "TITLE": "{title}",
        "T0": "2026-01-01T00:00:10Z", "TEST_PARAMETERS": {{"upload_streams": "1"}},
        "SERIES_META": {{"TCP upload": {{"UNITS": "Mbits/s", "MEAN_VALUE": {mbps}}},
        "TCP upload sum": {{"UNITS": "Mbits/s", "MEAN_VALUE": {mbps}}},
        "Ping (ms) ICMP": {{"UNITS": "ms"}}}}}},
        "x_values": [0, 0.5, 1], "results": {{"TCP upload": [{mbps}, {mbps}, {mbps}],
        "TCP upload sum": [{mbps}, {mbps}, {mbps}], "Ping (ms) ICMP": [20, 40, 60]}},
        "raw_values": {raw_values}}}"#
    )
}

const SAMPLES: &str = r#"{"TCP upload": [{"t": 1767225610.5, "val": 8}],
    "Ping (ms) ICMP": [{"t": 1767225610, "val": 20}, {"t": 1767225610.5, "val": 50},
    {"t": 1767225611, "val": 60}]}"#;

#[test]
fn data_files_of_flent_are_runs_with_the_parameters_of_their_titles() {
    let desk = Desk::empty();
    for folder in ["batch", "batch/a", "batch/b"] {
        std::fs::create_dir(desk.path(folder)).unwrap();
    }
    let put = |name: &str, text: String| desk.put(name, &gzip(text.as_bytes()));
    put(
        "batch/fq.flent.gz",
        flent(4, "qdisc:fq_codel rep:01", 8.5, SAMPLES),
    );
    // Two files with equal names are repetitions of one cell.
    put(
        "batch/a/fifo.flent.gz",
        flent(4, "qdisc:fifo rep:01", 9.0, SAMPLES),
    );
    put(
        "batch/b/fifo.flent.gz",
        flent(4, "qdisc:fifo rep:02", 9.5, SAMPLES),
    );
    // Early versions have no samples.
    put("batch/old.flent.gz", flent(1, "qdisc:red", 7.0, "{}"));
    desk.put("batch/broken.flent.gz", &gzip(b"{"));
    let run = desk.run("import flent batch -o out");
    assert!(run.status.success());
    assert_snapshot!(String::from_utf8_lossy(&run.stderr), @"tcpexp: warning: broken: cannot read batch/broken.flent.gz: the JSON text ends early, at line 1");
    assert_snapshot!(String::from_utf8_lossy(&run.stdout), @r"
    runs            4 imported
    failed          1
    ");
    assert_snapshot!(desk.text("compare out"), @r"
         Mbit/s RTT ms    p95
    qdisc=- test=- upload_streams=- class=- runs=0/1
              -      -      -
    qdisc=fifo test=tcp_upload upload_streams=1 class=Ping (ms) ICMP runs=2
              -  50.00  59.00
    qdisc=fifo test=tcp_upload upload_streams=1 class=TCP upload runs=2
          9.250      -      -
    qdisc=fq_codel test=tcp_upload upload_streams=1 class=Ping (ms) ICMP runs=1
              -  50.00  59.00
    qdisc=fq_codel test=tcp_upload upload_streams=1 class=TCP upload runs=1
          8.500      -      -
    qdisc=red test=tcp_upload upload_streams=1 class=Ping (ms) ICMP runs=1
              -  40.00  58.00
    qdisc=red test=tcp_upload upload_streams=1 class=TCP upload runs=1
          7.000      -      -
    left out: broken failed (cannot read batch/broken.flent.gz: the JSON text ends
        early, at line 1)

    numbers         medians over runs, from the start of traffic
    ");
    assert_snapshot!(desk.failure("import flent batch -o out"), @"out is not empty: name a new directory");
    // A chart takes the tables of the runs.
    for chart in [
        "plot ecdf out --table samples --x value --filter unit=ms --group qdisc -o ecdf.svg",
        "report out -o report.html",
    ] {
        let drawn = desk.run(chart);
        assert!(drawn.status.success(), "{chart}");
    }
}

#[test]
fn each_data_file_of_flent_is_a_run_and_missing_values_are_reported() {
    let desk = Desk::empty();
    std::fs::create_dir(desk.path("batch")).unwrap();
    let unread = SAMPLES.replace("\"val\": 50", "\"val\": \"50ms\"");
    desk.put(
        "batch/a.flent",
        flent(4, "kernel:5.1", 8.0, SAMPLES).as_bytes(),
    );
    let other = flent(4, "kernel:5.10", 9.0, &unread).replace("[20, 40, 60]", "[20, \"40\", 60]");
    desk.put("batch/a.flent.gz", &gzip(other.as_bytes()));
    desk.put("batch/b.flent.bz2", b"BZh91AY&SY");
    let run = desk.run("import flent batch -o out");
    assert_snapshot!(String::from_utf8_lossy(&run.stderr), @r"
    tcpexp: warning: b: cannot open batch/b.flent.bz2: bzip2 compression is not supported; decompress it first: bzip2 -dc FILE | ...
    tcpexp: warning: a-2: 1 value not used: a tool's sample cannot be read
    tcpexp: warning: a-2: 1 value not used: value cannot be read
    ");
    // Versions are no numbers: 5.1 is not 5.10.
    let compared = desk.text("compare out");
    assert!(
        ["5.1 ", "5.10 "]
            .iter()
            .all(|kernel| compared.contains(kernel)),
        "{compared}"
    );
}

#[test]
fn experiments_of_teacup_are_runs_with_the_variables_as_parameters() {
    let desk = Desk::empty();
    std::fs::create_dir_all(desk.path("experiments/exp_1")).unwrap();
    let capture = |end: &str| std::fs::read(fixture(&format!("reno-2mbit-40ms-50p/{end}.pcap.gz")));
    let [src, dst] = ["src", "dst"].map(|end| capture(end).unwrap());
    for (run, loss) in [
        ("exp_1_loss_0_run_0", "0"),
        ("exp_1_loss_0.01_run_0", "0.01"),
    ] {
        let put = |end: &str, bytes: &[u8]| {
            desk.put(&format!("experiments/exp_1/{run}{end}"), bytes);
        };
        put("_host1.dmp.gz", &src);
        put("_host2.dmp.gz", &dst);
        put("_router_em0_router.dmp.gz", &gzip(b"not read"));
        let variables = format!(
            "U V_delay: 20\nU V_loss: {loss}\nU V_tcp_cc_algo: newreno\nU V_down_rate: 2mbit\nU V_runs: 0\nN V_dash: 1\n"
        );
        put("_config_vars.log.gz", &gzip(variables.as_bytes()));
    }
    let run = desk.run("import teacup experiments -o out");
    assert_snapshot!(String::from_utf8_lossy(&run.stderr), @"");
    assert_snapshot!(String::from_utf8_lossy(&run.stdout), @r"
    table                         rows        size
    flows.parquet                    8    125.8 kB
    rtt.parquet                 11 654    279.3 kB
    owd.parquet                 16 106    441.6 kB
    loss.parquet                   126     24.4 kB
    throughput.parquet           8 636     76.9 kB
    sender.parquet               6 010    131.9 kB
    events.parquet                 142     37.5 kB
    queue.parquet                1 226     43.8 kB
    logs.parquet                     0     33.7 kB
    readings.parquet                 0      8.7 kB
    all                                     1.2 MB

    runs            2 analysed
    ");
    assert_snapshot!(desk.text("compare out"), @r"
    loss_percent class runs Mbit/s RTT ms    p95 loss % retx %  FCT s
    0            load  1     1.906  266.4  339.1  1.233  1.234  30.65
    1            load  1     1.906  266.4  339.1  1.233  1.234  30.65

    numbers         medians over runs, from the start of traffic
    ");
    std::fs::create_dir(desk.path("none")).unwrap();
    assert_snapshot!(desk.failure("import teacup none -o new"), @"there is no experiment in none: expected files ID_HOST.dmp.gz or ID_config_vars.log.gz of TEACUP");
    assert!(!desk.path("new").exists());
}
