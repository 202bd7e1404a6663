//! `tcpexp check`: verdicts of a sweep's results.

use insta::assert_snapshot;
use serde_json::json;

use crate::compare::{Run, grid, rows, sweep};
use crate::desk::{Desk, text};

/// A sweep of two cells with two runs each, and the same sweep as its own baseline.
fn runs() -> Vec<Run> {
    let mut runs = grid();
    runs.truncate(4);
    runs
}

/// A plan for the sweep, with the given end.
fn plan(desk: &Desk, end: &str) {
    let plan = format!(
        r#"kind = "lab"

[matrix]
"traffic.bulk.count" = [1, 3]

[path.forward]
rate = "4mbit"
delay = "15ms"
buffer = "40p"

[[traffic]]
name = "bulk"
tool = "iperf"
duration = "8s"

{end}
"#
    );
    desk.put("plan.toml", plan.as_bytes());
}

#[test]
fn verdicts_use_the_values_of_a_comparison() {
    let desk = sweep(&runs());
    let line = "check . --warmup 2s --baseline . --expect utilisation>0.9 --expect rtt_median_ms<90 \
        --expect goodput_bps>=1.1*baseline --expect convergence_s<1 -o verdicts.csv \
        --junit verdicts.xml";
    let checked = desk.run(line);
    assert_eq!(checked.status.code(), Some(1));
    assert_eq!(
        text(&checked.stderr),
        "tcpexp: the check of 4 of 8 results failed\n"
    );
    desk.bytes("compare . --warmup 2s -o cells.csv --quiet");
    let cells = rows(&text(&desk.get("cells.csv")));
    let verdicts = rows(&text(&desk.get("verdicts.csv")));
    assert_eq!(verdicts.len(), 8);
    for verdict in &verdicts {
        let cell = cells
            .iter()
            .find(|cell| cell["cell"] == verdict["cell"] && cell["class"] == "all")
            .unwrap();
        let measure = verdict["expectation"].split(' ').next().unwrap();
        assert_eq!(verdict["value"], cell[measure]);
        let [value, bound] = ["value", "bound"].map(|name| verdict[name].parse::<f64>().ok());
        let is_met = value.zip(bound).map(|(value, bound)| match measure {
            "utilisation" => value > bound,
            "goodput_bps" => value >= bound,
            _ => value < bound,
        });
        let expected = match is_met {
            Some(true) => "met",
            // One flow alone does not converge.
            None if verdict["generators"] == "1" => "unknown",
            // Of three flows, none has converged.
            Some(false) | None => "not met",
        };
        assert_eq!(verdict["verdict"], expected, "{verdict:?}");
    }
    let xml = text(&desk.get("verdicts.xml"));
    assert_eq!(xml.matches("<testcase ").count(), 8);
    assert_eq!(xml.matches("<failure ").count(), 4);
    assert_eq!(xml.matches("<error ").count(), 1);
}

#[test]
fn expectations_of_the_plan_are_checked_in_their_cells() {
    let desk = sweep(&runs());
    plan(
        &desk,
        r#"
[[expect]]
that = "utilisation > 0.9"

[[expect]]
that = "rtt_p95_ms < 90"
of = "bulk"
only = { generators = 3 }
"#,
    );
    let failed = desk.run("check . --warmup 2s");
    assert_eq!(failed.status.code(), Some(1));
    assert_snapshot!(text(&failed.stdout), @r"
    utilisation > 0.9 (all): met in 2 of 2 cells
      met     cc=sack generators=1: 0.994 (0.990 to 0.998)
      met     cc=sack generators=3: 0.996 (0.996 to 0.996)
    rtt_p95_ms < 90 (bulk): met in 0 of 1 cell
      not met cc=sack generators=3: 108.1 (108.1 to 108.1)

    verdicts        2 met, 1 not met, 0 unknown
    ");
}

#[test]
fn an_expectation_about_nothing_is_refused() {
    let desk = sweep(&runs());
    assert_snapshot!(desk.misuse("check ."), @"error: . has no plan.toml with expectations: use --expect");
    assert_snapshot!(desk.misuse("check . --expect rtt<80").lines().next().unwrap(), @r#"error: invalid value 'rtt<80' for '--expect <EXPECTATION>': no measure is named "rtt"; the measures are goodput_bps, flow_goodput_bps, utilisation, rtt_base_ms, rtt_min_ms, rtt_median_ms, rtt_p95_ms, rtt_p99_ms, rtt_mean_ms, induced_rtt_median_ms, induced_rtt_p95_ms, loss_ratio, retransmission_ratio, mark_ratio, queue_marked_packets, jain, jain_window_min, jain_window_median, jain_window_fair_share, max_min_ratio, epsilon, convergence_s, rtt_unfairness_exponent, share_ratio, friendliness, goodput_harm, rtt_harm, completion_harm, rate_response_s, rtt_response_s, completion_median_s, completion_p95_s, load_time_s, slowdown_median, slowdown_p95, transfer_time_ratio, tcp_efficiency_percent, buffer_delay_percent, mos, startup_delay_s, stall_count, stall_ratio, video_rate_bps"#);
    assert_snapshot!(desk.failure("check . --expect jain>baseline"), @r#""jain > 1 * baseline" needs the results of an earlier sweep as its baseline"#);
    plan(&desk, "");
    assert_snapshot!(desk.misuse("check ."), @"error: ./plan.toml has no [[expect]]: use --expect");
    for (expect, place) in [
        ("that = \"rtt < 80\"", "that"),
        ("that = \"jain > 0.9\"\nof = \"bluk\"", "of"),
        ("that = \"jain > 0.9\"\nonly = { cca = \"reno\" }", "only"),
        ("that = \"jain > 0.9\"\nonly = { rate_mbps = 5 }", "only"),
    ] {
        plan(&desk, &format!("[[expect]]\n{expect}"));
        let refused = desk.failure("check .");
        assert!(refused.contains(&format!("expect[1].{place}")), "{refused}");
    }
    // The plan has this traffic, and the results do not.
    plan(
        &desk,
        "[[traffic]]\nname = \"web\"\ntool = \"http\"\nsizes = [\"1kB\"]\n\n[[expect]]\nthat = \"jain > 0.9\"\nof = \"web\"",
    );
    assert_snapshot!(desk.failure("check ."), @r#""jain > 0.9" applies to no result: no traffic is named web; there is bulk, file, voice"#);
}

#[test]
fn a_cell_without_a_valid_run_is_unknown() {
    let mut runs = runs();
    runs.truncate(2);
    let desk = sweep(&runs);
    let mut record = runs[1].record();
    record["status"] = json!("failed");
    record["reason"] = json!("no answer");
    desk.put("runs/r2/run.json", record.to_string().as_bytes());
    let checked = desk.run("check . --expect utilisation>0.1");
    assert_eq!(checked.status.code(), Some(1));
    assert_snapshot!(text(&checked.stdout), @r#"
    utilisation > 0.1 (all): met in 1 of 2 cells
      met     cc=sack generators=1: 0.979
      unknown cc=sack generators=3: no value; left out: r2 failed (no answer)

    verdicts        1 met, 0 not met, 1 unknown
    "#);
    assert_snapshot!(text(&checked.stderr), @"tcpexp: the verdict on 1 of 2 results is unknown");
}
