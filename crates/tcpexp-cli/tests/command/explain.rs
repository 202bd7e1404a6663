//! `tcpexp explain`.

use crate::desk::{Desk, fixture};

/// Captures, each with one of its flows.
fn captures() -> Vec<(String, &'static str)> {
    [
        ("reno-2mbit-40ms-50p/src.pcap.gz", "#0"),
        ("reno-2mbit-40ms-50p/dst.pcap.gz", "#1"),
        ("short-reno-without-sack/snd.pcap.gz", "#0"),
        ("cubic-tso-split-10mbit/src.pcap.gz", "#1"),
    ]
    .map(|(capture, flow)| (fixture(capture), flow))
    .to_vec()
}

/// The rows of a table without the columns that name the flow and the file.
fn rows(table: &str) -> Vec<String> {
    let cells = |row: &str| -> Vec<String> { row.split(',').map(str::to_owned).collect() };
    let mut lines = table.lines();
    let header = cells(lines.next().unwrap());
    let is_kept = |name: &str| !["flow_id", "capture", "packet"].contains(&name);
    lines
        .map(|row| {
            let kept = header.iter().zip(cells(row));
            let kept = kept.filter(|(name, _)| is_kept(name));
            kept.map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
        })
        .collect()
}

#[test]
fn the_cut_of_a_flow_gives_the_rows_of_that_flow() {
    for (capture, flow) in captures() {
        let desk = Desk::empty();
        desk.text(&format!("explain {capture} --flow {flow} -q -o cut.pcapng"));
        for command in ["cwnd", "rtt", "flows", "explain"] {
            let all = if command == "explain" {
                "--flow #0"
            } else {
                ""
            };
            let of_cut = desk.text(&format!("{command} cut.pcapng {all} --format csv"));
            let of_whole = desk.text(&format!("{command} {capture} --flow {flow} --format csv"));
            let place = format!("{command} of flow {flow} in {capture}");
            assert_eq!(rows(&of_cut), rows(&of_whole), "{place}");
        }
    }
}

#[test]
fn each_event_names_its_packets() {
    let desk = Desk::empty();
    let src = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    desk.text(&format!("cwnd {src} --flow 1 -q --events events.csv"));
    let events = String::from_utf8(desk.get("events.csv")).unwrap();
    let place = events.lines().next().unwrap().split(',');
    let place = place
        .into_iter()
        .position(|name| name == "event_id")
        .unwrap();
    let ids: Vec<&str> = events
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(place).unwrap())
        .collect();
    assert_eq!(ids.len(), 68);
    for id in ids.iter().step_by(9) {
        let text = desk.text(&format!("explain {src} --flow 1 --event {id}"));
        assert!(text.contains(&format!("({id})")), "{id}");
    }
}

#[test]
fn a_retransmission_lists_its_copies_and_the_acks_between_them() {
    let src = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    let event = "--event forward.retransmission.0";
    let text = Desk::empty().text(&format!("explain {src} --flow 1 {event}"));
    let lines: Vec<&str> = text.lines().skip(3).collect();
    assert!(lines[0].contains("> 149182:150630 ack 1"), "{text}");
    let again = lines
        .iter()
        .position(|line| line.contains("retransmission after"))
        .unwrap();
    assert!(lines[again].contains("> 149182:150630 ack 1"), "{text}");
    assert!(lines[again - 1].contains("duplicate ACK; SACK"), "{text}");
    assert!(lines.last().unwrap().contains("< ack 152078"), "{text}");
}

#[test]
fn an_unknown_event_is_an_error() {
    let src = fixture("reno-2mbit-40ms-50p/src.pcap.gz");
    let desk = Desk::empty();
    let event = "--event forward.recovery.99";
    let error = desk.failure(&format!("explain {src} --flow 1 {event}"));
    assert!(
        error.ends_with("that matches 1 has the event forward.recovery.99"),
        "{error}"
    );
    assert!(desk.written().is_empty());
}
