//! Tests of packets that a host or a card cuts or merges on their way.

use std::fmt::Write;

use super::*;

#[test]
fn arrival_with_a_foreign_ip_id_is_not_part_of_a_super_packet() {
    // The super-packet's four pieces have IDs 1000 to 1003 and are lost. The arrival merges two
    // retransmissions; the second carries its last bytes.
    assert_snapshot!(fates_within_connection("
        src 1.0000 > 501:2501(2000) ack 501 id 1000
        src 1.3000 > 1001:1501(500) ack 501 id 1007
        src 1.3001 > 1501:2001(500) ack 501 id 5000
        dst 1.3101 > 1001:2001(1000) ack 501 id 1007
    "), @r"
    delivered 300.1 310.1
    lost 0.0 -
    ");
}

#[test]
fn ip_id_identifies_the_part_of_a_super_packet() {
    assert_snapshot!(fates_within_connection("
        src 1.0000 > 501:2501(2000) ack 501 id 1000
        dst 1.0100 > 501:1001(500) ack 501 id 1000
        dst 1.0101 > 1001:2001(1000) ack 501 id 1001
        dst 1.0102 > 2001:2501(500) ack 501 id 1003
    "), @r"
    delivered 0.0 10.0
    delivered 0.0 10.1
    delivered 0.0 10.2
    ");
}

/// A super-packet that arrives in pieces, so that data is matched by its range.
const SUPER_PACKET: &str = "
    src 0.5000 > 501:2501(2000) ack 501 id 1000 ts 5 8
    dst 0.5100 > 501:1501(1000) ack 501 id 1000 ts 5 8
    dst 0.5101 > 1501:2501(1000) ack 501 id 1001 ts 5 8
";

#[test]
fn arrival_with_a_damaged_sequence_number_is_not_part_of_the_next_packets() {
    // The sequence number of the first arrival is too large by 512.
    assert_snapshot!(fates_within_connection(&format!("{SUPER_PACKET}
        src 1.0000 > 2501:3501(1000) ack 501 id 1002 ts 7 8
        src 1.0010 > 3501:4501(1000) ack 501 id 1003 ts 7 8
        dst 1.0100 > 3013:4013(1000) ack 501 id 1002 ts 7 8
        dst 1.0110 > 3501:4501(1000) ack 501 id 1003 ts 7 8
    ")), @r"
    ambiguous - 10.0
    delivered 1.0 11.0
    lost_or_missed 0.0 -
    ");
}

#[test]
fn arrival_with_a_damaged_sequence_number_is_not_part_of_the_next_super_packet() {
    assert_snapshot!(fates_within_connection(&format!("{SUPER_PACKET}
        src 1.0000 > 2501:4501(2000) ack 501 id 1002 ts 7 8
        src 1.0010 > 4501:6501(2000) ack 501 id 1004 ts 7 8
        dst 1.0100 > 2501:3501(1000) ack 501 id 1002 ts 7 8
        dst 1.0101 > 4525:5525(1000) ack 501 id 1003 ts 7 8
        dst 1.0110 > 4501:5501(1000) ack 501 id 1004 ts 7 8
        dst 1.0111 > 5501:6501(1000) ack 501 id 1005 ts 7 8
    ")), @r"
    delivered 0.0 10.0
    unseen - 10.1
    delivered 1.0 11.0
    delivered 1.0 11.1
    lost_or_missed 0.0 -
    ");
}

#[test]
fn arrival_with_a_damaged_length_is_not_part_of_the_next_packet() {
    assert_snapshot!(fates_within_connection(&format!("{SUPER_PACKET}
        src 1.0000 > 2501:3501(1000) ack 501 id 1002 ts 7 8
        src 1.0010 > 3501:4501(1000) ack 501 id 1003 ts 7 8
        dst 1.0100 > 2501:3533(1032) ack 501 id 1002 ts 7 8
        dst 1.0110 > 3501:4501(1000) ack 501 id 1003 ts 7 8
    ")), @r"
    ambiguous - 10.0
    delivered 1.0 11.0
    lost_or_missed 0.0 -
    ");
}

#[test]
fn retransmission_that_equals_a_recent_arrival_is_not_lost() {
    assert_snapshot!(fates_within_connection(&format!("{SUPER_PACKET}
        both 1.0000 > 2501:3501(1000) ack 501 id 0
        both 1.2000 > 2501:3501(1000) ack 501 id 0
    ")), @r"
    delivered 0.0 10.0
    ambiguous - 210.0
    ambiguous 200.0 -
    ");
}

#[test]
fn part_of_a_super_packet_is_found_after_a_lost_part() {
    assert_snapshot!(fates_within_connection(&format!("{SUPER_PACKET}
        src 1.0000 > 2501:5501(3000) ack 501 id 1002 ts 7 8
        dst 1.0101 > 3501:4501(1000) ack 501 id 1003 ts 7 8
        dst 1.0102 > 4501:5501(1000) ack 501 id 1004 ts 7 8
    ")), @r"
    delivered 0.0 10.1
    delivered 0.0 10.2
    lost 0.0 -
    ");
}

#[test]
fn merged_arrival_does_not_reveal_which_packet_carried_its_end() {
    // The merged arrival shows only the IP ID of its first packet.
    assert_snapshot!(fates_within_connection("
        src 1.0000 > 501:1001(500) ack 501 id 100
        src 1.0001 > 1001:1501(500) ack 501 id 800
        src 1.3000 > 501:1001(500) ack 501 id 900
        src 1.3001 > 1001:1501(500) ack 501 id 101
        dst 1.3100 > 501:1501(1000) ack 501 id 100
    "), @r"
    ambiguous - 310.0
    ambiguous 0.0 -
    ambiguous 0.1 -
    lost 300.0 -
    ambiguous 300.1 -
    ");
}

#[test]
fn bytes_that_two_packets_may_have_carried_are_credited_to_neither() {
    // The merged arrival holds the first packet. Its retransmission does not prove that both have
    // arrived by now.
    assert_snapshot!(fates_within_connection("
        src 1.0000 > 501:1001(500) ack 501 id 0
        src 1.0001 > 1001:1501(500) ack 501 id 0
        src 1.0002 > 501:1001(500) ack 501 id 0
        dst 1.0101 > 501:1501(1000) ack 501 id 0
        dst 1.0102 > 501:1001(500) ack 501 id 0
    "), @r"
    delivered 0.1 10.1
    ambiguous - 10.2
    ambiguous 0.0 -
    ambiguous 0.2 -
    ");
}

#[test]
fn late_duplicate_of_a_part_does_not_hide_the_loss_of_another_part() {
    // The duplicate arrives after more packets than are compared before its bytes are searched for.
    let mut text = "
        src 1.0000 > 501:2501(2000) ack 501 id 1000 ts 7 8
        dst 1.0100 > 501:1501(1000) ack 501 id 1000 ts 7 8
        dst 1.4500 > 501:1501(1000) ack 501 id 1000 ts 7 8
    "
    .to_owned();
    for number in 0..100_u32 {
        let (start, at) = (2501 + 1000 * number, 1.1 + 0.003 * f64::from(number));
        let (end, id) = (start + 1000, 2000 + number);
        writeln!(
            text,
            "both {at:.4} > {start}:{end}(1000) ack 501 id {id} ts 9 8"
        )
        .unwrap();
    }
    let fates = fates_within_connection(&text);
    assert_eq!(fates.matches("delivered").count(), 101, "{fates}");
    assert!(fates.contains("lost 0.0 -"), "{fates}");
    assert!(fates.contains("duplicate - 450.0"), "{fates}");
}

#[test]
fn merged_arrival_does_not_change_the_number_of_packets() {
    let counts = |merged: bool| {
        let mut text = SUPER_PACKET.to_owned();
        for number in 0..20_u32 {
            let (start, at) = (2501 + 2000 * number, 1.0 + 0.01 * f64::from(number));
            let (middle, end, id) = (start + 1000, start + 2000, 2000 + 2 * number);
            let packet = |at: f64, from: u32, to: u32, id: u32| {
                format!(
                    "{at:.4} > {from}:{to}({}) ack 501 id {id} ts 9 8\n",
                    to - from
                )
            };
            write!(text, "src {}", packet(at, start, end, id)).unwrap();
            if merged && number == 5 {
                write!(text, "dst {}", packet(at + 0.01, start, end, id)).unwrap();
            } else {
                write!(text, "dst {}", packet(at + 0.01, start, middle, id)).unwrap();
                if number != 7 {
                    write!(text, "dst {}", packet(at + 0.01, middle, end, id + 1)).unwrap();
                }
            }
        }
        let counts = counts_within_connection(&text);
        (counts.seen, counts.arrivals_matched, counts.not_found())
    };
    // Six packets of the connection, and two of each super-packet.
    assert_eq!(counts(false), (48, 47, 1));
    assert_eq!(counts(true), (48, 47, 1));
}

/// A super-packet without timestamps whose four parts arrive after a later packet; `ids` are the IP IDs of
/// the super-packet and of its parts.
fn overtaken_super_packet(ids: [u32; 5]) -> String {
    let [whole, parts @ ..] = ids;
    let mut text = format!(
        "{SUPER_PACKET}
        src 1.0000 > 2501:6501(4000) ack 501 id {whole}
        both 1.0020 > 6501:7501(1000) ack 501 id 2000\n"
    );
    for (place, id) in (0_u32..).zip(parts) {
        let (at, start) = (1.0140 + 0.0001 * f64::from(place), 2501 + 1000 * place);
        let end = start + 1000;
        writeln!(text, "dst {at:.4} > {start}:{end}(1000) ack 501 id {id}").unwrap();
    }
    text
}

#[test]
fn overtaken_parts_of_a_super_packet_are_found_by_their_ip_ids() {
    assert_snapshot!(fates_within_connection(&overtaken_super_packet([1010, 1010, 1011, 1012, 1013])), @r"
    delivered 2.0 12.0
    delivered 0.0 14.0
    delivered 0.0 14.1
    delivered 0.0 14.2
    delivered 0.0 14.3
    ");
}

#[test]
fn overtaken_part_with_an_ip_id_too_far_ahead_may_be_a_retransmission() {
    // The IP ID of the third part is 4 ahead instead of 2, which divides its 2000 bytes too.
    let ids = [1010, 1010, 1011, 1014, 1013];
    assert_snapshot!(fates_within_connection(&overtaken_super_packet(ids)), @r"
    delivered 2.0 12.0
    delivered 0.0 14.0
    delivered 0.0 14.1
    ambiguous - 14.2
    delivered 0.0 14.3
    ambiguous 0.0 -
    ");
}

#[test]
fn overtaken_parts_of_a_super_packet_without_ip_ids_may_be_retransmissions() {
    let text = overtaken_super_packet([0; 5]);
    assert_snapshot!(fates_within_connection(&text), @r"
    delivered 2.0 12.0
    ambiguous - 14.0
    ambiguous - 14.1
    ambiguous - 14.2
    ambiguous - 14.3
    ambiguous 0.0 -
    ");
    let counts = counts_within_connection(&text);
    assert_eq!(
        (counts.arrivals_overtaken, counts.arrivals_ambiguous),
        (4, 4)
    );
}
