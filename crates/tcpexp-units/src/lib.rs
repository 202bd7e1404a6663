//! Time and the units of rates, and only the arithmetic that makes sense.
//!
//! A [`Timestamp`] is a point on one capture's clock, a [`TimeDelta`] is a span. Two timestamps
//! subtract to a span; adding them does not compile. Both are whole nanoseconds in an `i64`, so
//! what a capture file says is what a table says.
//!
//! ```
//! use tcpexp_units::{TimeDelta, Timestamp};
//!
//! let sent = Timestamp::from_nanos(1_000_000_000);
//! let received = sent + TimeDelta::from_micros(20_017);
//! assert_eq!((received - sent).as_nanos(), 20_017_000);
//! assert_eq!((received - sent).to_string(), "20.017 ms");
//! ```

mod clock;
mod rate;
mod time;

pub use clock::Skew;
pub use rate::RateUnit;
pub use time::{TimeDelta, Timestamp};
