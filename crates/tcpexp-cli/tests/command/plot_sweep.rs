//! `tcpexp plot` on datasets and on sweeps of simulated runs.

use insta::assert_snapshot;
use serde_json::json;
use tcpexp_testkit::{Scenario, TcpLoad, simulate};
use tcpexp_units::TimeDelta;

use crate::desk::{Desk, fixture, ordinary, reason, text};
use crate::plot::{drawn, texts};

/// Adds a run with two uploads to the sweep on the desk: its dataset and its record.
fn run(desk: &Desk, name: &str, (sack, delay_ms): (bool, i64), status: &str) {
    let captures = simulate(&Scenario {
        seed: 7,
        tcp: vec![TcpLoad {
            flows: 2,
            bytes: 1_000_000_000,
            sack,
            ..TcpLoad::default()
        }],
        rate_bps: 4_000_000,
        queue_bytes: 40_000,
        delay: TimeDelta::from_millis(delay_ms),
        max_time: Some(TimeDelta::from_seconds(3)),
        ..Scenario::default()
    });
    desk.put("a.pcap", &captures.src);
    desk.put("b.pcap", &captures.dst);
    let cc = if sack { "sack" } else { "plain" };
    let dir = format!("sweep/runs/{name}");
    std::fs::create_dir_all(desk.path(&dir)).unwrap();
    desk.bytes(&format!(
        "analyze a.pcap b.pcap -o {dir}/data --quiet --param run={name} --param cc={cc} \
         --param delay_ms={delay_ms}"
    ));
    let record = json!({
        "schema": 1, "run": name, "cell": format!("{cc}{delay_ms}"), "repetition": 1, "seed": 7,
        "plan_hash": "ab", "status": status, "reason": "the router was too slow",
        "parameters": {"cc": cc, "delay_ms": delay_ms, "rate_mbps": 4.0},
        "varied": ["cc", "delay_ms"], "t0_ns": 1_700_000_000_000_000_000_i64, "bottleneck": {}, "calibration": null,
        "queue": null, "started_ns": 1, "finished_ns": 2,
    });
    desk.put(&format!("{dir}/run.json"), record.to_string().as_bytes());
}

fn sweep() -> Desk {
    let desk = Desk::new();
    run(&desk, "r1", (true, 10), "complete");
    run(&desk, "r2", (true, 40), "complete");
    run(&desk, "r3", (false, 10), "complete");
    run(&desk, "r4", (false, 40), "complete");
    desk
}

#[test]
fn a_sweep_is_grouped_by_its_varied_parameters() {
    let desk = sweep();
    assert_snapshot!(drawn(&desk, "ecdf sweep"), @r"plain, delay 10 ms: median 71.1 ms | plain, delay 40 ms: median 99.9 ms | sack, delay 10 ms: median 81.7 ms | sack, delay 40 ms: median 136 ms | 0 | 50 | 100 | 150 | 0.0 | 0.5 | 1.0 | RTT (ms) | fraction of values | all samples of one run each, flows with at least 1 % of the payload, | direction with more payload");
    assert_snapshot!(drawn(&desk, "box sweep --x delay --colour cc"), @r"plain | sack | 10 | 40 | 0 | 50 | 100 | 150 | delay (ms) | RTT (ms) | all samples of one run each, flows with at least 1 % of the payload, | direction with more payload");
    assert_snapshot!(drawn(&desk, "heatmap sweep --value goodput --x cc --y delay"), @r"plain | sack | 10 | 40 | congestion control | delay (ms) | 3.52 | 2.98 | 3.87 | 3.72 | 3.0 | 3.2 | 3.4 | 3.6 | 3.8 | goodput (Mbit/s) | one run each, flows with at least 1 % of the payload, direction with more | payload");
    assert_snapshot!(drawn(&desk, "bar sweep --filter direction=forward"), @r"10 | 40 | 10 | 40 | 0.0 | 0.5 | 1.0 | 1.5 | plain | sack | delay (ms) | goodput of flows (Mbit/s) | one run each, median over flows, flows with at least 1 % of the payload, | forward");
    assert_snapshot!(drawn(&desk, "fairness sweep --x delay --colour cc"), @r"plain | sack | 10 | 15 | 20 | 25 | 30 | 35 | 40 | 0.0 | 0.5 | 1.0 | delay (ms) | Jain&apos;s index | one run each, flows with at least 1 % of the payload, direction with more | payload; without 2 runs that have no value");
    assert_snapshot!(drawn(&desk, "throughput-delay sweep --group cc"), @r"plain | sack | 0 | 50 | 100 | 0.0 | 0.5 | 1.0 | 1.5 | 2.0 | median RTT (ms) | goodput (Mbit/s) | one point per flow and run; large marks are means, ellipses one | standard deviation; flows with at least 1 % of the payload, direction with | more payload; round-trip times are off by up to 21.40 ms; runs that differ | in delay are pooled");
    let by_default = drawn(&desk, "timeseries sweep --panel rtt");
    let named = "timeseries sweep --panel rtt --group cc,delay_ms";
    assert_eq!(by_default, drawn(&desk, named));
    assert!(by_default.contains("sack, delay 10 ms | "), "{by_default}");
    assert_snapshot!(drawn(&desk, "timeseries sweep/runs/r1"), @r":10000 | :10001 | 0 | 20 | 40 | cwnd (segments) | lost | 0 | 50 | 100 | RTT (ms) | 0.0 | 0.5 | 1.0 | 1.5 | 2.0 | 2.5 | 3.0 | 0 | 1 | 2 | time (s) | goodput (Mbit/s) | flows with at least 1 % of the payload, direction with more payload, | rates in bins of 100 ms, flows 10.1.0.1:* &gt; 203.0.113.1:5001");
}

#[test]
fn runs_of_equal_names_in_different_places_are_distinguished() {
    let desk = Desk::new();
    for place in ["one", "two"] {
        std::fs::create_dir(desk.path(place)).unwrap();
        desk.text(&format!(
            "analyze src.pcap dst.pcap -o {place}/data --param place={place} --quiet"
        ));
    }
    let files = drawn(
        &desk,
        "ecdf one/data/rtt.parquet two/data/rtt.parquet --x rtt",
    );
    for name in ["one/data/rtt", "two/data/rtt"] {
        assert!(files.contains(name), "{files}");
    }
    let datasets = drawn(&desk, "ecdf one/data two/data --x rtt");
    assert!(datasets.contains("one run each"), "{datasets}");
    // Folders of datasets, which `compare` reads.
    let folders = drawn(&desk, "bar one two --y goodput --x file");
    assert!(folders.starts_with("one | two | "), "{folders}");
}

#[test]
fn runs_are_drawn_from_the_start_of_each() {
    let desk = Desk::empty();
    std::fs::create_dir(desk.path("runs")).unwrap();
    for (name, later_s) in [("first", 0), ("second", 300)] {
        let usual = ordinary();
        let start = usual.start + TimeDelta::from_seconds(later_s);
        let captures = simulate(&Scenario { start, ..usual });
        desk.put("src.pcap", &captures.src);
        desk.put("dst.pcap", &captures.dst);
        desk.text(&format!(
            "analyze src.pcap dst.pcap -o runs/{name} --param name={name} --quiet"
        ));
    }
    let chart = drawn(&desk, "timeseries runs --panel rtt");
    assert!(chart.contains("since the start of each run"), "{chart}");
    // The transfers take less than two seconds.
    assert!(!chart.contains("| 100 |"), "{chart}");
}

#[test]
fn panels_of_a_parameter_have_the_same_axes_and_one_legend() {
    let desk = sweep();
    assert_snapshot!(drawn(&desk, "ecdf sweep --group cc --facet delay"), @r"plain | sack | 0 | 50 | 100 | 150 | 0.0 | 0.5 | 1.0 | RTT (ms) | fraction of values | delay 10 ms | 0 | 50 | 100 | 150 | RTT (ms) | delay 40 ms | all samples of one run each, flows with at least 1 % of the payload, | direction with more payload");
    assert_snapshot!(drawn(&desk, "bar sweep --x delay --facet cc"), @r"10 | 40 | 0 | 1 | 2 | 3 | 4 | delay (ms) | goodput (Mbit/s) | plain | 10 | 40 | delay (ms) | sack | one run each, flows with at least 1 % of the payload, direction with more | payload");
    assert_snapshot!(drawn(&desk, "throughput-delay sweep --group delay --facet cc"), @r"delay 10 ms | delay 40 ms | 0 | 50 | 100 | 0.0 | 0.5 | 1.0 | 1.5 | 2.0 | median RTT (ms) | goodput (Mbit/s) | plain | 0 | 50 | 100 | median RTT (ms) | sack | one point per flow and run; large marks are means, ellipses one | standard deviation; flows with at least 1 % of the payload, direction with | more payload; round-trip times are off by up to 21.40 ms");
    // A name at the end of each line replaces the legend.
    assert_snapshot!(drawn(&desk, "fairness sweep --x delay --colour cc --labels"), @r"10 | 15 | 20 | 25 | 30 | 35 | 40 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | delay (ms) | Jain&apos;s index | sack | plain | one run each, flows with at least 1 % of the payload, direction with more | payload; without 2 runs that have no value");
    assert_snapshot!(desk.failure("plot box sweep --facet nothing -o chart.svg"), @r"no table has the column nothing: rtt has ack_class, cc, delay_ms, direction, flow_id, initiator, method, owd_back_ns, owd_out_ns, protocol, reference, responder, rtt_error_ns, rtt_ms, rtt_ns, run, time, time_s, traffic, traffic_class, turnaround_ns");
}

#[test]
fn incomplete_runs_are_excluded_with_a_warning() {
    let desk = Desk::new();
    run(&desk, "r1", (true, 10), "complete");
    run(&desk, "r2", (true, 40), "invalid");
    let output = desk.run("plot ecdf sweep -o chart.svg");
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(reason(&output), @r"warning: run r2 is left out: the router was too slow");
    let chart = texts(&desk.get("chart.svg"));
    assert!(
        chart.contains("delay 10 ms") && !chart.contains("delay 40 ms"),
        "{chart}"
    );
    let failure = desk.failure("plot ecdf sweep/runs/r1 --x nothing -o chart.svg");
    assert_snapshot!(failure, @r"no table has the column nothing: rtt has ack_class, cc, delay_ms, direction, flow_id, initiator, method, owd_back_ns, owd_out_ns, protocol, reference, responder, rtt_error_ns, rtt_ms, rtt_ns, run, time, time_s, traffic, traffic_class, turnaround_ns");
}

#[test]
fn a_dataset_of_a_real_transfer_has_its_flow_over_time() {
    let desk = Desk::new();
    let [src, dst] =
        ["src", "dst"].map(|point| fixture(&format!("reno-2mbit-40ms-50p/{point}.pcap.gz")));
    desk.bytes(&format!("analyze {src} {dst} -o run --quiet"));
    // The control connection of iperf3 is no load: the lines are those of the upload.
    let points = |line: &str| {
        desk.text(&format!("plot timeseries run {line} -o chart.svg"));
        let svg = String::from_utf8(desk.get("chart.svg")).unwrap();
        let lines = svg.lines().filter(|line| line.contains("<polyline"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(points("--panel rtt"), points("--panel rtt --flow 1"));
    assert_ne!(points("--panel rtt"), points("--panel rtt --flows all"));
    assert_snapshot!(drawn(&desk, "timeseries run --flow 1"), @r"cwnd, estimated | ssthresh | flight size | fast recovery | 0 | 50 | 100 | cwnd (segments) | lost | 0 | 100 | 200 | 300 | RTT (ms) | 0 | 5 | 10 | 15 | 20 | 25 | 30 | 0 | 1 | 2 | time (s) | goodput (Mbit/s) | selected flows, direction with more payload, rates in bins of 100 ms, | 172.16.10.3:54058 &gt; 172.16.11.2:5201");
    assert_snapshot!(drawn(&desk, "timeseries run --flow 1 --panel queue,owd,flight_size --direction both"), @r"queue out | queue back | 172.16.10.3:54058 &gt; 172.16.11.2:5201 | 172.16.10.3:54058 &gt; 172.16.11.2:5201 (reverse) | 0 | 100 | 200 | 300 | max queueing delay (ms) | lost | 0 | 100 | 200 | 300 | one-way delay (ms) | 0 | 5 | 10 | 15 | 20 | 25 | 30 | 0 | 50 | 100 | 150 | time (s) | flight size (kB) | selected flows, both directions, one-way delays are off by up to 20.10 | ms");
}

#[test]
fn groups_by_an_end_of_the_flows_keep_the_rule_for_flows() {
    let desk = Desk::new();
    let [src, dst] =
        ["src", "dst"].map(|point| fixture(&format!("reno-2mbit-40ms-50p/{point}.pcap.gz")));
    for run in ["a", "b"] {
        desk.bytes(&format!("analyze {src} {dst} -o {run} --quiet"));
    }
    // The control connection of iperf3 has the same responder.
    let bars = |options: &str| drawn(&desk, &format!("bar a --y goodput --x responder {options}"));
    assert_eq!(bars(""), bars("--flows load"));
    assert!(bars("").contains("goodput (Mbit/s)"), "{}", bars(""));
    let all = bars("--flows all");
    assert!(all.contains("goodput of flows (kbit/s)"), "{all}");
    assert!(
        all.contains("one run each, median over flows, all flows"),
        "{all}"
    );
    // Both runs have the same addresses.
    let lines = drawn(&desk, "timeseries a b --panel rtt");
    assert!(lines.starts_with("a | b | "), "{lines}");
    let points = drawn(&desk, "throughput-delay a --x rtt_p95");
    assert!(points.contains("one point per flow"), "{points}");
    assert!(points.contains("p95 RTT (ms)"), "{points}");
    assert_eq!(
        desk.misuse("plot throughput-delay a --x rtt_p95 --per bin -o chart.svg"),
        "error: --x applies to --per flow only: the delay of a bin is the median of the RTTs in it"
    );
}

#[test]
fn a_parameter_of_words_is_no_axis_of_numbers() {
    let desk = sweep();
    assert_eq!(
        desk.misuse("plot fairness sweep --y goodput --x cc -o chart.svg"),
        "error: --x needs numbers: cc holds text"
    );
}

#[test]
fn a_flow_is_named_to_charts_as_to_other_commands() {
    let desk = sweep();
    let run = "sweep/runs/r1/data";
    for (kind, of_sweep) in [
        ("ecdf", ""),
        ("box", ""),
        ("violin", ""),
        ("throughput-delay", ""),
        ("timeseries", ""),
        ("bar", "--x delay"),
        ("heatmap", "--x cc --y delay"),
    ] {
        let [data, by] = match of_sweep {
            "" => [run, ""],
            by => ["sweep", by],
        };
        let charts = ["10000", ":10000", "#0", "10.1.0.1:10000"].map(|flow| {
            desk.text(&format!(
                "plot {kind} {data} {by} --flow {flow} -o chart.svg"
            ));
            text(&desk.get("chart.svg"))
        });
        assert!(charts.iter().all(|chart| *chart == charts[0]), "{kind}");
        assert!(charts[0].contains("selected flows"), "{kind}");
        desk.text(&format!("plot {kind} {data} {by} -o chart.svg"));
        assert_ne!(text(&desk.get("chart.svg")), charts[0], "{kind}");
        let failure = desk.failure(&format!("plot {kind} {data} {by} --flow :9 -o chart.svg"));
        assert!(failure.ends_with("meets --flow :9"), "{kind}: {failure}");
    }
    // Fairness is of all flows of a run, so no table has it for one.
    let failure = desk.failure("plot fairness sweep --x delay --flow 0 -o chart.svg");
    let reason = "no table has the column jain: ";
    assert!(failure.starts_with(reason), "{failure}");
}
