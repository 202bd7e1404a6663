//! Traffic over time, from the rates that a tool prints.

use std::collections::BTreeMap;

use tcpexp_metrics::compare::{Bin, Window};
use tcpexp_units::{TimeDelta, Timestamp};

/// Largest gap or overlap between two samples that follow each other without a gap: netperf prints times and
/// durations in milliseconds, so two times and a duration differ from their sum by 1.5 ms at most.
const ROUNDING: TimeDelta = TimeDelta::from_millis(2);

/// Largest number of bins: Flent's shortest usual step is 50 ms, which gives 14 hours.
const MOST_BINS: i64 = 1 << 20;

/// What arrived of a sender.
pub(super) struct Arrived {
    /// From the start of the first value to the end of the last.
    pub(super) active: Window,
    /// Parts of this time without a value.
    pub(super) unknown: Vec<Window>,
    /// The longest time over which a value is a mean; zero if it is that of a bin.
    pub(super) longest: TimeDelta,
    /// Start of each bin, and the rate in it times the time in seconds for which it applies.
    bins: BTreeMap<Timestamp, f64>,
}

impl Arrived {
    /// Takes the values of a series: one per bin, whose start is the time of the value.
    ///
    /// Flent interpolates them. It gives no value where the samples of the tool are too far apart.
    pub(super) fn of_values(values: &[(Timestamp, f64)], width: TimeDelta) -> Option<Self> {
        let (first, last) = (values.first()?.0, values.last()?.0);
        // Times of a file are decimal fractions of a second, so equal steps differ in the last digits.
        let half = TimeDelta::from_nanos(width.as_nanos() / 2);
        let pairs = values.iter().zip(values.iter().skip(1));
        let gaps = pairs.map(|((from, _), (until, _))| Window {
            from: *from + width,
            until: *until,
        });
        let seconds = width.as_seconds_f64();
        Some(Self {
            active: Window {
                from: first,
                until: last + width,
            },
            unknown: gaps.filter(|gap| gap.until - gap.from > half).collect(),
            longest: TimeDelta::ZERO,
            bins: values
                .iter()
                .map(|(at, rate)| (*at, rate * seconds))
                .collect(),
        })
    }

    /// Takes samples of a tool, each with the end of the time over which it is a mean.
    ///
    /// `None` if a sample has no duration, or if samples overlap, so that the same bytes would count twice.
    pub(super) fn of_samples(
        samples: &[(Timestamp, f64)],
        durations: &[TimeDelta],
        (grid, width): (Timestamp, TimeDelta),
    ) -> Option<Self> {
        if samples.len() != durations.len() || width <= TimeDelta::ZERO {
            return None;
        }
        let longest = *durations.iter().max()?;
        let parts = samples.iter().zip(durations);
        let mut parts: Vec<(Window, f64)> = parts
            .map(|((until, rate), duration)| {
                let from = *until - *duration;
                (
                    Window {
                        from,
                        until: *until,
                    },
                    *rate,
                )
            })
            .collect();
        parts.retain(|(part, _)| part.from < part.until);
        parts.sort_by_key(|(part, _)| part.from);
        let active = Window {
            from: parts.first()?.0.from,
            until: parts.last()?.0.until,
        };
        if (active.until - active.from).as_nanos() / width.as_nanos() > MOST_BINS {
            return None;
        }
        let mut unknown = Vec::new();
        for (before, after) in parts.iter().zip(parts.iter().skip(1)) {
            let gap = after.0.from - before.0.until;
            if gap < TimeDelta::ZERO - ROUNDING {
                return None;
            }
            if gap > ROUNDING {
                unknown.push(Window {
                    from: before.0.until,
                    until: after.0.from,
                });
            }
        }
        let mut bins = BTreeMap::new();
        for (part, rate) in parts {
            let after = (part.from - grid).as_nanos().div_euclid(width.as_nanos());
            let mut start = grid + TimeDelta::from_nanos(after * width.as_nanos());
            while start < part.until {
                let inside = part.meet(Window {
                    from: start,
                    until: start + width,
                });
                let seconds = (inside.until - inside.from).as_seconds_f64();
                *bins.entry(start).or_insert(0.0) += rate * seconds;
                start = start + width;
            }
        }
        Some(Self {
            active,
            unknown,
            longest,
            bins,
        })
    }

    /// The bins. A rate of 1 is `unit` bytes per second.
    pub(super) fn bins(&self, width: TimeDelta, unit: f64) -> Vec<Bin> {
        let bin = |(start, amount): (&Timestamp, &f64)| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a rate is not negative, and what is too large saturates"
            )]
            let bytes = (amount * unit).round() as u64;
            Bin {
                start: *start,
                width,
                covered: width,
                link_bytes: bytes,
                goodput_bytes: bytes,
                packets: 0,
                ce_packets: None,
            }
        };
        self.bins.iter().map(bin).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: TimeDelta = TimeDelta::from_millis(200);

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Takes samples, each with its end, its rate and its duration.
    fn of_samples(samples: &[(i64, f64, i64)]) -> Option<Arrived> {
        let rates: Vec<_> = samples
            .iter()
            .map(|(end, rate, _)| (at(*end), *rate))
            .collect();
        let durations: Vec<_> = samples
            .iter()
            .map(|(_, _, duration)| TimeDelta::from_millis(*duration))
            .collect();
        Arrived::of_samples(&rates, &durations, (at(0), WIDTH))
    }

    #[test]
    fn samples_are_spread_over_the_time_before_them() {
        let arrived = of_samples(&[(500, 8.0, 400), (1300, 2.0, 800)]).unwrap();
        let bins = arrived.bins(WIDTH, 1000.0);
        let shown: Vec<_> = bins
            .iter()
            .map(|bin| (bin.start, bin.goodput_bytes))
            .collect();
        let expected = [
            (0, 800),
            (200, 1600),
            (400, 1000),
            (600, 400),
            (800, 400),
            (1000, 400),
            (1200, 200),
        ];
        assert_eq!(shown, expected.map(|(start, bytes)| (at(start), bytes)));
        let active = (arrived.active.from, arrived.active.until);
        assert_eq!(active, (at(100), at(1300)));
        assert_eq!(arrived.longest, TimeDelta::from_millis(800));
        assert!(arrived.unknown.is_empty());
    }

    #[test]
    fn a_time_that_no_sample_covers_is_unknown() {
        let arrived = of_samples(&[(200, 8.0, 200), (401, 8.0, 200), (900, 8.0, 200)]).unwrap();
        let unknown: Vec<_> = arrived
            .unknown
            .iter()
            .map(|part| (part.from, part.until))
            .collect();
        assert_eq!(unknown, [(at(401), at(700))]);
    }

    #[test]
    fn samples_that_overlap_give_no_bins() {
        assert!(of_samples(&[(200, 8.0, 200), (400, 8.0, 300)]).is_none());
        assert!(of_samples(&[]).is_none());
    }
}
