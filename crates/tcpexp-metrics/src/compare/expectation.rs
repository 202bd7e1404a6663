//! Expectations of a result, such as `rtt_p95_ms < 80` or `goodput_bps >= 0.95 * baseline`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::Measure;
use crate::repetition::Estimate;

/// What a measure of a cell is expected to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The measure.
    pub measure: Measure,
    /// How it compares with the bound.
    pub relation: Relation,
    /// The bound.
    pub bound: Bound,
}

/// A relation of a value to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
}

/// The bound of an expectation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// A number in the unit of the measure.
    Number(f64),
    /// This multiple of what the same cell of an earlier sweep measured.
    OfBaseline(f64),
}

/// Result of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The value is as expected.
    Met,
    /// The value is not as expected.
    NotMet,
    /// There is no value, no bound, or the value is not known well enough.
    Unknown,
}

/// Why a text is no expectation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExpectationError {
    /// The text has no relation.
    #[error("expected MEASURE < NUMBER, with <, <=, > or >=, such as \"rtt_p95_ms < 80\"")]
    Form,
    /// No measure has this name.
    #[error("no measure is named {name:?}; the measures are {known}")]
    Measure {
        /// The name.
        name: String,
        /// The names of all measures.
        known: String,
    },
    /// The bound is no number.
    #[error("{text:?} is not a bound: expected a number, or a share such as \"0.95 * baseline\"")]
    Bound {
        /// The text.
        text: String,
    },
}

/// Relations and their signs, the longer signs first.
const RELATIONS: [(&str, Relation); 4] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("<", Relation::Below),
    (">", Relation::Above),
];

/// The word for the value of the same cell in an earlier sweep.
const BASELINE: &str = "baseline";

impl Expectation {
    /// The bound as a number, with the value of the baseline if one is needed; `None` if that is
    /// unknown.
    pub fn bound(&self, baseline: Option<f64>) -> Option<f64> {
        match self.bound {
            Bound::Number(number) => Some(number),
            Bound::OfBaseline(share) => baseline.map(|value| share * value),
        }
    }

    /// Compares a value with a bound. An infinite value is a goal that was not reached.
    pub fn verdict(&self, value: Option<f64>, bound: Option<f64>) -> Verdict {
        let (Some(value), Some(bound)) = (value, bound) else {
            return Verdict::Unknown;
        };
        if self.relation.holds(value, bound) {
            Verdict::Met
        } else {
            Verdict::NotMet
        }
    }

    /// Compares the median of a cell with a bound; unknown if the median is not known and its possible
    /// values differ in their verdict.
    pub fn verdict_of(&self, estimate: Option<&Estimate>, bound: Option<f64>) -> Verdict {
        let ends = estimate.map(|estimate| [estimate.least, estimate.most]);
        let of = |end: usize| self.verdict(ends.map(|ends| ends[end]), bound);
        if of(0) == of(1) {
            of(0)
        } else {
            Verdict::Unknown
        }
    }

    /// True if the whole interval of the median has the same verdict; `None` without an interval or
    /// a bound.
    pub fn is_certain(&self, estimate: &Estimate, bound: Option<f64>) -> Option<bool> {
        let (low, high) = estimate.interval?;
        if self.verdict_of(Some(estimate), bound) == Verdict::Unknown {
            return None;
        }
        let [low, high] = [low, high].map(|end| self.verdict(Some(end), bound));
        bound.map(|_| low == high)
    }

    /// True if the bound refers to an earlier sweep.
    pub fn needs_baseline(&self) -> bool {
        matches!(self.bound, Bound::OfBaseline(_))
    }
}

impl Relation {
    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Below => value < bound,
            Self::AtMost => value <= bound,
            Self::Above => value > bound,
            Self::AtLeast => value >= bound,
        }
    }

    fn sign(self) -> &'static str {
        let sign = RELATIONS.iter().find(|(_, relation)| *relation == self);
        sign.map_or("", |(sign, _)| sign)
    }
}

impl FromStr for Bound {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let text = text.trim();
        let bound = match text.strip_suffix(BASELINE).map(str::trim_end) {
            Some("") => Some(Self::OfBaseline(1.0)),
            Some(share) => share
                .strip_suffix('*')
                .and_then(number)
                .map(Self::OfBaseline),
            None => number(text).map(Self::Number),
        };
        bound.ok_or_else(|| ExpectationError::Bound {
            text: text.to_owned(),
        })
    }
}

impl FromStr for Expectation {
    type Err = ExpectationError;

    fn from_str(text: &str) -> Result<Self, ExpectationError> {
        let split = |(sign, relation): &(&str, Relation)| {
            let (name, bound) = text.split_once(sign)?;
            Some((name.trim(), *relation, bound))
        };
        let (name, relation, bound) = RELATIONS
            .iter()
            .find_map(split)
            .ok_or(ExpectationError::Form)?;
        let measure = Measure::ALL
            .into_iter()
            .find(|measure| measure.name() == name);
        let measure = measure.ok_or_else(|| ExpectationError::Measure {
            name: name.to_owned(),
            known: Measure::ALL.map(Measure::name).join(", "),
        })?;
        Ok(Self {
            measure,
            relation,
            bound: bound.parse()?,
        })
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.measure.name(), self.relation.sign())?;
        match self.bound {
            Bound::Number(number) => write!(f, "{number}"),
            Bound::OfBaseline(share) => write!(f, "{share} * {BASELINE}"),
        }
    }
}

impl Verdict {
    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not met",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Expectation, String> {
        text.parse()
            .map_err(|error: ExpectationError| error.to_string())
    }

    #[test]
    fn an_expectation_is_a_measure_a_relation_and_a_bound() {
        for text in [
            "rtt_p95_ms < 80",
            "jain > 0.9",
            "utilisation >= 0.95",
            "goodput_bps >= 0.95 * baseline",
            "loss_ratio <= 0.01",
        ] {
            assert_eq!(
                parse(text).map(|expectation| expectation.to_string()),
                Ok(text.to_owned())
            );
        }
        assert_eq!(parse("jain>.9"), parse("jain > 0.9"));
        assert_eq!(parse("goodput_bps > 9e6"), parse("goodput_bps>9000000"));
        assert_eq!(parse("jain >= baseline"), parse("jain >= 1*baseline"));
    }

    #[test]
    fn a_refusal_names_what_is_wrong() {
        assert!(parse("jain 0.9").is_err_and(|why| why.contains("<=")));
        assert!(parse("rtt < 80").is_err_and(|why| why.contains("rtt_p95_ms")));
        for bound in ["", "x", "NaN", "inf", "0.9 baseline", "* baseline", "80ms"] {
            let refused = parse(&format!("jain > {bound}"));
            assert!(
                refused
                    .as_ref()
                    .is_err_and(|why| why.contains("is not a bound")),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn a_verdict_needs_a_value_and_a_bound() {
        let expectation: Expectation = "convergence_s <= 2 * baseline".parse().unwrap();
        let verdict = |value, baseline| expectation.verdict(value, expectation.bound(baseline));
        assert_eq!(verdict(Some(4.0), Some(2.0)), Verdict::Met);
        assert_eq!(verdict(Some(4.1), Some(2.0)), Verdict::NotMet);
        assert_eq!(verdict(Some(f64::INFINITY), Some(2.0)), Verdict::NotMet);
        assert_eq!(verdict(None, Some(2.0)), Verdict::Unknown);
        assert_eq!(verdict(Some(4.0), None), Verdict::Unknown);
    }

    #[test]
    fn a_verdict_on_a_median_within_bounds_needs_bounds_that_decide() {
        let expectation: Expectation = "completion_median_s < 5".parse().unwrap();
        let between = |least, most| Estimate {
            runs: 1,
            median: f64::INFINITY,
            least,
            most,
            interval: None,
        };
        let verdict = |least, most| expectation.verdict_of(Some(&between(least, most)), Some(5.0));
        assert_eq!(verdict(4.0, f64::INFINITY), Verdict::Unknown);
        assert_eq!(verdict(6.0, f64::INFINITY), Verdict::NotMet);
        assert_eq!(verdict(3.0, 4.0), Verdict::Met);
        assert_eq!(expectation.verdict_of(None, Some(5.0)), Verdict::Unknown);
    }

    #[test]
    fn a_verdict_is_certain_if_the_whole_interval_agrees() {
        let expectation: Expectation = "jain > 0.9".parse().unwrap();
        let certain = |interval| {
            let estimate = Estimate {
                runs: 5,
                median: 0.95,
                least: 0.95,
                most: 0.95,
                interval,
            };
            expectation.is_certain(&estimate, expectation.bound(None))
        };
        assert_eq!(certain(Some((0.91, 0.99))), Some(true));
        assert_eq!(certain(Some((0.89, 0.99))), Some(false));
        assert_eq!(certain(None), None);
    }
}
