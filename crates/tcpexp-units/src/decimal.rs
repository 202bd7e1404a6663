//! Exact parsing and printing of decimal numbers with a unit.

use std::borrow::Cow;

use thiserror::Error;

use crate::number::scaled;

/// Error for a text that is not a valid quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{text}\" is not a {what}: expected {expected}")]
pub struct QuantityError {
    text: String,
    what: &'static str,
    expected: Cow<'static, str>,
}

/// One kind of quantity: its name, an example for error messages, and its units.
pub(crate) struct Kind {
    pub(crate) what: &'static str,
    pub(crate) expected: &'static str,
    /// Lower-case unit and its size in the smallest unit. `print` uses the first unit of each size.
    pub(crate) units: &'static [(&'static str, u64)],
}

impl Kind {
    /// Parses a decimal number with a unit into a whole number of the smallest unit.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        self.value(text.trim()).ok_or_else(|| self.error(text))
    }

    pub(crate) fn error(&self, text: &str) -> QuantityError {
        QuantityError {
            text: text.to_owned(),
            what: self.what,
            expected: match self.parts(text) {
                // Only the decimals are wrong, which the general text does not mention.
                Some((product, parts)) if !product.is_multiple_of(parts) => {
                    format!("a multiple of {}", self.print(1)).into()
                }
                _ => self.expected.into(),
            },
        }
    }

    fn value(&self, text: &str) -> Option<u64> {
        let (product, parts) = self.parts(text)?;
        let is_whole = product.is_multiple_of(parts);
        is_whole.then(|| u64::try_from(product / parts).ok())?
    }

    /// The number in the smallest unit as a fraction: numerator and denominator.
    fn parts(&self, text: &str) -> Option<(u128, u128)> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = text.split_at(split);
        let unit = unit.trim_start();
        let (_, scale) = self.units.iter().find(|(name, _)| *name == unit)?;
        scaled(number, *scale)
    }

    /// Prints the value exactly, in the largest decimal unit that does not exceed it.
    pub(crate) fn print(&self, value: u64) -> String {
        let fitting = self.units.iter().filter(|(_, scale)| *scale <= value);
        let exact = fitting.filter(|(_, scale)| is_power_of_ten(*scale));
        let smallest = self.units.iter().min_by_key(|(_, scale)| *scale);
        // `max_by_key` would return the last of two units of one size; printing needs the first.
        let best = exact.fold(None::<&(&str, u64)>, |best, unit| match best {
            Some(best) if best.1 >= unit.1 => Some(best),
            _ => Some(unit),
        });
        let Some((name, scale)) = best.or(smallest) else {
            return value.to_string();
        };
        let digits = scale.ilog10() as usize;
        let decimals = format!("{:0digits$}", value % scale);
        match decimals.trim_end_matches('0') {
            "" => format!("{}{name}", value / scale),
            decimals => format!("{}.{decimals}{name}", value / scale),
        }
    }
}

fn is_power_of_ten(scale: u64) -> bool {
    10_u64.checked_pow(scale.ilog10()) == Some(scale)
}

/// Implements serde as a string for a type with `FromStr` and `Display`.
macro_rules! text_serde {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::decimal::from_text(from, stringify!($type))
            }
        }
    };
}
pub(crate) use text_serde;

/// Deserializes a string by its `FromStr`; the error for any other value names the expected form.
pub(crate) fn from_text<'de, T, D>(from: D, name: &'static str) -> Result<T, D::Error>
where
    T: std::str::FromStr<Err = QuantityError>,
    D: serde::Deserializer<'de>,
{
    struct Text<T>(&'static str, std::marker::PhantomData<T>);

    impl<T: std::str::FromStr<Err = QuantityError>> serde::de::Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            // The error for the empty text carries the expected form of this type.
            match T::from_str("") {
                Err(error) => write!(f, "a string with {}", error.expected),
                Ok(_) => write!(f, "a string with a {}", self.0),
            }
        }

        fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    from.deserialize_str(Text(name, std::marker::PhantomData))
}
