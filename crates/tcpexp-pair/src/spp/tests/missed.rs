//! Packets that a capture missed.

use std::fmt::Write;

use insta::assert_snapshot;

use super::{CONNECTION, counts_within_connection, fates_within_connection, measured};

#[test]
fn acknowledgment_is_not_surely_lost_if_data_next_to_it_was_missed() {
    let fates = |end: &str| {
        fates_within_connection(&format!(
            "
            both 1.000 > 501:601(100) ack 501 id 70
            src 1.100 > 601:701(100) ack 501 id 71
            src 1.101 > 701 ack 501 id 75
            {end}
            both 1.300 > 701:801(100) ack 501 id 73
        "
        ))
    };
    assert_snapshot!(fates("both 1.200 > 601:701(100) ack 501 id 72"), @r"
    delivered 0.0 10.0
    delivered 200.0 210.0
    delivered 300.0 310.0
    lost 100.0 -
    lost 101.0 -
    ");
    // Acknowledged, and never sent again.
    assert_snapshot!(fates("both 1.200 < 501 ack 701 id 72"), @r"
    delivered 0.0 10.0
    delivered 200.0 210.0
    delivered 300.0 310.0
    missed 100.0 -
    lost_or_missed 101.0 -
    ");
}

#[test]
fn syn_whose_number_is_acknowledged_was_missed() {
    let fates = |answer: &str| {
        fates_within_connection(&format!(
            "
            both 1.000 > S flow 2
            dst 1.020 < S. flow 2
            {answer}
            both 1.600 > 501:601(100) ack 501 id 70
        "
        ))
    };
    assert_snapshot!(fates("both 1.040 > 1 ack 1 flow 2"), @r"
    delivered 0.0 10.0
    delivered 40.0 50.0
    delivered 600.0 610.0
    missed 20.0 -
    ");
    assert_snapshot!(fates("both 1.500 > S flow 2"), @r"
    delivered 0.0 10.0
    delivered 500.0 510.0
    delivered 600.0 610.0
    lost 20.0 -
    ");
}

#[test]
fn packet_acknowledged_before_its_retransmission_arrives_is_not_surely_lost() {
    let fate = |answer: &str| {
        let fates = fates_within_connection(&format!(
            "
            src 1.100 > 501:601(100) ack 501 id 71
            both 1.110 > 501:601(100) ack 501 id 72
            both {answer} < 501 ack 601 id 80
            both 1.300 > 601:701(100) ack 501 id 73
        "
        ));
        fates.lines().last().unwrap().to_owned()
    };
    assert_snapshot!(fate("1.125"), @"lost 100.0 -");
    assert_snapshot!(fate("1.115"), @"lost_or_missed 100.0 -");
}

#[test]
fn repeated_acknowledgment_of_number_zero_proves_a_loss_as_any_other() {
    for isn in [1_000, u32::MAX] {
        let at = |bytes: u32| isn.wrapping_add(1 + bytes);
        let mut text = format!(
            "
            both 1.000 > S {isn} flow 2
            both 1.020 < S. 0 ack {0} flow 2
            both 1.040 > {0} ack 1 flow 2 id 69
            src 1.100 > {0}:{1}(100) ack 1 flow 2 id 70
            both 1.150 > {0}:{1}(100) ack 1 flow 2 id 75
            both 1.180 < 1 ack {2} flow 2 id 85
            both 1.2000 > {2}:{3}(100) ack 1 flow 2 id 76
            both 1.2101 < 1 ack {3} flow 2 id 86
        ",
            at(0),
            at(100),
            at(500),
            at(600),
        );
        for number in 1..5 {
            let (start, end) = (at(100 * number), at(100 * number + 100));
            writeln!(
                text,
                "both 1.10{number} > {start}:{end}(100) ack 1 flow 2 id 7{number}"
            )
            .unwrap();
            writeln!(
                text,
                "both 1.11{} < 1 ack {} flow 2 id 8{number}",
                number + 4,
                at(0)
            )
            .unwrap();
        }
        let (_, flows, _) = measured(&format!("{CONNECTION}{text}"));
        let counts = flows.iter().map(|flow| flow.counts[0]);
        let lost: u64 = counts.clone().map(|counts| counts.lost).sum();
        let unproven: u64 = counts.map(|counts| counts.lost_unproven).sum();
        assert_eq!((lost, unproven), (1, 0), "{isn}");
    }
}

#[test]
fn loss_before_a_capture_between_the_ends_is_not_proven() {
    // The capture may have missed the original, and the path may have lost it afterwards.
    let counts = |answer: &str| {
        counts_within_connection(&format!(
            "
            both 1.0000 > 501:601(100) ack 501 id 70
            both {answer} < 501 ack 601 id 80
            src 1.0500 > 601:701(100) ack 501 id 71
            both 1.0510 > 701:801(100) ack 501 id 72
            both 1.0620 < 501 ack 601 id 81
            both 1.1500 > 601:701(100) ack 501 id 73
            both 1.1700 < 501 ack 801 id 82
            both 1.3000 > 801:901(100) ack 501 id 74
        "
        ))
    };
    for (answer, unproven) in [("1.0101", 0), ("1.0110", 1)] {
        let counts = counts(answer);
        assert_eq!(
            (counts.lost, counts.lost_unproven),
            (1, unproven),
            "{answer}"
        );
    }
}

#[test]
fn retransmission_of_late_data_is_not_surely_lost() {
    // The original arrives before its retransmission leaves, or after it.
    for original in ["1.020", "1.035"] {
        let counts = counts_within_connection(&format!(
            "
            src 1.000 > 501:601(100) ack 501 id 70
            both 1.001 > 601:701(100) ack 501 id 71
            both 1.002 > 701:801(100) ack 501 id 72
            both 1.003 > 801:901(100) ack 501 id 73
            both 1.012 < 501 ack 501 id 80
            both 1.013 < 501 ack 501 id 81
            both 1.014 < 501 ack 501 id 82
            both 1.015 < 501 ack 501 id 83
            src 1.030 > 501:601(100) ack 501 id 74
            dst {original} > 501:601(100) ack 501 id 70
            both 1.060 < 501 ack 901 id 84
            both 1.300 > 901:1001(100) ack 501 id 75
        "
        ));
        assert_eq!((counts.lost, counts.lost_unproven), (1, 1), "{original}");
    }
}

#[test]
fn arrival_like_an_earlier_one_may_be_a_retransmission_that_left_unseen() {
    let fates = |id: u32, again: &str| {
        let fates = fates_within_connection(&format!(
            "
            both 1.0000 > 501:601(100) ack 501 id {id}
            dst {again} > 501:601(100) ack 501 id {id}
            both 1.4000 > 601:701(100) ack 501 id 9
        "
        ));
        fates.lines().nth(1).unwrap().to_owned()
    };
    assert_snapshot!(fates(0, "1.0600"), @"ambiguous - 60.0");
    assert_snapshot!(fates(0, "1.0105"), @"duplicate - 10.5");
    assert_snapshot!(fates(7, "1.0600"), @"duplicate - 60.0");
}

#[test]
fn duplicate_that_arrives_after_many_packets_is_not_unseen() {
    let mut text = "
        both 1.0000 > 501:601(100) ack 501 id 7 ts 7 8
        dst 1.2000 > 501:601(100) ack 501 id 7 ts 7 8
    "
    .to_owned();
    for number in 0..150_u32 {
        let (at, start) = (1.001 + 0.001 * f64::from(number), 601 + 100 * number);
        let (end, id) = (start + 100, 8 + number);
        writeln!(
            text,
            "both {at:.4} > {start}:{end}(100) ack 501 id {id} ts 9 8"
        )
        .unwrap();
    }
    let fates = fates_within_connection(&text);
    assert_eq!(fates.matches("delivered").count(), 151, "{fates}");
    assert!(fates.contains("duplicate - 200.0"), "{fates}");
}

#[test]
fn packets_of_a_flow_with_other_numbers_at_each_point_are_not_surely_missed() {
    // A middlebox adds 70,000 to the sequence numbers of the initiator; the answers match no more.
    let fates = fates_within_connection(
        "
        src 1.000 > 501:601(100) ack 501 id 0 flow 2
        dst 1.010 > 70501:70601(100) ack 501 id 0 flow 2
        dst 1.020 < 501:601(100) ack 70601 id 0 flow 2
        src 1.030 < 501:601(100) ack 601 id 0 flow 2
        src 1.100 > 601:701(100) ack 601 id 0 flow 2
        dst 1.110 > 70601:70701(100) ack 601 id 0 flow 2
        dst 1.120 < 601:701(100) ack 70701 id 0 flow 2
        src 1.130 < 601:701(100) ack 701 id 0 flow 2
        both 1.400 > 501:601(100) ack 501 id 9
    ",
    );
    assert!(
        !fates.contains("\nmissed") && !fates.contains("unseen"),
        "{fates}"
    );
}
