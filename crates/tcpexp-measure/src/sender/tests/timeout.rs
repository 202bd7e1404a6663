//! The window after a timeout, and after a timeout that was none.

use super::*;

#[test]
fn the_ack_that_undoes_a_reduction_grows_the_window_by_the_copy_too() {
    let text = [
        OPEN.to_owned(),
        burst(101_000, 0, 10),
        "0.501000 > 1:1001(1000)".to_owned(),
        "0.511000 < ack 1001 sack 1:1001".to_owned(),
        "0.541000 < ack 10001".to_owned(),
        burst(541_010, 10, 31),
        "0.641000 < ack 31001".to_owned(),
    ];
    assert_snapshot!(replay(&text.join("\n")), @r"
    retransmitted timeout
    0+10000 pipe 1 cwnd 1 recovery loss_recovery
    recovery 0 timeout to None undone
    1000+9000 pipe 9 cwnd 12 application_limited slow_start
    10000+21000 pipe 21 cwnd 21 application_limited slow_start
    ");
}
