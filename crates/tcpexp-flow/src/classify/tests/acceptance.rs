//! Segments outside the receive window.

use insta::{allow_duplicates, assert_snapshot};

use super::classes;

/// Data after a handshake that agrees on windows of at most 8,000 bytes.
fn after_handshake(data: &str) -> String {
    classes(&format!(
        "
        0.00 > S 5000 win 8000 wscale 2
        0.04 < S. 9000 ack 5001 win 8000 wscale 2
        0.04 > . 5001 ack 9001 win 2000
        0.05 > 5001:6001(1000) ack 9001 win 2000
        0.09 < . 9001 ack 6001 win 2000
        {data}
    "
    ))
}

#[test]
fn segment_outside_the_window_does_not_move_the_stream() {
    for outside in [
        "> 300000:301000(1000)",
        "> F 300000",
        "> 15001:16001(1000)",
        "> 4000:5000(1000)",
    ] {
        allow_duplicates! { assert_snapshot!(after_handshake(&format!("
            0.10 {outside} ack 9001 win 2000
            0.14 < . 9001 ack 6001 win 2000
            0.15 > 6001:7001(1000) ack 9001 win 2000
            0.16 > 8001:9001(1000) ack 9001 win 2000
            0.20 < . 9001 ack 7001 win 2000
            0.40 > 7001:8001(1000) ack 9001 win 2000
        ")), @r"
        0.000 > New
        0.040 < New
        0.050 > New
        0.150 > New
        0.160 > New
        0.400 > sent Later by IpId, Timeout
        "); }
    }
}

#[test]
fn data_above_the_window_belongs_to_the_stream_if_the_next_data_continues_it() {
    // The capture missed a part of the connection.
    let again = "0.30 > 50001:51001(1000) ack 9001 win 2000";
    let continued = "
        0.10 > 50001:51001(1000) ack 9001 win 2000
        0.11 > 51001:52001(1000) ack 9001 win 2000
    ";
    assert_snapshot!(after_handshake(&format!("{continued}{again}")), @r"
    0.000 > New
    0.040 < New
    0.050 > New
    0.110 > New
    0.300 > sent Later by Bytes, ReorderingTimer
    ");
    let acknowledged = "
        0.10 > 50001:51001(1000) ack 9001 win 2000
        0.11 < . 9001 ack 51001 win 2000
        0.12 > 52001:53001(1000) ack 9001 win 2000
    ";
    assert_snapshot!(after_handshake(&format!("{acknowledged}{again}")), @r"
    0.000 > New
    0.040 < New
    0.050 > New
    0.120 > New
    0.300 > sent Later by Bytes, Timeout spurious
    ");
}

#[test]
fn without_an_advertised_window_only_the_largest_window_bounds_a_gap() {
    assert_snapshot!(classes("
        0.0 > 1:1001(1000)
        0.1 > 900000001:900001001(1000)
        0.2 > 2100000001:2100001001(1000)
        0.3 > 900001001:900002001(1000)
    "), @r"
    0.000 > New
    0.100 > New
    0.300 > New
    ");
}
