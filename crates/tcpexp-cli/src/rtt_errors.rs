//! The error of the round-trip times in a chart.

use tcpexp::is_noted_error;
use tcpexp_pair::spp::FlowSummary;
use tcpexp_units::TimeDelta;

/// The largest error of the round-trip times of all flows.
#[derive(Default)]
pub(crate) struct RttErrors {
    largest: TimeDelta,
    /// True if the error of a flow is as large as the errors that other charts state.
    is_noted: bool,
}

impl RttErrors {
    pub(crate) fn add_flow(&mut self, summary: &FlowSummary) {
        for (rtt, error) in summary.rtt.iter().zip(summary.rtt_error) {
            if let (Some(rtt), Some(error)) = (rtt, error) {
                self.add(error, rtt.median);
            }
        }
    }

    fn add(&mut self, error: TimeDelta, median: TimeDelta) {
        self.largest = self.largest.max(error);
        self.is_noted |= is_noted_error(error, median);
    }

    /// The note below the chart; `None` if the errors are small.
    pub(crate) fn note(&self) -> Option<String> {
        let largest = self.largest;
        self.is_noted
            .then(|| format!("round-trip times are off by up to {largest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_states_an_error_above_5_percent_of_the_median_of_a_flow() {
        let millis = TimeDelta::from_millis;
        let note = |errors: &[(i64, i64)]| {
            let mut all = RttErrors::default();
            for (error, median) in errors {
                all.add(millis(*error), millis(*median));
            }
            all.note()
        };
        let off = "round-trip times are off by up to 3.000 ms".to_owned();
        assert_eq!(note(&[(3, 60), (1, 20)]), None);
        assert_eq!(note(&[(3, 60), (1, 19)]), Some(off));
        assert_eq!(note(&[]), None);
    }
}
