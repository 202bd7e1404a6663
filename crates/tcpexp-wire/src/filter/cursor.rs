//! The place in a filter expression that a parser has reached.

use super::error::{FilterError, FilterProblem};
use super::words::{Token, number, split};

/// Limit on nested parentheses and negations, which bounds the stack.
const MAX_DEPTH: usize = 64;

/// The tokens of an expression, read from left to right.
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    /// Index of the next token.
    at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, FilterError> {
        Ok(Self {
            text,
            tokens: split(text)?,
            at: 0,
            depth: 0,
        })
    }

    /// The next token; `None` at the end.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.ahead(0)
    }

    /// The token `count` places after the next.
    pub(super) fn ahead(&self, count: usize) -> Option<&'a str> {
        self.tokens.get(self.at + count).map(|token| token.text)
    }

    pub(super) fn step(&mut self) {
        self.at += 1;
    }

    /// Steps over the next token if it is `symbol`.
    pub(super) fn takes(&mut self, symbol: &str) -> bool {
        let takes = self.peek() == Some(symbol);
        self.at += usize::from(takes);
        takes
    }

    /// The next token if it is a word. Does not step over it, so that an error points at it.
    pub(super) fn word(&self, expected: FilterProblem) -> Result<&'a str, FilterError> {
        let token = self.tokens.get(self.at).filter(|token| token.is_word());
        token
            .map(|token| token.text)
            .ok_or_else(|| self.wrong(expected))
    }

    pub(super) fn number(&mut self, max: u32) -> Result<u32, FilterError> {
        let value = number(self.word(FilterProblem::Number)?);
        let value = value.ok_or_else(|| self.wrong(FilterProblem::Number))?;
        if value > max {
            return Err(self.wrong(FilterProblem::TooLarge(max)));
        }
        self.at += 1;
        Ok(value)
    }

    pub(super) fn expect(
        &mut self,
        symbol: &str,
        otherwise: FilterProblem,
    ) -> Result<(), FilterError> {
        if self.peek() != Some(symbol) {
            return Err(self.wrong(otherwise));
        }
        self.at += 1;
        Ok(())
    }

    /// An error at the next token.
    pub(super) fn wrong(&self, problem: FilterProblem) -> FilterError {
        let end = self.text.len();
        let range = self.tokens.get(self.at).map_or(end..end, Token::range);
        FilterError::new(self.text, range, problem)
    }

    /// An error at the token before the next.
    pub(super) fn wrong_before(&self, problem: FilterProblem) -> FilterError {
        let token = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        FilterError::new(self.text, token.map_or(0..0, Token::range), problem)
    }

    /// Counts one level of parentheses or negations.
    pub(super) fn enter(&mut self) -> Result<(), FilterError> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(FilterProblem::TooDeep));
        }
        self.depth += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }
}
