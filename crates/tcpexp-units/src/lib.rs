//! Types for time, rates and sizes that allow only meaningful arithmetic.
//!
//! A [`Timestamp`] is a point on one capture's clock; a [`TimeDelta`] is a span. The difference of
//! two timestamps is a span; adding two timestamps does not compile. Both hold whole nanoseconds in
//! an `i64`, so a table shows exactly the time in the capture file.
//!
//! ```
//! use tcpexp_units::{TimeDelta, Timestamp};
//!
//! let sent = Timestamp::from_nanos(1_000_000_000);
//! let received = sent + TimeDelta::from_micros(20_017);
//! assert_eq!((received - sent).as_nanos(), 20_017_000);
//! assert_eq!((received - sent).to_string(), "20.017 ms");
//! ```
//!
//! Plans write quantities with their units. They are parsed exactly, never through a float.
//!
//! ```
//! use tcpexp_units::{BitRate, Buffer};
//!
//! let rate: BitRate = "1.5mbit".parse()?;
//! assert_eq!(rate.as_bps(), 1_500_000);
//! assert_eq!("90p".parse(), Ok(Buffer::Packets(90)));
//! # Ok::<(), tcpexp_units::QuantityError>(())
//! ```
//!
//! [`prefetch()`] and [`with_causes()`] have no unit; they are here because all crates that need them may use this
//! one.

mod causes;
mod clock;
mod counted;
mod date;
mod decimal;
mod list;
mod natural;
mod number;
mod order;
mod prefetch;
mod quantity;
mod rate;
mod time;
mod written;

pub use causes::with_causes;
pub use clock::Skew;
pub use counted::counted;
pub use decimal::QuantityError;
pub use list::{elements, list_of};
pub use natural::{natural, numbers};
pub use number::{exact, truncated};
pub use order::{by_size, by_value, is_word};
pub use prefetch::prefetch;
pub use quantity::{BitRate, Buffer, ByteCount, Share};
pub use rate::RateUnit;
pub use time::{TimeDelta, Timestamp};
pub use written::{Form, Written};
