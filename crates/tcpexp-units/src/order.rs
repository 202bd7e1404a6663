//! The order of values that are texts: `2ms` before `10ms`, `10mbit` before `1gbit`.

use std::cmp::Ordering;

use crate::natural::numbers;
use crate::quantity::{BDP, BUFFER, SHARE};
use crate::{BitRate, ByteCount, TimeDelta};

/// Compares two texts by what they mean: numbers and quantities of one kind by size, other texts
/// alphabetically but for the numbers in them. In lists such as `16ms, 82ms`, the first elements that differ decide.
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

/// Compares two texts as [`by_value`] does, if they are of one kind: two numbers, two quantities of one kind, or
/// two other texts. Equal sizes compare as equal, as `1s` and `1000ms`.
///
/// ```
/// use std::cmp::Ordering;
/// use tcpexp_units::by_size;
///
/// assert_eq!(by_size("1s", "1000ms"), Some(Ordering::Equal));
/// assert_eq!(by_size("16ms", "50"), None);
/// ```
pub fn by_size(a: &str, b: &str) -> Option<Ordering> {
    let (mut a, mut b) = (a.split(',').map(Element::of), b.split(',').map(Element::of));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Some(Ordering::Equal),
            (a, b @ None) | (a @ None, b) => return Some(a.is_some().cmp(&b.is_some())),
            (Some(a), Some(b)) => a.compared(&b)?,
        };
        if order.is_ne() {
            return Some(order);
        }
    }
}

/// True if a text is neither a number nor a quantity, nor a list of these.
pub fn is_word(text: &str) -> bool {
    text.split(',')
        .any(|element| matches!(Element::of(element), Element::Text(_)))
}

/// One element of a list. The order of the variants is that of their values.
#[derive(Debug, PartialEq)]
enum Element<'a> {
    /// A finite number.
    Number(f64),
    /// A quantity: the place of its kind in [`KINDS`], and its size in the kind's smallest unit.
    Quantity(usize, i128),
    Text(&'a str),
}

/// Reads a quantity of one kind in its smallest unit.
type Size = fn(&str) -> Option<i128>;

/// Kinds of quantities whose sizes compare. Each reads all texts that its type reads, so that a value of a plan is
/// in the order of its size however it is written. Those of shares and packets also read texts that no plan has:
/// `150%`, `1.5p`.
const KINDS: [Size; 6] = [
    |text| Some(text.parse::<BitRate>().ok()?.as_bps().into()),
    |text| Some(text.parse::<ByteCount>().ok()?.as_bytes().into()),
    |text| Some(SHARE.parse(text).ok()?.into()),
    |text| Some(text.parse::<TimeDelta>().ok()?.as_nanos().into()),
    |text| Some(BUFFER.parse(text).ok()?.into()),
    |text| Some(BDP.parse(text).ok()?.into()),
];

impl<'a> Element<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.trim();
        if !text.starts_with(|c: char| c.is_ascii_digit() || "-.+".contains(c)) {
            return Self::Text(text);
        }
        // A hash such as `61e10342` is no number, although it parses as infinity.
        if let Ok(number) = text.parse::<f64>()
            && number.is_finite()
        {
            return Self::Number(number);
        }
        let mut quantities = KINDS.iter().enumerate();
        match quantities.find_map(|(place, size)| Some((place, size(text)?))) {
            Some((place, size)) => Self::Quantity(place, size),
            None => Self::Text(text),
        }
    }

    /// `None` for elements of different kinds.
    fn compared(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.partial_cmp(b),
            (Self::Quantity(a, a_size), Self::Quantity(b, b_size)) if a == b => {
                Some(a_size.cmp(b_size))
            }
            (Self::Text(a), Self::Text(b)) => Some(by_numbers(a, b).then_with(|| a.cmp(b))),
            _ => None,
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
            (Self::Text(a), Self::Text(b)) => by_numbers(a, b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

/// Compares texts such as `3mbit-2.5ms` so that the numbers in them are in order. In `10.0.0.1` the
/// points separate whole numbers.
fn by_numbers(a: &str, b: &str) -> Ordering {
    let key = |text| -> Vec<(&str, f64)> {
        let parts = numbers(text);
        let is_point = |place: usize| parts.get(place).is_some_and(|part| part.0 == ".");
        let mut key: Vec<(&str, f64)> = Vec::new();
        for (place, (text, digits)) in parts.iter().enumerate() {
            let is_decimals =
                place > 0 && is_point(place) && !is_point(place - 1) && !is_point(place + 1);
            match key.last_mut() {
                Some((_, number)) if is_decimals => {
                    let decimals: f64 = format!("0.{digits}0").parse().unwrap_or(0.0);
                    *number += decimals;
                }
                // A text without a number is before those with one.
                _ => key.push((text, digits.parse().unwrap_or(-1.0))),
            }
        }
        key
    };
    let part = |(a, a_number): &(&str, f64), (b, b_number): &(&str, f64)| {
        a.cmp(b).then(a_number.total_cmp(b_number))
    };
    let (a, b) = (key(a), key(b));
    let parts = a.iter().zip(&b).map(|(a, b)| part(a, b));
    parts
        .fold(Ordering::Equal, Ordering::then)
        .then(a.len().cmp(&b.len()))
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use proptest::prelude::*;

    use super::*;
    use crate::{Buffer, Share};

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
    fn each_text_that_a_quantity_reads_is_in_the_order_of_its_size() {
        assert_eq!(
            sorted(["1Gbit", "2Mbit", "10Mbit/s", "500kbit", "10mbit", "1MB/s"]),
            ["500kbit", "2Mbit", "1MB/s", "10Mbit/s", "10mbit", "1Gbit"]
        );
        assert_eq!(sorted(["1ms", "-2ms", "-10ms"]), ["-10ms", "-2ms", "1ms"]);
        assert_eq!(by_size("10Mbit", "10mbit"), Some(Ordering::Equal));
        assert_eq!(by_size("1.5Mbit/s", "1mbit"), Some(Ordering::Greater));
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
    fn numbers_in_other_texts_are_in_order() {
        let names = ["10.0.0.2:5", "10.0.0.10:5", "0095-a7-r02", "0095-a7-r10"];
        assert_eq!(sorted(names), names);
        let links = [
            "3mbit-0.25bdp",
            "3mbit-0.5bdp",
            "3mbit-2bdp",
            "10mbit-5ms",
            "bbr",
            "bbr2",
        ];
        assert_eq!(sorted(links), links);
    }

    fn text() -> impl Strategy<Value = String> {
        "(|-|[0-9]{1,2})(|\\.[0-9])(|ms|s|mbit|kB|%|bdp| reno|e400|\\.1|x[12])(|,|, 5ms)"
    }

    /// The size of a text by the type that reads it.
    fn size<T: FromStr, S>(text: &str, size: impl Fn(T) -> S) -> Option<S> {
        text.parse().ok().map(size)
    }

    proptest! {
        #[test]
        fn a_text_that_a_type_of_the_plan_reads_compares_by_the_size_of_that_type(
            a in "[0-9]{1,3}(|\\.5)", b in "[0-9]{1,3}(|\\.5)",
            [a_unit, b_unit] in prop::array::uniform2(
                "([kKmMgGtT]?[bB]([iI][tT])?(/s)?|[KMG]iB|%|n?s|[um]s|min|h|p|bdp| ms)"
            ),
            sign in "(|-)",
        ) {
            let (a, b) = (format!("{sign}{a}{a_unit}"), format!("{b}{b_unit}"));
            let both = |of: fn(&str) -> Option<i128>| of(&a).zip(of(&b)).map(|(a, b)| a.cmp(&b));
            let orders = [
                both(|text| size(text, |rate: BitRate| rate.as_bps().into())),
                both(|text| size(text, |bytes: ByteCount| bytes.as_bytes().into())),
                both(|text| size(text, |share: Share| share.as_ppb().into())),
                both(|text| size(text, |time: TimeDelta| time.as_nanos().into())),
            ];
            for order in orders.into_iter().flatten() {
                prop_assert_eq!(by_size(&a, &b), Some(order));
            }
            if a.parse::<Buffer>().is_ok() {
                prop_assert!(!is_word(&a), "{}", a);
            }
        }

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
