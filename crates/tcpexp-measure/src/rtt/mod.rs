//! Round-trip times from one capture.
//!
//! Each sample is the time from a packet to the answer to it, both at the capture point: the round
//! trip between that point and the receiver of the packet. At the data's sender this is the whole
//! path, on the way each direction has its half, and the two halves add up to the whole. What the
//! receiver takes to answer is in it: a delayed ACK adds up to 500 ms (RFC 1122, section 4.2.3.2),
//! 40 ms as most stacks have it.
//!
//! - **By sequence and ACK numbers:** at most one sample an ACK, from the lowest segment that it
//!   newly acknowledges and that was neither sent again nor acknowledged selectively before. An ACK
//!   of anything that was sent again gives none, as nobody knows which copy it is for (Karn's rule,
//!   RFC 6298, section 3); it is counted. Of several segments Linux takes the lowest too, and so
//!   includes the time for which the receiver delayed its ACK; this is what its timers run by.
//!   An ACK that gives no such sample may give one by what it newly acknowledges selectively.
//! - **By timestamps (RFC 7323):** from the first sight of a `TSval` to its first echo. Retransmission
//!   does not matter, except within one tick of the sender's timestamp clock, which is about a
//!   millisecond.
//!
//! What the capture missed gives no sample and does no other harm, but an ACK of a retransmission
//! whose first copy was missed passes for one of the first copy.

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
