//! Repairs without a recovery, and timeouts that the sender undoes.

use insta::assert_snapshot;

use super::replay;

#[test]
fn smaller_path_mtu_reduces_no_window() {
    let text = "
        0.000000 > S 0 mss 1460 sackok wscale 7
        0.040000 < S. 0 ack 1 win 65535 mss 1460 sackok wscale 7
        0.040010 > . 1 ack 1
        0.041000 > 1:1461(1460)
        0.041001 > 1461:2921(1460)
        0.051000 > 1:1161(1160)          // after an ICMP message
        0.051001 > 1161:1461(300)
        0.051002 > 1461:2621(1160)
        0.051003 > 2621:2921(300)
        0.091000 < ack 1461
        0.092000 < ack 2921
        0.093000 > 2921:4081(1160)
        0.134000 < ack 4081
    ";
    assert_snapshot!(replay(text), @r"
    retransmitted path_mtu
    retransmitted path_mtu
    retransmitted path_mtu
    retransmitted path_mtu
    0+2920 pipe 2 cwnd 10 application_limited slow_start
    1460+1460 pipe 1 cwnd 10 application_limited slow_start
    2920+1160 pipe 1 cwnd 10 application_limited slow_start
    ");
}
