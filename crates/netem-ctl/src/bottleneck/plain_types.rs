//! Messages about values of a wrong type, without names of Rust's types.

/// Returns the message with the number types that `serde` expects in words.
pub fn with_plain_types(message: &str) -> String {
    const EXPECTED: &str = "expected ";
    let Some((fault, kind)) = message.rsplit_once(EXPECTED) else {
        return message.to_owned();
    };
    let range = |least: u64, most: u64| format!("a whole number from {least} to {most}");
    let kind = match kind {
        "u8" => range(0, u8::MAX.into()),
        "u16" => range(0, u16::MAX.into()),
        "u32" => range(0, u32::MAX.into()),
        "a nonzero u16" => range(1, u16::MAX.into()),
        "a nonzero u32" => range(1, u32::MAX.into()),
        // TOML has no larger integers.
        "u64" | "usize" => "a whole number, at least 0".to_owned(),
        "a nonzero u64" | "a nonzero usize" => "a whole number, at least 1".to_owned(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        _ => return message.to_owned(),
    };
    format!("{fault}{EXPECTED}{kind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_of_rust_is_named_in_words() {
        for (before, after) in [
            (
                "invalid type: string \"5S\", expected u32",
                "invalid type: string \"5S\", expected a whole number from 0 to 4294967295",
            ),
            (
                "invalid value: integer `0`, expected a nonzero u16",
                "invalid value: integer `0`, expected a whole number from 1 to 65535",
            ),
            (
                "invalid type: integer `1`, expected a boolean",
                "invalid type: integer `1`, expected true or false",
            ),
        ] {
            assert_eq!(with_plain_types(before), after);
        }
        for same in ["string values must be quoted, expected literal string", ""] {
            assert_eq!(with_plain_types(same), same);
        }
    }
}
