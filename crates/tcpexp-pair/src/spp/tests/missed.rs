//! Packets that a capture missed.

use insta::assert_snapshot;

use super::fates_within_connection;

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
