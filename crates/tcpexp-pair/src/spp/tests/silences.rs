//! Tests of flows that are silent for longer than their timeout, so that a flow table splits them.

use insta::assert_snapshot;

use tcpexp_flow::Protocol;

use super::{CONNECTION, PacketOutcome, measured};

/// Flow numbers at each point and fates of the packets of flow 2, a packet per line; its pairs are
/// those of the source's flows from 2 on.
fn fates_of_datagrams(text: &str) -> String {
    let (mut outcomes, mut flows, _) = measured(&format!(
        "{CONNECTION}{text}
        both 3000.0 > S flow 3
        both 3000.02 < S. flow 3
        "
    ));
    flows.retain(|flow| flow.flow.protocol == Protocol::Udp);
    outcomes.retain(|one| flows.iter().any(|flow| flow.flow.flow == one.flow));
    let time = |one: &PacketOutcome| one.sent.or(one.received).map(|passing| passing.time);
    outcomes.sort_by_key(time);
    let line = |one: &PacketOutcome| {
        let flow = flows.iter().find(|flow| flow.flow.flow == one.flow);
        let [src, dst] = flow.unwrap().flow.local.map(|local| local.flow);
        let seconds = time(one).unwrap().as_nanos() / 1_000_000_000;
        format!("{seconds} s {} {src} {dst}", one.fate.name())
    };
    let lines: Vec<String> = outcomes.iter().map(line).collect();
    lines.join("\n")
}

#[test]
fn exchanges_after_long_silences_are_pairs_of_their_own() {
    assert_snapshot!(fates_of_datagrams("
        both 2.000 > udp 48 num 1 id 11 flow 2
        both 2.020 < udp 48 num 2 id 12 flow 2
        both 1026.000 > udp 48 num 3 id 13 flow 2
        both 1026.020 < udp 48 num 4 id 14 flow 2
        src 2050.000 > udp 48 num 5 id 15 flow 2
        both 2051.000 > udp 48 num 6 id 16 flow 2
        both 2051.020 < udp 48 num 7 id 17 flow 2
    "), @r"
    2 s delivered 1 1
    2 s delivered 1 1
    1026 s delivered 3 3
    1026 s delivered 3 3
    2050 s lost 4 4
    2051 s delivered 4 4
    2051 s delivered 4 4
    ");
}

#[test]
fn flow_that_only_the_destination_splits_stays_one() {
    // The silence takes 299.990 s at the source and 300.010 s at the destination.
    assert_snapshot!(fates_of_datagrams("
        both 2.000 > udp 48 num 1 id 11 flow 2
        both 2.020 < udp 48 num 2 id 12 flow 2
        both 302.020 > udp 48 num 3 id 13 flow 2
        src 302.025 > udp 48 num 4 id 14 flow 2
        both 302.040 < udp 48 num 5 id 15 flow 2
        both 302.100 > udp 48 num 6 id 16 flow 2
    "), @r"
    2 s delivered 1 1
    2 s delivered 1 1
    302 s delivered 1 1
    302 s lost_or_missed 1 1
    302 s delivered 1 1
    302 s delivered 1 1
    ");
}

#[test]
fn packets_of_a_flow_that_only_the_source_splits_are_not_surely_lost() {
    assert_snapshot!(fates_of_datagrams("
        both 2.000 > udp 48 num 1 id 11 flow 2
        both 302.005 < udp 48 num 2 id 12 flow 2
        both 302.020 > udp 48 num 3 id 13 flow 2
        both 302.040 < udp 48 num 4 id 14 flow 2
    "), @r"
    2 s delivered 1 1
    302 s lost_or_missed 1 1
    302 s ambiguous 3 1
    302 s delivered 3 1
    302 s delivered 3 1
    ");
    // The destination sends in the meantime.
    assert_snapshot!(fates_of_datagrams("
        both 2.000 > udp 48 num 1 id 11 flow 2
        both 2.020 < udp 48 num 2 id 12 flow 2
        dst 102.000 < udp 48 num 3 id 13 flow 2
        both 352.000 > udp 48 num 4 id 14 flow 2
        both 352.020 < udp 48 num 5 id 15 flow 2
    "), @r"
    2 s delivered 1 1
    2 s delivered 1 1
    102 s lost_or_missed 1 1
    352 s delivered 3 1
    352 s delivered 3 1
    ");
}

#[test]
fn connection_that_is_silent_for_hours_loses_no_packet() {
    let (outcomes, ..) = measured(&format!(
        "{CONNECTION}
        both 9000.000 > 501:601(100) ack 501 id 70
        both 9000.020 < 501:601(100) ack 601 id 71
        both 9000.040 > 601:701(100) ack 601 id 72
        both 9001.000 > S flow 3
        both 9002.000 > S flow 4
        "
    ));
    let fates: Vec<&str> = outcomes.iter().map(|one| one.fate.name()).collect();
    assert_eq!(fates, ["delivered"; 19]);
}
