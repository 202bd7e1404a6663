//! Messages of errors.

/// Joins an error's message with those of its causes: `cannot read a.pcap: permission denied`.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let messages: Vec<String> = causes.map(ToString::to_string).collect();
    messages.join(": ")
}
