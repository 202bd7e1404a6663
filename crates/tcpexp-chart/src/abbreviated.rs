//! Short names of lines and slots: names that differ stay different.

use std::collections::HashSet;

/// The names, shortened with an ellipsis where they do not fit. Different names stay different if there
/// is room: flows between the same hosts differ in a port only.
pub(crate) fn abbreviated(names: &[&str], fits: impl Fn(&str) -> bool) -> Vec<String> {
    let inside = shorten(names, |name| shortened_inside(name, &fits));
    if are_as_different(names, &inside) {
        return inside;
    }
    let (start, end) = common_ends(names);
    let around = shorten(names, |name| around_difference(name, start, end, &fits));
    if are_as_different(names, &around) {
        return around;
    }
    // Names between other hosts hide what those between the same hosts have in common.
    let beginnings = shorten(names, |name| crate::fitting::shortened(name, &fits));
    if are_as_different(names, &beginnings) {
        beginnings
    } else {
        inside
    }
}

fn shorten(names: &[&str], shortened: impl Fn(&str) -> String) -> Vec<String> {
    names.iter().map(|name| shortened(name)).collect()
}

/// True if there are as many different short names as long ones.
fn are_as_different(names: &[&str], short: &[String]) -> bool {
    let long: HashSet<&str> = names.iter().copied().collect();
    let short: HashSet<&str> = short.iter().map(String::as_str).collect();
    long.len() == short.len()
}

/// Number of letters that all names have in common at their start and at their end. Words and numbers
/// are not divided.
fn common_ends(names: &[&str]) -> (usize, usize) {
    let letters: Vec<Vec<char>> = names.iter().map(|name| name.chars().collect()).collect();
    let Some(first) = letters.first() else {
        return (0, 0);
    };
    let shortest = letters.iter().map(Vec::len).min().unwrap_or(0);
    let is_common = |place: usize| letters.iter().all(|name| name[place] == first[place]);
    let start = (0..shortest).take_while(|place| is_common(*place)).count();
    let at_end = |name: &[char], place: usize| name[name.len() - 1 - place];
    let is_common = |place: &usize| {
        let mut names = letters.iter();
        names.all(|name| at_end(name, *place) == at_end(first, *place))
    };
    let end = (0..shortest - start).take_while(is_common).count();
    let in_word = |letter: char| letter.is_alphanumeric();
    let before = first[..start].iter().rev();
    let start = start - before.take_while(|letter| in_word(**letter)).count();
    let after = first[first.len() - end..].iter();
    let end = end - after.take_while(|letter| in_word(**letter)).count();
    (start, end)
}

/// Shortens the first `start` and the last `end` letters of `name`, between which it differs from other
/// names.
fn around_difference(name: &str, start: usize, end: usize, fits: impl Fn(&str) -> bool) -> String {
    let letters: Vec<char> = name.chars().collect();
    let (head, rest) = letters.split_at(start);
    let (middle, tail) = rest.split_at(rest.len() - end);
    let longest = head.len().max(tail.len());
    let kept = (0..=longest).rev().map(|kept| {
        let (head_kept, tail_kept) = (kept.min(head.len()), kept.min(tail.len()));
        let mut text: String = head[..head_kept].iter().collect();
        if head_kept < head.len() {
            text.push('…');
        }
        text.extend(middle);
        if tail_kept < tail.len() {
            text.push('…');
        }
        text.extend(&tail[tail.len() - tail_kept..]);
        text
    });
    let middle = || shortened_inside(&middle.iter().collect::<String>(), &fits);
    kept.into_iter()
        .find(|text| fits(text))
        .unwrap_or_else(middle)
}

/// Shortens `text` in the middle with an ellipsis.
fn shortened_inside(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let kept = (0..letters.len()).rev().map(|kept| {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let ends = letters[..head].iter().chain(&['…']);
        ends.chain(&letters[letters.len() - tail..])
            .collect::<String>()
    });
    kept.into_iter().find(|text| fits(text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(names: &[&str], most: usize) -> Vec<String> {
        abbreviated(names, |text| text.chars().count() <= most)
    }

    #[test]
    fn names_that_fit_are_whole() {
        assert_eq!(short(&["cubic", "reno"], 5), ["cubic", "reno"]);
        assert!(short(&[], 5).is_empty());
    }

    #[test]
    fn names_that_differ_at_their_ends_lose_their_middle() {
        let names = ["10.1.0.1:1 > 10.2.0.1:5201", "10.1.0.1:1 > 10.2.0.1:5202"];
        assert_eq!(short(&names, 13), ["10.1.0…1:5201", "10.1.0…1:5202"]);
    }

    #[test]
    fn names_that_differ_in_their_middle_keep_it() {
        let names = [
            "10.1.0.1:10000 > 10.2.13.1:5001",
            "10.1.0.1:10011 > 10.2.13.1:5001",
        ];
        assert_eq!(
            short(&names, 18),
            ["10.1.…10000…:5001", "10.1.…10011…:5001"]
        );
    }

    #[test]
    fn equal_names_stay_equal_and_long_differences_are_cut() {
        assert_eq!(short(&["abcdefgh", "abcdefgh"], 5), ["ab…gh", "ab…gh"]);
        assert_eq!(short(&["abcdefgh", "ijklmnop"], 5), ["ab…gh", "ij…op"]);
    }
}
