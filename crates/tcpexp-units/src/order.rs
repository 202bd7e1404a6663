//! The order of values that are texts: `2ms` before `10ms`, `10mbit` before `1gbit`.

use std::cmp::Ordering;

use crate::decimal::Kind;
use crate::quantity::{BDP, BIT_RATE, BUFFER, BYTE_COUNT, BYTE_RATE, SHARE, SPAN};

/// Compares two texts by what they mean: numbers and quantities of one kind by size, other texts
/// alphabetically. In lists such as `16ms, 82ms`, the first elements that differ decide.
///
/// Only equal texts compare as equal: `1s` and `1000ms` differ. Numbers are before quantities, and
/// quantities before other texts.
///
/// ```
/// use tcpexp_units::by_value;
///
/// let mut rtts = ["162ms", "1s", "16ms", "42ms"];
/// rtts.sort_by(|a, b| by_value(a, b));
/// assert_eq!(rtts, ["16ms", "42ms", "162ms", "1s"]);
/// ```
pub fn by_value(a: &str, b: &str) -> Ordering {
    a.split(',')
        .map(Element::of)
        .cmp(b.split(',').map(Element::of))
        .then_with(|| a.cmp(b))
}

/// One element of a list. The order of the variants is that of their values.
#[derive(Debug, PartialEq)]
enum Element<'a> {
    /// A finite number.
    Number(f64),
    /// A quantity: the place of its kind in [`KINDS`], and its size in the kind's smallest unit.
    Quantity(usize, u64),
    Text(&'a str),
}

/// Kinds of quantities whose sizes compare: each list has one smallest unit.
const KINDS: [&[Kind]; 6] = [
    &[BIT_RATE, BYTE_RATE],
    &[BYTE_COUNT],
    &[SHARE],
    &[SPAN],
    &[BUFFER],
    &[BDP],
];

impl<'a> Element<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.trim();
        if !text.starts_with(|c: char| c.is_ascii_digit() || "-.+".contains(c)) {
            return Self::Text(text);
        }
        if let Ok(number) = text.parse::<f64>() {
            return Self::Number(number);
        }
        let quantities = KINDS.iter().enumerate();
        let found = quantities.flat_map(|(place, kinds)| {
            let size = |kind: &Kind| kind.parse(text).ok();
            kinds.iter().filter_map(size).map(move |size| (place, size))
        });
        match { found }.next() {
            Some((place, size)) => Self::Quantity(place, size),
            None => Self::Text(text),
        }
    }

    const fn rank(&self) -> u8 {
        match self {
            Self::Number(_) => 0,
            Self::Quantity(..) => 1,
            Self::Text(_) => 2,
        }
    }
}

// A text that starts with a digit, a sign or a point is no NaN, so equality is reflexive.
impl Eq for Element<'_> {}

impl PartialOrd for Element<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Quantity(a, a_size), Self::Quantity(b, b_size)) => (a, a_size).cmp(&(b, b_size)),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted<const N: usize>(mut texts: [&str; N]) -> [&str; N] {
        texts.sort_by(|a, b| by_value(a, b));
        texts
    }

    #[test]
    fn quantities_are_in_the_order_of_their_sizes() {
        assert_eq!(
            sorted(["1gbit", "100mbit", "10mbit", "250kB/s", "9mbit"]),
            ["250kB/s", "9mbit", "10mbit", "100mbit", "1gbit"]
        );
        assert_eq!(
            sorted(["0.5bdp", "2bdp", "1bdp"]),
            ["0.5bdp", "1bdp", "2bdp"]
        );
        assert_eq!(sorted(["64KiB", "64kB", "9kB"]), ["9kB", "64kB", "64KiB"]);
        assert_eq!(sorted(["10%", "9%", "0.5%"]), ["0.5%", "9%", "10%"]);
    }

    #[test]
    fn numbers_precede_quantities_and_quantities_precede_words() {
        assert_eq!(
            sorted(["reno", "none", "20ms", "10", "-3", "cubic"]),
            ["-3", "10", "20ms", "cubic", "none", "reno"]
        );
    }

    #[test]
    fn lists_are_in_the_order_of_their_first_elements_that_differ() {
        assert_eq!(
            sorted(["16ms, 162ms", "9ms, 82ms", "16ms", "16ms, 42ms"]),
            ["9ms, 82ms", "16ms", "16ms, 42ms", "16ms, 162ms"]
        );
        assert_eq!(
            sorted(["htcp, reno", "bic, reno"]),
            ["bic, reno", "htcp, reno"]
        );
    }

    #[test]
    fn texts_that_are_no_quantities_are_alphabetical() {
        let names = ["0095-a7-r02", "0095-a7-r10", "10.0.0.1:5", "10.0.0.2:5"];
        assert_eq!(sorted(names), names);
    }

    fn text() -> impl Strategy<Value = String> {
        "(|-|[0-9]{1,2})(|\\.[0-9])(|ms|s|mbit|kB|%|bdp| reno|e400)(|,|, 5ms)"
    }

    proptest! {
        #[test]
        fn the_order_is_total(a in text(), b in text(), c in text()) {
            prop_assert_eq!(by_value(&a, &b).is_eq(), a == b);
            prop_assert_eq!(by_value(&a, &b), by_value(&b, &a).reverse());
            if by_value(&a, &b).is_le() && by_value(&b, &c).is_le() {
                prop_assert!(by_value(&a, &c).is_le());
            }
        }
    }
}
