//! Clocks with errors.

use tcpexp_units::{TimeDelta, Timestamp};

/// One error of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// Constant offset: the clock is ahead by this span.
    Offset(TimeDelta),
    /// Rate error in parts per million; positive runs fast.
    Skew(i64),
    /// Clock step: position in millionths of the span, and size.
    Step(u32, TimeDelta),
    /// Rate error in parts per million, corrected by a clock step after each period.
    SawTooth(i64, TimeDelta),
    /// Readings are rounded down to a multiple of this tick.
    Coarse(TimeDelta),
}

impl Error {
    /// Name for tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Offset(_) => "clock offset",
            Self::Skew(_) => "clock skew",
            Self::Step(..) => "clock step",
            Self::SawTooth(..) => "saw-tooth clock",
            Self::Coarse(_) => "coarse clock",
        }
    }
}

/// A capture's clock: the sum of its errors, each relative to the first record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    start: Timestamp,
    end: Timestamp,
    errors: Vec<Error>,
}

impl Clock {
    /// Adds an error; `span` holds the first and the last true time of the captures.
    pub(crate) fn add(&mut self, error: Error, span: (Timestamp, Timestamp)) {
        (self.start, self.end) = span;
        self.errors.push(error);
    }

    /// Returns the reading of the clock at a true time.
    pub(crate) fn shows(&self, at: Timestamp) -> Timestamp {
        let mut shown = at + self.ahead(at);
        for error in &self.errors {
            if let Error::Coarse(tick) = error {
                let tick = tick.as_nanos();
                shown = Timestamp::from_nanos(shown.as_nanos().div_euclid(tick) * tick);
            }
        }
        shown
    }

    /// Returns the lead over true time, before rounding to the tick.
    pub(crate) fn ahead(&self, at: Timestamp) -> TimeDelta {
        let passed = at - self.start;
        self.errors
            .iter()
            .map(|error| match *error {
                Error::Offset(ahead) => ahead,
                Error::Skew(ppm) => drift(passed, ppm),
                Error::Step(..) if at < self.step_at(*error) => TimeDelta::ZERO,
                Error::Step(_, by) => by,
                Error::SawTooth(ppm, period) => {
                    let since = passed.as_nanos().rem_euclid(period.as_nanos());
                    drift(TimeDelta::from_nanos(since), ppm)
                }
                Error::Coarse(_) => TimeDelta::ZERO,
            })
            .sum()
    }

    /// Returns the tick of the clock; zero if readings are not rounded.
    pub(crate) fn resolution(&self) -> TimeDelta {
        let ticks = self.errors.iter().map(|error| match *error {
            Error::Coarse(tick) => tick,
            _ => TimeDelta::ZERO,
        });
        ticks.max().unwrap_or(TimeDelta::ZERO)
    }

    /// Returns the maximum rate error in parts per million.
    pub(crate) fn drift_ppm(&self) -> i64 {
        let drifts = self.errors.iter().map(|error| match *error {
            Error::Skew(ppm) | Error::SawTooth(ppm, _) => ppm.abs(),
            _ => 0,
        });
        drifts.sum()
    }

    /// Returns the times and sizes of all clock steps.
    pub(crate) fn steps(&self) -> Vec<(Timestamp, TimeDelta)> {
        let mut steps = Vec::new();
        for error in &self.errors {
            match *error {
                Error::Step(_, by) => steps.push((self.step_at(*error), by)),
                Error::SawTooth(ppm, period) => {
                    let mut at = self.start + period;
                    while at < self.end {
                        steps.push((at, -drift(period, ppm)));
                        at = at + period;
                    }
                }
                _ => {}
            }
        }
        steps
    }

    fn step_at(&self, step: Error) -> Timestamp {
        let Error::Step(ppm, _) = step else {
            return self.end;
        };
        let span = (self.end - self.start).as_nanos();
        self.start + TimeDelta::from_nanos(span / 1_000_000 * i64::from(ppm))
    }
}

fn drift(passed: TimeDelta, ppm: i64) -> TimeDelta {
    TimeDelta::from_nanos(passed.as_nanos() / 1_000 * ppm / 1_000)
}
