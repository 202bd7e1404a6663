//! Remarks below a line of a table.

/// The words of a remark; a number stays on one line with its unit or noun.
pub(crate) fn words(what: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in what.split(' ') {
        match words.last_mut() {
            Some(number) if number.ends_with(|last: char| last.is_ascii_digit()) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

/// A remark below its sender, wrapped at `width`.
pub(crate) fn remark(heading: &str, what: &str, width: usize) -> Vec<String> {
    const INDENT: usize = 16;
    let mut lines = vec![format!("    {heading:12}")];
    let mut column = INDENT;
    for word in words(what) {
        let letters = word.chars().count();
        // The first word of a line never wraps: it would leave an empty line.
        if column > INDENT && column + 1 + letters > width {
            lines.push(" ".repeat(INDENT));
            column = INDENT;
        }
        let line = lines.last_mut().expect("one was there from the start");
        if column > INDENT {
            line.push(' ');
            column += 1;
        }
        line.push_str(&word);
        column += letters;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapping_keeps_a_number_with_its_unit() {
        let lines = remark(
            "busy",
            "284.0 ms; cwnd-limited 11.3 %, rwnd-limited 0 %",
            61,
        );
        assert_eq!(
            lines,
            [
                "    busy        284.0 ms; cwnd-limited 11.3 %, rwnd-limited",
                "                0 %"
            ]
        );
    }
}
