//! What a transfer makes of its path.
//!
//! Rates are in bits per second. The capacity of a link and the bytes that are held against it
//! must count the same headers: Linux shapes Ethernet frames, dummynet shapes IP packets.

/// Share of `capacity_bps` that `bytes` take during `seconds` (RFC 5166, section 2.1.1, aggregate
/// link utilisation). More than 1 is a link faster than it is said to be.
///
/// `None` if the link carries nothing, or for no time.
pub fn utilisation(bytes: u64, capacity_bps: f64, seconds: f64) -> Option<f64> {
    over(bytes as f64 * 8.0, capacity_bps * seconds)
}

/// The goodput of full segments sent back to back: the capacity less the headers that `frame_bytes`
/// have beyond `payload_bytes`, in bits per second (RFC 6349, section 4.1).
///
/// `None` if a frame has no bytes.
pub fn ideal_goodput_bps(capacity_bps: f64, payload_bytes: u32, frame_bytes: u32) -> Option<f64> {
    over(
        capacity_bps * f64::from(payload_bytes),
        f64::from(frame_bytes),
    )
}

/// The TCP transfer time ratio: the time that a transfer took, over the time it takes at the
/// ideal goodput (RFC 6349, section 4.1).
///
/// The same as the ideal goodput over the one reached. `None` if nothing was transferred.
pub fn transfer_time_ratio(ideal_goodput_bps: f64, goodput_bps: f64) -> Option<f64> {
    over(ideal_goodput_bps, goodput_bps)
}

/// TCP efficiency in percent: the share of bytes sent that were not sent again (RFC 6349,
/// section 4.2). `sent_bytes` are all, first copies and others.
///
/// `None` if nothing was sent.
pub fn tcp_efficiency_percent(sent_bytes: u64, retransmitted_bytes: u64) -> Option<f64> {
    let first = sent_bytes as f64 - retransmitted_bytes as f64;
    over(first * 100.0, sent_bytes as f64)
}

/// Buffer delay in percent: how much longer the mean round trip is than that of an idle path, of
/// the latter (RFC 6349, section 4.3).
///
/// Below 0 where the path was not idle when it was said to be. `None` without a round trip.
pub fn buffer_delay_percent(mean_rtt: f64, idle_rtt: f64) -> Option<f64> {
    over((mean_rtt - idle_rtt) * 100.0, idle_rtt)
}

/// The least time that a transfer of `bytes` takes, in seconds: one round trip for the handshake,
/// one from the first byte to the last ACK, and the bytes at the ideal goodput. A sender whose
/// window was full from the start would need that long.
///
/// `None` for a path that carries nothing.
pub fn ideal_completion_s(bytes: u64, ideal_goodput_bps: f64, idle_rtt_s: f64) -> Option<f64> {
    Some(over(bytes as f64 * 8.0, ideal_goodput_bps)? + 2.0 * idle_rtt_s)
}

/// How many times longer than the least it took to complete (RFC 7928, section 2.1, for the time
/// itself). 1 is the least.
///
/// `None` if the least is no time.
pub fn slowdown(completion_s: f64, ideal_s: f64) -> Option<f64> {
    over(completion_s, ideal_s)
}

fn over(value: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| value / of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(value: Option<f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() <= 1e-9 * expected.abs())
    }

    #[test]
    fn utilisation_is_what_was_carried_of_what_could_be() {
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
    fn the_examples_of_rfc_6349_come_out() {
        // Section 4.2: of 102 000 bytes sent, 2 000 were sent again: 98.03 %.
        assert!(near(tcp_efficiency_percent(102_000, 2_000), 98.039_215_686));
        // Section 4.3: a mean of 32 ms where 25 ms is the baseline: 28 %.
        assert!(near(buffer_delay_percent(32.0, 25.0), 28.0));
    }

    #[test]
    fn a_transfer_at_two_thirds_of_the_ideal_takes_half_as_long_again() {
        assert!(near(transfer_time_ratio(9e6, 6e6), 1.5));
    }

    #[test]
    fn what_never_happened_has_no_measure() {
        assert_eq!(transfer_time_ratio(1e6, 0.0), None);
        assert_eq!(tcp_efficiency_percent(0, 0), None);
        assert_eq!(buffer_delay_percent(1.0, 0.0), None);
        assert_eq!(ideal_completion_s(1, 0.0, 0.1), None);
        assert_eq!(slowdown(1.0, 0.0), None);
    }

    #[test]
    fn a_transfer_takes_two_round_trips_and_its_bytes() {
        // 1 MB at 8 Mbit/s is 1 s.
        let ideal = ideal_completion_s(1_000_000, 8e6, 0.05);
        assert!(near(ideal, 1.1));
        assert!(near(slowdown(2.2, ideal.unwrap()), 2.0));
    }

    proptest! {
        #[test]
        fn nothing_sent_twice_is_full_efficiency(sent in 1_u64..1 << 40) {
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
