//! Clocks that are wrong.

use tcpexp_units::{TimeDelta, Timestamp};

/// What is wrong with a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Error {
    /// It is ahead.
    Offset(TimeDelta),
    /// It runs fast by so many parts in a million.
    Skew(i64),
    /// It is set forward by this at so many millionths of the span.
    Step(u32, TimeDelta),
    /// It runs fast by so many parts in a million and is set right after each such period.
    SawTooth(i64, TimeDelta),
    /// It is read to a multiple of this.
    Coarse(TimeDelta),
}

impl Error {
    /// A word for tables.
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

/// A capture's clock: errors that add up, each counted from the first record on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    start: Timestamp,
    end: Timestamp,
    errors: Vec<Error>,
}

impl Clock {
    /// Adds an error; `span` is from the first to the last true time of the captures.
    pub(crate) fn add(&mut self, error: Error, span: (Timestamp, Timestamp)) {
        (self.start, self.end) = span;
        self.errors.push(error);
    }

    /// What it shows at a true time.
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

    /// By how much it is ahead of true time, before it is read.
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

    /// The unit to which it is read.
    pub(crate) fn resolution(&self) -> TimeDelta {
        let ticks = self.errors.iter().map(|error| match *error {
            Error::Coarse(tick) => tick,
            _ => TimeDelta::ZERO,
        });
        ticks.max().unwrap_or(TimeDelta::ZERO)
    }

    /// The most parts in a million by which it may run fast or slow.
    pub(crate) fn drift_ppm(&self) -> i64 {
        let drifts = self.errors.iter().map(|error| match *error {
            Error::Skew(ppm) | Error::SawTooth(ppm, _) => ppm.abs(),
            _ => 0,
        });
        drifts.sum()
    }

    /// The times at which it was set, with how far.
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
