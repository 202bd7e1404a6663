//! The quantiles that a page draws distributions from.

use tcpexp_metrics::quantile::quantile;

/// Steps between the quantiles of a page: a multiple of 20, so that the quantiles include 5, 25,
/// 50, 75 and 95 %, and fine enough for a smooth line over 500 pixels.
const QUANTILE_STEPS: usize = 200;

/// Quantiles of `samples` at equal steps, from the smallest sample to the largest, as
/// [`tcpexp_metrics::quantile`] defines them; `None` without finite samples.
pub fn page_quantiles(mut samples: Vec<f64>) -> Option<Vec<f64>> {
    samples.retain(|sample| sample.is_finite());
    samples.sort_by(f64::total_cmp);
    let step = |step: usize| quantile(&samples, step as f64 / QUANTILE_STEPS as f64);
    (0..=QUANTILE_STEPS).map(step).collect()
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
    fn quantiles_run_from_the_minimum_through_the_median_to_the_maximum() {
        let quantiles = page_quantiles((0..=1000).rev().map(f64::from).collect());
        let picked = quantiles.map(|all| (all.len(), all[0], all[100], all[200]));
        assert_eq!(picked, Some((201, 0.0, 500.0, 1000.0)));
    }
}
