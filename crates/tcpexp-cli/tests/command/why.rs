//! `tcpexp why`, and the verdicts and details of `tcpexp flows`.

use insta::assert_snapshot;

use crate::desk::{Desk, fixture, text};

fn reno() -> String {
    fixture("reno-2mbit-40ms-50p/src.pcap.gz")
}

#[test]
fn a_page_names_the_cause_with_evidence_and_advice() {
    let src = reno();
    assert_snapshot!(Desk::empty().text(&format!("why {src}")));
}

#[test]
fn causes_are_a_table() {
    let desk = Desk::empty();
    let src = reno();
    let printed = desk.text(&format!("why {src} -o causes.csv"));
    assert!(printed.contains("a long queue that the sender fills itself"));
    let rows = text(&desk.get("causes.csv"));
    assert!(
        rows.lines().nth(1).unwrap().contains(",own_queue,"),
        "{rows}"
    );
    assert_eq!(rows.matches(",true,").count(), 1, "{rows}");
}

#[test]
fn a_capture_without_a_large_flow_is_an_error() {
    let desk = Desk::new();
    let error = desk.failure("why src.pcap --flow 77");
    assert_eq!(
        error,
        "no TCP flow in src.pcap with 30000 bytes or more matches 77"
    );
}

#[test]
fn flows_end_with_a_verdict_per_large_flow() {
    let desk = Desk::empty();
    let src = reno();
    let all = desk.text(&format!("flows {src}"));
    let last = all.lines().last().unwrap();
    assert!(
        last.starts_with("1 forward: limited by a long queue"),
        "{all}"
    );
    assert!(
        !desk
            .text(&format!("flows {src} --quiet"))
            .contains("limited by")
    );
}

#[test]
fn a_single_flow_is_shown_in_detail_with_shares() {
    let src = reno();
    assert_snapshot!(Desk::empty().text(&format!("flows {src} --flow 1 --quiet")));
}
