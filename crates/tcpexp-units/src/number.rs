//! Exact parsing of decimal numbers without a unit.

/// Returns an unsigned decimal number times `scale`, if the result is whole: "2.5" times 1000 is 2500.
/// `None` too if the result does not fit, and for a number that lacks the digits before or after its point.
pub fn exact(number: &str, scale: u64) -> Option<u64> {
    let (product, parts) = scaled(number, scale)?;
    let is_whole = product.is_multiple_of(parts);
    is_whole.then(|| u64::try_from(product / parts).ok())?
}

/// Returns a decimal number times `scale` as a fraction: "1.5" times 1000 is 15000 / 10.
pub(crate) fn scaled(number: &str, scale: u64) -> Option<(u128, u128)> {
    // A whole number gets a decimal, so that an empty part is always an error, as in "2.".
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    if [whole, decimals]
        .iter()
        .any(|part| part.is_empty() || !is_digits(part))
    {
        return None;
    }
    let decimals = decimals.trim_end_matches('0');
    let digits: u128 = format!("{whole}{decimals}").parse().ok()?;
    let parts = 10_u128.checked_pow(u32::try_from(decimals.len()).ok()?)?;
    Some((digits.checked_mul(u128::from(scale))?, parts))
}

/// Returns an unsigned decimal number times `10^digits`, without the digits after that: "2.5079" with 2 digits
/// is 250. A number may end in its point. `None` for any other text, and if the result does not fit.
pub fn truncated(number: &str, digits: u32) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // All bytes are ASCII digits, so the slice does not split a character.
    let kept = &fraction[..fraction.len().min(digits as usize)];
    let missing = digits - u32::try_from(kept.len()).ok()?;
    let fraction = match kept {
        "" => 0,
        kept => kept
            .parse::<i64>()
            .ok()?
            .checked_mul(10_i64.checked_pow(missing)?)?,
    };
    let whole: i64 = whole.parse().ok()?;
    // In nanoseconds, 64 bits end in the year 2262: a later time is unreadable, not wrapped.
    whole
        .checked_mul(10_i64.checked_pow(digits)?)?
        .checked_add(fraction)
}

/// `parse` alone accepts a sign, so the fraction of "1.-2" would be negative.
fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_without_rounding() {
        assert_eq!(
            truncated("1795247211.143604", 9),
            Some(1_795_247_211_143_604_000)
        );
        assert_eq!(
            truncated("1795247211.1436041239", 9),
            Some(1_795_247_211_143_604_123)
        );
        assert_eq!(truncated("48.331", 6), Some(48_331_000));
        assert_eq!(truncated("41", 6), Some(41_000_000));
        assert_eq!(truncated("41.", 6), Some(41_000_000));
    }

    #[test]
    fn other_text_is_not_a_decimal_number() {
        for text in [
            "",
            ".5",
            "-1",
            "1e3",
            "1.-2",
            "1.2.3",
            "99999999999.0",
            "+1",
            "NaN",
        ] {
            assert_eq!(truncated(text, 9), None, "{text}");
        }
    }

    #[test]
    fn a_number_with_more_digits_than_the_unit_is_not_exact() {
        assert_eq!(exact("2.5", 1_000), Some(2_500));
        assert_eq!(exact("1.50", 60), Some(90));
        assert_eq!(exact("2.5001", 1_000), None);
        for text in [
            "",
            ".5",
            "2.",
            "+1",
            "-1",
            "1e3",
            "1.2.3",
            "18446744073709551616",
        ] {
            assert_eq!(exact(text, 1), None, "{text}");
        }
    }
}
