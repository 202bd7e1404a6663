//! Words of a shell.

/// A word as a shell reads it back.
pub(crate) fn quote(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:,+@%=".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A command as a shell reads it back.
pub(crate) fn words<T: AsRef<str>>(words: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<_> = words.into_iter().map(|word| quote(word.as_ref())).collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_reads_back_the_words() {
        for word in [
            "",
            "plain-1.0",
            "two words",
            "it's",
            "$(x) `y` \"z\" \\",
            "a\nb",
            "*",
        ] {
            let script = format!("printf %s. {}", quote(word));
            let output = std::process::Command::new("sh")
                .arg("-c")
                .arg(script)
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{word}."));
        }
    }
}
