//! `tcpexp explain`.

use std::collections::BTreeSet;

use crate::desk::{Desk, fixture, fixtures, text};
use crate::shards::shared_captures;

/// Captures with the flows of a cut: the packets of QUIC connections that change their addresses are
/// two flows.
fn captures() -> Vec<(String, Vec<usize>)> {
    [
        ("reno-2mbit-40ms-50p/src.pcap.gz", vec![0]),
        ("reno-2mbit-40ms-50p/dst.pcap.gz", vec![1]),
        ("short-reno-without-sack/snd.pcap.gz", vec![0]),
        ("short-cubic-15-percent-loss/rcv.pcap.gz", vec![0]),
        ("cubic-tso-split-10mbit/src.pcap.gz", vec![1]),
        ("adsl-udp-upload/dst.pcap.gz", vec![0]),
        ("quic-v2-10mbit-40ms/mid.pcap.gz", vec![0, 1]),
    ]
    .map(|(capture, flows)| (fixture(capture), flows))
    .to_vec()
}

/// What a command line prints, and the tables that it writes beside. Some commands refuse captures
/// without what they measure, in the cut as in the whole.
fn tables(desk: &Desk, line: &str) -> Vec<String> {
    let beside: &[&str] = match line.split(' ').next() {
        Some("cwnd") => &["--events", "--control-table"],
        _ => &[],
    };
    let options = beside
        .iter()
        .map(|option| format!(" {option} {option}.csv"));
    let output = desk.run(&format!("{line}{}", options.collect::<String>()));
    let mut all = vec![text(&output.stdout)];
    if output.status.success() {
        let beside = beside.iter().map(|option| format!("{option}.csv"));
        all.extend(beside.map(|name| text(&desk.get(&name))));
    }
    all
}

/// The rows about flows, without the columns that depend on other packets: the numbers of flow and
/// packet, the name of the file, and how much of a bin the capture covers.
fn rows(table: &str) -> Vec<String> {
    let cells = |row: &str| -> Vec<String> { row.split(',').map(str::to_owned).collect() };
    let mut lines = table.lines();
    let header = cells(lines.next().unwrap_or_default());
    let is_of_bins = header.iter().any(|name| name == "covered_ns");
    let of_others = ["flow_id", "quic_first_flow_id", "capture", "packet"];
    let is_kept = |name: &str| {
        let is_of_cover = name == "covered_ns" || name.ends_with("_bps");
        !(of_others.contains(&name) || is_of_bins && is_of_cover)
    };
    let rows = lines.filter(|row| !(is_of_bins && row.starts_with(',')));
    rows.map(|row| {
        let kept = header.iter().zip(cells(row));
        let kept = kept.filter(|(name, _)| is_kept(name));
        kept.map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
    })
    .collect()
}

/// Checks that the cut of flows has the rows that these flows have in the whole capture.
fn assert_cut(capture: &str, flows: &[usize]) {
    let desk = Desk::empty();
    let select = |flows: &[usize]| -> String {
        let flows = flows.iter().map(|flow| format!(" --flow #{flow}"));
        flows.collect()
    };
    let chosen = select(flows);
    let all = select(&(0..flows.len()).collect::<Vec<_>>());
    desk.run(&format!("explain {capture}{chosen} -q -o cut.pcapng"));
    let mut count = 0;
    for command in [
        "flows",
        "rtt",
        "cwnd",
        "why",
        "explain",
        "throughput --origin 0",
    ] {
        let place = format!("{command} of{chosen} in {capture}");
        let of_cut = tables(&desk, &format!("{command} cut.pcapng{all} --format csv -q"));
        let of_whole = format!("{command} {capture}{chosen} --format csv -q");
        let of_whole = tables(&desk, &of_whole);
        assert_eq!(of_cut.len(), of_whole.len(), "{place}");
        for (of_cut, of_whole) in of_cut.iter().zip(&of_whole) {
            let (of_cut, of_whole) = (rows(of_cut), rows(of_whole));
            assert_eq!(of_cut.len(), of_whole.len(), "{place}");
            for (of_cut, of_whole) in of_cut.iter().zip(&of_whole) {
                assert_eq!(of_cut, of_whole, "{place}");
            }
            count += of_cut.len();
        }
    }
    assert!(count > 10, "{count} rows of{chosen} in {capture}");
}

#[test]
fn the_cut_of_a_flow_gives_the_rows_of_that_flow() {
    for (capture, flows) in captures() {
        assert_cut(&capture, &flows);
    }
}

/// All flows of all real captures, with those beside the repository where they are.
#[test]
#[ignore = "takes minutes"]
fn the_cut_of_every_flow_of_real_captures_gives_the_rows_of_that_flow() {
    for capture in fixtures().into_iter().chain(shared_captures()).flatten() {
        let table = Desk::empty().run(&format!("flows {capture} --format csv -q"));
        let table = text(&table.stdout);
        let place = |name: &str| name == "flow_id";
        let place = table.split(',').position(place).unwrap();
        // Packets without a flow have no number.
        let number = |row: &str| row.split(',').nth(place)?.parse().ok();
        let flows: BTreeSet<usize> = table.lines().filter_map(number).collect();
        assert!(!flows.is_empty(), "{capture}");
        for flow in flows {
            assert_cut(&capture, &[flow]);
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
