//! The columns that identify a run of a sweep.

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Field};

use crate::schema::{optional, text_type};
use crate::texts::texts;

/// The first columns of all tables of a run, each with its single value in the run.
///
/// All runs of a sweep need the same columns; [`RunColumns::like`] gives a run the columns of
/// others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunColumns(Vec<RunColumn>);

/// One column of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunColumn {
    /// Name of the column, with the unit as its suffix.
    pub name: String,
    /// Meaning of the column.
    pub description: String,
    /// Value of the column in this run.
    pub value: RunValue,
}

/// The value of a column in a run; `None` is null, and the variant gives the column's type.
#[derive(Clone, Debug, PartialEq)]
pub enum RunValue {
    /// Text.
    Text(Option<String>),
    /// A count.
    Count(Option<i64>),
    /// A floating-point number.
    Number(Option<f64>),
    /// A flag.
    Flag(Option<bool>),
}

impl RunColumns {
    /// Creates the columns, in this order.
    ///
    /// A name that a table of measurements (`taken`) or an earlier column already uses gets the prefix
    /// `param_`, so that no table has two columns of one name.
    pub fn new(columns: Vec<RunColumn>, taken: impl Fn(&str) -> bool) -> Self {
        let mut named: Vec<RunColumn> = Vec::with_capacity(columns.len());
        for mut column in columns {
            while taken(&column.name) || named.iter().any(|other| other.name == column.name) {
                column.name.insert_str(0, "param_");
            }
            named.push(column);
        }
        Self(named)
    }

    /// The columns.
    pub fn columns(&self) -> &[RunColumn] {
        &self.0
    }

    /// Gives all runs the same columns.
    ///
    /// Columns are in order of first appearance. A run without a value has null. A column's type
    /// holds the values of all runs; a null does not change it.
    pub fn unify(runs: &mut [Self]) {
        let mut places = BTreeMap::new();
        // Each column with a null of its type, and whether a run has a value for it.
        let mut all: Vec<(RunColumn, bool)> = Vec::new();
        for column in runs.iter().flat_map(|run| &run.0) {
            let place = *places.entry(column.name.clone()).or_insert(all.len());
            let has_value = !column.value.is_null();
            match all.get_mut(place) {
                Some((known, true)) if has_value => {
                    known.value = known.value.type_with(&column.value);
                }
                Some((_, true)) => {}
                Some((known, known_has_value)) => {
                    known.value = column.value.null();
                    *known_has_value = has_value;
                }
                None => {
                    let value = column.value.null();
                    let column = RunColumn {
                        value,
                        ..column.clone()
                    };
                    all.push((column, has_value));
                }
            }
        }
        let all = Self(all.into_iter().map(|(column, _)| column).collect());
        for run in runs {
            *run = run.like(&all);
        }
    }

    /// This run's values in the columns of `others`.
    #[must_use]
    pub fn like(&self, others: &Self) -> Self {
        let find = |name: &str| self.0.iter().find(|column| column.name == name);
        let columns = others.0.iter().map(|column| RunColumn {
            value: find(&column.name).map_or(column.value.null(), |own| {
                own.value.as_type_of(&column.value)
            }),
            ..column.clone()
        });
        Self(columns.collect())
    }

    pub(crate) fn fields(&self) -> Vec<Field> {
        let field = |column: &RunColumn| {
            let data_type = match column.value {
                RunValue::Text(_) => text_type(),
                RunValue::Count(_) => DataType::Int64,
                RunValue::Number(_) => DataType::Float64,
                RunValue::Flag(_) => DataType::Boolean,
            };
            optional(&column.name, data_type, &column.description)
        };
        self.0.iter().map(field).collect()
    }

    /// The columns, repeated for `rows` rows.
    pub(crate) fn arrays(&self, rows: usize) -> Vec<ArrayRef> {
        let array = |column: &RunColumn| -> ArrayRef {
            match &column.value {
                RunValue::Text(value) => texts(repeat_n(value.as_deref(), rows)),
                RunValue::Count(value) => Arc::new(repeat_n(*value, rows).collect::<Int64Array>()),
                RunValue::Number(value) => {
                    Arc::new(repeat_n(*value, rows).collect::<Float64Array>())
                }
                RunValue::Flag(value) => Arc::new(repeat_n(*value, rows).collect::<BooleanArray>()),
            }
        };
        self.0.iter().map(array).collect()
    }
}

impl RunValue {
    /// True if the value is null.
    pub const fn is_null(&self) -> bool {
        matches!(
            self,
            Self::Text(None) | Self::Count(None) | Self::Number(None) | Self::Flag(None)
        )
    }

    /// Null of the same type.
    #[must_use]
    pub const fn null(&self) -> Self {
        match self {
            Self::Text(_) => Self::Text(None),
            Self::Count(_) => Self::Count(None),
            Self::Number(_) => Self::Number(None),
            Self::Flag(_) => Self::Flag(None),
        }
    }

    /// Null of a type that holds the values of both.
    #[must_use]
    pub fn type_with(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Count(_), Self::Number(_)) | (Self::Number(_), Self::Count(_)) => {
                Self::Number(None)
            }
            (a, b) if std::mem::discriminant(a) == std::mem::discriminant(b) => a.null(),
            // Every value has a text, but a flag is no number.
            _ => Self::Text(None),
        }
    }

    /// The same value in the type of `other`, which must be able to hold it.
    #[must_use]
    pub fn as_type_of(&self, other: &Self) -> Self {
        match (other, self) {
            (Self::Number(_), Self::Count(Some(count))) => Self::Number(Some(*count as f64)),
            (Self::Text(_), value) => Self::Text(value.text()),
            (other, value) if std::mem::discriminant(other) == std::mem::discriminant(value) => {
                value.clone()
            }
            (other, _) => other.null(),
        }
    }

    /// The value as text; `None` for null.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Text(value) => value.clone(),
            Self::Count(value) => value.map(|value| value.to_string()),
            Self::Number(value) => value.map(|value| value.to_string()),
            Self::Flag(value) => value.map(|value| value.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(value: RunValue) -> RunColumns {
        let column = RunColumn {
            name: "window".to_owned(),
            description: String::new(),
            value,
        };
        RunColumns::new(vec![column], |_| false)
    }

    #[test]
    fn a_run_without_a_value_leaves_the_type_of_the_column_as_it_is() {
        use RunValue::{Count, Number, Text};
        let types = |values: &[RunValue]| {
            let mut runs: Vec<RunColumns> = values.iter().cloned().map(run).collect();
            RunColumns::unify(&mut runs);
            let mut values = runs.iter().map(|run| run.columns()[0].value.null());
            let first = values.next().unwrap();
            assert!(values.all(|value| value == first));
            first
        };
        let auto = || Text(Some("auto".to_owned()));
        let absent = || Text(None);
        assert_eq!(types(&[absent(), Count(Some(1)), absent()]), Count(None));
        assert_eq!(
            types(&[Count(Some(1)), Number(Some(0.5)), absent()]),
            Number(None)
        );
        assert_eq!(types(&[auto(), absent(), Count(Some(1))]), Text(None));
        assert_eq!(types(&[absent(), Count(None)]), Count(None));
    }
}
