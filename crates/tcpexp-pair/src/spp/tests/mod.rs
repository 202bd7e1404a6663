//! Tests of identical packets and their outcomes.

mod early;
mod ends;
mod gaps;
mod many_flows;
mod missed;
mod one_clock;
mod one_way;
mod recurring;
mod refused;
mod silences;
mod stray_syns;
mod super_packets;
mod translated;

use std::convert::Infallible;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::ops::Range;

use insta::assert_snapshot;
use tcpexp_units::{TimeDelta, Timestamp};

use super::*;
use tcpexp_flow::{Direction, FlowId, Packets};
use tcpexp_testkit::scripted::Scripted;
use tcpexp_testkit::{FrameSpec, TcpOptions, Transport, flag};

/// Time range of the packets whose outcomes a test reports.
const REPORTED_NS: Range<i64> = 1_000_000_000..2_000_000_000;

/// A connection with its SYN and traffic both ways before a test begins, and another connection
/// that extends both captures beyond the test.
const CONNECTION: &str = "
    both 0.100 > S
    both 0.120 < S.
    both 0.140 > 1:101(100)
    both 0.160 < 1:101(100)
    both 0.180 > 101:201(100)
    both 0.200 < 101:201(100)
    both 0.220 > 201:301(100)
    both 0.240 < 201:301(100)
    both 0.260 > 301:401(100)
    both 0.280 < 301:401(100)
    both 0.300 > 401:501(100)
    both 0.320 < 401:501(100)
    both 4.000 > S flow 1
    both 4.020 < S. flow 1
";

/// The two captures of [`scripts`].
fn captures(text: &str) -> [Scripted; 2] {
    scripts(text).map(|script| Scripted::new(&script))
}

/// Scripts of the two captures. Each line starts with its capture; `both` is a packet that arrives
/// 10 ms after its departure.
fn scripts(text: &str) -> [String; 2] {
    let mut lines: [Vec<(f64, String)>; 2] = Default::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (place, line) = line.split_once(' ').unwrap();
        let (time, packet) = line.trim().split_once(' ').unwrap();
        let time: f64 = time.parse().unwrap();
        let [src, dst] = match (place, packet.starts_with('>')) {
            ("src", _) => [Some(time), None],
            ("dst", _) => [None, Some(time)],
            (_, true) => [Some(time), Some(time + 0.010)],
            (_, false) => [Some(time + 0.010), Some(time)],
        };
        for (lines, time) in lines.iter_mut().zip([src, dst]) {
            lines.extend(time.map(|time| (time, format!("{time:.6} {packet}"))));
        }
    }
    lines.map(|mut lines| {
        lines.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        lines.join("\n")
    })
}

fn survey(mut capture: Scripted) -> Survey {
    let mut survey = Survey::default();
    capture.show(usize::MAX, |sighted| survey.observe(sighted));
    survey
}

/// Outcomes of the packets, one per line, with departure and arrival in milliseconds since the
/// test's begin.
fn fates(text: &str) -> String {
    fates_with(text, Clocks::Separate)
}

/// The same, with what is known about the clocks.
fn fates_with(text: &str, clocks: Clocks) -> String {
    let (outcomes, _, _) = measured_with(text, clocks);
    let millis = |passing: Option<Passing>| {
        let time: Option<Timestamp> = passing.map(|passing| passing.time);
        time.map_or("-".to_owned(), |time| {
            let nanos = time.as_nanos() - REPORTED_NS.start;
            format!("{}.{}", nanos / 1_000_000, nanos / 100_000 % 10)
        })
    };
    let mut lines = String::new();
    for outcome in outcomes {
        let passings = [outcome.sent, outcome.received];
        let mut times = passings.iter().flatten().map(|passing| passing.time);
        if times.all(|time| REPORTED_NS.contains(&time.as_nanos())) {
            let [sent, received] = passings.map(millis);
            writeln!(lines, "{} {sent} {received}", outcome.fate.name()).unwrap();
        }
    }
    lines
}

/// Outcomes of all packets, the summaries of the flows, and the totals.
fn measured(text: &str) -> (Vec<PacketOutcome>, Vec<FlowSummary>, Totals) {
    measured_with(text, Clocks::Separate)
}

/// The same, with what is known about the clocks.
fn measured_with(text: &str, clocks: Clocks) -> (Vec<PacketOutcome>, Vec<FlowSummary>, Totals) {
    let alignment = {
        let [src, dst] = captures(text);
        Alignment::with_clocks(survey(src), survey(dst), clocks).unwrap()
    };
    let options = Options {
        outcomes: true,
        ..Options::default()
    };
    let [mut src, mut dst] = captures(text);
    let (mut outcomes, mut flows) = (Vec::new(), Vec::new());
    let Ok(totals) = measure(&mut src, &mut dst, alignment, options, |batch| {
        outcomes.extend(batch.outcomes);
        flows.extend(batch.ended);
        Ok::<(), Infallible>(())
    });
    (outcomes, flows, totals)
}

/// Counts of the forward direction of a connection that was captured from its SYN.
fn counts_within_connection(text: &str) -> DirectionCounts {
    let (_, flows, _) = measured(&format!("{CONNECTION}{text}"));
    let first = flows.into_iter().find(|flow| flow.flow.flow == FlowId(0));
    first.unwrap().counts[Direction::Forward.index()]
}

/// Outcomes of packets of a connection that was captured from its SYN.
fn fates_within_connection(text: &str) -> String {
    fates(&format!("{CONNECTION}{text}"))
}

#[test]
fn packet_sent_once_is_matched() {
    assert_snapshot!(fates_within_connection("
        both 1.000 > 501:1501(1000) ack 501 id 0
    "), @"delivered 0.0 10.0");
}

#[test]
fn packet_whose_record_has_a_damaged_port_is_not_lost() {
    let fates = |arrival: &str| {
        fates_within_connection(&format!(
            "
            both 1.000 > 501 ack 501 id 70
            src 1.100 > 501 ack 501 id 71
            {arrival}
            both 1.200 > 501 ack 501 id 72
        "
        ))
    };
    assert_snapshot!(fates(""), @r"
    delivered 0.0 10.0
    delivered 200.0 210.0
    lost 100.0 -
    ");
    assert_snapshot!(fates("dst 1.110 > 501 ack 501 id 71 flow 2"), @r"
    delivered 0.0 10.0
    delivered 200.0 210.0
    lost_or_missed 100.0 -
    ");
    // Another packet of a flow that only this point shows.
    assert_snapshot!(fates("dst 1.110 > 501 ack 501 id 73 flow 2"), @r"
    delivered 0.0 10.0
    delivered 200.0 210.0
    lost 100.0 -
    ");
}

#[test]
fn acknowledgment_whose_timestamp_is_echoed_is_not_lost() {
    let fate = |echo: u32| {
        let fates = fates_within_connection(&format!(
            "
            both 1.000 > 501 ack 501 id 70 ts 100 50
            src 1.100 > 501 ack 501 id 71 ts 200 50
            both 1.200 < 501:601(100) ack 501 ts 60 {echo}
            both 1.300 > 501 ack 601 id 72 ts 300 60
        "
        ));
        fates.lines().last().unwrap().to_owned()
    };
    assert_snapshot!(fate(100), @"lost 100.0 -");
    assert_snapshot!(fate(200), @"lost_or_missed 100.0 -");
}

#[test]
fn immediate_retransmission_is_not_a_duplicate_record() {
    // The sender detects a loss right after it has sent, and retransmits.
    assert_snapshot!(fates_within_connection("
        src 1.0000 > 501:1501(1000) ack 501 id 0
        src 1.0002 > 501:1501(1000) ack 501 id 0
        dst 1.0102 > 501:1501(1000) ack 501 id 0
    "), @r"
    ambiguous - 10.2
    ambiguous 0.2 -
    ");
}

#[test]
fn retransmission_within_a_timestamp_tick_is_not_a_duplicate_record() {
    assert_snapshot!(fates_within_connection("
        src 1.0000 > 501:1501(1000) ack 501 id 0 ts 7 8
        src 1.0002 > 501:1501(1000) ack 501 id 0 ts 7 8
        dst 1.0102 > 501:1501(1000) ack 501 id 0 ts 7 8
        both 1.5000 > 1501:1601(100) ack 501 id 0 ts 9 8
    "), @r"
    ambiguous - 10.2
    delivered 500.0 510.0
    ambiguous 0.2 -
    ");
}

/// Ten segments without IP ID and timestamps, captured at the source from one second on and at the
/// destination somewhat later, with their acknowledgments.
fn segments_without_identification() -> String {
    let mut text = String::new();
    for segment in 0..10_u32 {
        let (start, end) = (501 + segment * 1000, 1501 + segment * 1000);
        let sent = 1.0 + 0.001 * f64::from(segment);
        for (point, at) in [("src", sent), ("dst", sent + 0.040)] {
            writeln!(text, "{point} {at:.4} > {start}:{end}(1000) ack 501 id 0").unwrap();
        }
        writeln!(text, "both {:.4} < ack {end} id 0", sent + 0.041).unwrap();
    }
    text
}

#[test]
fn packet_sent_before_the_capture_is_not_matched_to_its_retransmission() {
    // The departures may be retransmissions and the arrivals their originals. The clock offset does
    // not help, since it is estimated from the same packets.
    let fates = fates(&segments_without_identification());
    assert!(!fates.contains("delivered"), "{fates}");
    assert!(fates.contains("ambiguous"), "{fates}");
}

#[test]
fn packet_sent_after_a_captured_syn_needs_no_further_evidence() {
    let fates = fates_within_connection(&segments_without_identification());
    // The first two delays exceed the earlier ones by more than a round trip, as those of
    // retransmissions do; after them the path has become longer.
    assert_eq!(fates.matches("delivered").count(), 18, "{fates}");
    assert_eq!(fates.matches("ambiguous").count(), 4, "{fates}");
}

/// Result of the first pass over the captures.
fn aligned(text: &str) -> Result<Alignment, NothingInCommon> {
    let [src, dst] = captures(text);
    Alignment::between(survey(src), survey(dst))
}

#[test]
fn acknowledgments_with_different_sack_blocks_are_different_packets() {
    for options in ["", "ts 7 8"] {
        let mut text = String::new();
        for number in 0..20_u32 {
            let (at, end) = (0.5 + 0.01 * f64::from(number), 2501 + 1000 * number);
            writeln!(
                text,
                "both {at:.3} > 501 ack 501 id 0 {options} sack 1501:{end}"
            )
            .unwrap();
        }
        let [with_another, with_none] = ["sack 1501:99501", ""].map(|sack| {
            let other = format!("dst 1.011 > 501 ack 501 id 0 {options} {sack}");
            fates_within_connection(&format!(
                "{text}src 1.000 > 501 ack 501 id 0 {options} sack 1501:98501\n{other}"
            ))
        });
        for fates in [with_another, with_none] {
            assert!(!fates.contains("delivered"), "{options}: {fates}");
        }
    }
}

#[test]
fn duplicate_acknowledgments_with_one_departure_missed_stay_unmatched() {
    assert_snapshot!(fates_within_connection("
        dst 1.0102 > ack 501 id 0 ts 7 8
        both 1.0005 > ack 501 id 0 ts 7 8
        both 1.0030 > 501:601(100) ack 501 id 0 ts 9 8
    "), @r"
    ambiguous - 10.2
    ambiguous - 10.5
    delivered 3.0 13.0
    ambiguous 0.5 -
    ");
}

/// Data out and acknowledgments back for two seconds; a middlebox adds these constants to the
/// sequence numbers of each direction.
fn shifted_connection(shift: [u32; 2]) -> String {
    let mut text = String::new();
    for number in 0..200_u32 {
        let at = 1.0 + 0.005 * f64::from(number);
        let id = number + 1;
        for (point, sent, [out, back]) in [("src", at, [0, 0]), ("dst", at + 0.010, shift)] {
            let (start, ack) = (501 + 100 * number + out, 701 + back);
            let end = start + 100;
            writeln!(
                text,
                "{point} {sent:.4} > {start}:{end}(100) ack {ack} id {id}"
            )
            .unwrap();
        }
        for (point, sent, [out, back]) in [("dst", at + 0.011, shift), ("src", at + 0.021, [0, 0])]
        {
            let (seq, ack) = (701 + back, 601 + 100 * number + out);
            writeln!(text, "{point} {sent:.4} < {seq}:{seq}(0) ack {ack} id {id}").unwrap();
        }
    }
    text
}

#[test]
fn sequence_numbers_that_a_middlebox_shifts_are_matched() {
    let clean = fates(&shifted_connection([0, 0]));
    let shifted = fates(&shifted_connection([70_000, 1_234_567]));
    assert_eq!(clean.matches("delivered").count(), 394, "{clean}");
    assert_eq!(shifted, clean);
    let alignment = aligned(&shifted_connection([70_000, 1_234_567])).unwrap();
    let shifts = alignment.identification.shifted.iter();
    let shifts: Vec<u32> = shifts.map(|one| one.shift).collect();
    assert_eq!(shifts, [70_000, 1_234_567]);
    let unshifted = aligned(&shifted_connection([0, 0])).unwrap();
    assert_eq!(unshifted.identification.shifted, []);
    // The clocks need all packets: short movements show in few of them.
    assert_eq!(alignment.common_packets, unshifted.common_packets);
}

#[test]
fn uncaptured_retransmission_is_not_matched_to_its_lost_original() {
    // Later departures overtake the lost datagram.
    assert_snapshot!(fates_within_connection("
        src 1.0000 > 501:1501(1000) ack 501 id 0
        both 1.0010 > 1501:2501(1000) ack 501 id 0
        dst 1.0500 > 501:1501(1000) ack 501 id 0
    "), @r"
    delivered 1.0 11.0
    ambiguous - 50.0
    ambiguous 0.0 -
    ");
}

#[test]
fn retransmission_of_the_last_segment_is_not_matched_to_its_lost_original() {
    assert_snapshot!(fates_within_connection("
        both 1.0000 > 501:1501(1000) ack 501 id 0
        src 1.0010 > 1501:2501(1000) ack 501 id 0
        dst 1.2210 > 1501:2501(1000) ack 501 id 0
    "), @r"
    delivered 0.0 10.0
    ambiguous - 221.0
    ambiguous 1.0 -
    ");
}

#[test]
fn segments_that_differ_only_in_ip_id_are_common() {
    let mut text = String::new();
    for round in 0..2 {
        for number in 0..10 {
            let at = 1.0 + f64::from(round) + f64::from(number) / 100.0;
            let (ack, id) = (501 + number, 1 + number + 10 * round);
            writeln!(text, "both {at:.4} > 501:1501(1000) ack {ack} id {id}").unwrap();
        }
    }
    assert_eq!(aligned(&text).unwrap().common_packets, 20);
}
