//! The relation between the clocks of the two sides of a comparison.

use tcpexp_measure::sender::SenderSample;
use tcpexp_units::TimeDelta;

/// How the times of the truth become those of the reconstruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// The truth has no acknowledgments, or too few, that would show the offset between the clocks. Both sides
    /// are assumed to have the clock that the options state.
    #[default]
    Assumed,
    /// Rows with equal sequence numbers show the offset.
    Aligned,
    /// On the assumed clock, the two sides hardly have any time in common: nothing is compared.
    Apart,
}

/// Both sides overlap by at least the length of the shorter one divided by this. A capture and a log of one
/// transfer start and end with it, so a shorter overlap shows different clocks.
const OVERLAP_DIVISOR: i64 = 2;

impl Clocks {
    /// Compares the times of both sides. `lag` is the offset that rows with equal sequence numbers show, and
    /// `clock_offset` leads from the assumed clock of the truth to that of the reconstruction. Rows that are
    /// `tolerance` apart may be of one time.
    pub(super) fn of(
        reconstructed: &[SenderSample],
        truth: &[SenderSample],
        lag: Option<TimeDelta>,
        (clock_offset, tolerance): (TimeDelta, TimeDelta),
    ) -> Self {
        if lag.is_some() {
            return Self::Aligned;
        }
        let span = |rows: &[SenderSample]| Some((rows.first()?.at, rows.last()?.at));
        let Some(((first, last), (from, to))) = span(reconstructed).zip(span(truth)) else {
            return Self::Assumed;
        };
        let (from, to) = (from + clock_offset, to + clock_offset);
        let common = last.min(to) - first.max(from) + tolerance;
        let shorter = (last - first).min(to - from).as_nanos();
        if common < TimeDelta::from_nanos(shorter / OVERLAP_DIVISOR) {
            Self::Apart
        } else {
            Self::Assumed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Epoch, RetransmittedAs, SenderRecord, Totals};
    use super::super::script::{Row, record};
    use super::super::{CauseClass, Options, Score};
    use super::*;
    use tcpexp_measure::sender::Phase;
    use tcpexp_units::Timestamp;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(0) + TimeDelta::from_millis(millis)
    }

    /// A side with a reduction and totals; the rows of a log of polls have no sequence numbers.
    fn side(shift: i64, is_log: bool) -> SenderRecord {
        let row = |number: u32| {
            let row = Row::at(shift + 10 * i64::from(number)).srtt(40);
            if is_log {
                row
            } else {
                row.seq(number, number + 9)
            }
        };
        SenderRecord {
            epochs: vec![Epoch {
                began: at(shift + 500),
                ended: None,
                kind: Some(Phase::FastRecovery),
                ssthresh_segments: None,
            }],
            epochs_complete: true,
            totals: vec![Totals {
                at: at(shift + 990),
                retransmitted_segments: Some(1),
                busy: Some(TimeDelta::from_millis(990)),
                receiver_limited: None,
            }],
            retransmitted: vec![RetransmittedAs {
                at: at(shift + 510),
                class: CauseClass::Fast,
                segments: 1,
            }],
            ..record(&(0..100).map(row).collect::<Vec<_>>())
        }
    }

    #[test]
    fn a_log_of_polls_at_another_time_has_no_score() {
        let of = |shift| Score::of(&side(0, false), &side(shift, true), Options::default());
        let together = of(0);
        assert_eq!(together.clocks, Clocks::Assumed);
        assert_eq!(together.retransmitted_segments.excess(), Some(0));
        assert_eq!(together.epochs.recall(), Some(1.0));
        for shift in [700, 3_600_000, -3_600_000] {
            let apart = of(shift);
            assert_eq!(apart.clocks, Clocks::Apart, "{shift}");
            assert!(
                apart.rows().iter().all(|row| row.value.is_none()),
                "{shift}"
            );
        }
    }

    #[test]
    fn a_log_with_acknowledgments_at_another_time_has_the_same_score() {
        let of = |shift| Score::of(&side(0, false), &side(shift, false), Options::default());
        let shifted = of(3_600_000);
        assert_eq!(shifted, of(0));
        assert_eq!(shifted.clocks, Clocks::Aligned);
        assert_eq!(shifted.causes.accuracy(), Some(1.0));
    }
}
