//! Many samples in few numbers that tell the same distribution.

/// Quantiles are told at this many equal steps, the smallest and the largest sample included.
const QUANTILE_STEPS: usize = 200;

/// The samples at equal steps of their order, from the smallest to the largest; `None` without any.
///
/// A quantile is the sample at the nearest rank below, so each was measured.
pub fn page_quantiles(mut samples: Vec<f64>) -> Option<Vec<f64>> {
    samples.retain(|sample| sample.is_finite());
    samples.sort_by(f64::total_cmp);
    let last = samples.len().checked_sub(1)?;
    let step = |step: usize| samples[step * last / QUANTILE_STEPS];
    Some((0..=QUANTILE_STEPS).map(step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_samples_there_are_no_quantiles() {
        assert_eq!(page_quantiles(vec![]), None);
        assert_eq!(page_quantiles(vec![f64::NAN]), None);
    }

    #[test]
    fn quantiles_begin_at_the_smallest_pass_the_median_and_end_at_the_largest() {
        let quantiles = page_quantiles((0..=1000).rev().map(f64::from).collect());
        let picked = quantiles.map(|all| (all.len(), all[0], all[100], all[200]));
        assert_eq!(picked, Some((201, 0.0, 500.0, 1000.0)));
    }
}
