//! The texts that the parsers of quantities accept, as regular expressions for other programs.

use crate::decimal::Kind;
use crate::quantity::{BDP, BIT_RATE, BUFFER, BYTE_COUNT, BYTE_RATE, SHARE, SPAN};
use crate::{BitRate, Buffer, ByteCount, Share, TimeDelta};

/// How a quantity is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Name of the quantity.
    pub name: &'static str,
    /// The form in words, with examples.
    pub words: &'static str,
    /// A regular expression for the form (ECMA-262). It accepts some texts that the parser refuses: a
    /// share above 100 %, or a number with more decimals than its unit has.
    pub pattern: String,
}

/// A quantity that is written as text.
pub trait Written {
    /// How it is written.
    fn form() -> Form;
}

/// A decimal number, as [`Kind::parse`] reads it.
const NUMBER: &str = r"[0-9]+(\.[0-9]+)?";

/// A number with one of `units`. `sign` is a regular expression before it.
fn form(name: &'static str, kind: &Kind, sign: &str, units: impl Iterator<Item = String>) -> Form {
    let units = units.collect::<Vec<_>>().join("|");
    Form {
        name,
        words: kind.expected,
        pattern: format!(r"^\s*{sign}{NUMBER}\s*({units})\s*$"),
    }
}

fn units(kind: &Kind) -> impl Iterator<Item = String> {
    kind.units.iter().map(|(unit, _)| (*unit).to_owned())
}

/// A regular expression for `unit` in any letter case.
fn in_any_case(unit: &str) -> String {
    let letter = |letter: char| match letter {
        'a'..='z' => format!("[{}{letter}]", letter.to_ascii_uppercase()),
        _ => letter.to_string(),
    };
    unit.chars().map(letter).collect()
}

impl Written for BitRate {
    fn form() -> Form {
        // The parser separates bytes from bits by letter case only where the unit has bytes.
        let bits = units(&BIT_RATE).map(|unit| in_any_case(&unit));
        form("Rate", &BIT_RATE, "", bits.chain(units(&BYTE_RATE)))
    }
}

impl Written for ByteCount {
    fn form() -> Form {
        form("Size", &BYTE_COUNT, "", units(&BYTE_COUNT))
    }
}

impl Written for Share {
    fn form() -> Form {
        form("Share", &SHARE, "", units(&SHARE))
    }
}

impl Written for TimeDelta {
    fn form() -> Form {
        form("Time", &SPAN, r"-?\s*", units(&SPAN))
    }
}

impl Written for Buffer {
    fn form() -> Form {
        let all = [BUFFER, BDP, BYTE_COUNT, SPAN];
        form("Buffer", &BUFFER, "", all.iter().flat_map(units))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_has_each_unit_of_the_parser() {
        assert!(BitRate::form().pattern.contains("|[Mm][Bb][Ii][Tt]|"));
        assert!(BitRate::form().pattern.contains("|kB/s|"));
        assert_eq!(Share::form().pattern, r"^\s*[0-9]+(\.[0-9]+)?\s*(%)\s*$");
        assert!(
            TimeDelta::form()
                .pattern
                .ends_with(r"(ns|us|ms|s|min|h)\s*$")
        );
        assert!(Buffer::form().pattern.contains("(p|bdp|B|"));
    }
}
