//! Limits in time on the clocks of two captures.
//!
//! After a clock step, the limits on this clock differ by the size of the step. No limits exist if the clock
//! shows the selected times or some other times twice, so that they do not separate the records.

use tcpexp_pair::spp::{ClockModel, ClockStep, Point, TimelineReader};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::selection::Range;

/// Largest difference of two times that the rounding of their conversion explains, and more than it. Few
/// captures have times finer than a microsecond.
const ROUNDING: TimeDelta = TimeDelta::from_micros(1);

/// Converts limits on the source's clock to those on the destination's clock. Returns a step of the clock
/// that makes this impossible as an error.
pub(crate) fn at_destination(clock: &ClockModel, at_src: Range) -> Result<Range, ClockStep> {
    let [src, dst] = Point::BOTH.map(|point| Shown::of(clock, point));
    let mut selected = src.pieces.iter().map(|piece| src.within(piece, at_src));
    // Pieces without a selected time lie between others only if the selected times do not adjoin.
    let mut all: Option<Range> = None;
    for part in selected.by_ref().filter(|part| !is_empty(*part)) {
        all = Some(match all {
            None => part,
            Some(before) if is_close(before.to, part.from) => Range {
                to: part.to,
                ..before
            },
            Some(_) => return Err(src.step_near(at_src.from)),
        });
    }
    let Some(all) = all else {
        // The source's clock jumped over these times, so no record has them.
        return Ok(Range {
            to: at_src.from,
            ..at_src
        });
    };
    let at_dst = Range {
        from: dst.shown(all.from, |piece| all.from < piece.to),
        to: dst.shown(all.to, |piece| all.to <= piece.to),
    };
    let selects_same = dst.pieces.iter().all(|piece| {
        let wanted = Range {
            from: all.from.max(piece.from),
            to: all.to.min(piece.to),
        };
        let found = dst.within(piece, at_dst);
        (is_empty(wanted) && is_empty(found))
            || (is_close(wanted.from, found.from) && is_close(wanted.to, found.to))
    });
    if selects_same {
        Ok(at_dst)
    } else {
        Err(dst.step_near(all.from))
    }
}

/// What one clock shows of the common timeline.
struct Shown {
    reader: TimelineReader,
    /// Clock time minus common time at the start.
    offset: TimeDelta,
    pieces: Vec<Piece>,
    steps: Vec<ClockStep>,
}

/// The time between two steps of a clock.
struct Piece {
    /// On the common timeline.
    from: Timestamp,
    to: Timestamp,
    /// Sum of the steps before it.
    ahead: TimeDelta,
}

impl Shown {
    fn of(clock: &ClockModel, point: Point) -> Self {
        let steps = clock.steps().iter().filter(|step| step.point == point);
        let steps: Vec<ClockStep> = steps.copied().collect();
        let mut pieces = Vec::new();
        let (mut from, mut ahead) = (Timestamp::MIN, TimeDelta::ZERO);
        for step in &steps {
            let to = step.at;
            pieces.push(Piece { from, to, ahead });
            from = to;
            ahead += step.size;
        }
        let to = Timestamp::MAX;
        pieces.push(Piece { from, to, ahead });
        Self {
            reader: clock.reader(point),
            offset: match point {
                Point::Src => TimeDelta::ZERO,
                Point::Dst => clock.offset().middle,
            },
            pieces,
            steps,
        }
    }

    /// The times of a piece, on the common timeline, that the clock shows within `range`.
    fn within(&self, piece: &Piece, range: Range) -> Range {
        let common = |shown: Timestamp| {
            if is_open(shown) {
                shown
            } else {
                self.without_steps(shown - piece.ahead)
            }
        };
        Range {
            from: common(range.from).max(piece.from),
            to: common(range.to).min(piece.to),
        }
    }

    /// Converts a common time to the clock, as the first piece shows it for which `is_in` is true.
    fn shown(&self, at: Timestamp, is_in: impl Fn(&Piece) -> bool) -> Timestamp {
        if is_open(at) {
            return at;
        }
        let piece = self.pieces.iter().find(|piece| is_in(piece));
        let mut guess = at + self.offset;
        // The clock model converts the other way only. Each step leaves the error times the skew, which
        // is far below 1/1000.
        for _ in 0..2 {
            guess = guess - (self.without_steps(guess) - at);
        }
        guess + piece.map_or(TimeDelta::ZERO, |piece| piece.ahead)
    }

    /// Converts a time of the clock without its steps to the common timeline.
    fn without_steps(&self, at: Timestamp) -> Timestamp {
        // The first record is before all steps.
        self.reader.place(0, at).at
    }

    fn step_near(&self, at: Timestamp) -> ClockStep {
        let nearest = self.steps.iter().min_by_key(|step| (step.at - at).abs());
        *nearest.expect("only a clock with steps shows a time twice")
    }
}

/// An open end stays open.
fn is_open(at: Timestamp) -> bool {
    at == Timestamp::MIN || at == Timestamp::MAX
}

fn is_empty(range: Range) -> bool {
    range.to - range.from <= ROUNDING
}

fn is_close(one: Timestamp, other: Timestamp) -> bool {
    (one - other).abs() <= ROUNDING
}

#[cfg(test)]
mod tests {
    use tcpexp_pair::spp::{Crossing, PathDirection};

    use super::*;

    const START: i64 = 1_700_000_000_000;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_nanos((START + ms) * 1_000_000)
    }

    /// The clocks of two captures of 30 s, between which packets take 10 ms each way; that of `point` is set
    /// after 15 s.
    fn clock(point: Point, by_ms: i64) -> ClockModel {
        let shown = |of: Point, ms: i64| {
            let is_set = of == point && ms >= 15_000;
            at(ms + if is_set { by_ms } else { 0 })
        };
        let crossings: Vec<Crossing> = (0..6_000)
            .map(|number: i64| {
                let left = 5 * number;
                let (path_direction, src, dst) = if number % 2 == 0 {
                    (PathDirection::Out, left, left + 10)
                } else {
                    (PathDirection::Back, left + 10, left)
                };
                Crossing {
                    path_direction,
                    src_place: number.unsigned_abs(),
                    dst_place: number.unsigned_abs(),
                    src_time: shown(Point::Src, src),
                    dst_time: shown(Point::Dst, dst),
                    payload_bytes: 0,
                }
            })
            .collect();
        let clock = ClockModel::estimate(&crossings, [TimeDelta::from_nanos(1); 2]).unwrap();
        assert_eq!(clock.steps().len(), 1);
        clock
    }

    /// Converts limits in milliseconds after the start; `None` if no limits select the same traffic.
    fn limits(clock: &ClockModel, from: i64, to: i64) -> Option<(f64, f64)> {
        let range = Range {
            from: at(from),
            to: at(to),
        };
        let at_dst = at_destination(clock, range).ok()?;
        let ms = |time: Timestamp| ((time - at(0)).as_seconds_f64() * 1e3).round();
        Some((ms(at_dst.from), ms(at_dst.to)))
    }

    #[test]
    fn limits_after_a_step_of_the_destination_differ_by_the_step() {
        let ahead = clock(Point::Dst, 500);
        assert_eq!(limits(&ahead, 5_000, 10_000), Some((5_000.0, 10_000.0)));
        assert_eq!(limits(&ahead, 20_000, 25_000), Some((20_500.0, 25_500.0)));
        assert_eq!(limits(&ahead, 10_000, 20_000), Some((10_000.0, 20_500.0)));
        let back = clock(Point::Dst, -500);
        assert_eq!(limits(&back, 20_000, 25_000), Some((19_500.0, 24_500.0)));
        assert_eq!(limits(&back, 10_000, 20_000), Some((10_000.0, 19_500.0)));
    }

    #[test]
    fn limits_after_a_step_of_the_source_differ_by_the_step() {
        let ahead = clock(Point::Src, 500);
        assert_eq!(limits(&ahead, 20_000, 25_000), Some((19_500.0, 24_500.0)));
        assert_eq!(limits(&ahead, 10_000, 20_000), Some((10_000.0, 19_500.0)));
    }

    #[test]
    fn an_open_end_stays_open() {
        let clock = clock(Point::Dst, 500);
        let from = Range {
            from: at(20_000),
            to: Timestamp::MAX,
        };
        let at_dst = at_destination(&clock, from).unwrap();
        assert_eq!(at_dst.to, Timestamp::MAX);
        assert!(is_close(at_dst.from, at(20_500)));
        let to = Range {
            from: Timestamp::MIN,
            to: at(20_000),
        };
        assert_eq!(at_destination(&clock, to).unwrap().from, Timestamp::MIN);
    }

    #[test]
    fn times_that_a_clock_shows_twice_have_no_limits() {
        for point in Point::BOTH {
            let back = clock(point, -500);
            assert_eq!(limits(&back, 14_900, 20_000), None, "{point:?}");
            assert_eq!(limits(&back, 10_000, 14_800), None, "{point:?}");
        }
        let step = at_destination(
            &clock(Point::Dst, -500),
            Range {
                from: at(14_900),
                to: at(20_000),
            },
        );
        let step = step.unwrap_err();
        assert_eq!(
            (step.point, step.size),
            (Point::Dst, TimeDelta::from_millis(-500))
        );
    }
}
