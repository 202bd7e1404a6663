//! Text output of a pair, as printed by the tool.

use std::fmt;

use super::Pair;

/// Columns after time and round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The turnaround (`-p`).
    pub turnaround: bool,
    /// The one-way delays out and back, clock offset included (`-O`).
    pub delays: bool,
}

impl Pair {
    /// One line of the tool's output without line end: time, round-trip time and the selected
    /// `columns`, in seconds.
    pub fn line(&self, columns: Columns) -> impl fmt::Display {
        Line {
            pair: *self,
            columns,
        }
    }
}

struct Line {
    pair: Pair,
    columns: Columns,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pair, columns } = self;
        write!(
            f,
            "{} {}",
            Seconds(pair.time.as_nanos()),
            Seconds(pair.rtt.as_nanos())
        )?;
        if columns.turnaround {
            write!(f, " {}", Seconds(pair.turnaround.as_nanos()))?;
        }
        if columns.delays {
            let (out, back) = (pair.owd_out.as_nanos(), pair.owd_back.as_nanos());
            write!(f, " {} {}", Seconds(out), Seconds(back))?;
        }
        Ok(())
    }
}

/// Nanoseconds, printed in seconds with six decimals.
struct Seconds(i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0 / 1_000;
        // Between -1 s and 0 the whole seconds are zero and have no sign.
        let sign = if micros < 0 { "-" } else { "" };
        let (seconds, rest) = (
            micros.unsigned_abs() / 1_000_000,
            micros.unsigned_abs() % 1_000_000,
        );
        write!(f, "{sign}{seconds}.{rest:06}")
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_units::{TimeDelta, Timestamp};

    use super::*;

    #[test]
    fn columns_have_the_order_of_the_original_tool() {
        let pair = Pair {
            time: Timestamp::from_nanos(1_767_225_609_000_042_000),
            sent: Timestamp::from_nanos(1_767_225_608_000_000_000),
            rtt: TimeDelta::from_micros(40_018),
            turnaround: TimeDelta::from_micros(7),
            owd_out: TimeDelta::from_micros(-1_500_000),
            owd_back: TimeDelta::from_micros(1_540_018),
        };
        let all = [(false, false), (true, false), (false, true), (true, true)];
        let lines = all.map(|(turnaround, delays)| {
            let columns = Columns { turnaround, delays };
            pair.line(columns).to_string()
        });
        assert_eq!(
            lines,
            [
                "1767225609.000042 0.040018",
                "1767225609.000042 0.040018 0.000007",
                "1767225609.000042 0.040018 -1.500000 1.540018",
                "1767225609.000042 0.040018 0.000007 -1.500000 1.540018",
            ]
        );
    }
}
