//! What a flow loses by another's company.

/// What a flow gets beside a new kind of flow, over what it gets beside as many of its own kind:
/// 1 is friendly, less is what the new kind takes away, more is what it leaves (RFC 5166,
/// section 2.3).
///
/// `None` if it got nothing beside its own kind.
pub fn friendliness(beside_new: f64, beside_own: f64) -> Option<f64> {
    (beside_own > 0.0).then(|| beside_new / beside_own)
}

/// The harm done to a quantity of which more is better, as goodput: the share of it that is lost
/// (Ware, Mukerjee, Seshan, Sherry: Beyond Jain's Fairness Index, `HotNets` 2019, section 4).
///
/// 0 is none, 1 is all; below 0 it gained, which that paper does not count and this does not hide.
/// `None` if there was nothing to lose.
pub fn harm_more_is_better(before: f64, with: f64) -> Option<f64> {
    (before > 0.0).then(|| (before - with) / before)
}

/// The harm done to a quantity of which less is better, as delay: the share of it that was added.
///
/// As [`harm_more_is_better`]; 1 is more than any bound. `None` if it is nothing now.
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
    fn where_nothing_was_there_is_nothing_to_lose() {
        assert_eq!(harm_more_is_better(0.0, 5.0), None);
        assert_eq!(harm_less_is_better(5.0, 0.0), None);
        assert_eq!(friendliness(5.0, 0.0), None);
    }

    proptest! {
        #[test]
        fn harm_is_what_friendliness_lacks(before in 1.0..1e9_f64, with in 0.0..1e9_f64) {
            let harm = harm_more_is_better(before, with).unwrap();
            let friendly = friendliness(with, before).unwrap();
            prop_assert!((harm + friendly - 1.0).abs() < 1e-9 * friendly.max(1.0));
        }

        #[test]
        fn a_rate_and_its_inverse_take_the_same_harm(before in 1.0..1e6_f64, with in 1.0..1e6_f64) {
            let more = harm_more_is_better(before, with).unwrap();
            let less = harm_less_is_better(1.0 / before, 1.0 / with).unwrap();
            prop_assert!((more - less).abs() <= 1e-9 * more.abs().max(1.0));
        }
    }
}
