//! Text that is wrapped or shortened until it fits.

/// The text in at most `most` lines that fit; a text that needs more ends in an ellipsis. A word that is too
/// long is shortened, and the words after it stay.
pub(crate) fn lines(text: &str, most: usize, fits: impl Fn(&str) -> bool) -> Vec<String> {
    let words = text.split(' ').map(|word| shortened(word, &fits));
    let words = words.collect::<Vec<_>>().join(" ");
    let Some(mut lines) = wrapped(&words, usize::MAX, &fits) else {
        return vec![shortened(text, fits)];
    };
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(shortened(&rest, fits));
    }
    lines
}

/// Wraps `text` into at most `most` lines that fit; `None` if a word is too long or the text needs more
/// lines.
pub(crate) fn wrapped(text: &str, most: usize, fits: impl Fn(&str) -> bool) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let longer = lines.last().map(|line| format!("{line} {word}"));
        match longer.filter(|longer| fits(longer)) {
            Some(longer) => *lines.last_mut()? = longer,
            None if fits(word) => lines.push(word.to_owned()),
            None => return None,
        }
    }
    (lines.len() <= most).then_some(lines)
}

/// The longest beginning of `text` that fits, followed by an ellipsis if anything is cut.
pub(crate) fn shortened(text: &str, fits: impl Fn(&str) -> bool) -> String {
    if fits(text) {
        return text.to_owned();
    }
    // Cuts are between characters: a slice within a character of several bytes panics.
    let starts = text
        .char_indices()
        .rev()
        .map(|(at, _)| format!("{}…", &text[..at]));
    starts
        .into_iter()
        .find(|start| fits(start))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_too_long_is_shortened_and_the_words_after_it_stay() {
        let fits = |text: &str| text.chars().count() <= 8;
        let found = lines("of quic/tcp/udp flows, each run", 8, fits);
        assert_eq!(found, ["of", "quic/tc…", "flows,", "each run"]);
        assert_eq!(lines("tttttttttttt", 3, fits), ["ttttttt…"]);
        assert_eq!(lines("a b c d e f g h i j", 1, fits), ["a b c d…"]);
    }
}
