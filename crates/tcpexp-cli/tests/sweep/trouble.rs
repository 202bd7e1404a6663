//! Trouble around a sweep: hosts that cannot take part or stop answering, interrupts, and a full
//! disk.

use crate::bench::{Bench, has_lab};
use tcpexp_testkit::has_minutes;

#[test]
fn refused_or_interrupted_sweep_reports_why_leaves_nothing_and_completes_later() {
    if has_minutes() && has_lab() {
        in_a_guest("trouble.sh", include_str!("trouble.sh"));
    }
}

#[test]
#[ignore = "takes minutes: cargo test -p tcpexp-cli --test sweep -- --ignored --nocapture"]
fn sweep_with_failed_runs_continues_leaves_nothing_and_completes_later() {
    if has_lab() {
        in_a_guest("failing.sh", include_str!("failing.sh"));
    }
}

fn in_a_guest(name: &str, script: &str) {
    let bench = Bench::new();
    let plan = include_str!("killed.toml")
        .replace(r#"rate = ["4mbit", "8mbit"]"#, r#"rate = ["4mbit"]"#)
        .replace("repetitions = 2", "repetitions = 1");
    bench.share(name, script, &plan);
    let (status, text) = bench.follow(&format!("lab run --share share -- bash /share/{name}"));
    assert!(status.success(), "{status}");
    assert!(text.ends_with("all is as it was\n"), "{text}");
}
