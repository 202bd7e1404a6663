//! `tcpexp why`, and the verdicts and details of `tcpexp flows`.

use std::fmt::Write as _;

use insta::assert_snapshot;
use tcpexp_testkit::script;
use tcpexp_testkit::{TcpLoad, simulate};

use crate::desk::{Desk, fixture, ordinary, text};

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
fn queues_and_losses_are_unknown_away_from_a_sender_without_timestamps() {
    let mut scenario = ordinary();
    scenario.tcp = vec![TcpLoad {
        bytes: 1_500_000,
        timestamps: false,
        ..TcpLoad::default()
    }];
    let desk = Desk::with(&simulate(&scenario));
    let page = desk.text("why dst.pcap");
    assert!(
        page.contains("shows no queueing delay and no losses"),
        "{page}"
    );
    assert!(!page.contains(", no losses"), "{page}");
    let page = desk.text("why dst.pcap --format json");
    let rows: Vec<serde_json::Value> = page
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!rows.is_empty());
    for row in rows {
        for column in [
            "losses_with_queue",
            "losses_without_queue",
            "timeouts",
            "retransmitted_packets",
        ] {
            assert!(row[column].is_null(), "{column}: {row}");
        }
    }
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

/// An upload over 40 ms captured at the receiver: the SYNs that arrived, and flights that double from
/// `first` segments on. Timestamps are in milliseconds, and those of the sender 20 ms old. The receive window has room
/// for each flight and one more: with less, it might be what the sender waits for.
fn at_receiver(syns_s: &[f64], first: u32) -> Vec<u8> {
    let millis = |at: f64| (at * 1e3).floor();
    let (mut lines, mut answers) = (String::new(), Vec::new());
    let mut exchange = |at: f64, sent: &str, answer: &str| {
        // The latest answer that had reached the sender when it sent.
        let reached = answers.iter().rfind(|answer| **answer <= at - 0.04);
        let echo = reached.copied().map_or(0.0, millis);
        let answered = at + 0.000_019;
        let sent_at = millis(at - 0.02);
        let _ = writeln!(lines, "{at:.6} > {sent} ts {sent_at} {echo}");
        if !answer.is_empty() {
            let own = millis(answered);
            let _ = writeln!(lines, "{answered:.6} < {answer} ts {own} {sent_at}");
            answers.push(answered);
        }
    };
    for at in syns_s {
        let [syn, syn_ack] =
            ["S 0:0(0)", "S 0:0(0) ack 1"].map(|syn| format!("{syn} mss 1460 wscale 3"));
        exchange(*at, &syn, &syn_ack);
    }
    let mut at = syns_s.last().unwrap() + 0.040_033;
    exchange(at, "1:1(0) ack 1", "");
    let (mut flight, mut start) = (first, 1);
    for _ in 0..6 {
        for _ in 0..flight {
            let end = start + 1_448;
            exchange(
                at,
                &format!("{start}:{end}(1448) ack 1"),
                &format!("1:1(0) ack {end}"),
            );
            at += 0.000_311;
            start = end;
        }
        at += 0.040_033;
        flight *= 2;
    }
    script::capture(&lines)
}

#[test]
fn a_window_that_began_at_one_segment_shows_lost_syns() {
    let desk = Desk::empty();
    let page = |syns_s: &[f64], first| {
        desk.put("dst.pcap", &at_receiver(syns_s, first));
        let page = desk.text("why dst.pcap");
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // The SYNs were lost before the capture: only the first flights show it, and the time is unknown.
    let hidden = page(&[1.0], 1);
    assert!(
        hidden.contains("limited by no certain cause; longest by the growing congestion window"),
        "{hidden}"
    );
    assert!(
        hidden.contains("window it began at one segment, as after lost SYNs (RFC 6298"),
        "{hidden}"
    );
    // The SYN-ACK was lost behind the capture, which shows that it was sent again.
    let repeated = page(&[1.0, 2.0], 1);
    assert!(
        repeated.contains("window it began at one segment, since a SYN or SYN-ACK was sent again"),
        "{repeated}"
    );
    let usual = page(&[1.0], 10);
    assert!(!usual.contains("it began at one segment"), "{usual}");
}

/// A sender over 40 ms without a queue, captured at it from the middle of its connection: each ACK releases a
/// segment, and in each of 40 round trips `more` segments more.
fn from_the_middle(more: u32) -> Vec<u8> {
    const ROUND_S: f64 = 0.040_003;
    let mut lines = Vec::new();
    let (mut window, mut next, mut acked) = (20, 1, 1);
    for round in 0..40_u32 {
        for place in 0..window {
            let at = f64::from(round) * ROUND_S + f64::from(place) * 0.000_503;
            if round > 0 {
                acked += 1_000;
                lines.push(format!("{at:.6} < . 1:1(0) ack {acked} win 60000"));
            }
            // The last ACK of a round trip releases what the window grew by.
            let segments = if round > 0 && place + 1 == window {
                1 + more
            } else {
                1
            };
            for _ in 0..segments {
                let sent = at + 0.000_017;
                lines.push(format!(
                    "{sent:.6} > . {next}:{}(1000) ack 1 win 60000",
                    next + 1_000
                ));
                next += 1_000;
            }
        }
        window = (next - acked) / 1_000;
    }
    script::capture(&lines.join("\n"))
}

#[test]
fn without_the_beginning_only_a_window_that_grows_is_called_growing() {
    let desk = Desk::empty();
    let page = |more| {
        desk.put("src.pcap", &from_the_middle(more));
        let page = desk.text("why src.pcap --position sender");
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let begins_late = "not seen the capture began in the middle of the connection";
    let steady = page(0);
    assert!(steady.contains("limited by no certain cause"), "{steady}");
    assert!(
        steady.contains("no queueing delay above the least RTT of 40.0 ms"),
        "{steady}"
    );
    let growing = page(1);
    assert!(
        growing.contains("limited by the growing congestion window"),
        "{growing}"
    );
    for page in [steady, growing] {
        assert!(page.contains(begins_late), "{page}");
    }
}
