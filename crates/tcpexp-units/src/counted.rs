//! Numbers of things in sentences.

use std::fmt::Display;

/// A number and what it counts: `1 packet`, `2 packets`, `3 losses`. The plural of `thing` ends in `s` or, after `s`,
/// in `es`.
///
/// ```
/// use tcpexp_units::counted;
///
/// assert_eq!(counted(1, "lost packet"), "1 lost packet");
/// assert_eq!(counted(0, "loss"), "0 losses");
/// ```
pub fn counted(number: impl Display, thing: &str) -> String {
    let number = number.to_string();
    let ending = match (number.as_str(), thing.ends_with('s')) {
        ("1", _) => "",
        (_, false) => "s",
        (_, true) => "es",
    };
    format!("{number} {thing}{ending}")
}
