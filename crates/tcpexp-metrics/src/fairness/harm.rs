//! Friendliness and harm: what a flow loses to competing traffic.

/// TCP-friendliness: a flow's throughput next to flows of another kind, divided by its throughput
/// next to as many flows of its own kind (RFC 5166, section 2.3).
///
/// 1 is friendly; below 1, the other kind takes more than its share. `None` if the flow got nothing
/// next to its own kind.
pub fn friendliness(beside_new: f64, beside_own: f64) -> Option<f64> {
    (beside_own > 0.0).then(|| beside_new / beside_own)
}

/// Harm to a quantity of which more is better, such as goodput: the fraction that is lost (Ware,
/// Mukerjee, Seshan, Sherry: Beyond Jain's Fairness Index, `HotNets` 2019, section 4).
///
/// 0 is no harm, 1 is total loss. A negative value is a gain, which the paper does not count but
/// this function reports. `None` if `before` is zero.
pub fn harm_more_is_better(before: f64, with: f64) -> Option<f64> {
    (before > 0.0).then(|| (before - with) / before)
}

/// Harm to a quantity of which less is better, such as delay: the fraction of the present value that
/// was added.
///
/// Same scale as [`harm_more_is_better`]; approaches 1 as the value grows without bound. `None` if
/// `with` is zero.
pub fn harm_less_is_better(before: f64, with: f64) -> Option<f64> {
    (with > 0.0).then(|| (with - before) / with)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn half_the_goodput_and_twice_the_delay_are_the_same_harm() {
        assert_eq!(harm_more_is_better(8.0, 4.0), Some(0.5));
        assert_eq!(harm_less_is_better(40.0, 80.0), Some(0.5));
        assert_eq!(friendliness(4.0, 8.0), Some(0.5));
    }

    #[test]
    fn a_gain_is_negative_harm() {
        assert_eq!(harm_more_is_better(4.0, 5.0), Some(-0.25));
        assert_eq!(harm_less_is_better(50.0, 40.0), Some(-0.25));
    }

    #[test]
    fn harm_relative_to_zero_is_undefined() {
        assert_eq!(harm_more_is_better(0.0, 5.0), None);
        assert_eq!(harm_less_is_better(5.0, 0.0), None);
        assert_eq!(friendliness(5.0, 0.0), None);
    }

    proptest! {
        #[test]
        fn harm_and_friendliness_add_up_to_one(before in 1.0..1e9_f64, with in 0.0..1e9_f64) {
            let harm = harm_more_is_better(before, with).unwrap();
            let friendly = friendliness(with, before).unwrap();
            prop_assert!((harm + friendly - 1.0).abs() < 1e-9 * friendly.max(1.0));
        }

        #[test]
        fn rate_and_its_inverse_suffer_the_same_harm(before in 1.0..1e6_f64, with in 1.0..1e6_f64) {
            let more = harm_more_is_better(before, with).unwrap();
            let less = harm_less_is_better(1.0 / before, 1.0 / with).unwrap();
            prop_assert!((more - less).abs() <= 1e-9 * more.abs().max(1.0));
        }
    }
}
