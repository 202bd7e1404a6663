//! The order of names that contain numbers: `a2` before `a10`.

use std::cmp::Ordering;

/// Compares names so that the whole numbers in them are in order. A name without a number comes first.
///
/// Only equal names compare as equal.
pub fn natural(a: &str, b: &str) -> Ordering {
    let key = |name| -> Vec<(&str, u128)> {
        let value = |digits: &str| match digits {
            "" => 0,
            digits => digits.parse().unwrap_or(u128::MAX),
        };
        let parts = numbers(name).into_iter();
        parts.map(|(text, digits)| (text, value(digits))).collect()
    };
    key(a).cmp(&key(b)).then_with(|| a.cmp(b))
}

/// Splits a name into texts, each with the digits after it. Only the last may have none.
pub fn numbers(name: &str) -> Vec<(&str, &str)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let (text, after) = rest.split_at(digits);
        let end = after
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(after.len());
        parts.push((text, &after[..end]));
        rest = &after[end..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_in_order() {
        let mut names = ["a10", "a2", "b1", "a", "a2b", "a02"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "a02", "a2", "a2b", "a10", "b1"]);
    }
}
