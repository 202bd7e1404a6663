//! What limited a sender, for how long, and how certain that is.
//!
//! [`Limits`] takes the rows of one sender's reconstruction and divides its time among causes, as
//! T-RAT does from packets (Zhang, Breslau, Paxson and Shenker, "On the characteristics and origins
//! of Internet flow rates", SIGCOMM 2002) and as the states of RFC 4898 do in a kernel
//! (`SndLimTimeSnd`, `SndLimTimeRwin`, `SndLimTimeCwnd`). The time of the TCP and TLS handshakes counts
//! separately ([`Opening`]). The time in which the congestion window limits is divided further, by what
//! the path does at that time:
//!
//! - **The round-trip time rises.** A queue is filled. If the round-trip time follows the bytes in
//!   flight, the queue is the sender's own, because its rate stays the same. If the round-trip time
//!   stays the same while the bytes in flight change, the queue belongs to others, because the rate
//!   follows the bytes in flight.
//! - **Losses without a rising round-trip time.** If the goodput between losses is always the same, a
//!   policer drops what exceeds its rate (Flach et al., "An Internet-wide analysis of traffic
//!   policing", SIGCOMM 2016). If it varies, the losses do not depend on the rate.
//! - **Neither.** The window is still growing.
//!
//! Where the evidence fits no cause, the verdict is [`LimitCause::NotCertain`].

mod cause;
mod growth;
mod judge;
mod limits;
mod losses;
mod opening;
mod queue;
mod rounds;
mod rtt_growth;
#[cfg(test)]
mod tests;

pub use cause::LimitCause;
pub use judge::{Evidence, Verdict};
pub use limits::Limits;
pub use opening::{Opening, OpeningMeter};
