//! A sweep that is killed at random points leaves nothing behind, and goes on.

use crate::bench::{Bench, has_lab, said};

#[test]
#[ignore = "takes minutes: cargo test -p tcpexp-cli --test sweep -- --ignored"]
fn sweep_killed_twenty_times_leaves_nothing_and_completes() {
    if !has_lab() {
        return;
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("share")).unwrap();
    bench.write("share/killed.sh", include_str!("killed.sh"));
    bench.write("share/plan.toml", include_str!("killed.toml"));
    let output = bench.tcpexp("lab run --share share -- bash /share/killed.sh");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", said(&output));
    assert_eq!(text.matches("killed ").count(), 20, "{text}");
    assert!(text.contains("all is as it was"), "{text}");
}
