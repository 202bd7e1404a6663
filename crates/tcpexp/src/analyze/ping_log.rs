//! A log of `ping -D`.

use tcpexp_table::dataset::LogSample;
use tcpexp_units::{TimeDelta, Timestamp, truncated};

/// Parses a line with an answer, for example
/// `[1767225609.778130] 64 bytes from 172.16.11.2: icmp_seq=1 ttl=63 time=40.1 ms`.
pub(super) fn answer(line: &str) -> Option<LogSample> {
    let (at, rest) = line.strip_prefix('[')?.split_once(']')?;
    let field = |name: &str| {
        let (_, value) = rest.split_once(name)?;
        value.split_whitespace().next()
    };
    // Another unit would give a wrong time, so only milliseconds are accepted.
    let is_in_ms = rest.trim_end().ends_with(" ms");
    Some(LogSample::Echo {
        at: Timestamp::from_nanos(truncated(at, 9)?),
        number: field("icmp_seq=")?.parse().ok()?,
        rtt: TimeDelta::from_nanos(truncated(field("time=").filter(|_| is_in_ms)?, 6)?),
    })
}

/// True for a line without a request's answer: the heading, the summary, and requests without an answer
/// (`-O`). With `-D`, all other lines begin with their time.
pub(super) fn is_remark(line: &str) -> bool {
    !line.starts_with('[') || line.contains("] no answer yet for icmp_seq=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_its_time_in_nanoseconds() {
        let line = "[1767225609.778130] 64 bytes from 172.16.11.2: icmp_seq=17 ttl=63 time=40.1 ms";
        assert_eq!(
            answer(line),
            Some(LogSample::Echo {
                at: Timestamp::from_nanos(1_767_225_609_778_130_000),
                number: 17,
                rtt: TimeDelta::from_micros(40_100),
            })
        );
    }

    #[test]
    fn other_lines_are_remarks_or_unusable() {
        for (line, is_known) in [
            ("PING 172.16.11.2 (172.16.11.2) 56(84) bytes of data.", true),
            ("[1767225609.778130] no answer yet for icmp_seq=3", true),
            ("rtt min/avg/max/mdev = 40.0/40.1/40.2/0.1 ms", true),
            (
                "[now] 64 bytes from 172.16.11.2: icmp_seq=17 ttl=63 time=40.1 ms",
                false,
            ),
        ] {
            assert_eq!((answer(line), is_remark(line)), (None, is_known), "{line}");
        }
    }
}
