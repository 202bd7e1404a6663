//! How well a transfer uses its path: utilisation, efficiency, completion time.
//!
//! Rates are in bits per second. A link's capacity and the bytes compared with it must include the
//! same headers: Linux shapes Ethernet frames, dummynet shapes IP packets.

/// Aggregate link utilisation: the share of `capacity_bps` that `bytes` occupy during `seconds`
/// (RFC 5166, section 2.1.1).
///
/// A value above 1 means that the link is faster than `capacity_bps`. `None` if the capacity or the
/// time is zero.
pub fn utilisation(bytes: u64, capacity_bps: f64, seconds: f64) -> Option<f64> {
    over(bytes as f64 * 8.0, capacity_bps * seconds)
}

/// The goodput of full-sized segments sent back to back, in bits per second (RFC 6349, section 4.1).
///
/// `frame_bytes` is the size of a frame with all headers, `payload_bytes` its TCP payload. `None` if
/// `frame_bytes` is zero.
pub fn ideal_goodput_bps(capacity_bps: f64, payload_bytes: u32, frame_bytes: u32) -> Option<f64> {
    over(
        capacity_bps * f64::from(payload_bytes),
        f64::from(frame_bytes),
    )
}

/// The TCP transfer time ratio: the actual transfer time divided by the time at the ideal goodput
/// (RFC 6349, section 4.1).
///
/// Equals the ideal goodput divided by the measured goodput. `None` if nothing was transferred.
pub fn transfer_time_ratio(ideal_goodput_bps: f64, goodput_bps: f64) -> Option<f64> {
    over(ideal_goodput_bps, goodput_bps)
}

/// TCP efficiency in percent: the share of transmitted bytes that are not retransmissions (RFC 6349,
/// section 4.2).
///
/// `sent_bytes` includes retransmissions. `None` if nothing was sent.
pub fn tcp_efficiency_percent(sent_bytes: u64, retransmitted_bytes: u64) -> Option<f64> {
    let first = sent_bytes as f64 - retransmitted_bytes as f64;
    over(first * 100.0, sent_bytes as f64)
}

/// Buffer delay in percent: the increase of the mean round-trip time over that of the idle path,
/// relative to the idle path (RFC 6349, section 4.3).
///
/// A negative value means that the path was not idle when `idle_rtt` was measured. `None` if
/// `idle_rtt` is zero.
pub fn buffer_delay_percent(mean_rtt: f64, idle_rtt: f64) -> Option<f64> {
    over((mean_rtt - idle_rtt) * 100.0, idle_rtt)
}

/// The shortest possible completion time of a transfer of `bytes`, in seconds.
///
/// The sum of one round trip for the handshake, one from the last byte to its ACK, and the bytes at
/// the ideal goodput: a sender whose window is open from the start takes this long. `None` if the
/// ideal goodput is zero.
pub fn ideal_completion_s(bytes: u64, ideal_goodput_bps: f64, idle_rtt_s: f64) -> Option<f64> {
    Some(over(bytes as f64 * 8.0, ideal_goodput_bps)? + 2.0 * idle_rtt_s)
}

/// The completion time divided by the shortest possible one (RFC 7928, section 2.1 defines the
/// completion time). 1 is optimal.
///
/// `None` if `ideal_s` is zero.
pub fn slowdown(completion_s: f64, ideal_s: f64) -> Option<f64> {
    over(completion_s, ideal_s)
}

fn over(numerator: f64, denominator: f64) -> Option<f64> {
    (denominator > 0.0).then(|| numerator / denominator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() <= 1e-9 * expected.abs())
    }

    #[test]
    fn utilisation_is_carried_bytes_over_capacity() {
        // 10 s at 10 Mbit/s are 12.5 MB.
        assert!(near(utilisation(11_875_000, 10e6, 10.0), 0.95));
        assert_eq!(utilisation(1, 0.0, 10.0), None);
        assert_eq!(utilisation(1, 10e6, 0.0), None);
    }

    #[test]
    fn the_ideal_goodput_leaves_out_all_headers() {
        // 1448 bytes of payload in a frame of 1514: 9.564 of 10 Mbit/s.
        assert!(near(
            ideal_goodput_bps(10e6, 1448, 1514),
            9_564_068.692_206_077
        ));
        assert_eq!(ideal_goodput_bps(10e6, 1448, 0), None);
    }

    #[test]
    fn examples_of_rfc_6349_yield_its_results() {
        // Section 4.2: of 102 000 bytes sent, 2 000 were retransmitted: 98.03 %.
        assert!(near(tcp_efficiency_percent(102_000, 2_000), 98.039_215_686));
        // Section 4.3: a mean of 32 ms where 25 ms is the baseline: 28 %.
        assert!(near(buffer_delay_percent(32.0, 25.0), 28.0));
    }

    #[test]
    fn transfer_at_two_thirds_of_the_ideal_goodput_takes_one_and_a_half_times_as_long() {
        assert!(near(transfer_time_ratio(9e6, 6e6), 1.5));
    }

    #[test]
    fn division_by_zero_yields_no_figure() {
        assert_eq!(transfer_time_ratio(1e6, 0.0), None);
        assert_eq!(tcp_efficiency_percent(0, 0), None);
        assert_eq!(buffer_delay_percent(1.0, 0.0), None);
        assert_eq!(ideal_completion_s(1, 0.0, 0.1), None);
        assert_eq!(slowdown(1.0, 0.0), None);
    }

    #[test]
    fn ideal_completion_is_two_round_trips_plus_serialisation() {
        // 1 MB at 8 Mbit/s is 1 s.
        let ideal = ideal_completion_s(1_000_000, 8e6, 0.05);
        assert!(near(ideal, 1.1));
        assert!(near(slowdown(2.2, ideal.unwrap()), 2.0));
    }

    proptest! {
        #[test]
        fn efficiency_is_full_without_retransmissions(sent in 1_u64..1 << 40) {
            prop_assert_eq!(tcp_efficiency_percent(sent, 0), Some(100.0));
            prop_assert_eq!(tcp_efficiency_percent(sent, sent), Some(0.0));
        }

        #[test]
        fn utilisation_adds_up(a in 0_u64..1 << 40, b in 0_u64..1 << 40, rate in 1.0..1e11_f64) {
            let share = |bytes| utilisation(bytes, rate, 10.0).unwrap();
            let (parts, whole) = (share(a) + share(b), share(a + b));
            prop_assert!((parts - whole).abs() <= 1e-12 * whole.max(1.0));
        }
    }
}
