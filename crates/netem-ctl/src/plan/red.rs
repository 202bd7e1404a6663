//! The thresholds of `red`, and the parameters that `tc` derives the weight of its average from.

use tcpexp_units::{BitRate, ByteCount, Share};

use super::error::PlanError;
use crate::bottleneck::{Path, Queue};

/// Mean packet size, as in the examples of tc-red(8).
const PACKET: u64 = 1_000;

/// Highest weight exponent that `tc` accepts without the warning that the burst is too large (`q_red.c`,
/// `red_parse_opt`).
const MOST_WLOG: u32 = 9;

/// Highest rate in bytes per second that `tc` accepts: it reads `bandwidth` into 32 bits (`q_red.c`,
/// `red_parse_opt`).
const MOST_BYTES_PER_SECOND: u64 = u32::MAX as u64;

/// The thresholds of a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Red {
    /// Average queue in bytes from which packets are marked or dropped.
    pub(crate) min: u64,
    /// Average queue in bytes from which all packets are.
    pub(crate) max: u64,
    /// Probability at `max`.
    pub(crate) probability: f64,
}

impl Red {
    /// RED within the advice of tc-red(8) for a queue of `limit` bytes: `max` at least twice `min` (three times by
    /// default), and the limit a few times `max` (four times by default).
    pub(crate) fn of(path: &Path, limit: u64) -> Self {
        let asked = |size: Option<ByteCount>| size.map(ByteCount::as_bytes);
        // limit = 4 · max = 4 · 3 · min, so the default of min is a twelfth of the limit.
        let min = asked(path.red_min).unwrap_or(limit / 12).max(1);
        Self {
            min,
            max: asked(path.red_max).unwrap_or(min.saturating_mul(3)),
            probability: path.red_probability.map_or(0.1, Share::as_f64),
        }
    }

    /// Mean packet and burst in packets, for `tc`.
    ///
    /// tc-red(8) advises a burst of (2·min + max) / (3·avpkt). It is less if the weight of the average would
    /// be too small for the kernel, and the mean packet is less if `min` is below two packets: without a
    /// packet of room below `min`, no weight exists.
    pub(crate) fn packet_and_burst(self) -> (u64, u64) {
        let packet = PACKET.min(self.min / 2).max(1);
        let advised =
            (2 * u128::from(self.min) + u128::from(self.max)).div_ceil(3 * u128::from(packet));
        let advised = u64::try_from(advised).unwrap_or(u64::MAX);
        // `tc` rejects a burst below min / avpkt.
        let least = self.min.div_ceil(packet);
        let most = most_wlog(self.max).unwrap_or(1);
        let fits = |burst| wlog(self.min, burst, packet).is_some_and(|wlog| wlog <= most);
        // The exponent increases with the burst, so the largest burst that fits is found by bisection.
        let (mut low, mut high) = (least, advised.max(least));
        while low < high {
            let middle = high - (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        (packet, low)
    }
}

/// The largest exponent that the kernel accepts with a threshold of `max` bytes, which it shifts by the
/// exponent within 32 bits (`red_check_params`). `None` if there is none.
fn most_wlog(max: u64) -> Option<u32> {
    let bits = u64::BITS - max.leading_zeros();
    31_u32
        .checked_sub(bits)
        .filter(|most| *most > 0)
        .map(|most| most.min(MOST_WLOG))
}

/// The exponent of the weight W = 2^-wlog that `tc` derives (`tc_red.c`, `tc_red_eval_ewma`): the average of a
/// queue that grows by `burst` packets from empty remains below `min`.
fn wlog(min: u64, burst: u64, packet: u64) -> Option<u32> {
    let (min, burst, packet) = (min as f64, burst as f64, packet as f64);
    let room = burst + 1.0 - min / packet;
    let fits = |wlog: &u32| {
        let weight = 0.5_f64.powi(i32::try_from(*wlog).unwrap_or(i32::MAX));
        room <= (1.0 - (1.0 - weight).powf(burst)) / weight
    };
    if room < 1.0 {
        return None;
    }
    (1..32).find(fits)
}

/// Refuses thresholds of a queue of `limit` bytes that contradict each other or the limit.
pub(crate) fn check(direction: &'static str, path: &Path, limit: u64) -> Result<(), PlanError> {
    if path.queue != Some(Queue::Red) {
        return Ok(());
    }
    let Red { min, max, .. } = Red::of(path, limit);
    let (key, bytes, expected) = match path.red_max {
        _ if min < 2 => ("red_min", min, "at least 2B"),
        Some(_) if max < min => (
            "red_max",
            max,
            "at least red_min, which is a twelfth of the buffer by default",
        ),
        // The drop probability would never reach that of `max`.
        Some(_) if max > limit => ("red_max", max, "at most the buffer"),
        None if max > limit => (
            "red_min",
            min,
            "at most a third of the buffer, because red_max is three times red_min by default",
        ),
        _ => return Ok(()),
    };
    Err(PlanError::Value {
        direction,
        key,
        value: ByteCount::new(bytes).to_string(),
        expected,
    })
}

/// Refuses what `tc` and Linux cannot compute with.
pub(crate) fn check_linux(
    direction: &'static str,
    path: &Path,
    rate: BitRate,
    limit: u64,
) -> Result<(), PlanError> {
    if path.queue != Some(Queue::Red) {
        return Ok(());
    }
    if rate.as_bps() / 8 > MOST_BYTES_PER_SECOND {
        return Err(PlanError::Value {
            direction,
            key: "rate",
            value: rate.to_string(),
            expected: "at most 34359738360 bit/s with red, whose rate is a number of bytes per second in 32 bits",
        });
    }
    let red = Red::of(path, limit);
    let (packet, burst) = red.packet_and_burst();
    let exponent = wlog(red.min, burst, packet);
    let has_weight = exponent.zip(most_wlog(red.max));
    if has_weight.is_none_or(|(exponent, most)| exponent > most) {
        return Err(PlanError::Value {
            direction,
            key: "red_max",
            value: ByteCount::new(red.max).to_string(),
            expected: "less than 1 GB, or a higher red_min",
        });
    }
    // `tc` scales probability / (max - min) by less than 2³² to more than 1 (`tc_red.c`, `tc_red_eval_P`).
    let span = red.max.saturating_sub(red.min);
    if span > 0 && red.probability * 2_f64.powi(31) <= span as f64 {
        let share = path.red_probability;
        return Err(PlanError::Value {
            direction,
            key: "red_probability",
            value: share.map_or("10%".to_owned(), |share| share.to_string()),
            expected: "more than (red_max - red_min) / 2^31, with both in bytes",
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn red(min: u64, max: u64) -> Red {
        Red {
            min,
            max,
            probability: 0.1,
        }
    }

    #[test]
    fn moderate_queue_has_the_packet_and_the_burst_of_the_manual() {
        assert_eq!(red(4_166, 12_498).packet_and_burst(), (1_000, 7));
        assert_eq!(red(30_000, 90_000).packet_and_burst(), (1_000, 50));
    }

    #[test]
    fn every_queue_has_a_weight_that_the_kernel_accepts() {
        let mut limit = 1_514;
        while limit < 2_000_000_000_u64 {
            for (min, max) in [
                (limit / 12, limit / 4),
                (limit / 3, limit / 2),
                (limit / 100, limit / 5),
            ] {
                let red = red(min, max);
                let (packet, burst) = red.packet_and_burst();
                let wlog = wlog(min, burst, packet).unwrap();
                assert!(
                    Some(wlog) <= most_wlog(max),
                    "{red:?} {packet} {burst} {wlog}"
                );
            }
            limit = limit * 7 / 5;
        }
    }

    #[test]
    fn a_rate_that_tc_cannot_give_to_red_is_refused() {
        let path = Path {
            queue: Some(Queue::Red),
            ..Path::default()
        };
        let check = |rate: &str| check_linux("forward", &path, rate.parse().unwrap(), 1_000_000);
        assert_eq!(check("34gbit"), Ok(()));
        assert_eq!(
            check("40gbit").unwrap_err().to_string(),
            "forward.rate is 40gbit: expected at most 34359738360 bit/s with red, whose rate is a number of bytes per \
             second in 32 bits"
        );
    }
}
