//! JSON as Python writes it.

use serde_json::Value;

/// Parses a document. The numbers `NaN`, `Infinity` and `-Infinity`, which Python writes and JSON lacks, become
/// null.
pub(super) fn parse(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).or_else(|error| match with_nulls(text) {
        Some(text) => serde_json::from_slice(&text),
        None => Err(error),
    })
}

/// `text` with null in place of numbers that JSON lacks; `None` if it has no such number.
fn with_nulls(text: &[u8]) -> Option<Vec<u8>> {
    const NUMBERS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    let mut replaced = Vec::with_capacity(text.len());
    let mut has_any = false;
    let (mut place, mut is_string) = (0, false);
    while let Some(&byte) = text.get(place) {
        let number = NUMBERS
            .into_iter()
            .find(|number| !is_string && text[place..].starts_with(number));
        if let Some(number) = number {
            replaced.extend_from_slice(b"null");
            place += number.len();
            has_any = true;
            continue;
        }
        // The byte after a backslash belongs to it, so that an escaped quotation mark ends no string.
        let length = if is_string && byte == b'\\' { 2 } else { 1 };
        is_string ^= byte == b'"';
        let end = text.len().min(place + length);
        replaced.extend_from_slice(&text[place..end]);
        place = end;
    }
    has_any.then_some(replaced)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_null() {
        let text = br#"{"NaN \" -Infinity": [NaN, -Infinity, Infinity, 1, "NaN"]}"#;
        let value = parse(text).unwrap();
        assert_eq!(
            value,
            json!({"NaN \" -Infinity": [null, null, null, 1, "NaN"]})
        );
    }

    #[test]
    fn other_text_is_an_error_as_before() {
        for text in ["[NaNo]", "[Nan]", "[NaN", "[nan]", "\"\\"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
