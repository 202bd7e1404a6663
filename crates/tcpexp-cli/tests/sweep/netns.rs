//! A sweep with network namespaces as hosts. It needs root and a kernel with netem; a guest has
//! both.

use std::fs;

use crate::bench::{Bench, has_lab, said};
use tcpexp_testkit::has_minutes;

#[test]
fn namespaces_are_removed_even_after_a_killed_sweep() {
    if !has_minutes() || !has_lab() {
        return;
    }
    let bench = Bench::new();
    for folder in ["share", "out"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    bench.write("share/netns.sh", include_str!("netns.sh"));
    bench.write("share/plan.toml", include_str!("netns.toml"));
    let output = bench.tcpexp("lab run --share share --out out -- sh /share/netns.sh");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", said(&output));
    assert!(text.contains("all is as it was"), "{text}");
    let (_, record) = bench.records("out").remove(0);
    assert_eq!(record["status"], "complete", "{record}");
    let rate_mbps = record["calibration"]["rate_mbps"].as_f64().unwrap();
    assert!((rate_mbps / 4.0 - 1.0).abs() < 0.02, "{rate_mbps}");
    // Both sources share one queue, and both are captured.
    assert!(record["queue"]["drops"].as_u64().unwrap() > 0);
    assert_eq!(record["captures"].as_array().unwrap().len(), 3);
}
