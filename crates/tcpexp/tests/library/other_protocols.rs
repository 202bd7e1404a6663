//! Packets of any IP protocol are paired at two points.

use std::fmt::Write;

use crate::common::Measured;
use tcpexp_flow::Protocol;
use tcpexp_pair::spp::Point;
use tcpexp_testkit::script;

/// Microseconds between the clocks of the two captures.
const OFFSET_US: u64 = 7_000_000;
/// Microseconds between two requests.
const INTERVAL_US: u64 = 100_000;
const COUNT: u64 = 50;
/// Of the requests, this one never arrives.
const LOST: u64 = 20;

fn request_owd_us(number: u64) -> u64 {
    20_000 + number * 7_919 % 5_000
}

fn reply_owd_us(number: u64) -> u64 {
    30_000 + number * 6_101 % 9_000
}

/// The captures of requests and their replies. `packet` describes the packet with a number; the second
/// argument is true for a reply.
fn captures(packet: impl Fn(u64, bool) -> String) -> [Vec<u8>; 2] {
    let mut points = [Vec::new(), Vec::new()];
    for number in 0..COUNT {
        let left = 1_000_000 + number * INTERVAL_US;
        let arrived = left + request_owd_us(number);
        points[0].push((
            left,
            format!("> {} id {}", packet(number, false), number * 3 + 9),
        ));
        if number == LOST {
            continue;
        }
        let arrival = format!("> {} id {}", packet(number, false), number * 3 + 9);
        points[1].push((arrived + OFFSET_US, arrival));
        let reply = format!("< {} id {}", packet(number, true), number + 7_000);
        points[1].push((arrived + 50 + OFFSET_US, reply.clone()));
        points[0].push((arrived + 50 + reply_owd_us(number), reply));
    }
    points.map(|mut lines| {
        lines.sort();
        let mut text = String::new();
        for (at, line) in lines {
            writeln!(text, "{}.{:06} {line}", at / 1_000_000, at % 1_000_000).unwrap();
        }
        script::capture(&text)
    })
}

/// Checks that all pairs of requests and replies give their RTT, and that one request is lost.
fn assert_paired(protocol: &str, packet: impl Fn(u64, bool) -> String) -> Measured {
    let [src, dst] = captures(packet);
    let measured = Measured::of_bytes(&src, &dst);
    let protocols: Vec<_> = measured.flows.iter().map(|flow| flow.protocol).collect();
    assert_eq!(protocols, [Protocol::from_name(protocol).unwrap()]);
    let requests = measured
        .samples
        .iter()
        .filter(|sample| sample.reference == Point::Src);
    let mut count = 0;
    for sample in requests {
        let left_us = sample.time.as_nanos().cast_unsigned() / 1_000 - 1_000_000;
        let number = left_us / INTERVAL_US;
        let rtt_us = request_owd_us(number) + reply_owd_us(number);
        assert_eq!(
            sample.rtt.as_nanos().cast_unsigned() / 1_000,
            rtt_us,
            "{number}"
        );
        count += 1;
    }
    // Without an IP ID, the first and the last pair may have a copy outside the captures.
    assert!(count >= COUNT - 3, "{count} samples");
    assert_eq!(measured.total(|counts| counts.lost), 1, "{measured:?}");
    measured
}

#[test]
fn echoes_with_equal_data_are_paired_by_their_sequence_numbers() {
    for family in ["", " v6"] {
        assert_paired(
            if family.is_empty() { "icmp" } else { "icmpv6" },
            |number, is_reply| {
                let kind = if is_reply { "reply" } else { "echo" };
                format!("{kind} {number} 56{family}")
            },
        );
    }
}

#[test]
fn packets_of_a_protocol_without_ports_are_paired_by_their_first_bytes() {
    // As in an encapsulating security payload, the first bytes contain a sequence number.
    assert_paired("esp", |number, is_reply| {
        format!("ip 50 200 num {}", number + u64::from(is_reply) * 1_000_000)
    });
    assert_paired("ip-253", |number, is_reply| {
        format!(
            "ip 253 200 num {}",
            number + u64::from(is_reply) * 1_000_000
        )
    });
}
