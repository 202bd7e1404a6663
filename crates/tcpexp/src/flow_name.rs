//! Names of flows on command lines.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A text that selects flows: `5201`, `:5201`, `10.0.0.1` or `#3`.
///
/// - A number selects the flow with this number in the tables, and the flows with this port.
/// - A number after `:` selects the flows with this port, one after `#` the flow with this number.
/// - Any other text selects each flow whose `address:port > address:port` contains it.
///
/// ```
/// use tcpexp::FlowName;
///
/// let ends = "10.0.0.1:40000 > 10.0.0.2:5201";
/// for name in ["5201", ":5201", "10.0.0.2", "2:5201", "#7", "7"] {
///     assert!(name.parse::<FlowName>()?.fits(7, ends), "{name}");
/// }
/// assert!(!":520".parse::<FlowName>()?.fits(7, ends));
/// # Ok::<(), tcpexp::NoFlowName>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowName {
    text: String,
    kind: Kind,
}

/// An empty text: it is a part of all addresses, and would select every flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an empty text would select every flow")]
pub struct NoFlowName;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number(u32),
    Port(u16),
    NumberOrPort(u32),
    Part,
}

impl FlowName {
    /// True if it selects the flow with this number and these ends: `address:port > address:port`.
    pub fn fits(&self, number: u32, ends: &str) -> bool {
        match self.kind {
            Kind::Number(wanted) => number == wanted,
            Kind::Port(port) => has_port(ends, port.into()),
            Kind::NumberOrPort(wanted) => number == wanted || has_port(ends, wanted),
            Kind::Part => ends.contains(&self.text),
        }
    }
}

fn has_port(ends: &str, port: u32) -> bool {
    ends.split(" > ")
        .filter_map(|end| end.rsplit_once(':'))
        .any(|(_, of_end)| of_end.parse() == Ok(port))
}

impl FromStr for FlowName {
    type Err = NoFlowName;

    fn from_str(text: &str) -> Result<Self, NoFlowName> {
        // Spaces are also between the two addresses of each flow.
        if text.trim().is_empty() {
            return Err(NoFlowName);
        }
        let number = |text: &str| {
            // `parse` alone accepts a sign.
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u32>().ok().filter(|_| is_number)
        };
        let port = text.strip_prefix(':').and_then(number);
        let port = port.and_then(|port| u16::try_from(port).ok());
        let kind = match (port, text.strip_prefix('#').and_then(number), number(text)) {
            (Some(port), ..) => Kind::Port(port),
            (_, Some(number), _) => Kind::Number(number),
            (.., Some(number)) => Kind::NumberOrPort(number),
            _ => Kind::Part,
        };
        Ok(Self {
            text: text.to_owned(),
            kind,
        })
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_text_names_no_flow() {
        for empty in ["", " ", "\t\n"] {
            assert_eq!(empty.parse::<FlowName>(), Err(NoFlowName), "{empty:?}");
        }
    }
}
