//! What a router must say when it is asked for its state.

use std::fmt;

use serde::Serialize;
use tcpexp_units::{BitRate, TimeDelta};

/// A command that reads a piece of state, and what that must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The command.
    pub argv: Vec<String>,
    /// What its output must say.
    pub must: Must,
}

/// What is expected of a router.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Must {
    /// An interface has these queueing disciplines, and no other root.
    Qdiscs(Vec<QdiscFact>),
    /// An interface has this class.
    Class {
        /// Where.
        device: String,
        /// Its number.
        id: String,
        /// Its rate and its ceiling.
        rate: BitRate,
    },
    /// An interface hands what comes in to these devices, in this order.
    Redirects {
        /// Where.
        device: String,
        /// Priority, protocol and device of each filter.
        to: Vec<(u32, String, String)>,
    },
    /// An interface merges and splits no packets.
    NoOffload {
        /// Where.
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
        /// Words that its description has.
        words: Vec<String>,
    },
    /// The rules of our set, each without its number, in this order.
    Rules(Vec<String>),
    /// A kernel variable.
    Setting {
        /// Its name.
        name: String,
        /// At least (or, if exact, precisely) this.
        value: u64,
        /// Whether more is wrong.
        exact: bool,
    },
}

/// A queueing discipline and its options.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QdiscFact {
    /// Where.
    pub device: String,
    /// What kind.
    pub kind: String,
    /// Its number.
    pub handle: String,
    /// The class it belongs to; none for the root.
    pub parent: Option<String>,
    /// Its options.
    pub options: Vec<OptionFact>,
}

/// An option of a queueing discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OptionFact {
    /// Where in the JSON of its options: names with dots between.
    pub path: &'static str,
    /// What it is.
    pub value: OptionValue,
}

/// What an option is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum OptionValue {
    /// A number.
    Number(Number),
    /// A word.
    Word(String),
    /// A switch; one that is off may be absent.
    Switch(bool),
    /// Not there at all.
    Absent,
}

/// A number, and how far it may be rounded by those who store and print it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Number {
    /// What was asked for.
    pub value: f64,
    /// How far off is fine.
    pub tolerance: f64,
}

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// What it is about.
    pub what: String,
    /// What it must be.
    pub expected: String,
    /// What it is.
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
    /// A whole number that is kept as it is.
    pub(crate) fn count(path: &'static str, value: u64) -> Self {
        Self::number(path, value as f64, 0.0)
    }

    /// A number that may be `tolerance` off.
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
