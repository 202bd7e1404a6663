//! The expectations of a plan.

use insta::assert_snapshot;

use super::*;

#[test]
fn an_expectation_is_about_traffic_and_cells_of_the_plan() {
    let with = |expect: &str| format!("{PLAN}\n[[expect]]\n{expect}\n");
    let expected = plan(&with(
        "that = \"rtt_p95_ms < 80\"\nof = \"bulk\"\nonly = { cc = \"reno\", rate_mbps = 10 }",
    ))
    .expected;
    let [one] = expected.as_slice() else {
        panic!("{expected:?}");
    };
    assert_eq!(one.expectation.to_string(), "rtt_p95_ms < 80");
    assert_eq!(one.class.as_deref(), Some("bulk"));
    assert_eq!(one.only.to_string(), "cc=reno rate_mbps=10");
    assert_snapshot!(refusal(&with("that = \"rtt_p95_ms ~ 80\"")), @r#"plan.toml:17: expect[1].that: expected MEASURE < NUMBER, with <, <=, > or >=, such as "rtt_p95_ms < 80""#);
    assert_snapshot!(refusal(&with("that = \"jain > 0.9\"\nof = \"bluk\"")), @r#"plan.toml:18: expect[1].of: no traffic is named bluk"#);
    assert_snapshot!(refusal(&with("that = \"jain > 0.9\"\nonly = { cca = \"reno\" }")), @r#"plan.toml:18: expect[1].only: no cell has a parameter cca; the parameters are base_rtt_ms, buffer_packets, cc, delay_ms, duration_s, generators, queue, rate_mbps"#);
    assert_snapshot!(refusal(&with("that = \"jain > 0.9\"\nonly = { cc = \"bbr\" }")), @r#"plan.toml:18: expect[1].only: no cell has cc=bbr"#);
}

#[test]
fn expectations_change_no_cell() {
    let hashes = |text: &str| -> Vec<String> {
        plan(text).cells.into_iter().map(|cell| cell.hash).collect()
    };
    let expecting = format!("{PLAN}\n[[expect]]\nthat = \"jain > 0.9\"\n");
    assert_eq!(hashes(PLAN), hashes(&expecting));
}
