//! Lists of values in conditions: `cubic,reno`, and in quotes where a value contains a comma.

/// The elements of a list that are separated by commas, without the space around them.
///
/// A comma between double quotes separates nothing, and the quotes are no part of the element.
/// `None` if a quote is not closed.
///
/// ```
/// use tcpexp_units::elements;
///
/// assert_eq!(elements(r#"16ms, "16ms, 82ms""#).unwrap(), ["16ms", "16ms, 82ms"]);
/// assert!(elements(r#""16ms"#).is_none());
/// ```
pub fn elements(list: &str) -> Option<Vec<String>> {
    let mut elements = vec![String::new()];
    let mut is_quoted = false;
    for c in list.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => elements.push(String::new()),
            c => elements.last_mut()?.push(c),
        }
    }
    let trimmed = elements.iter().map(|element| element.trim().to_owned());
    (!is_quoted).then(|| trimmed.collect())
}

/// Writes a list as [`elements`] reads it: elements that contain a comma are in double quotes.
pub fn list_of(elements: &[String]) -> String {
    let quoted = elements.iter().map(|element| {
        if element.contains(',') {
            format!("\"{element}\"")
        } else {
            element.clone()
        }
    });
    quoted.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        for list in ["", "a", "a,b", r#""a, b",c"#, r#"c,"a, b","d,e""#, ",a,"] {
            assert_eq!(list_of(&elements(list).unwrap()), list);
        }
    }
}
