//! RTT unfairness: the advantage of flows with short round-trip times.

/// Smallest ratio of the largest to the smallest round-trip time for which an exponent is computed.
/// Below it, differences in queueing delay weigh as much as the paths do.
pub const MIN_RTT_RATIO: f64 = 1.1;

/// The exponent `a` of rate ~ 1/RTT^a, from pairs of a flow's round-trip time and its rate.
///
/// For two flows, the exponent is ln(rate ratio) / ln(RTT ratio); for more, it is the least-squares
/// slope through the logarithms. 0 means no unfairness. Standard TCP has an exponent near 2 with
/// synchronised losses and near 1 with independent losses (Lakshman, Madhow 1997).
///
/// `None` for fewer than two flows, for round-trip times within a factor of [`MIN_RTT_RATIO`], or
/// if a flow has a rate of zero.
pub fn rtt_unfairness_exponent(flows: &[(f64, f64)]) -> Option<f64> {
    if flows.iter().any(|(rtt, rate)| *rtt <= 0.0 || *rate <= 0.0) {
        return None;
    }
    let rtts = flows.iter().map(|(rtt, _)| *rtt);
    let ratio = rtts.clone().reduce(f64::max)? / rtts.reduce(f64::min)?;
    if ratio < MIN_RTT_RATIO {
        return None;
    }
    // rate = c / RTT^a is the line ln(rate) = ln(c) - a ln(RTT), whose slope is -a.
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
    // `squares` is above 0, because the RTTs differ at least by `MIN_RTT_RATIO`.
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
    fn advantage_of_the_long_path_is_a_negative_exponent() {
        let exponent = rtt_unfairness_exponent(&[(40.0, 2.0), (80.0, 4.0)]).unwrap();
        assert!((exponent + 1.0).abs() < 1e-12);
    }

    #[test]
    fn equal_paths_have_no_exponent() {
        assert_eq!(rtt_unfairness_exponent(&[(40.0, 2.0), (43.0, 4.0)]), None);
        assert_eq!(rtt_unfairness_exponent(&[(40.0, 2.0), (80.0, 0.0)]), None);
        assert_eq!(rtt_unfairness_exponent(&[(40.0, 2.0)]), None);
        assert_eq!(rtt_unfairness_exponent(&[]), None);
    }

    proptest! {
        #[test]
        fn exponent_that_generated_the_rates_is_recovered(
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
