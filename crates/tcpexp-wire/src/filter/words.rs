//! Words and symbols of a filter expression.

use std::ops::Range;

use super::error::{FilterError, FilterProblem};

/// One word, number, address or symbol, with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Byte offset in the expression.
    pub(super) start: usize,
}

impl Token<'_> {
    /// Bytes of the expression that the token takes.
    pub(super) fn range(&self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// True for a word, a number or an address, false for a symbol.
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(starts_word)
    }
}

/// Symbols; longer symbols precede their prefixes.
const SYMBOLS: [&str; 24] = [
    "&&", "||", "==", "!=", ">=", "<=", ">>", "<<", "(", ")", "[", "]", "!", "=", ">", "<", "+",
    "-", "*", "/", "%", "&", "|", "^",
];

/// Splits an expression into tokens.
pub(super) fn split(expression: &str) -> Result<Vec<Token<'_>>, FilterError> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut brackets = 0_usize;
    while let Some(first) = expression[start..].chars().next() {
        let rest = &expression[start..];
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
        let bytes = match symbol {
            Some(symbol) => symbol.len(),
            // In brackets a colon separates the offset from the size: `tcp[12:2]`.
            None if brackets > 0 && first == ':' => 1,
            None if starts_word(first) => {
                let is_in_word = |c: char| {
                    c.is_ascii_alphanumeric()
                        || matches!(c, '_' | '.' | '-' | '\\')
                        || (c == ':' && brackets == 0)
                };
                rest.find(|c| !is_in_word(c)).unwrap_or(rest.len())
            }
            None => {
                let range = start..start + first.len_utf8();
                return Err(FilterError::new(expression, range, FilterProblem::Symbol));
            }
        };
        let text = &rest[..bytes];
        match text {
            "[" => brackets += 1,
            "]" => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        tokens.push(Token { text, start });
        start += bytes;
    }
    Ok(tokens)
}

/// A backslash makes a keyword a name, as in `ip proto \tcp`. An IPv6 address may begin with a
/// colon.
fn starts_word(first: char) -> bool {
    first.is_ascii_alphanumeric() || matches!(first, '\\' | ':' | '_')
}

/// A decimal, octal (`0` first) or hexadecimal (`0x` first) number.
pub(super) fn number(word: &str) -> Option<u32> {
    let (digits, radix) = match word.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&word[2..], 16),
        [b'0', _, ..] => (&word[1..], 8),
        _ => (word, 10),
    };
    // `from_str_radix` alone accepts a sign.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u32::from_str_radix(digits, radix)
        .ok()
        .filter(|_| is_number)
}
