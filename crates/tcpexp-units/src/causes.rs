//! Messages of errors.

/// Joins an error's message with those of its causes: `cannot read a.pcap: permission denied`.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let messages: Vec<String> = causes.map(ToString::to_string).collect();
    messages.join(": ")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::num::ParseIntError;

    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error)]
    #[error("cannot read the port")]
    struct Unread(#[source] ParseIntError);

    #[test]
    fn causes_follow_the_message_of_an_error() {
        let source = "x".parse::<u16>().unwrap_err();
        assert_eq!(
            with_causes(&Unread(source)),
            "cannot read the port: invalid digit found in string"
        );
        let alone = io::Error::other("disk full");
        assert_eq!(with_causes(&alone), "disk full");
    }
}
