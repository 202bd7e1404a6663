//! Repairs without a recovery, and timeouts that the sender undoes.

use insta::assert_snapshot;

use super::{HANDSHAKE, replay};

#[test]
fn loss_repaired_by_a_probe_reduces_the_window() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.081000 < ack 2965 ts 940 41
        0.170000 > 2965:3953(988) ts 170 940
        0.211000 < ack 3953 ts 1071 170
        0.311000 > 3953:4941(988) ts 311 1071
        0.352000 < ack 4941 ts 1212 311
        0.452000 > 4941:5929(988) ts 452 1212
        0.493000 < ack 5929 ts 1353 452
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+3952 pipe 4 cwnd 10 application_limited slow_start
    retransmitted tail_loss_probe
    2964+988 pipe 1 cwnd 10 application_limited slow_start
    3952+988 pipe 1 cwnd 10 application_limited slow_start
    4940+988 pipe 1 cwnd - undecided congestion_avoidance
    ");
    // A D-SACK shows that the original had arrived.
    let needless = text.replace("< ack 3953", "< ack 3953 sack 2965:3953");
    assert!(!replay(&needless).contains("undecided"), "{needless}");
}

#[test]
fn data_of_a_syn_that_the_responder_refuses_shows_no_loss() {
    let text = "
        0.000000 > S 0:1000(1000) mss 1000 sackok wscale 7
        0.020000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
        0.020010 > 1:1001(1000) ack 1
        0.020011 > 1001:2001(1000)
        0.020012 > 2001:3001(1000)
        0.040000 < ack 3001
        0.140000 > 3001:4001(1000)
        0.160000 < ack 4001
    ";
    assert_snapshot!(replay(text), @r"
    retransmitted refused_syn_data
    0+3000 pipe 3 cwnd 10 application_limited slow_start
    3000+1000 pipe 1 cwnd 10 application_limited slow_start
    ");
}

#[test]
fn timeout_is_undone_by_an_ack_of_data_sent_only_before_it() {
    let text = "
        0.000000 > S 0 mss 1000 sackok wscale 7
        0.040000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
        0.040010 > . 1 ack 1
        0.041000 > 1:1001(1000)
        0.041001 > 1001:2001(1000)
        0.041002 > 2001:3001(1000)
        0.041003 > 3001:4001(1000)
        0.085000 < ack 1001
        0.585000 > 1001:2001(1000)
        0.590000 < ack 2001
        0.590010 > 4001:5001(1000)
        0.591000 < ack 3001
        0.592000 < ack 4001
        0.632000 < ack 5001
    ";
    assert_snapshot!(replay(text), @r"
    0+4000 pipe 4 cwnd 10 application_limited slow_start
    retransmitted timeout
    1000+3000 pipe 1 cwnd 1 recovery loss_recovery
    2000+3000 pipe 1 cwnd 1 recovery loss_recovery
    recovery 0 timeout to None undone
    3000+2000 pipe 2 cwnd 10 application_limited slow_start
    4000+1000 pipe 1 cwnd 10 application_limited slow_start
    ");
    // A sender that goes on repairing has not undone it.
    let real = text.replace("0.590010 > 4001:5001", "0.590010 > 2001:3001");
    let real = real.replace("0.632000 < ack 5001", "0.632000 < ack 4001");
    assert!(!replay(&real).contains("undone"), "{}", replay(&real));
}

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
    0+2920 pipe - cwnd - warm_up slow_start
    1460+1460 pipe - cwnd - warm_up slow_start
    2920+1160 pipe - cwnd - warm_up slow_start
    ");
    // A full segment shows that the path MTU is still the same.
    let same = text
        .replace("2921:4081(1160)", "2921:4381(1460)")
        .replace("ack 4081", "ack 4381");
    assert!(
        replay(&same).ends_with("2920+1460 pipe 1 cwnd 10 application_limited slow_start\n"),
        "{}",
        replay(&same)
    );
}

#[test]
fn data_of_a_refused_syn_is_refused_once_however_late_it_is_sent_again() {
    let causes = |text: &str| {
        let shown = replay(text);
        let causes = shown
            .lines()
            .filter_map(|line| line.strip_prefix("retransmitted "));
        causes.collect::<Vec<_>>().join(", ")
    };
    let open = "
        0.000000 > S 0:1000(1000) mss 1000 sackok wscale 7
        0.020000 < S. 0 ack 1 win 65535 mss 1000 sackok wscale 7
        0.028000 > 1:1001(1000) ack 1
        0.028001 > 1001:2001(1000)
    ";
    let lost = format!("{open} 0.400000 > 1:1001(1000)\n0.420000 < ack 2001");
    assert_eq!(causes(&lost), "refused_syn_data, timeout");
    // The rest of the data follows in a segment of its own.
    let parts = open.replace(
        "1:1001(1000) ack 1",
        "1:501(500) ack 1\n0.028000 > 501:1001(500)",
    );
    let parts = format!("{parts} 0.050000 < ack 2001");
    assert_eq!(causes(&parts), "refused_syn_data, refused_syn_data");
}
