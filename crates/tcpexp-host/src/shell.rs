//! Words that a POSIX shell reads back unchanged.

/// Quotes `word` so that a POSIX shell takes it literally. Words that need no quotes stay plain.
pub fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,%@+=".contains(&byte);
    // An empty word without quotes would vanish from the line.
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    // Single quotes have no escape in a POSIX shell: end them, add an escaped quote, begin again.
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Joins the words of a command into one line for a POSIX shell.
pub fn command_line<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = words.into_iter().map(|word| quote(word.as_ref())).collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_words_stay_plain_and_others_get_single_quotes() {
        assert_eq!(quote("dev"), "dev");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's $HOME"), r"'it'\''s $HOME'");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn shell_reads_back_the_words(words in prop::collection::vec("[^\0]*", 1..4)) {
            let script = format!("printf '%s\\0' {}", command_line(&words));
            let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
            let read: Vec<u8> = words.iter().flat_map(|word| [word.as_bytes(), b"\0"].concat()).collect();
            prop_assert_eq!(output.stdout, read);
        }
    }
}
