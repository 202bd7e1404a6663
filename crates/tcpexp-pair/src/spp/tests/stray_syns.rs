//! SYNs in the middle of a connection.

use super::{CONNECTION, FlowSummary, measured};

/// Numbers of packets that each flow sent and that were matched, forward and then reverse.
fn packets(text: &str) -> Vec<[u64; 4]> {
    let (_, flows, _) = measured(&format!("{CONNECTION}{text}"));
    let counts = |flow: &FlowSummary| {
        let [forward, reverse] = flow.counts;
        [forward.seen, forward.matched, reverse.seen, reverse.matched]
    };
    flows.iter().map(counts).collect()
}

#[test]
fn connection_stays_paired_after_a_forged_syn() {
    let goes_on = "
        both 1.100 < . 501 ack 501
        both 1.200 > 501:601(100) ack 501
        both 1.300 < 501:601(100) ack 601
    ";
    for (syn, flows) in [
        ("", 2),
        ("both 1.0 > S 777777", 3),
        ("dst 1.0 > S 777777", 2),
        ("src 1.0 > S 777777", 2),
    ] {
        let packets = packets(&format!("{syn}{goes_on}"));
        assert_eq!((packets[0], packets.len()), ([7, 7, 8, 8], flows), "{syn}");
    }
}

#[test]
fn next_connection_is_paired_beside_the_one_before() {
    let next = "
        both 1.000 > S 777777
        both 1.020 < S. 888888 ack 777778
        both 1.040 > 777778:777878(100) ack 888889
        both 1.050 < . 888889 ack 777878
    ";
    assert_eq!(packets(next), [[6, 6, 6, 6], [2, 2, 2, 2], [1, 1, 1, 1]]);
}
