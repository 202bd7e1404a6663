//! Files that are not captures, and captures that do not belong together.

use insta::assert_snapshot;
use tcpexp_testkit::{Scenario, UdpLoad, simulate};
use tcpexp_units::TimeDelta;

use crate::desk::{Desk, ORDINARY, ordinary, reason, text};

#[test]
fn a_file_that_is_not_a_capture_is_refused_by_name() {
    let desk = Desk::new();
    desk.put("empty", b"");
    desk.put("letter.txt", b"Dear colleague,\nattached is the trace.\n");
    desk.put(
        "garbage",
        &[0xFE, 0xDC, 0xBA, 0x98, 0x76, 0x54, 0x32, 0x10].repeat(500),
    );
    desk.put("header.pcap", &desk.get("src.pcap")[..24]);
    desk.put("half-a-header.pcap", &desk.get("src.pcap")[..13]);
    std::fs::create_dir(desk.path("folder")).unwrap();
    let names = [
        "missing",
        "missing-*.pcap",
        "empty",
        "letter.txt",
        "garbage",
        "folder",
        "header.pcap",
        "half-a-header.pcap",
    ];
    let mut reasons = Vec::new();
    for name in names {
        let reason = desk.failure(&format!("rtt {name} dst.pcap -o rtt.csv"));
        let other = desk.failure(&format!("rtt src.pcap {name} --format csv"));
        assert_eq!(reason, other);
        reasons.push(reason);
    }
    assert!(!desk.path("rtt.csv").exists());
    assert_snapshot!(reasons.join("\n"));
}

#[cfg(unix)]
#[test]
fn a_capture_without_read_permission_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    let secret = desk.path("src.pcap");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&secret).is_ok() {
        // Root can read every file.
        return;
    }
    assert_snapshot!(
        desk.failure("rtt src.pcap dst.pcap"),
        @"cannot open src.pcap: Permission denied (os error 13)"
    );
}

#[test]
fn a_truncated_capture_yields_a_result_and_a_warning_with_the_place() {
    let desk = Desk::new();
    let src = desk.get("src.pcap");
    for bytes in [src.len() / 2, src.len() - 1] {
        desk.put("cut.pcap", &src[..bytes]);
        for line in ["rtt cut.pcap dst.pcap", "rtt cut.pcap dst.pcap --quiet"] {
            let output = desk.run(line);
            assert_eq!(output.status.code(), Some(0));
            assert!(text(&output.stdout).starts_with("RTT in ms"));
            let warning = reason(&output);
            assert!(warning.starts_with("warning: cut.pcap: "), "{warning}");
            assert!(warning.contains("at byte "), "{warning}");
        }
    }
}

#[test]
fn captures_of_different_traffic_are_refused_with_the_reason() {
    let desk = Desk::new();
    let other = simulate(&Scenario {
        seed: 99,
        ..ordinary()
    });
    desk.put("other.pcap", &other.dst);
    assert_snapshot!(desk.failure("rtt src.pcap other.pcap"));
}

#[test]
fn captures_of_different_times_are_refused_with_the_reason() {
    let cut = |starts_after, stops_after| tcpexp_testkit::CaptureSpec {
        starts_after: TimeDelta::from_millis(starts_after),
        stops_after: Some(TimeDelta::from_millis(stops_after)),
        ..tcpexp_testkit::CaptureSpec::default()
    };
    let captures = simulate(&Scenario {
        src: cut(0, 200),
        dst: cut(300, 900),
        ..ordinary()
    });
    assert_snapshot!(Desk::with(&captures).failure("rtt src.pcap dst.pcap"));
}

#[test]
fn one_way_traffic_has_no_round_trip_time() {
    let captures = simulate(&Scenario {
        tcp: vec![],
        udp: vec![UdpLoad {
            reverse: false,
            ..UdpLoad::default()
        }],
        ..ordinary()
    });
    let desk = Desk::with(&captures);
    assert_snapshot!(desk.failure("rtt src.pcap dst.pcap --plot rtt.svg -o rtt.parquet"));
    assert_eq!(desk.written(), [""; 0]);
}

#[test]
fn a_capture_with_itself_is_measured_with_a_warning() {
    let desk = Desk::with(&ORDINARY);
    let output = desk.run("rtt src.pcap src.pcap");
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(
        reason(&output),
        @"warning: every round-trip time is 0: one capture may be a copy of the other"
    );
}

#[test]
fn a_missing_flow_is_an_error() {
    let desk = Desk::new();
    assert_snapshot!(
        desk.failure("rtt src.pcap dst.pcap --flow 77 --flow 192.0.2.1"),
        @"no round-trip time between src.pcap and dst.pcap: no flow matches 77 or 192.0.2.1"
    );
}

#[cfg(not(feature = "stores"))]
#[test]
fn a_url_needs_a_build_with_stores() {
    let reason = Desk::empty().failure("info s3://captures/src.pcap");
    assert_snapshot!(reason, @"cannot read s3://captures/src.pcap: this build cannot read URLs: build tcpexp with the feature `stores`, as in `cargo install --path crates/tcpexp-cli --features stores`");
}
