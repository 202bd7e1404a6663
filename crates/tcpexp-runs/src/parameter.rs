//! Values of the parameters of runs.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    // Serde tries the variants in order, so `Count` precedes `Number`: `50` stays a whole number.
    /// A flag.
    Flag(bool),
    /// A count.
    Count(i64),
    /// A quantity in the unit at the end of the parameter's name.
    Number(f64),
    /// A name.
    Text(String),
}

impl Parameter {
    /// The value of a text in the files of another tool. It is a number only if the text has an exponent or is
    /// how Rust prints that number. So texts that are no numbers stay different: `5.10` is a version, not 5.1.
    /// `unify` makes equal numbers equal.
    pub fn of_text(text: &str) -> Self {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        let is_shortest = |number: &f64| {
            text.contains(['e', 'E'])
                || [number.to_string(), format!("{number:?}")].contains(&text.to_owned())
        };
        match (text.parse::<i64>(), number.filter(is_shortest)) {
            (Ok(count), _) if count.to_string() == text => Self::Count(count),
            (_, Some(number)) => Self::Number(number),
            _ => Self::Text(text.to_owned()),
        }
    }
}

impl Parameter {
    /// Makes a whole number a count, so that equal numbers are equal parameters: 10.0 and 10, -0.0 and 0.
    pub(crate) fn unify(&mut self) {
        // The text of a float has a point only if the number is not whole.
        if let Self::Number(number) = self
            && let Ok(count) = number.to_string().parse()
        {
            *self = Self::Count(count);
        }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// The word for the value of a parameter that a cell does not have.
pub const NULL: &str = "null";

/// The prefix of a parameter whose name is also that of a column with other values.
pub(crate) const PREFIX: &str = "param_";

/// True if the value of a parameter is `wanted`, as text or as a number: `10` equals 10.0.
pub fn is_value(value: Option<&str>, wanted: &str) -> bool {
    let Some(value) = value else {
        return wanted == NULL;
    };
    let numbers = value.parse::<f64>().ok().zip(wanted.parse::<f64>().ok());
    value == wanted || numbers.is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_texts_are_different_values() {
        let shown = |text: &str| format!("{:?}", Parameter::of_text(text));
        let shown: Vec<String> = ["5.1", "5.10", "10", "10.0", "007", "1e3", "inf", "fq"]
            .map(shown)
            .to_vec();
        insta::assert_snapshot!(shown.join(" "), @r#"Number(5.1) Text("5.10") Count(10) Number(10.0) Text("007") Number(1000.0) Text("inf") Text("fq")"#);
    }
}
