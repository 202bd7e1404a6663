//! The file of a trace: from its text to the times at which the link may send.

use super::super::FULL_FRAME;

/// The times at which a link may send a full packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Opportunities {
    /// Microseconds from the start of the trace, in ascending order.
    pub(crate) at_us: Vec<u32>,
    /// Length of the trace in microseconds: at least the last time, and more than 0.
    pub(crate) period_us: u32,
}

/// A fault of a text, without the name of its file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Line(usize, String, &'static str),
    Whole(&'static str),
}

/// Largest number of packets in a trace: 100 Mbit/s for two minutes. The router keeps 4 bytes for each.
const MAX_PACKETS: usize = (1 << 20) - 1;
/// Longest trace: an hour. The router counts microseconds in 32 bits, which end after 71 minutes.
const LONGEST_US: u32 = 3_600_000_000;

/// The fastest link of a trace: 100 Gbit/s.
const FASTEST_BPS: f64 = 1e11;

const MILLISECONDS: &str = "a whole number of milliseconds, up to an hour";
const TIME_AND_RATE: &str = "a time in seconds, up to an hour, and a rate in Mbit/s";
const ASCENDING: &str = "a time that is not before the time of the line above";
const TOO_MANY: &str = "at most 1048575 full packets";

impl Opportunities {
    /// Reads the text of a file.
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        // Editors on Windows put a byte order mark before a text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate().filter_map(|(index, line)| {
            let line = line.trim();
            let is_data = !line.is_empty() && !line.starts_with('#');
            is_data.then_some((index + 1, line))
        });
        let rows: Vec<(usize, &str, Vec<&str>)> = lines
            .map(|(number, line)| {
                let words = line.split(|c: char| c.is_whitespace() || c == ',');
                let words = words.filter(|word| !word.is_empty()).collect();
                (number, line, words)
            })
            .collect();
        let all = match rows.first() {
            None => return Err(Fault::Whole("at least one line")),
            Some((_, _, words)) if words.len() == 1 => Self::of_times(&rows)?,
            Some(_) => Self::of_rates(&rows)?,
        };
        if all.at_us.is_empty() {
            return Err(Fault::Whole("a trace that sends at least one full packet"));
        }
        if all.period_us == 0 {
            return Err(Fault::Whole("a trace that is longer than 0"));
        }
        Ok(all)
    }

    /// Times in milliseconds. The last one is also the length of the trace.
    fn of_times(rows: &[(usize, &str, Vec<&str>)]) -> Result<Self, Fault> {
        let mut at_us: Vec<u32> = Vec::with_capacity(rows.len());
        for (number, line, words) in rows {
            let fault = |expected| Fault::Line(*number, (*line).to_owned(), expected);
            let [word] = words[..] else {
                return Err(fault(MILLISECONDS));
            };
            let time = word.parse::<u32>().ok();
            let time = time.and_then(|time| time.checked_mul(1_000));
            let time = time.filter(|time| *time <= LONGEST_US);
            let time = time.ok_or_else(|| fault(MILLISECONDS))?;
            if at_us.last().is_some_and(|before| time < *before) {
                return Err(fault(ASCENDING));
            }
            if at_us.len() == MAX_PACKETS {
                return Err(fault(TOO_MANY));
            }
            at_us.push(time);
        }
        let period_us = at_us.last().copied().unwrap_or(0);
        Ok(Self { at_us, period_us })
    }

    /// Rates from times in seconds. A packet may be sent once the link has carried its bits.
    fn of_rates(rows: &[(usize, &str, Vec<&str>)]) -> Result<Self, Fault> {
        // Products of bit/s and nanoseconds, so that no rounding adds up.
        const FULL: u128 = FULL_FRAME as u128 * 8 * 1_000_000_000;
        let mut at_us: Vec<u32> = Vec::new();
        let mut begin_ns = None;
        // The time of the line above, and the rate since then.
        let mut before: Option<(u64, u64)> = None;
        // What the link has carried of the next packet.
        let mut carried: u128 = 0;
        for (number, line, words) in rows {
            let fault = |expected| Fault::Line(*number, (*line).to_owned(), expected);
            let [time, rate] = words[..] else {
                return Err(fault(TIME_AND_RATE));
            };
            let time_ns = scaled(time, 1e9, f64::from(LONGEST_US) * 1e3);
            let rate_bps = scaled(rate, 1e6, FASTEST_BPS);
            let (Some(time_ns), Some(rate_bps)) = (time_ns, rate_bps) else {
                return Err(fault(TIME_AND_RATE));
            };
            let begin_ns = *begin_ns.get_or_insert(time_ns);
            let Some((from_ns, bps)) = before.replace((time_ns, rate_bps)) else {
                continue;
            };
            let Some(length_ns) = time_ns.checked_sub(from_ns) else {
                return Err(fault(ASCENDING));
            };
            let total = carried + u128::from(length_ns) * u128::from(bps);
            if total / FULL > (MAX_PACKETS - at_us.len()) as u128 {
                return Err(fault(TOO_MANY));
            }
            let mut end_of_packet = FULL;
            while end_of_packet <= total {
                // A rate of 0 carries no packets, and then the loop has no iterations.
                let after_ns = (end_of_packet - carried).div_ceil(u128::from(bps.max(1)));
                at_us.push(microseconds(u128::from(from_ns - begin_ns) + after_ns));
                end_of_packet += FULL;
            }
            carried = total % FULL;
        }
        let length_ns = before
            .zip(begin_ns)
            .map_or(0, |((end, _), begin)| end - begin);
        Ok(Self {
            at_us,
            period_us: microseconds(length_ns.into()),
        })
    }
}

/// A number times `scale`, rounded; `None` unless the product is from 0 to `most`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most the larger limit, 1e11"
)]
fn scaled(word: &str, scale: f64, most: f64) -> Option<u64> {
    let scaled = word.parse::<f64>().ok()? * scale;
    (0.0..=most)
        .contains(&scaled)
        .then(|| scaled.round() as u64)
}

/// Whole microseconds of a time up to [`LONGEST_US`].
fn microseconds(nanos: u128) -> u32 {
    u32::try_from(nanos.div_ceil(1_000)).unwrap_or(LONGEST_US)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Vec<u32>, u32), Fault> {
        let all = Opportunities::parse(text)?;
        Ok((all.at_us, all.period_us))
    }

    #[test]
    fn times_in_milliseconds_are_packets_and_the_last_one_ends_the_trace() {
        assert_eq!(
            parsed("# downlink\n0\n3\n3\n\n10\n"),
            Ok((vec![0, 3_000, 3_000, 10_000], 10_000))
        );
    }

    #[test]
    fn byte_order_mark_before_a_trace_is_skipped() {
        assert_eq!(parsed("\u{feff}0\n1\n1\n4\n"), parsed("0\n1\n1\n4\n"));
    }

    #[test]
    fn rates_send_a_packet_once_its_bits_have_passed() {
        // 1514 bytes are 12112 bits: at 12.112 Mbit/s, a packet each millisecond.
        let expected = Ok((vec![1_000, 2_000, 3_000, 5_500], 6_000));
        assert_eq!(
            parsed("5 12.112\n5.003,0\n5.005 24.224\n5.0055 0\n5.006 9\n"),
            expected
        );
        // Half a packet before a pause, half of it after.
        assert_eq!(
            parsed("0 12.112\n0.0005 0\n1 12.112\n1.001 0\n"),
            Ok((vec![1_000_500], 1_001_000))
        );
    }

    #[test]
    fn malformed_traces_are_refused_with_line_and_form() {
        let line = |number, text: &str, expected| Err(Fault::Line(number, text.into(), expected));
        assert_eq!(parsed("5\n4\n"), line(2, "4", ASCENDING));
        assert_eq!(parsed("5\n5 1\n"), line(2, "5 1", MILLISECONDS));
        assert_eq!(parsed("-1\n"), line(1, "-1", MILLISECONDS));
        assert_eq!(parsed("3600001\n"), line(1, "3600001", MILLISECONDS));
        assert_eq!(parsed("0 1\n1 x\n"), line(2, "1 x", TIME_AND_RATE));
        assert_eq!(parsed("0 1\n1 inf\n"), line(2, "1 inf", TIME_AND_RATE));
        assert_eq!(parsed("0 1\n1 2 3\n"), line(2, "1 2 3", TIME_AND_RATE));
        assert_eq!(parsed("0 100000\n3600 1\n"), line(2, "3600 1", TOO_MANY));
        assert!(matches!(parsed("# nothing\n"), Err(Fault::Whole(_))));
        assert!(matches!(parsed("0\n0\n"), Err(Fault::Whole(_))));
        assert!(matches!(parsed("0 0\n9 0\n"), Err(Fault::Whole(_))));
    }
}
