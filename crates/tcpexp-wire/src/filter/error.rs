//! Errors in a filter expression.

use std::fmt;
use std::ops::Range;

use thiserror::Error;

/// An error in a filter expression, with its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct FilterError {
    /// Position of the wrong part, in characters from 1.
    pub column: usize,
    /// The wrong part; empty at the end of the expression.
    pub found: String,
    /// The error.
    pub problem: FilterProblem,
}

impl FilterError {
    pub(super) fn new(expression: &str, range: Range<usize>, problem: FilterProblem) -> Self {
        Self {
            column: expression[..range.start].chars().count() + 1,
            found: expression[range].to_owned(),
            problem,
        }
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            column,
            found,
            problem,
        } = self;
        match found.as_str() {
            "" => write!(f, "at column {column}, the end: {problem}"),
            found => write!(f, "at column {column}, `{found}`: {problem}"),
        }
    }
}

/// What is wrong in a filter expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterProblem {
    /// A character that no expression has.
    #[error("unknown character")]
    Symbol,
    /// A primitive should begin here.
    #[error("expected a condition, such as host 10.0.0.1, net 10.0.0.0/8, tcp or port 80")]
    Condition,
    /// An operator should stand here.
    #[error("expected and, or, or the end")]
    Operator,
    /// A parenthesis is missing.
    #[error("expected )")]
    Parenthesis,
    /// A bracket is missing.
    #[error("expected ]")]
    Bracket,
    /// A comparison is missing.
    #[error("expected a comparison: =, !=, <, <=, > or >=")]
    Comparison,
    /// A number is missing.
    #[error("expected a number")]
    Number,
    /// A number is too large.
    #[error("expected a number up to {0}")]
    TooLarge(u32),
    /// An address is missing.
    #[error("expected an IP address; names are not resolved")]
    Address,
    /// An Ethernet address is missing.
    #[error("expected an Ethernet address, such as 02:00:00:00:00:01")]
    EtherAddress,
    /// A port is missing.
    #[error("expected the number of a port")]
    Port,
    /// Two ports are missing.
    #[error("expected two ports, such as 5000-5010")]
    PortRange,
    /// A protocol is missing.
    #[error("expected the number of a protocol, or its name after a backslash, such as \\tcp")]
    Protocol,
    /// The type of an address or number is missing.
    #[error("expected host, net, port or another type before this")]
    NoType,
    /// The protocol does not go with what follows it.
    #[error("does not go with the protocol before it")]
    Misplaced,
    /// The mask is longer than the address.
    #[error("a mask of this address has up to {0} bits")]
    MaskTooLong(u32),
    /// An address with a mask has bits outside the mask.
    #[error("the address has bits outside its mask")]
    HostBits,
    /// A mask does not go with a host.
    #[error("only a net has a mask: write net before the address")]
    MaskOfHost,
    /// The number of loaded bytes is not 1, 2 or 4.
    #[error("expected 1, 2 or 4 bytes")]
    LoadSize,
    /// A primitive of pcap-filter that this crate does not support.
    #[error("not supported here")]
    Unsupported,
    /// More nested parentheses than the parser follows.
    #[error("too many parentheses or negations inside each other")]
    TooDeep,
}
