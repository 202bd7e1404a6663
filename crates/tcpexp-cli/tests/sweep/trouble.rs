//! What goes wrong around a sweep: hosts that cannot take part or stop answering, somebody who ends
//! it, a disk that is full.

use crate::bench::{Bench, has_lab, said};

#[test]
#[ignore = "takes minutes: cargo test -p tcpexp-cli --test sweep -- --ignored --nocapture"]
fn sweep_in_trouble_says_why_leaves_nothing_and_completes_later() {
    if !has_lab() {
        return;
    }
    let bench = Bench::new();
    let plan = include_str!("killed.toml")
        .replace(r#"rate = ["4mbit", "8mbit"]"#, r#"rate = ["4mbit"]"#)
        .replace("repetitions = 2", "repetitions = 1");
    bench.share("trouble.sh", include_str!("trouble.sh"), &plan);
    let output = bench.tcpexp("lab run --share share -- bash /share/trouble.sh");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    assert!(output.status.success(), "{text}\n{}", said(&output));
    assert!(text.ends_with("all is as it was\n"), "{text}");
}
