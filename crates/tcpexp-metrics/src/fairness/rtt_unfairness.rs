//! How much a short path gains on a long one.

/// The largest round-trip time must be this many times the smallest, or what a queue adds to
/// either tells as much as their paths.
pub const LEAST_RTT_RATIO: f64 = 1.1;

/// The exponent by which rates fall with round-trip times: `a` in rate ~ 1/RTT^a, from pairs of a
/// flow's round-trip time and its rate.
///
/// For two flows that is ln(rate ratio) over ln(RTT ratio); of more it is the slope of a straight
/// line through the logarithms by least squares. 0 is no unfairness. Loss-synchronised standard
/// TCP comes near 2, and near 1 where losses are independent (Lakshman, Madhow 1997).
///
/// `None` for fewer than two flows, round-trip times that differ by less than [`LEAST_RTT_RATIO`],
/// or a flow that got nothing.
pub fn rtt_unfairness_exponent(flows: &[(f64, f64)]) -> Option<f64> {
    if flows.iter().any(|(rtt, rate)| *rtt <= 0.0 || *rate <= 0.0) {
        return None;
    }
    let rtts = flows.iter().map(|(rtt, _)| *rtt);
    let ratio = rtts.clone().reduce(f64::max)? / rtts.reduce(f64::min)?;
    if ratio < LEAST_RTT_RATIO {
        return None;
    }
    let logs: Vec<(f64, f64)> = flows
        .iter()
        .map(|(rtt, rate)| (rtt.ln(), rate.ln()))
        .collect();
    let flows = logs.len() as f64;
    let (sum_rtt, sum_rate) = logs
        .iter()
        .fold((0.0, 0.0), |(x, y), (rtt, rate)| (x + rtt, y + rate));
    let (mean_rtt, mean_rate) = (sum_rtt / flows, sum_rate / flows);
    let (mut products, mut squares) = (0.0, 0.0);
    for (rtt, rate) in logs {
        products += (rtt - mean_rtt) * (rate - mean_rate);
        squares += (rtt - mean_rtt) * (rtt - mean_rtt);
    }
    Some(-products / squares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn four_times_the_rate_at_half_the_rtt_is_the_square() {
        let exponent = rtt_unfairness_exponent(&[(40.0, 8.0), (80.0, 2.0)]).unwrap();
        assert!((exponent - 2.0).abs() < 1e-12);
    }

    #[test]
    fn who_gains_from_a_long_path_has_a_negative_exponent() {
        let exponent = rtt_unfairness_exponent(&[(40.0, 2.0), (80.0, 4.0)]).unwrap();
        assert!((exponent + 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_paths_tell_nothing() {
        assert_eq!(rtt_unfairness_exponent(&[(40.0, 2.0), (43.0, 4.0)]), None);
        assert_eq!(rtt_unfairness_exponent(&[(40.0, 2.0), (80.0, 0.0)]), None);
        assert_eq!(rtt_unfairness_exponent(&[(40.0, 2.0)]), None);
        assert_eq!(rtt_unfairness_exponent(&[]), None);
    }

    proptest! {
        #[test]
        fn the_exponent_that_made_the_rates_is_found(
            exponent in -3.0..3.0_f64,
            rate in 1.0..1e9_f64,
            rtts in prop::collection::vec(1.0..400.0_f64, 2..8),
        ) {
            let flows: Vec<_> = rtts.iter().map(|rtt| (*rtt, rate / rtt.powf(exponent))).collect();
            if let Some(found) = rtt_unfairness_exponent(&flows) {
                prop_assert!((found - exponent).abs() < 1e-6, "{found}");
            }
        }
    }
}
