//! The expected state of a router.

use std::fmt;

use serde::Serialize;
use tcpexp_units::{BitRate, TimeDelta};

/// A command that reads state, and its expected output.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The command.
    pub argv: Vec<String>,
    /// The expectation.
    pub must: Must,
}

/// The expected state of one part of a router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Must {
    /// An interface has these queueing disciplines, and no other root.
    Qdiscs(Vec<QdiscFact>),
    /// An interface has this class.
    Class {
        /// The interface.
        device: String,
        /// Its number.
        id: String,
        /// Its rate and its ceiling.
        rate: BitRate,
    },
    /// An interface redirects incoming packets to these devices, in this order.
    Redirects {
        /// The interface.
        device: String,
        /// Priority, protocol and device of each filter.
        to: Vec<(u32, String, String)>,
    },
    /// An interface polices what leaves it.
    Policer {
        /// The interface.
        device: String,
        /// Its rate.
        rate: BitRate,
        /// Its burst, in bytes.
        burst: u64,
    },
    /// The queue of an interface has the program of a trace.
    TraceLink {
        /// The interface.
        device: String,
        /// Name of the program.
        name: String,
    },
    /// An interface has its offloads off.
    NoOffload {
        /// The interface.
        device: String,
    },
    /// A pipe of dummynet.
    Pipe {
        /// Its number.
        number: u32,
        /// Its rate, if it has one.
        rate: Option<BitRate>,
        /// Its delay.
        delay: TimeDelta,
        /// Words in its description.
        words: Vec<String>,
    },
    /// The rules of our set, each without its number, in this order.
    Rules(Vec<String>),
    /// A kernel variable.
    Setting {
        /// Its name.
        name: String,
        /// Its value, or the least value unless `exact`.
        value: u64,
        /// True if a larger value is a mismatch.
        exact: bool,
    },
}

/// A queueing discipline and its options.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QdiscFact {
    /// The interface.
    pub device: String,
    /// Kind of discipline.
    pub kind: String,
    /// Its number.
    pub handle: String,
    /// Its parent class; `None` at the root.
    pub parent: Option<String>,
    /// Its options.
    pub options: Vec<OptionFact>,
}

/// An option of a queueing discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionFact {
    /// Its path in the JSON options, separated by dots.
    pub path: &'static str,
    /// Expected value.
    pub value: OptionValue,
}

/// The expected value of an option.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum OptionValue {
    /// A number.
    Number(Number),
    /// A word.
    Word(String),
    /// A switch; off may also be absent.
    Switch(bool),
    /// The option is absent.
    Absent,
}

/// A number with the rounding error of the kernel and of `tc`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Number {
    /// The planned value.
    pub value: f64,
    /// Largest accepted difference.
    pub tolerance: f64,
}

/// A difference between the expected and the found state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The part.
    pub what: String,
    /// The expected state.
    pub expected: String,
    /// The found state.
    pub found: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            expected,
            found,
        } = self;
        write!(f, "{what} is {found}, not {expected}")
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{}", number.value),
            Self::Word(word) => f.write_str(word),
            Self::Switch(true) => f.write_str("on"),
            Self::Switch(false) => f.write_str("off"),
            Self::Absent => f.write_str("absent"),
        }
    }
}

impl OptionFact {
    /// Creates an option with a whole number, which the router stores exactly.
    pub(crate) fn count(path: &'static str, value: u64) -> Self {
        Self::number(path, value as f64, 0.0)
    }

    /// A number that may differ by `tolerance`.
    pub(crate) const fn number(path: &'static str, value: f64, tolerance: f64) -> Self {
        Self {
            path,
            value: OptionValue::Number(Number { value, tolerance }),
        }
    }

    pub(crate) const fn switch(path: &'static str, is_on: bool) -> Self {
        Self {
            path,
            value: OptionValue::Switch(is_on),
        }
    }

    pub(crate) fn word(path: &'static str, word: &str) -> Self {
        Self {
            path,
            value: OptionValue::Word(word.to_owned()),
        }
    }

    pub(crate) const fn absent(path: &'static str) -> Self {
        Self {
            path,
            value: OptionValue::Absent,
        }
    }
}
