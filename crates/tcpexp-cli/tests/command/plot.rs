//! `tcpexp plot KIND DATA…`: charts of tables.

use insta::assert_snapshot;

use crate::desk::{Desk, fixture, reason, text};

/// Returns all texts of a chart in drawing order.
pub(crate) fn texts(svg: &[u8]) -> String {
    let svg = text(svg);
    let elements = svg.split("<text").skip(1);
    let inside = |element: &str| {
        let (_, inside) = element.split_once('>').unwrap();
        inside.split_once('<').unwrap().0.trim().to_owned()
    };
    elements.map(inside).collect::<Vec<_>>().join(" | ")
}

/// Creates a desk with the tables of one real transfer.
fn transfer() -> Desk {
    let desk = Desk::new();
    let at = |file: &str| fixture(&format!("reno-2mbit-40ms-50p/{file}.gz"));
    let (src, dst, log) = (at("src.pcap"), at("dst.pcap"), at("probe.csv"));
    desk.text(&format!("rtt {src} {dst} --flow 1 -q -o rtt.parquet"));
    desk.text(&format!(
        "cwnd {src} --flow 1 -q -o sender.parquet --events events.csv"
    ));
    desk.text(&format!("throughput {src} --flow 1 -q -o throughput.json"));
    desk.text(&format!("import tcp_probe {log} -q -o log.arrow"));
    desk
}

/// Creates a table of five runs of three congestion controls at two delays, without units for
/// rates.
fn sweep() -> Desk {
    use std::fmt::Write;
    let desk = Desk::new();
    let mut rows = "run,cc,delay_ms,flow_id,rtt_ms,goodput_bps\n".to_owned();
    let mut run = 0;
    for cc in ["cubic", "reno", "vegas"] {
        for delay in [20, 100] {
            for repetition in 0..5 {
                run += 1;
                for flow in 0..2 {
                    let rtt = 2 * delay + repetition + 10 * flow;
                    let goodput = 5_000_000 - delay * 10_000 * flow + repetition * 1000;
                    writeln!(rows, "r{run},{cc},{delay},{flow},{rtt}.5,{goodput}").unwrap();
                }
            }
        }
    }
    desk.put("sweep.csv", rows.as_bytes());
    desk
}

pub(crate) fn drawn(desk: &Desk, line: &str) -> String {
    assert_eq!(desk.text(&format!("plot {line} -o chart.svg")), "");
    texts(&desk.get("chart.svg"))
}

#[test]
fn a_time_series_shows_estimated_and_logged_cwnd_and_rtt() {
    let desk = transfer();
    let all = "sender.parquet events.csv rtt.parquet throughput.json log.arrow";
    assert_snapshot!(drawn(&desk, &format!("timeseries {all}")), @r"cwnd, measured | cwnd, estimated | ssthresh | flight size | fast recovery | 0 | 50 | 100 | cwnd (segments) | 0 | 100 | 200 | 300 | RTT (ms) | 0 | 5 | 10 | 15 | 20 | 25 | 30 | 0 | 1 | 2 | time (s) | goodput (Mbit/s) | only rows with reference=src, rates in bins of 1 s, 172.16.10.3:54058 &gt; | 172.16.11.2:5201");
    assert_snapshot!(drawn(&desk, "timeseries rtt.parquet --x-limits 10:20 --theme dark"), @r"10 | 12 | 14 | 16 | 18 | 20 | 0 | 100 | 200 | 300 | time (s) | RTT (ms) | only rows with reference=src, 172.16.10.3:54058 &gt; 172.16.11.2:5201");
    assert_snapshot!(drawn(&desk, "timeseries sender.parquet --panel srtt,pipe_segments"), @r"0 | 100 | 200 | 300 | smoothed RTT (ms) | 0 | 5 | 10 | 15 | 20 | 25 | 30 | 0 | 50 | 100 | time (s) | pipe (segments) | 172.16.10.3:54058 &gt; 172.16.11.2:5201");
}

#[test]
fn distributions_group_by_flow_file_or_parameter() {
    let desk = transfer();
    assert_snapshot!(drawn(&desk, "ecdf rtt.parquet"), @r"172.16.10.3:54058 &gt; 172.16.11.2:5201: median 266 ms | 0 | 100 | 200 | 300 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | RTT (ms) | fraction of values | all samples of one run, only rows with reference=src");
    let sweep = sweep();
    assert_snapshot!(drawn(&sweep, "ecdf sweep.csv --x rtt --group cc --filter delay_ms=20"), @r"cubic: median 47.5 ms | reno: median 47.5 ms | vegas: median 47.5 ms | 40 | 45 | 50 | 55 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | RTT (ms) | fraction of values");
    assert_snapshot!(drawn(&sweep, "box sweep.csv --x delay --colour cc --width page"), @r"cubic | reno | vegas | 20 | 100 | 0 | 50 | 100 | 150 | 200 | delay (ms) | RTT (ms)");
    assert_snapshot!(drawn(&sweep, "violin sweep.csv --y rtt --x cc,delay --y-unit s"), @r"20 | 100 | 20 | 100 | 20 | 100 | 0.00 | 0.05 | 0.10 | 0.15 | 0.20 | cubic | reno | vegas | delay (ms) | RTT (s)");
}

#[test]
fn parameters_are_axes_of_bars_heat_maps_and_trends() {
    let sweep = sweep();
    let bars = "bar sweep.csv --y goodput --statistic sum --x delay --colour cc --title Sums";
    assert_snapshot!(drawn(&sweep, bars), @r"Sums | cubic | reno | vegas | 20 | 100 | 0 | 5 | 10 | delay (ms) | sum of goodput (Mbit/s) | median over 5 runs, sum over values");
    let map = "heatmap sweep.csv --value rtt --x cc --y delay --value-limits 0:300";
    assert_snapshot!(drawn(&sweep, map), @r"cubic | reno | vegas | 20 | 100 | congestion control | delay (ms) | 47.5 | 208 | 47.5 | 208 | 47.5 | 208 | 0 | 50 | 100 | 150 | 200 | 250 | 300 | RTT (ms) | median over 5 runs, median over values");
    let fairness = "fairness sweep.csv --y goodput --x delay --colour cc";
    assert_snapshot!(drawn(&sweep, fairness), @r"cubic | reno | vegas | 20 | 40 | 60 | 80 | 100 | 4.5 | 4.6 | 4.7 | 4.8 | 4.9 | delay (ms) | goodput (Mbit/s) | median over 5 runs, median over values");
}

#[test]
fn sender_state_is_plotted_from_a_capture() {
    let desk = Desk::new();
    let src = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    assert_snapshot!(drawn(&desk, &format!("sequence {src} --x-limits 9:11")), @r"data | retransmitted or reordered | acknowledged | SACK | receiver&apos;s window | 9.0 | 9.5 | 10.0 | 10.5 | 11.0 | 2.2 | 2.3 | 2.4 | 2.5 | 2.6 | time (s) | sequence number (MB) | data from 172.16.10.3:54058 to 172.16.11.2:5201");
    let back = drawn(
        &desk,
        &format!("sequence {src} --flow 0 --direction reverse"),
    );
    assert_snapshot!(back, @r"data | retransmitted or reordered | acknowledged | SACK | receiver&apos;s window | 0 | 5 | 10 | 15 | 20 | 25 | 30 | 0 | 50 | 100 | 150 | 200 | 250 | 300 | time (s) | sequence number (bytes) | data from 172.16.11.2:5201 to 172.16.10.3:54048");
    let failure = desk.failure(&format!("plot sequence {src} --flow nowhere -o chart.svg"));
    assert!(failure.ends_with("matches nowhere"), "{failure}");
}

#[test]
fn throughput_against_delay_is_drawn_per_flow_or_bin() {
    let desk = transfer();
    let of_bins = drawn(
        &desk,
        "throughput-delay throughput.json rtt.parquet --group flow",
    );
    assert_snapshot!(of_bins, @r"172.16.10.3:54058 &gt; 172.16.11.2:5201 | 0 | 100 | 200 | 300 | 0.0 | 0.5 | 1.0 | 1.5 | 2.0 | 2.5 | RTT (ms) | goodput (Mbit/s) | one point per bin; large marks are means, ellipses one standard | deviation; of each flow the direction with the larger sum");
    let of_flows = "throughput-delay sweep.csv --x rtt --group cc,delay --per flow";
    assert_snapshot!(drawn(&sweep(), of_flows), @r"cubic, delay 20 ms | cubic, delay 100 ms | reno, delay 20 ms | reno, delay 100 ms | vegas, delay 20 ms | vegas, delay 100 ms | 0 | 50 | 100 | 150 | 200 | 4.0 | 4.5 | 5.0 | RTT (ms) | goodput (Mbit/s) | one point per flow and run; large marks are means, ellipses one | standard deviation");
}

#[test]
fn bins_of_two_capture_points_are_not_drawn_as_one_line() {
    let desk = Desk::new();
    let [src, dst] = ["src", "dst"].map(|at| fixture(&format!("reno-2mbit-40ms-50p/{at}.pcap.gz")));
    desk.text(&format!("analyze {src} {dst} -o run -q"));
    // At this width the notes, in which the charts differ, take one line each.
    let line = "plot timeseries run/throughput.parquet --flow 1 --width page";
    desk.text(&format!("{line} -o of-both.svg"));
    for capture in ["src", "dst"] {
        desk.text(&format!(
            "{line} --filter capture={capture} -o {capture}.svg"
        ));
    }
    let lines = |name: &str| {
        let svg = String::from_utf8(desk.get(name)).unwrap();
        let lines = svg.lines().filter(|line| line.contains("<polyline"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("of-both.svg"), lines("dst.svg"));
    assert_ne!(lines("src.svg"), lines("dst.svg"));
    let note = "only rows with capture=dst, rates in bins";
    assert!(texts(&desk.get("of-both.svg")).contains(note));
}

#[test]
fn bins_of_rates_can_be_wider_than_in_the_table() {
    let desk = transfer();
    let line = "timeseries throughput.json --panel throughput";
    let narrow = drawn(&desk, line);
    assert!(narrow.contains("| rates in bins of 1 s, "), "{narrow}");
    let wide = drawn(&desk, &format!("{line} --bin 5s"));
    assert!(wide.contains("| rates in bins of 5 s, "), "{wide}");
    let named = drawn(&desk, "timeseries throughput.json --panel goodput --bin 5s");
    assert_eq!(named, wide);
    assert_eq!(
        desk.failure(&format!("plot {line} --bin 1500ms -o chart.svg")),
        "bins of 1.500 s cannot be made of bins of 1.000 s: choose a multiple"
    );
    assert_eq!(
        desk.misuse("plot timeseries rtt.parquet --bin 5s -o chart.svg"),
        "error: --bin applies to panels of rates only, such as throughput"
    );
}

#[test]
fn the_same_tables_yield_the_same_chart() {
    let desk = sweep();
    let line = "plot box sweep.csv --x cc,delay -o";
    for file in ["a.svg", "b.svg", "a.png", "b.png"] {
        desk.text(&format!("{line} {file}"));
    }
    assert!(desk.get("a.svg") == desk.get("b.svg"));
    assert!(desk.get("a.png") == desk.get("b.png"));
    assert!(desk.get("a.png").starts_with(b"\x89PNG"));
}

#[test]
fn undrawable_input_is_reported_in_one_line() {
    let desk = sweep();
    desk.put("notes.txt", b"\x00\x01");
    desk.put("other.csv", b"cc,rtt_ms\n7,fast\n");
    let failures = [
        "ecdf sweep.csv --x srtt",
        "ecdf sweep.csv --x cc",
        "ecdf sweep.csv --group queue",
        "ecdf sweep.csv --filter cc=bbr",
        "ecdf sweep.csv --filter queue=fq",
        "box sweep.csv --table owd",
        "box sweep.csv other.csv --x cc",
        "heatmap sweep.csv --x cc --y nowhere",
        "ecdf nowhere.csv",
        "ecdf notes.txt",
        "ecdf .",
        "ecdf sweep.csv --width 20",
        "timeseries sweep.csv",
    ]
    .map(|line| desk.failure(&format!("plot {line} -o chart.svg")));
    assert_snapshot!(failures.join("\n"), @r"
    no table has the column srtt: it has cc, delay_ms, flow_id, goodput_bps, rtt_ms, run
    the column cc holds text, not numbers
    no table has the column queue: it has cc, delay_ms, flow_id, goodput_bps, rtt_ms, run
    no row of the table meets cc=bbr
    no table has the column queue: it has cc, delay_ms, flow_id, goodput_bps, rtt_ms, run
    there is no table owd: the tables are (unnamed)
    cannot read other.csv: the column cc is text in one table and a number in another
    no table has the column nowhere: it has cc, delay_ms, flow_id, goodput_bps, rtt_ms, run
    cannot open nowhere.csv: No such file or directory (os error 2)
    cannot read notes.txt: not a table: neither Parquet, Arrow, CSV nor JSON
    there are no tables in .
    cannot draw chart.svg: a figure of 20 mm by 60 mm has no room for 1 series
    there is no column time or start_time or sent_time
    ");
    assert_eq!(desk.written(), ["notes.txt", "other.csv", "sweep.csv"]);
}

#[test]
fn marks_that_reach_zero_end_at_the_edge_of_a_logarithmic_axis() {
    let desk = Desk::empty();
    let packets = [0, 0, 0, 3, 9, 20, 50];
    let rows: Vec<String> = (0..7)
        .map(|row| format!("a,{row},{}", packets[row]))
        .collect();
    let table = format!("cc,run,lost_packets\n{}\n", rows.join("\n"));
    desk.put("runs.csv", table.as_bytes());
    for kind in ["box", "bar", "violin"] {
        desk.text(&format!(
            "plot {kind} runs.csv --y lost_packets --x cc --y-log -o chart.svg"
        ));
        let svg = desk.get("chart.svg");
        let svg = text(&svg);
        let (_, size) = svg.split_once("viewBox=\"0 0 ").unwrap();
        let (size, _) = size.split_once('"').unwrap();
        let (width, height) = size.split_once(' ').unwrap();
        let [width, height] = [width, height].map(|side| side.parse::<f64>().unwrap());
        for points in svg.split("points=\"").skip(1) {
            let (points, _) = points.split_once('"').unwrap();
            for point in points.split_whitespace() {
                let (x, y) = point.split_once(',').unwrap();
                let [x, y] = [x, y].map(|place| place.parse::<f64>().unwrap());
                assert!(
                    (0.0..=width).contains(&x) && (0.0..=height).contains(&y),
                    "{kind}: {point}"
                );
            }
        }
    }
}

#[test]
fn an_unused_file_is_reported() {
    let desk = transfer();
    let output = desk.run("plot ecdf rtt.parquet sender.parquet --group file -o chart.svg");
    assert_eq!(output.status.code(), Some(0));
    let expected = "warning: sender.parquet is left out: it has no column rtt_ms";
    assert_eq!(reason(&output), expected);
}

#[test]
fn invalid_arguments_exit_with_2() {
    let desk = sweep();
    let misuses = [
        "plot",
        "plot pie sweep.csv -o chart.svg",
        "plot ecdf -o chart.svg",
        "plot ecdf sweep.csv",
        "plot ecdf sweep.csv -o chart.gif",
        "plot ecdf sweep.csv -o chart.svg --width wide",
        "plot ecdf sweep.csv -o chart.svg --x-limits 5",
        "plot ecdf sweep.csv -o chart.svg --filter cc",
        "plot ecdf sweep.csv -o chart.svg --x-unit Mbit/s",
        "plot bar sweep.csv -o chart.svg --statistic most",
    ];
    for line in misuses {
        desk.misuse(line);
    }
}

#[test]
fn help_lists_the_drawable_quantities() {
    assert_snapshot!(Desk::new().text("plot -h"));
    assert_snapshot!(Desk::new().text("plot box --help"));
}

#[test]
fn a_damaged_table_is_an_error_of_a_timeseries_not_a_chart_without_its_lines() {
    let desk = Desk::new();
    desk.text("analyze src.pcap dst.pcap -q -o data");
    let whole = ["sender", "loss", "flows"].map(|table| desk.get(&format!("data/{table}.parquet")));
    for (table, whole) in ["sender", "loss", "flows"].into_iter().zip(whole) {
        let file = format!("data/{table}.parquet");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 4;
        desk.put(&file, &damaged);
        let failure = desk.failure("plot timeseries data -q -o chart.svg");
        // A bit of the metadata makes the table unreadable, one of the data changes its checksum.
        let unreadable =
            format!("cannot read {file}: cannot read the table: the Parquet data is damaged");
        let changed = format!("the dataset data is damaged: {table}.parquet has changed");
        let is_named = [unreadable, changed]
            .iter()
            .any(|start| failure.starts_with(start));
        assert!(is_named, "{failure}");
        desk.put(&file, &whole);
    }
    assert!(!desk.path("chart.svg").exists());
    desk.text("plot timeseries data -q -o chart.svg");
}
