//! The order of sending: reordered segments and retransmissions.

use insta::assert_snapshot;

use super::classes;

#[test]
fn ip_ids_distinguish_reordering_from_retransmission() {
    // The receiver's view: 1001 was overtaken, 3001 was lost and retransmitted.
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 1 ts 10 1
        0.001 > 2001:3001(1000) id 3 ts 10 1
        0.002 > 1001:2001(1000) id 2 ts 10 1
        0.003 > 4001:5001(1000) id 5 ts 11 1
        0.060 > 3001:4001(1000) id 6 ts 15 1
    "), @r"
    0.000 > New
    0.001 > New
    0.002 > sent Earlier by IpId, ReorderingTimer
    0.003 > New
    0.060 > sent Later by IpId, FastRetransmit
    ");
}

#[test]
fn timestamps_decide_without_ip_ids() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 0 ts 10 1
        0.001 > 2001:3001(1000) id 0 ts 12 1
        0.002 > 1001:2001(1000) id 0 ts 11 1
        0.003 > 4001:5001(1000) id 0 ts 13 1
        0.060 > 3001:4001(1000) id 0 ts 70 1
    "), @r"
    0.000 > New
    0.001 > New
    0.002 > sent Earlier by Timestamp, ReorderingTimer
    0.003 > New
    0.060 > sent Later by Timestamp, FastRetransmit
    ");
}

#[test]
fn time_decides_without_ip_ids_and_timestamps() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 0
        0.001 > 2001:3001(1000) id 0
        0.002 > 1001:2001(1000) id 0
        0.003 > 4001:5001(1000) id 0
        0.060 > 3001:4001(1000) id 0
    "), @r"
    0.000 > New
    0.001 > New
    0.002 > sent Earlier by Time, ReorderingTimer
    0.003 > New
    0.060 > sent Later by Time, FastRetransmit
    ");
}

#[test]
fn time_counts_from_the_gap_that_a_segment_fills() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 0
        0.001 > 2001:3001(1000) id 0
        0.040 > 4001:5001(1000) id 0
        0.042 > 1001:2001(1000) id 0
        0.043 > 3001:4001(1000) id 0
    "), @r"
    0.000 > New
    0.001 > New
    0.040 > New
    0.042 > sent Later by Time, ReorderingTimer
    0.043 > sent Earlier by Time, FastRetransmit
    ");
}

#[test]
fn time_is_no_evidence_between_half_a_round_trip_and_a_whole_one() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 0
        0.001 > 2001:3001(1000) id 0
        0.001 > 4001:5001(1000) id 0
        0.002 > 6001:7001(1000) id 0
        0.020 > 1001:2001(1000) id 0
        0.022 > 3001:4001(1000) id 0
        0.042 > 5001:6001(1000) id 0
    "), @r"
    0.000 > New
    0.001 > New
    0.001 > New
    0.002 > New
    0.020 > sent Earlier by Time, ReorderingTimer
    0.022 > sent Unknown by Nothing, FastRetransmit
    0.042 > sent Later by Time, FastRetransmit
    ");
}

#[test]
fn time_is_no_evidence_if_the_ack_of_a_retransmission_may_report_the_gap() {
    // 3001 was lost, and sent before the retransmission of 1001.
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 0
        0.001 > 2001:3001(1000) id 0
        0.001 < ack 1001 sack 2001:3001
        0.041 > 1001:2001(1000) id 0
        0.041 < ack 3001
        0.070 > 4001:5001(1000) id 0
        0.070 < ack 3001 sack 4001:5001
        0.081 > 3001:4001(1000) id 0
    "), @r"
    0.000 > New
    0.001 > New
    0.041 > sent Later by Time, ReorderingTimer
    0.070 > New
    0.070 < duplicate ACK
    0.081 > sent Unknown by Nothing, ReorderingTimer
    ");
}

#[test]
fn time_is_no_evidence_after_three_acks_that_report_the_gap() {
    // The round-trip time may be wrong: that of the handshake may be longer than others.
    let after = |acks: usize, ack: &str| {
        let acks = format!("0.002 < {ack}\n").repeat(acks);
        classes(&format!(
            "
            0.000 > 1:1001(1000) id 0
            0.001 > 2001:3001(1000) id 0
            {acks}
            0.016 > 1001:2001(1000) id 0
        "
        ))
    };
    assert_snapshot!(after(3, "ack 1001"), @r"
    0.000 > New
    0.001 > New
    0.002 < duplicate ACK
    0.002 < duplicate ACK
    0.016 > sent Earlier by Time, ReorderingTimer
    ");
    assert_snapshot!(after(4, "ack 1001"), @r"
    0.000 > New
    0.001 > New
    0.002 < duplicate ACK
    0.002 < duplicate ACK
    0.002 < duplicate ACK
    0.016 > sent Unknown by Nothing, ReorderingTimer
    ");
}

#[test]
fn captured_bytes_repeated_with_new_ones_are_retransmitted() {
    assert_snapshot!(classes("
        0.000 > 1:1001(1000) id 0
        0.001 > 2001:3001(1000) id 0
        0.002 > 2001:4001(2000) id 0
    "), @r"
    0.000 > New
    0.001 > New
    0.002 > sent Later by Bytes, ReorderingTimer
    ");
}

#[test]
fn original_that_arrives_after_its_retransmission_is_reordered() {
    let late = |fields: [&str; 5]| {
        let [first, third, fourth, again, second] = fields;
        classes(&format!(
            "
            0.000 > 1:1001(1000) {first}
            0.001 > 2001:3001(1000) {third}
            0.002 > 3001:4001(1000) {fourth}
            0.060 > 1001:2001(1000) {again}
            0.090 > 1001:2001(1000) {second}
        "
        ))
    };
    let by_ip_id = late(["id 1", "id 3", "id 4", "id 5", "id 2"]);
    assert_snapshot!(by_ip_id, @r"
    0.000 > New
    0.001 > New
    0.002 > New
    0.060 > sent Later by IpId, ReorderingTimer
    0.090 > sent Earlier by IpId, FastRetransmit
    ");
    let by_timestamp = late([
        "v6 ts 10 1",
        "v6 ts 12 1",
        "v6 ts 13 1",
        "v6 ts 70 1",
        "v6 ts 11 1",
    ]);
    assert_snapshot!(by_timestamp, @r"
    0.000 > New
    0.001 > New
    0.002 > New
    0.060 > sent Later by Timestamp, ReorderingTimer
    0.090 > sent Earlier by Timestamp, FastRetransmit
    ");
}

#[test]
fn retransmission_that_newer_data_overtakes_is_not_its_original() {
    let overtaken = |first: &str, id: u32| {
        let flight = (1..40)
            .map(|n| {
                let start = 1 + 1000 * n;
                format!("0.0{n:02} > {start}:{}(1000) id {}\n", start + 1000, n + 1)
            })
            .collect::<Vec<_>>()
            .concat();
        let newer = "0.080 > 40001:41001(1000) id 42\n";
        let again = format!("0.081 > 1:1001(1000) id {id}");
        let all = classes(&format!("0.000 > {first} id 1\n{flight}{newer}{again}"));
        all.lines().last().unwrap_or_default().to_owned()
    };
    let original = "1:1001(1000)";
    assert_snapshot!(overtaken(original, 41), @"0.081 > sent Later by Bytes, ReorderingTimer");
    assert_snapshot!(overtaken(original, 1), @"0.081 > Copy");
    // The original was lost before the capture.
    let lost = "4294967000:1(297)";
    assert_snapshot!(overtaken(lost, 41), @"0.081 > sent Later by IpId, ReorderingTimer");
}

/// The class of a retransmission that fills a gap, after newer data has overtaken it: `first` of the packet below
/// the gap, `beyond` of those above it, `newer` of the newer data, `again` of the retransmission.
fn overtaken_in_gap([first, beyond, newer, again]: [&str; 4]) -> String {
    let all = classes(&format!(
        "
        0.000 > 1:1001(1000) {first}
        0.001 > 2001:3001(1000) {beyond}
        0.041 < ack 1001 sack 2001:3001
        0.060 > 3001:4001(1000) {newer}
        0.061 > 1001:2001(1000) {again}
    "
    ));
    all.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn segment_sent_after_data_above_its_gap_is_a_retransmission() {
    let by_ip_id = |again: &str| overtaken_in_gap(["id 1", "id 3", "id 5", again]);
    assert_snapshot!(by_ip_id("id 4"), @"0.061 > sent Later by IpId, ReorderingTimer");
    assert_snapshot!(by_ip_id("id 2"), @"0.061 > sent Earlier by IpId, ReorderingTimer");
    let wrapped = ["id 65533", "id 65535", "id 1", "id 0"];
    assert_snapshot!(overtaken_in_gap(wrapped), @"0.061 > sent Later by IpId, ReorderingTimer");
    let by_timestamp =
        |again: &str| overtaken_in_gap(["v6 ts 10 1", "v6 ts 12 1", "v6 ts 60 1", again]);
    assert_snapshot!(by_timestamp("v6 ts 59 1"), @"0.061 > sent Later by Timestamp, ReorderingTimer");
    assert_snapshot!(by_timestamp("v6 ts 11 1"), @"0.061 > sent Earlier by Timestamp, ReorderingTimer");
}
