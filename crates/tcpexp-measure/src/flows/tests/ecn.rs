//! Marks reported by a receiver, for each kind of feedback.

use std::fmt::Write;

use tcpexp_flow::EcnMode;

use super::connections;

/// Number of the client's data packets that the server reports as marked, for the flags of SYN and
/// SYN-ACK. `acks` are the server's ACKs, each with its flags, acknowledgment number and options.
fn reported(syn: &str, answer: &str, acks: &[&str]) -> Option<u64> {
    let mut text = format!("0.00 > {syn} 0 mss 1000\n0.04 < {answer} 0 ack 1 mss 1000\n");
    text.push_str("0.05 > AW. 1 ack 1\n0.06 > A.E 1:30001(30000) ack 1\n");
    for (number, ack) in (10..).zip(acks) {
        writeln!(text, "0.{number} < {ack}").unwrap();
    }
    connections(&text)[0].directions[0].ce_reported_packets
}

#[test]
fn counter_increments_are_packets_across_a_wrap() {
    let acks = ["AE. ack 1001", "AW. ack 3001", "E. ack 6001", "E. ack 9001"];
    // Counts 5, 6, 9 and 9.
    assert_eq!(reported("SAEW", "S.W", &acks), Some(4));
}

#[test]
fn marked_syn_raises_the_initial_counter() {
    // The SYN alone, and the first data packet alone.
    assert_eq!(reported("SAEW", "S.AW", &["AW. ack 1001"]), Some(1));
    assert_eq!(reported("SAEW", "S.W", &["AW. ack 1001"]), Some(1));
}

#[test]
fn mark_of_the_syn_ack_is_reported_by_the_third_ack() {
    let reported = |third: &str, next: &str| {
        let text = format!(
            "
            0.00 > SAEW 0
            0.04 < S.W 0 ack 1
            0.05 > {third} 1 ack 1
            0.06 < A.E 1:1001(1000) ack 1
            0.07 > {next} 1 ack 1001
        "
        );
        connections(&text)[0].directions[1].ce_reported_packets
    };
    assert_eq!(reported("W.", "A.E"), Some(0));
    assert_eq!(reported("AW.", "AW."), Some(1));
    assert_eq!(reported("AW.", "AEW."), Some(2));
}

#[test]
fn third_ack_shows_which_syn_ack_the_client_received() {
    let after = |third: &str| {
        let text = format!(
            "
            0.00 > SAEW 0
            0.01 < S.W 0 ack 1
            1.01 < S.W 0 ack 1
            3.01 < S. 0 ack 1
            3.05 > {third} 1 ack 1
            3.06 < A.E 1:1001(1000) ack 1
            3.10 > AW. 1 ack 1001
        "
        );
        let connection = &connections(&text)[0];
        (connection.ecn, connection.directions[1].ce_reported_packets)
    };
    assert_eq!(after("W."), (Some(EcnMode::Accurate), Some(1)));
    assert_eq!(after("."), (Some(EcnMode::NotEcn), Some(0)));
}

#[test]
fn overtaken_ack_does_not_decrease_the_counter() {
    let acks = [
        "AW. ack 3001 ts 30 1",
        "AE. ack 1001 ts 10 1",
        "AEW. ack 4001 ts 40 1",
    ];
    assert_eq!(reported("SAEW", "S.W", &acks), Some(2));
}

#[test]
fn ack_of_enough_packets_to_wrap_the_counter_needs_the_option() {
    // From 5 to 7 in ten packets: two marked packets, or ten.
    assert_eq!(reported("SAEW", "S.W", &["AEW. ack 10001"]), None);
    assert_eq!(
        reported("SAEW", "S.W", &["AEW. ack 10001 ceb 2000"]),
        Some(2)
    );
    assert_eq!(
        reported("SAEW", "S.W", &["AEW. ack 10001 ceb 10000"]),
        Some(10)
    );
}

#[test]
fn byte_counter_wraps_at_24_bits() {
    let acks = ["AE. ack 1 ceb 16777000", "AEW. ack 10001 ceb 1784"];
    // The first ACK acknowledges nothing, so its count alone decides.
    assert_eq!(reported("SAEW", "S.W", &acks), Some(2));
}

#[test]
fn bytes_of_packets_that_earlier_acks_counted_are_not_counted_again() {
    // From 5 to 9 in five packets without the option, and from 9 to 15 in ten, with the bytes of all.
    let acks = ["E. ack 5001", "AEW. ack 15001 ceb 10000"];
    assert_eq!(reported("SAEW", "S.W", &acks), Some(10));
}

#[test]
fn an_overtaken_duplicate_ack_does_not_increase_the_counter() {
    let newest = "E. ack 1001 sack 2001:7001";
    for late in ["AW. ack 1001 sack 2001:3001", "AE. ack 1001"] {
        let acks = [newest, late, "AE. ack 9001"];
        // From 5 to 9, and from 9 to 13.
        assert_eq!(reported("SAEW", "S.W", &acks), Some(8), "{late}");
    }
}

#[test]
fn a_counter_that_the_path_clears_leaves_the_count_unknown() {
    assert_eq!(reported("SAEW", "S.W", &[". ack 1001", ". ack 2001"]), None);
}

#[test]
fn retransmissions_that_a_router_may_mark_may_wrap_the_counter() {
    let text = |tos: u8| {
        let mut text =
            "0.00 > SAEW 0 mss 1000\n0.04 < S.W 0 ack 1 mss 1000\n0.05 > AW. 1 ack 1\n".to_owned();
        for (time, sent) in [("0.1", "1"), ("0.4", "2")] {
            for number in 0..5 {
                let (from, to) = (1 + 1000 * number, 1001 + 1000 * number);
                writeln!(
                    text,
                    "{time}{number} > A.E {from}:{to}(1000) ack 1 id {sent}{number} tos {tos}"
                )
                .unwrap();
            }
        }
        text.push_str("0.50 < AEW. ack 5001\n");
        connections(&text)[0].directions[0].ce_reported_packets
    };
    // From 5 to 7 in five packets, or in ten.
    assert_eq!(text(0), Some(2));
    assert_eq!(text(3), None);
}

#[test]
fn classic_echo_counts_once_until_it_ends() {
    let acks = [
        ". ack 1001",
        "E. ack 2001",
        "E. ack 3001",
        ". ack 4001",
        "E. ack 5001",
    ];
    assert_eq!(reported("SEW", "S.E", &acks), Some(2));
}

/// As for [`reported`], with a data segment before each ACK, with CWR if `has_cwr`.
fn reported_classic(acks: &[&str], has_cwr: bool) -> Option<u64> {
    let mut text =
        "0.00 > SEW 0 mss 1000\n0.04 < S.E 0 ack 1 mss 1000\n0.05 > . 1 ack 1\n".to_owned();
    let flags = if has_cwr { "W." } else { "." };
    for (number, ack) in (0..).zip(acks) {
        let start = 1 + number * 2000;
        let at = 10 + 2 * number;
        writeln!(
            text,
            "0.{at} > {flags} {start}:{}(1000) ack 1",
            start + 1000
        )
        .unwrap();
        writeln!(
            text,
            "0.{at}1 > . {}:{}(1000) ack 1",
            start + 1000,
            start + 2000
        )
        .unwrap();
        writeln!(text, "0.{} < {ack}", at + 1).unwrap();
    }
    connections(&text)[0].directions[0].ce_reported_packets
}

#[test]
fn receiver_that_ends_its_echo_without_cwr_counts_packets() {
    let acks = [
        "E. ack 2001",
        ". ack 4001",
        "E. ack 6001",
        ". ack 8001",
        "E. ack 10001",
        "E. ack 11001",
        ". ack 14001",
    ];
    assert_eq!(reported_classic(&acks, false), Some(7));
    assert_eq!(reported_classic(&acks, true), Some(3));
}

#[test]
fn without_an_agreement_flags_report_nothing() {
    assert_eq!(reported("S", "S.", &["E. ack 1001"]), Some(0));
    let without_handshake = "0.1 > 1:1001(1000)\n0.2 < E. ack 1001\n";
    let summary = &connections(without_handshake)[0];
    assert_eq!(summary.directions[0].ce_reported_packets, None);
}

/// The end of a handshake with `AccECN`, and data packets of these sizes.
pub(super) fn data_packets(sizes: &[u32]) -> String {
    let mut text = "0.05 > AW. 1 ack 1\n".to_owned();
    let mut start = 1;
    for bytes in sizes {
        let end = start + bytes;
        writeln!(text, "0.06 > A.E {start}:{end}({bytes}) ack 1").unwrap();
        start = end;
    }
    text
}

/// As for [`reported`], with data packets of these sizes instead, each sent before the first of `acks`.
fn reported_of(sizes: &[u32], acks: &[&str]) -> Option<u64> {
    let mut text = "0.00 > SAEW 0 mss 8960\n0.04 < S.W 0 ack 1 mss 8960\n".to_owned();
    text.push_str(&data_packets(sizes));
    for (number, ack) in (10..).zip(acks) {
        writeln!(text, "0.{number} < {ack}").unwrap();
    }
    connections(&text)[0].directions[0].ce_reported_packets
}

#[test]
fn captured_packets_show_whether_the_counter_may_have_wrapped() {
    // 20 packets of 1000 bytes are less than three of the announced MSS. The counter goes from 5 to 1.
    assert_eq!(reported_of(&[1000; 20], &["E. ack 20001"]), None);
    let with_option = |marked_bytes| format!("E. ack 20001 ceb {marked_bytes}");
    assert_eq!(reported_of(&[1000; 20], &[&with_option(20_000)]), Some(20));
    assert_eq!(reported_of(&[1000; 20], &[&with_option(4_000)]), Some(4));
    assert_eq!(reported_of(&[1000; 7], &["E. ack 7001"]), Some(4));
}

#[test]
fn byte_counter_of_packets_of_different_sizes_may_allow_two_counts() {
    // 2000 bytes are two large packets or twenty small ones.
    let mut sizes = [1000; 22];
    sizes[2..].fill(100);
    assert_eq!(reported_of(&sizes, &["E. ack 4001 ceb 2000"]), None);
    assert_eq!(reported_of(&sizes, &["E. ack 4001 ceb 300"]), Some(4));
}

#[test]
fn without_the_data_the_marks_are_unknown() {
    assert_eq!(reported_of(&[], &["AW. ack 5001"]), None);
    assert_eq!(reported_of(&[], &["AW. ack 14481 ceb 14480"]), None);
    // Missed data has packets of the captured size, not of the size of a SYN.
    let acks = ["AW. ack 1001 ceb 1000", ". ack 11001 ceb 11000"];
    assert_eq!(reported_of(&[1000], &acks), Some(11));
}

#[test]
fn overtaken_duplicate_ack_does_not_wrap_the_counter() {
    let acks = [
        "AW. ack 1 sack 1001:2001 ts 30 1",
        "E. ack 1 sack 1001:5001 ts 30 1",
        ". ack 1 sack 1001:4001 ts 30 1", // sent before the one above
        "E. ack 1 sack 1001:6001 ts 30 1",
    ];
    assert_eq!(reported_of(&[1000; 6], &acks), Some(4));
}

#[test]
fn selectively_acknowledged_packets_may_wrap_the_counter() {
    let acks = ["AW. ack 1 sack 1001:10001"];
    assert_eq!(reported_of(&[1000; 10], &acks), None);
}

#[test]
fn segments_longer_than_the_own_mss_option_count_as_one_packet_each() {
    let reported = |first: &str| {
        let text = format!(
            "
            0.00 > SAEW 0 mss 1000
            0.04 < S.W 0 ack 1 mss 3500
            0.05 > AW. 1 ack 1
            0.06 > A.E {first}
            0.06 > A.E 3501:7001(3500)
            0.06 > A.E 7001:31501(24500)
            0.10 < E. ack 31501 ceb 14000
        "
        );
        connections(&text)[0].directions[0].ce_reported_packets
    };
    // From 5 to 9 in nine packets: 4 of 3500 bytes, where those of 1000 bytes would be 12.
    assert_eq!(reported("1:3501(3500)"), Some(4));
    // The first packet may be one of 2501 bytes, or two full ones and the rest of a write.
    assert_eq!(reported("1:2502(2501)"), None);
}

#[test]
fn marks_of_a_receiver_without_an_mss_option_are_not_counted_in_segments_of_the_default() {
    let mut text = "0.00 > SAEW 0 mss 1460\n0.04 < S.W 0 ack 1\n0.05 > AW. 1 ack 1\n".to_owned();
    for start in (1..14_601).step_by(1_460) {
        writeln!(text, "0.06 > A.E {start}:{}(1460) ack 1", start + 1_460).unwrap();
    }
    text.push_str("0.10 < AEW. ack 14601 ceb 14600\n");
    // Each packet may hold one segment or several: in segments of 536 bytes, the counters show 34 marks.
    let reported = connections(&text)[0].directions[0].ce_reported_packets;
    assert_eq!(reported, None);
}
