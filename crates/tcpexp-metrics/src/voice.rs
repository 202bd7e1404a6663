//! The quality of telephone calls, predicted by the E-model of ITU-T G.107.

/// Transmission rating of a call without delay and loss, with the default values of G.107 (section 7.7).
const RATING: f64 = 93.2;
/// Delay below which conversations do not suffer (`mT`, default value of G.107).
const PERCEIVED_DELAY_MS: f64 = 100.0;
/// Factors of G.711 with packet loss concealment for random loss (G.113, appendix I): equipment impairment, and robustness
/// against loss in percent.
const EQUIPMENT_IMPAIRMENT: f64 = 0.0;
const LOSS_ROBUSTNESS: f64 = 25.1;

/// The mean opinion score, from 1 to 4.5, of a call with G.711, for a delay from mouth to ear in
/// milliseconds and a share of lost packets from 0 to 1.
///
/// The impairment by delay follows G.107, section 7.4, for a call whose echo is cancelled; the one by loss
/// section 7.5, for random losses. The score follows annex B.
pub fn mean_opinion_score(delay_ms: f64, lost: f64) -> f64 {
    let loss_percent = lost * 100.0;
    let equipment = EQUIPMENT_IMPAIRMENT
        + (95.0 - EQUIPMENT_IMPAIRMENT) * loss_percent / (loss_percent + LOSS_ROBUSTNESS);
    score_of_rating(RATING - delay_impairment(delay_ms) - equipment)
}

/// Impairment by the delay alone (`Idd`), with the default sensitivity to delay.
fn delay_impairment(delay_ms: f64) -> f64 {
    if delay_ms <= PERCEIVED_DELAY_MS {
        return 0.0;
    }
    let doublings = (delay_ms / PERCEIVED_DELAY_MS).log2();
    let bent = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    25.0 * (bent(doublings) - 3.0 * bent(doublings / 3.0) + 2.0)
}

fn score_of_rating(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    // The cubic falls below 1 for ratings just above 0.
    (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(delay_ms: f64, lost: f64) -> String {
        format!("{:.2}", mean_opinion_score(delay_ms, lost))
    }

    #[test]
    fn scores_of_ratings_are_those_of_the_recommendation() {
        // G.107, table B.1.
        let table = [
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ];
        for (rating, score) in table {
            assert!((score_of_rating(rating) - score).abs() < 0.01, "{rating}");
        }
        let ends = [-5.0, 120.0].map(|rating| format!("{:.2}", score_of_rating(rating)));
        assert_eq!(ends, ["1.00", "4.50"]);
    }

    #[test]
    fn delay_and_loss_lower_the_score() {
        assert_eq!(score(0.0, 0.0), "4.41");
        assert_eq!(score(100.0, 0.0), "4.41");
        assert_eq!(score(400.0, 0.0), "3.56");
        assert_eq!(score(100.0, 0.05), "3.92");
        assert_eq!(score(0.0, 1.0), "1.18");
    }
}
