//! Marks reported while data is missing, by a receiver with the `AccECN` option.

use std::fmt::Write;

use super::connections;
use super::ecn::data_packets;

/// Number of data packets that the receiver reports as marked, after packets of these sizes. `segments` follow,
/// of both ends, and `sack` is an option of both SYNs.
fn reported(sack: &str, sizes: &[u32], segments: &[&str]) -> Option<u64> {
    let mut text = format!("0.00 > SAEW 0 mss 1000 {sack}\n0.04 < S.W 0 ack 1 mss 1000 {sack}\n");
    text.push_str(&data_packets(sizes));
    for (number, segment) in (10..).zip(segments) {
        writeln!(text, "0.{number} {segment}").unwrap();
    }
    connections(&text)[0].directions[0].ce_reported_packets
}

#[test]
fn marked_packets_behind_a_gap_have_their_own_size() {
    let mut sizes = [1000; 25];
    sizes[4] = 100;
    let gap = [
        "< AE. ack 4001 ceb 0",
        "> A.E 4001:4101(100) ack 1 id 90 tos 2",
    ];
    let filled = ["< EW. ack 4101 ceb 6000", "< EW. ack 24101 ceb 6000"];
    // From 5 to 11, by six packets of 1000 bytes.
    let late = [&gap[..], &filled[..]].concat();
    assert_eq!(reported("", &sizes, &late), Some(6));
    let duplicates = [
        "< AW. ack 4001 ceb 1000",
        "< AEW. ack 4001 ceb 2000",
        "< . ack 4001 ceb 3000",
        "< E. ack 4001 ceb 4000",
        "< W. ack 4001 ceb 5000",
        "< EW. ack 4001 ceb 6000",
        "< EW. ack 4001 ceb 6000",
    ];
    let each = [&gap[..], &duplicates[..], &filled[..]].concat();
    assert_eq!(reported("", &sizes, &each), Some(6));
}

#[test]
fn bytes_of_a_duplicate_ack_show_that_the_counter_wrapped() {
    let segments = [
        "< AE. ack 2001 ceb 0",
        "> A.E 2001:3001(1000) ack 1 id 90 tos 2",
        // From 5 to 14, and to 22.
        "< AW. ack 2001 ceb 9000",
        "< AW. ack 2001 ceb 17000",
        "< AW. ack 30001 ceb 17000",
    ];
    assert_eq!(reported("", &[1000; 30], &segments), Some(17));
}

#[test]
fn bytes_that_the_counted_packets_cannot_hold_show_a_wrap() {
    let after = |ack: &str| reported("sackok", &[1000; 12], &["< AE. ack 1001 ceb 0", ack]);
    // The path duplicated two of eight packets.
    assert_eq!(after("< AE. ack 7001 ceb 8000"), Some(8));
    // The counter rises by one packet, and the bytes by those of four.
    assert_eq!(after("< AW. ack 7001 ceb 4000"), None);
    // A later ACK decides.
    let segments = [
        "< AE. ack 1001 ceb 0",
        "< AE. ack 1001 ceb 1000",
        "< AW. ack 2001 ceb 1000",
    ];
    assert_eq!(reported("sackok", &[1000; 12], &segments), Some(1));
}

#[test]
fn hidden_packets_may_wrap_the_counter_without_the_option() {
    let mut segments = vec!["< AE. ack 1001", "< AW. ack 1001", "< AEW. ack 2001"];
    // Eleven packets may have arrived behind the gap.
    assert_eq!(reported("", &[1000; 13], &segments), None);
    assert_eq!(reported("sackok", &[1000; 13], &segments), Some(2));
    segments.pop();
    segments.push("< AEW. ack 2001 ceb 2000");
    assert_eq!(reported("", &[1000; 13], &segments), Some(2));
}
