//! Recoveries, timeouts and what they leave.

use insta::assert_snapshot;

use tcpexp_units::TimeDelta;

use super::{HANDSHAKE, SenderOptions, SenderRow, lossy, replay, rows, summary};

/// A full window of ten segments; the first is lost, and the sender halves its window.
fn full_window_lossy(rest: &str) -> String {
    format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.041005 > 4941:5929(988) ts 41 900
        0.041006 > 5929:6917(988) ts 41 900
        0.041007 > 6917:7905(988) ts 41 900
        0.041008 > 7905:8893(988) ts 41 900
        0.041009 > 8893:9881(988) ts 41 900
        0.082000 < ack 1 sack 989:1977 ts 941 41
        0.083000 < ack 1 sack 989:2965 ts 942 41
        0.084000 < ack 1 sack 989:3953 ts 943 41
        0.084010 > 1:989(988) ts 84 943
        0.085000 < ack 1 sack 989:4941 ts 944 41
        0.086000 < ack 1 sack 989:5929 ts 945 41
        0.087000 < ack 1 sack 989:6917 ts 946 41
        0.087010 > 9881:10869(988) ts 87 946
        0.088000 < ack 1 sack 989:7905 ts 947 41
        0.088010 > 10869:11857(988) ts 88 947
        0.089000 < ack 1 sack 989:8893 ts 948 41
        0.089010 > 11857:12845(988) ts 89 948
        0.090000 < ack 1 sack 989:9881 ts 949 41
        0.090010 > 12845:13833(988) ts 90 949
        0.125000 < ack 9881 ts 984 84
        0.125010 > 13833:14821(988) ts 125 984
        {rest}"
    )
}

#[test]
fn sack_starts_a_recovery_that_reduces_the_window() {
    let text = full_window_lossy("0.128000 < ack 10869 ts 985 87");
    assert_snapshot!(replay(&text), @r"
    0+9880 pipe 10 cwnd 10 application_limited slow_start
    0+9880 pipe 9 cwnd 10 application_limited slow_start
    0+9880 pipe 8 cwnd 10 application_limited slow_start
    retransmitted fast_retransmit
    0+9880 pipe 7 cwnd 7 recovery fast_recovery
    0+9880 pipe 6 cwnd 6 recovery fast_recovery
    0+9880 pipe 5 cwnd 5 recovery fast_recovery
    0+10868 pipe 5 cwnd 5 recovery fast_recovery
    0+11856 pipe 5 cwnd 5 recovery fast_recovery
    0+12844 pipe 5 cwnd 5 recovery fast_recovery
    0+13832 pipe 5 cwnd 5 recovery fast_recovery
    recovery 0 fast to Some(5)
    9880+4940 pipe 5 cwnd 5 filled congestion_avoidance
    ");
}

#[test]
fn acks_right_after_a_recovery_show_no_window_before_the_sender_answers() {
    // The first of two ACKs that arrive together covers nearly all data in flight.
    let text = full_window_lossy("")
        .replace("0.125000 < ack 9881", "0.125000 < ack 12845")
        .replace(
            "0.125010 > 13833:14821(988) ts 125 984",
            "0.125001 < ack 13833 ts 984 84",
        );
    let shown = replay(&text);
    assert_snapshot!(shown.lines().rev().nth(1).unwrap(), @"12844+988 pipe 1 cwnd - undecided congestion_avoidance");
    let samples = rows(&text, SenderOptions::default());
    let last = samples.iter().rev().find_map(|row| match row {
        SenderRow::Sample(sample) => Some(sample.ssthresh_segments),
        _ => None,
    });
    assert_eq!(last, Some(None));
}

#[test]
fn data_after_a_silence_does_not_set_the_earlier_threshold() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.082000 < ack 1 sack 989:1977 ts 941 41
        0.083000 < ack 1 sack 989:2965 ts 942 41
        0.084000 < ack 1 sack 989:3953 ts 943 41
        0.084010 > 1:989(988) ts 84 943
        0.125000 < ack 4941 ts 984 84
        1.125000 > 4941:5929(988) ts 1125 984
        1.125001 > 5929:6917(988) ts 1125 984
        1.166000 < ack 6917 ts 2025 1125
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+4940 pipe 5 cwnd 10 application_limited slow_start
    0+4940 pipe 4 cwnd 10 application_limited slow_start
    0+4940 pipe 3 cwnd 10 application_limited slow_start
    retransmitted fast_retransmit
    0+4940 pipe 2 cwnd 2 recovery fast_recovery
    4940+1976 pipe 2 cwnd 2 application_limited slow_start
    recovery 0 fast to None
    ");
}

#[test]
fn window_after_a_recovery_without_further_data_is_unknown() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.041005 > 4941:5929(988) ts 41 900
        0.041006 > 5929:6917(988) ts 41 900
        0.041007 > 6917:7905(988) ts 41 900
        0.041008 > 7905:8893(988) ts 41 900
        0.041009 > 8893:9881(988) ts 41 900
        0.082 < ack 1 sack 989:1977 ts 941 41
        0.083 < ack 1 sack 989:2965 ts 942 41
        0.084 < ack 1 sack 989:3953 ts 943 41
        0.084010 > 1:989(988) ts 84 943
        0.085 < ack 1 sack 989:4941 ts 944 41
        0.086 < ack 1 sack 989:5929 ts 945 41
        0.087 < ack 1 sack 989:6917 ts 946 41
        0.088 < ack 1 sack 989:7905 ts 947 41
        0.089 < ack 1 sack 989:8893 ts 948 41
        0.090000 < ack 1 sack 989:9881 ts 949 41
        0.125000 < ack 9881 ts 984 84
        0.325000 > 9881:10869(988) ts 325 984
        0.366000 < ack 10869 ts 1225 325
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+9880 pipe 10 cwnd 10 application_limited slow_start
    0+9880 pipe 9 cwnd 10 application_limited slow_start
    0+9880 pipe 8 cwnd 10 application_limited slow_start
    retransmitted fast_retransmit
    0+9880 pipe 7 cwnd 7 recovery fast_recovery
    0+9880 pipe 6 cwnd 6 recovery fast_recovery
    0+9880 pipe 5 cwnd 5 recovery fast_recovery
    0+9880 pipe 4 cwnd - undecided fast_recovery
    0+9880 pipe 3 cwnd - undecided fast_recovery
    0+9880 pipe 2 cwnd - undecided fast_recovery
    0+9880 pipe 1 cwnd - undecided fast_recovery
    recovery 0 fast to None
    9880+988 pipe 1 cwnd - undecided congestion_avoidance
    ");
}

#[test]
fn a_probe_beyond_the_window_does_not_set_the_earlier_threshold() {
    let text = full_window_lossy(
        "0.245000 > 14821:15809(988) ts 245 984
        0.286000 < ack 10869 ts 1145 87",
    );
    assert!(
        replay(&text).contains("recovery 0 fast to Some(5)"),
        "{}",
        replay(&text)
    );
}

#[test]
fn a_loss_in_a_recovery_starts_the_next_recovery_at_its_end() {
    let text = lossy("").replace(
        "0.125000 <",
        "0.085011 > 5929:6917(988) ts 85 944
        0.124000 < ack 1 sack 5929:6917 989:4941 ts 983 85
        0.124010 > 4941:5929(988) ts 124 983
        0.125000 <",
    );
    let text = text.replace("0.125010 > 5929:6917", "0.125010 > 6917:7905");
    assert_snapshot!(replay(&text), @r"
    0+4940 pipe 5 cwnd 10 application_limited slow_start
    0+4940 pipe 4 cwnd 10 application_limited slow_start
    0+4940 pipe 3 cwnd 10 application_limited slow_start
    retransmitted fast_retransmit
    0+4940 pipe 2 cwnd 2 recovery fast_recovery
    0+6916 pipe 3 cwnd 3 recovery fast_recovery
    retransmitted fast_retransmit
    0+6916 pipe 2 cwnd 2 recovery fast_recovery
    recovery 0 fast to None
    4940+2964 pipe 2 cwnd 2 recovery fast_recovery
    recovery 1 fast to None
    ");
}

#[test]
fn congestion_controls_measure_the_round_trip_time_of_retransmitted_data_by_timestamps() {
    let latest: Vec<_> = rows(&lossy(""), SenderOptions::default())
        .iter()
        .filter_map(|row| match row {
            SenderRow::Sample(sample) => sample.latest_rtt,
            _ => None,
        })
        .collect();
    // The ACK that ends the recovery answers a retransmission: 125 ms less the echoed 84 ms.
    assert_eq!(
        latest.last(),
        Some(&TimeDelta::from_millis(41)),
        "{latest:?}"
    );
}

#[test]
fn timeout_reduces_the_pipe_to_one_segment() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.285000 > 1:989(988) ts 285 900
        0.790000 > 1:989(988) ts 790 900
        0.830000 < ack 989 ts 1700 790
        0.830010 > 989:1977(988) ts 830 1700
        0.830011 > 1977:2965(988) ts 830 1700
        0.870000 < ack 3953 ts 1740 830
        0.870010 > 3953:4941(988) ts 870 1740
        0.910000 < ack 4941 ts 1780 870
        "
    );
    assert_snapshot!(replay(&text), @r"
    retransmitted timeout
    retransmitted timeout
    0+3952 pipe 1 cwnd 1 recovery loss_recovery
    retransmitted after_timeout
    retransmitted after_timeout
    988+2964 pipe 2 cwnd 2 recovery loss_recovery
    3952+988 pipe 1 cwnd - undecided -
    recovery 0 timeout to None
    ");
    assert_eq!(summary(&text).timeouts, 1);
}

#[test]
fn tail_loss_probe_is_not_a_recovery() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.081000 < ack 2965 ts 940 41
        0.169000 > 2965:3953(988) ts 169 940
        0.209000 < ack 3953 ts 1068 169
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+3952 pipe 4 cwnd 10 application_limited slow_start
    retransmitted tail_loss_probe
    2964+988 pipe 1 cwnd 10 application_limited slow_start
    ");
}

#[test]
fn reduction_is_undone_when_the_original_has_arrived() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.041001 > 989:1977(988) ts 41 900
        0.041002 > 1977:2965(988) ts 41 900
        0.041003 > 2965:3953(988) ts 41 900
        0.041004 > 3953:4941(988) ts 41 900
        0.082000 < ack 1 sack 989:1977 ts 941 41
        0.083000 < ack 1 sack 989:2965 ts 942 41
        0.084000 < ack 1 sack 989:3953 ts 943 41
        0.084010 > 1:989(988) ts 84 943
        0.085000 < ack 4941 ts 944 41
        0.085010 > 4941:5929(988) ts 85 944
        0.126000 < ack 5929 sack 1:989 ts 985 85
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+4940 pipe 5 cwnd 10 application_limited slow_start
    0+4940 pipe 4 cwnd 10 application_limited slow_start
    0+4940 pipe 3 cwnd 10 application_limited slow_start
    retransmitted fast_retransmit
    0+4940 pipe 2 cwnd 2 recovery fast_recovery
    recovery 0 fast to None undone
    4940+988 pipe 1 cwnd 10 application_limited slow_start
    ");
}

#[test]
fn small_segments_that_one_retransmission_carries_count_as_one() {
    let text = format!(
        "{HANDSHAKE}
        0.041000 > 1:989(988) ts 41 900
        0.082000 < ack 989 ts 941 41
        0.090000 > 989:1189(200) ts 90 941
        0.110000 > 1189:1389(200) ts 110 941
        0.130000 > 1389:1589(200) ts 130 941
        0.150000 > 1589:2577(988) ts 150 941
        0.450000 > 989:1589(600) ts 450 941   // the timer has expired
        0.491000 < ack 989 sack 1389:1589 ts 1350 41
        0.492000 < ack 1589 ts 1351 450
        0.492010 > 1589:2577(988) ts 492 1351
        0.533000 < ack 2577 ts 1392 492
        "
    );
    assert_snapshot!(replay(&text), @r"
    0+988 pipe 1 cwnd 10 application_limited slow_start
    retransmitted timeout
    988+1588 pipe 1 cwnd 1 recovery loss_recovery
    988+1588 pipe 1 cwnd 1 recovery loss_recovery
    retransmitted after_timeout
    1588+988 pipe 1 cwnd 1 recovery loss_recovery
    recovery 0 timeout to None
    ");
}

#[test]
fn segments_swapped_at_the_sender_begin_no_recovery() {
    // Without counters that show the order: no timestamps, and an Identification of zero.
    let text = "
        0.000000 > S mss 1000 id 0
        0.040000 < S. mss 1000
        0.040010 > . id 0
        0.041000 > 1:1001(1000) id 0
        0.041001 > 2001:3001(1000) id 0
        0.041004 > 1001:2001(1000) id 0
        0.041005 > 3001:4001(1000) id 0
        0.081000 < ack 1001
        0.081002 < ack 3001
        0.081004 < ack 4001
    ";
    let rows = replay(text);
    assert!(!rows.contains("retransmitted"), "{rows}");
}
