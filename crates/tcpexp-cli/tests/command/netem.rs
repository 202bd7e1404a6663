//! `tcpexp netem`: what it does is tested where it is; here, that it is there.

use crate::desk::Desk;

#[test]
fn a_dry_run_prints_what_would_be_typed_on_the_router() {
    let desk = Desk::new();
    desk.put(
        "b.toml",
        b"[forward]\nrate = '10mbit'\ndelay = '20ms'\nbuffer = '90p'\n",
    );
    let script = desk.text("netem apply --config b.toml --left eth1 --right eth2 --dry-run");
    assert!(script.starts_with("### on localhost\n"), "{script}");
    assert!(
        script.contains(
            "run tc qdisc add dev tcxd-l root handle 7d1: netem limit 44643 delay 20ms\n"
        )
    );
    let script = desk.text("netem clear --host rtr --os freebsd --dry-run");
    assert!(script.contains("ipfw -q delete set 17"), "{script}");
}
