//! Marked packets without payload, which the counter of the packets includes and the `AccECN` option does not.

use std::fmt::Write;

use super::connections;

/// Number of client packets that the server reports as marked, after pure ACKs of the client. `segments` follow.
fn reported(sack: &str, pure_acks: u32, segments: &[&str]) -> Option<u64> {
    let mut text = format!("0.00 > SAEW 0 mss 1000 {sack}\n0.04 < S.W 0 ack 1 mss 1000 {sack}\n");
    text.push_str("0.05 > AW. 1 ack 1\n");
    for number in 0..pure_acks {
        let (start, end) = (1 + 1000 * number, 1001 + 1000 * number);
        writeln!(text, "0.06{number} < A.E {start}:{end}(1000) ack 1").unwrap();
    }
    for number in 0..pure_acks {
        let (ack, id) = (1001 + 1000 * number, 20 + number);
        writeln!(text, "0.07{number} > A.E 1 ack {ack} id {id} tos 2").unwrap();
    }
    for (number, segment) in (10..).zip(segments) {
        writeln!(text, "0.{number} {segment}").unwrap();
    }
    connections(&text)[0].directions[0].ce_reported_packets
}

#[test]
fn an_unchanged_counter_may_have_wrapped_over_pure_acks() {
    for ceb in ["", "ceb 0"] {
        let after = |pure_acks| {
            let acks = [
                format!("< A.E 20001:21001(1000) ack 1 {ceb}"),
                format!("< A.E 21001:22001(1000) ack 1 {ceb}"),
            ];
            reported("sackok", pure_acks, &[&acks[0], &acks[1]])
        };
        assert_eq!(after(7), Some(0), "{ceb}");
        assert_eq!(after(8), None, "{ceb}");
    }
}

#[test]
fn pure_acks_may_be_among_the_marked_packets_of_the_option() {
    // From 5 to 9, and no marked byte: four pure ACKs, or twelve.
    let after = |pure_acks, ack| {
        let sent = ["> A.E 1:1001(1000) ack 1 tos 2", ack];
        reported("sackok", pure_acks, &sent)
    };
    assert_eq!(after(8, "< E. 20001 ack 1001 ceb 0"), Some(4));
    assert_eq!(after(9, "< E. 20001 ack 1001 ceb 0"), Some(4));
    assert_eq!(after(12, "< E. 20001 ack 1001 ceb 0"), None);
    // From 5 to 13, and the bytes of one packet: it and seven pure ACKs.
    assert_eq!(after(8, "< A.E 20001 ack 1001 ceb 1000"), Some(8));
    assert_eq!(after(6, "< A.E 20001 ack 1001 ceb 1000"), None);
}

#[test]
fn retransmissions_are_among_the_marked_bytes() {
    let mut segments = Vec::new();
    for id in ["50", "51"] {
        for packet in ["1:1001", "1001:2001", "2001:3001", "3001:4001"] {
            segments.push(format!("> A.E {packet}(1000) ack 1 id {id} tos 2"));
        }
    }
    segments.push("< E. 1 ack 4001 ceb 4000".to_owned());
    let segments: Vec<_> = segments.iter().map(String::as_str).collect();
    assert_eq!(reported("sackok", 0, &segments), Some(4));
}

#[test]
fn a_later_ack_decides_what_an_ack_without_new_data_leaves_open() {
    let mut segments = vec![
        "> A.E 1:5001(5000) ack 1 tos 2",
        "< A.E 1 ack 1001 ceb 0",
        "> A.E 1:5001(5000) ack 1 tos 2",
        // From 5 to 6: one of the packets sent again, or a reordered ACK.
        "< AW. 1 ack 1001",
    ];
    assert_eq!(reported("sackok", 0, &segments), None);
    segments.push("< AW. 1 ack 5001 ceb 1000");
    assert_eq!(reported("sackok", 0, &segments), Some(1));
}
