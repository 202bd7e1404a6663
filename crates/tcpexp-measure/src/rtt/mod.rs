//! Round-trip times from one capture.
//!
//! Each sample is the time from a packet to its answer at the capture point: the round trip between
//! this point and the receiver of the packet. At the data's sender, this is the whole path. In the
//! middle, each direction covers its half, and the two halves add up to the whole path. The sample
//! contains the receiver's response time: a delayed ACK adds up to 500 ms (RFC 1122, section
//! 4.2.3.2), in most stacks 40 ms.
//!
//! - **By sequence and ACK numbers:** at most one sample per ACK, from the lowest segment that the
//!   ACK newly acknowledges and that was neither retransmitted nor selectively acknowledged before.
//!   An ACK of retransmitted data gives no sample, because the answered transmission is unknown
//!   (Karn's rule, RFC 6298, section 3); such ACKs are counted. Linux also takes the lowest of
//!   several segments for its timers, so the sample includes the delay of a delayed ACK. An ACK
//!   without such a sample may give one from the data that it newly acknowledges selectively.
//! - **By timestamps (RFC 7323):** from the first packet with a `TSval` to its first echo.
//!   Retransmission does not matter, except within one tick of the sender's timestamp clock, which
//!   is about a millisecond.
//!
//! Packets that the capture missed give no sample. They cause one error: if the first transmission
//! of a segment was missed, an ACK of the retransmission counts as an ACK of the first
//! transmission.

mod half_path;
mod in_flight;
mod meter;
mod sample;
mod tsvals;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

pub use meter::SingleRttMeter;
pub use sample::{
    AckClass, RttEstimate, RttMethod, SingleRttDirection, SingleRttFlow, SingleRttRow,
    SingleRttSample,
};
