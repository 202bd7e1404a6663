//! The clock of this machine.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tcpexp_units::TimeDelta;

use super::Interrupt;

/// Nanoseconds since 1970.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = since.map_or(0, |since| since.as_nanos());
    // An `i64` holds nanoseconds since 1970 until the year 2262.
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

/// Sleeps. Returns false if interrupted.
pub(super) fn sleep(time: Duration, interrupt: Interrupt<'_>) -> bool {
    let end = Instant::now() + time;
    loop {
        if interrupt() {
            return false;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        // A short sleep notices an interruption within 0.1 s.
        thread::sleep(left.min(Duration::from_millis(100)));
    }
}

/// A time as the standard library's, without the sign: a negative time is none.
pub(super) fn positive(time: TimeDelta) -> Duration {
    Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(0))
}
