//! Parser of comparisons: `ip[2:2] > 1000`.

use super::cursor::Cursor;
use super::error::{FilterError, FilterProblem};
use super::protocol::{Protocol, protocol};
use super::value::{Comparison, Header, Operation, Relation, Size, Value};
use super::words::number;
use crate::protocol::ICMPV6;

/// True if a comparison comes next.
pub(super) fn is_comparison(cursor: &Cursor<'_>) -> bool {
    match cursor.peek() {
        Some("len" | "length" | "-") => true,
        Some("(") => is_value_group(cursor),
        Some(word) if protocol(word).is_some() => cursor.ahead(1) == Some("["),
        Some(word) => constant(word).is_some() && is_operator(cursor.ahead(1)),
        None => false,
    }
}

/// True if the parenthesis that comes next encloses a value and not conditions: an operator follows
/// its end.
fn is_value_group(cursor: &Cursor<'_>) -> bool {
    let mut open = 0_usize;
    for place in 0.. {
        match cursor.ahead(place) {
            Some("(") => open += 1,
            Some(")") => open -= 1,
            Some(_) => {}
            None => return false,
        }
        if open == 0 {
            return is_operator(cursor.ahead(place + 1));
        }
    }
    false
}

fn is_operator(token: Option<&str>) -> bool {
    token.is_some_and(|text| {
        relation(text).is_some()
            || greedy(text).is_some()
            || (0..LEVELS).any(|level| operation(text, level).is_some())
    })
}

/// Parses a comparison.
pub(super) fn comparison(cursor: &mut Cursor<'_>) -> Result<Comparison, FilterError> {
    let left = value(cursor, 0)?;
    let relation = cursor.peek().and_then(relation);
    let relation = relation.ok_or_else(|| cursor.wrong(FilterProblem::Comparison))?;
    cursor.step();
    let right = value(cursor, 0)?;
    Ok(Comparison {
        left,
        relation,
        right,
    })
}

/// A value whose operators have at least precedence `level`.
fn value(cursor: &mut Cursor<'_>, level: usize) -> Result<Value, FilterError> {
    if level == LEVELS {
        cursor.enter()?;
        let operand = greedy_operand(cursor);
        cursor.leave();
        return operand;
    }
    let mut left = value(cursor, level + 1)?;
    let mut operations = 0;
    while let Some(operation) = cursor.peek().and_then(|text| operation(text, level)) {
        // Each operation nests the value more deeply.
        cursor.enter()?;
        operations += 1;
        cursor.step();
        let right = value(cursor, level + 1)?;
        left = Value::Computed(Box::new(left), operation, Box::new(right));
    }
    (0..operations).for_each(|_| cursor.leave());
    Ok(left)
}

/// An operand, with all that follows it if its operator has no precedence.
fn greedy_operand(cursor: &mut Cursor<'_>) -> Result<Value, FilterError> {
    let left = operand(cursor)?;
    let Some(operation) = cursor.peek().and_then(greedy) else {
        return Ok(left);
    };
    cursor.step();
    let right = value(cursor, 0)?;
    Ok(Value::Computed(Box::new(left), operation, Box::new(right)))
}

fn operand(cursor: &mut Cursor<'_>) -> Result<Value, FilterError> {
    if let Some(number) = cursor.peek().and_then(constant) {
        cursor.step();
        return Ok(Value::Number(number));
    }
    if cursor.takes("-") {
        let operand = value(cursor, LEVELS)?;
        return Ok(Value::Negative(Box::new(operand)));
    }
    if cursor.takes("(") {
        let inside = value(cursor, 0)?;
        cursor.expect(")", FilterProblem::Parenthesis)?;
        return Ok(inside);
    }
    if cursor.takes("len") || cursor.takes("length") {
        return Ok(Value::Length);
    }
    bytes(cursor)
}

/// Bytes of a header: `ip[2:2]`.
fn bytes(cursor: &mut Cursor<'_>) -> Result<Value, FilterError> {
    let named = cursor.peek().and_then(protocol);
    let header = match named.ok_or_else(|| cursor.wrong(FilterProblem::Number))? {
        Protocol::Ether => Header::Link,
        Protocol::Network(ether_type) => Header::Network(ether_type),
        Protocol::Transport(ICMPV6, _) => Header::Icmp6,
        Protocol::Transport(number, _) => Header::Transport(number),
    };
    cursor.step();
    cursor.expect("[", FilterProblem::Bracket)?;
    let offset = Box::new(value(cursor, 0)?);
    let size = if cursor.takes(":") {
        match cursor.number(u32::MAX)? {
            1 => Size::One,
            2 => Size::Two,
            4 => Size::Four,
            _ => return Err(cursor.wrong_before(FilterProblem::LoadSize)),
        }
    } else {
        Size::One
    };
    cursor.expect("]", FilterProblem::Bracket)?;
    Ok(Value::Bytes {
        header,
        offset,
        size,
    })
}

/// Names for offsets and values in headers.
const NAMES: [(&str, u32); 17] = [
    ("tcpflags", 13),
    ("tcp-fin", 0x01),
    ("tcp-syn", 0x02),
    ("tcp-rst", 0x04),
    ("tcp-push", 0x08),
    ("tcp-ack", 0x10),
    ("tcp-urg", 0x20),
    ("tcp-ece", 0x40),
    ("tcp-cwr", 0x80),
    ("icmptype", 0),
    ("icmp6type", 0),
    ("icmpcode", 1),
    ("icmp6code", 1),
    ("icmp-echoreply", 0),
    ("icmp-unreach", 3),
    ("icmp-echo", 8),
    ("icmp-timxceed", 11),
];

/// A number or the value of a name.
fn constant(word: &str) -> Option<u32> {
    let named = NAMES.iter().find(|(name, _)| *name == word);
    named.map(|(_, value)| *value).or_else(|| number(word))
}

fn relation(text: &str) -> Option<Relation> {
    Some(match text {
        "=" | "==" => Relation::Equal,
        "!=" => Relation::NotEqual,
        "<" => Relation::Less,
        "<=" => Relation::LessOrEqual,
        ">" => Relation::Greater,
        ">=" => Relation::GreaterOrEqual,
        _ => return None,
    })
}

/// Number of levels of precedence among the arithmetic operators.
const LEVELS: usize = 5;

/// The operation of a symbol on one level of precedence, the weakest first.
fn operation(text: &str, level: usize) -> Option<Operation> {
    Some(match (level, text) {
        (0, "|") => Operation::Or,
        (1, "&") => Operation::And,
        (2, "<<") => Operation::ShiftLeft,
        (2, ">>") => Operation::ShiftRight,
        (3, "+") => Operation::Add,
        (3, "-") => Operation::Subtract,
        (4, "*") => Operation::Multiply,
        (4, "/") => Operation::Divide,
        _ => return None,
    })
}

/// The operation of a symbol without precedence: as in `tcpdump`, its left operand is the single one before it,
/// and its right operand is all that follows. `a * 3 % b + 1` is `a * (3 % (b + 1))`.
fn greedy(text: &str) -> Option<Operation> {
    match text {
        "%" => Some(Operation::Remainder),
        "^" => Some(Operation::Xor),
        _ => None,
    }
}
