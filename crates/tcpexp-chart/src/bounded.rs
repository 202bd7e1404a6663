//! Columns in which some numbers are known only within bounds.

use tcpexp_metrics::Bounds;
use tcpexp_metrics::compare::Measure;
use tcpexp_table::{Frame, Series};

use crate::Error;
use crate::numbers::numbers;

/// Names of the columns with the smallest and the largest possible value of a measure, in the measure's unit;
/// `None` if `column` is no measure.
///
/// A measure is null in a row that knows it only within bounds, and in a row that did not reach it, whose
/// bounds are infinite.
pub fn bound_columns(column: &str) -> Option<[String; 2]> {
    Some(Measure::named(column)?.bound_names())
}

/// A column with the columns of its bounds.
pub(crate) struct Bounded<'a> {
    numbers: &'a Series,
    bounds: Option<[&'a Series; 2]>,
}

impl<'a> Bounded<'a> {
    /// The column `name`, which must be numeric.
    pub(crate) fn of(frame: &'a Frame, name: &str) -> Result<Self, Error> {
        let numbers = numbers(frame, name)?;
        let bounds = bound_columns(name).and_then(|[least, most]| {
            let [least, most] = [least, most].map(|bound| frame.column(&bound));
            Some([least?, most?])
        });
        Ok(Self { numbers, bounds })
    }

    /// Bounds of a row's number, which are equal if it is known; `None` without a number.
    pub(crate) fn number(&self, row: usize) -> Option<Bounds> {
        let known = self.numbers.number(row).filter(|known| known.is_finite());
        known.map(Bounds::known).or_else(|| {
            let [least, most] = self.bounds?.map(|bound| bound.number(row));
            Some(Bounds {
                least: least?,
                most: most?,
            })
        })
    }
}
