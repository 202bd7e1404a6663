//! Summaries of the segments of one direction.

use insta::assert_snapshot;
use tcpexp_flow::Direction;

use super::*;

/// Summary of the forward direction, captured at the initiator.
fn sent(text: &str) -> String {
    direction(AT_INITIATOR, text, Direction::Forward)
}

/// Summary of the forward direction, captured at the responder.
fn received(text: &str) -> String {
    direction(AT_RESPONDER, text, Direction::Forward)
}

/// Summary of the reverse direction, captured at the initiator.
fn answered(text: &str) -> String {
    direction(AT_INITIATOR, text, Direction::Reverse)
}

fn direction(handshake: &str, text: &str, direction: Direction) -> String {
    let connections = connections(&format!("{handshake}{text}"));
    assert_eq!(connections.len(), 1);
    counts(&connections[0].directions[direction.index()])
}

#[test]
fn retransmissions_are_counted_by_cause() {
    const HANDSHAKE: &str = "
        0.000 > S sackok
        0.040 < S. sackok
        0.040 > .
    ";
    const TEXT: &str = "
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.102 > 2001:3001(1000)
        0.103 > 3001:4001(1000)
        0.140 < ack 1
        0.141 < ack 1
        0.142 < ack 1
        0.142 > 1:1001(1000)      // asked for
        0.180 < ack 4001
        0.200 > 4001:5001(1000)
        0.280 > 4001:5001(1000)   // a probe
        0.600 > 4001:5001(1000)   // a timeout
        1.200 > 4001:5001(1000)   // and one more
    ";
    let with_sack = direction(HANDSHAKE, TEXT, Direction::Forward);
    assert_snapshot!(with_sack, @"11 sent, 9 with data, 9000 bytes, 5000 unique, 1 retransmitted fast, 2 by timeout, 1 as probe, 4000 bytes again, RTT 40 ms..40 ms");
    // Without SACK there are no tail loss probes (RFC 8985, section 3).
    let without_sack = direction(&HANDSHAKE.replace("sackok", ""), TEXT, Direction::Forward);
    assert_snapshot!(without_sack, @"11 sent, 9 with data, 9000 bytes, 5000 unique, 1 retransmitted fast, 3 by timeout, 4000 bytes again, RTT 40 ms..40 ms");
}

#[test]
fn retransmission_of_acknowledged_data_is_spurious() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.140 < ack 1001
        0.400 > 1:1001(1000)
        0.401 > 1001:2001(1000)
    "), @"6 sent, 4 with data, 4000 bytes, 2000 unique, 1 by timeout, 1 spurious, 2000 bytes again, 1 spurious, RTT 40 ms..40 ms");
}

#[test]
fn new_part_of_a_segment_is_not_retransmitted() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000)
        0.400 > 1:1501(1500)
    "), @"4 sent, 2 with data, 2500 bytes, 1500 unique, 1 by timeout, 1000 bytes again, RTT 40 ms..40 ms");
}

#[test]
fn at_the_sender_only_a_segment_without_cause_for_a_retransmission_is_reordered() {
    // The identification of zero shows no order. Interfaces with several queues may swap packets.
    let swapped = "
        0.100 > 1:1001(1000) id 0
        0.101 > 2001:3001(1000) id 0
        0.102 > 1001:2001(1000) id 0
    ";
    assert_snapshot!(sent(swapped), @"5 sent, 3 with data, 3000 bytes, 3000 unique, 1 reordered, RTT 40 ms..40 ms");
    assert_snapshot!(received(swapped), @"5 sent, 3 with data, 3000 bytes, 3000 unique, 1 reordered, RTT 0 ns..0 ns");
    // The capture missed the first transmissions from 1001 on, except the last, which is sent late.
    let missed = "
        0.100 > 1:1001(1000) id 0
        0.135 > 4001:5001(1000) id 0
        0.141 < ack 1001 sack 2001:4001
        0.142 > 1001:2001(1000) id 0
    ";
    assert_snapshot!(sent(missed), @"5 sent, 3 with data, 3000 bytes, 3000 unique, 1 retransmitted fast, 1000 bytes again, RTT 40 ms..41 ms");
}

#[test]
fn data_can_be_overtaken_before_a_capture_near_the_sender() {
    // Both ends answer the capture after this many milliseconds.
    let of_millis = |to_sender: u32| {
        let text = format!(
            "
            0.000 > S
            0.590 < S.
            0.{:03} > .
            1.000 > 1:1001(1000) id 0
            1.001 > 2001:3001(1000) id 0
            1.003 < . 1 ack 1 sack 2001:3001
            1.004 > 1001:2001(1000) id 0
            1.600 < . 1 ack 3001
            ",
            590 + to_sender
        );
        let rare = connections(&text)[0].directions[0].rare().clone();
        rare.reordered_packets
    };
    // 10 of 600 ms, and less than one part in a hundred.
    assert_eq!(of_millis(10), 1);
    assert_eq!(of_millis(2), 0);
}

#[test]
fn ip_ids_distinguish_reordered_from_retransmitted_data() {
    let text = "
        0.100 > 1:1001(1000) id 4 ts 10 1
        0.101 > 2001:3001(1000) id 6 ts 10 1
        0.102 > 1001:2001(1000) id 5 ts 10 1   // overtaken
        0.103 > 4001:5001(1000) id 8 ts 11 1
        0.160 > 3001:4001(1000) id 9 ts 60 1   // lost, and sent again
    ";
    assert_snapshot!(received(text), @"7 sent, 5 with data, 5000 bytes, 5000 unique, 1 retransmitted fast, 1000 bytes again, 1 reordered, RTT 0 ns..0 ns");
    // The sender's counters outrank the place of the capture, which may only be near the sender.
    assert_snapshot!(sent(text), @"7 sent, 5 with data, 5000 bytes, 5000 unique, 1 retransmitted fast, 1000 bytes again, 1 reordered, RTT 40 ms..40 ms");
}

#[test]
fn data_without_evidence_is_undecided() {
    // No identification, no timestamps, no round trip.
    assert_snapshot!(rendered("
        0.100 > 1:1001(1000) id 0
        0.101 > 2001:3001(1000) id 0
        0.102 > 1001:2001(1000) id 0
    "), @r"
    tcp open 2 ms
    forward: 3 sent, 3 with data, 3000 bytes, 3000 unique, 1 undecided
    ");
}

#[test]
fn captured_bytes_are_retransmitted_even_beside_new_bytes() {
    // Two segments retransmitted as one.
    assert_snapshot!(received("
        0.100 > 1:1001(1000) id 0
        0.400 > 1:2001(2000) id 0
    "), @"4 sent, 2 with data, 3000 bytes, 2000 unique, 1 by timeout, 1000 bytes again, RTT 0 ns..0 ns");
}

#[test]
fn duplicates_are_neither_retransmitted_nor_unique() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000) id 4
        0.100 > 1:1001(1000) id 4
        0.101 > 1001:2001(1000) id 5
        0.101 > 1001:2001(1000) id 5
    "), @"6 sent, 4 with data, 4000 bytes, 2000 unique, 2 copied, RTT 40 ms..40 ms");
}

#[test]
fn keep_alives_and_zero_window_probes_are_counted_separately() {
    let text = "
        0.100 > 1:1001(1000)
        0.140 < ack 1001 win 0
        0.500 > 1000:1001(1) ack 1   // asks with an old byte
        0.540 < ack 1001 win 0
        1.500 > 1001:1002(1)         // asks with a new one
        1.540 < ack 1002 win 9000
        9.000 > . 1001 ack 1
        9.040 < ack 1002 win 9000
    ";
    assert_snapshot!(sent(text), @"6 sent, 3 with data, 1002 bytes, 1001 unique, 1 keep-alive, 2 window probes, RTT 40 ms..40 ms");
    assert_snapshot!(answered(text), @"5 sent, 2 zero windows, RTT 0 ns..0 ns");
}

#[test]
fn acks_whose_sack_blocks_the_capture_cuts_off_give_no_number_of_duplicate_acks() {
    // The capture has four bytes of options: those of the SYNs, but no SACK block.
    const SNAPLEN: usize = 58;
    let numbers = |option: &str| {
        let text = format!(
            "
            0.000 > S {option}
            0.040 < S. {option}
            0.040 > .
            0.100 > 1:1001(1000)
            0.101 > 1001:2001(1000)
            0.140 < ack 1 sack 1001:2001
            "
        );
        let connections = connections_in(Scripted::new(&text).with_snaplen(SNAPLEN));
        let [forward, reverse] = &connections[0].directions;
        [forward, reverse].map(|direction| {
            let rare = direction.rare();
            (rare.duplicate_ack_packets, rare.duplicate_sack_packets)
        })
    };
    assert_eq!(numbers("sackok"), [(Some(0), Some(0)), (None, None)]);
    // Without SACK, there are no blocks.
    assert_eq!(numbers("").map(|(acks, _)| acks.is_some()), [true; 2]);
}

#[test]
fn duplicate_acks_and_dsacks_count_in_their_own_direction() {
    let text = "
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.102 > 2001:3001(1000)
        0.140 < ack 1 sack 1001:2001
        0.141 < ack 1 sack 1001:3001
        0.142 > 1:1001(1000)
        0.180 < ack 3001
        0.181 < ack 3001 sack 1:1001            // below the ACK
        0.200 > 3001:4001(1000)
        0.201 > 4001:5001(1000)
        0.240 < ack 3001 sack 4001:5001
        0.241 < ack 3001 sack 4001:4501,4001:5001  // within the next block
    ";
    assert_snapshot!(answered(text), @"7 sent, 4 duplicate ACKs, 2 D-SACKs, RTT 0 ns..0 ns");
    assert_snapshot!(sent(text), @"8 sent, 6 with data, 6000 bytes, 5000 unique, 1 retransmitted fast, 1000 bytes again, RTT 40 ms..40 ms");
}

#[test]
fn only_congestion_experienced_counts_as_a_mark() {
    assert_snapshot!(sent("
        0.100 > 1:1001(1000) tos 2
        0.101 > 1001:2001(1000) tos 3
        0.102 > 2001:3001(1000) tos 1
        0.103 > 3001:4001(1000) tos 187
    "), @"6 sent, 4 with data, 4000 bytes, 4000 unique, 2 marked, RTT 40 ms..40 ms");
}

#[test]
fn uncaptured_bytes_are_not_unique_bytes() {
    // 1001:3001 is missing in the capture.
    assert_snapshot!(received("
        0.100 > 1:1001(1000)
        0.101 > 3001:4001(1000)
        0.102 > 4001:5001(1000)
    "), @"5 sent, 3 with data, 3000 bytes, 3000 unique, RTT 0 ns..0 ns");
}

#[test]
fn ack_of_retransmitted_data_yields_no_round_trip() {
    // The ACK may answer either transmission, and may have waited for the first segment.
    assert_snapshot!(sent("
        0.100 > 1:1001(1000)
        0.101 > 1001:2001(1000)
        0.400 > 1:1001(1000)
        0.440 < ack 2001
        0.450 > 2001:3001(1000)
        0.500 < ack 3001
    "), @"6 sent, 4 with data, 4000 bytes, 3000 unique, 1 by timeout, 1000 bytes again, RTT 40 ms..50 ms");
}

#[test]
fn text_of_a_rst_is_not_data() {
    // A firewall's RST far ahead of the data; the connection goes on.
    let counts = sent(
        "
        0.1 > 1:1001(1000)
        0.14 < . 1 ack 1001
        0.2 > R. 200001:200018(17) ack 1
        0.3 > 1001:2001(1000)
        0.34 < . 1 ack 2001
    ",
    );
    assert_snapshot!(counts, @"5 sent, 3 with data, 2017 bytes, 2000 unique, RTT 40 ms..40 ms");
}

#[test]
fn bytes_outside_the_window_are_unique_only_if_acknowledged() {
    let unique = |data: &str| {
        let text = format!(
            "
            0.00 > S wscale 0
            0.04 < S. win 8000 wscale 0
            0.04 > .
            0.1 > 1:1001(1000) ack 1
            0.11 > 300001:300101(100) ack 1
            {data}
        "
        );
        connections(&text)[0].directions[0].unique_bytes
    };
    assert_eq!(unique("0.12 < . 1 ack 1001"), 1000);
    assert_eq!(unique("0.12 < . 1 ack 300101"), 1100);
    assert_eq!(unique("0.12 > 300101:300201(100) ack 1"), 1200);
}
