//! Turns the flows of one capture into samples.
//!
//! A [`Meter`] per flow receives the flow's packets in order and yields rows: summaries of
//! connections ([`flows`]), round-trip times by ACKs and timestamps ([`rtt`]) and of QUIC ([`quic`]),
//! rates in bins ([`throughput`]), and the sender's congestion state ([`sender`]). [`naming`] names
//! the sender's congestion control from this state. [`meter`] runs the meters of all flows of a
//! capture. Everything here is a pure function of the packets.

mod both;
mod busiest;
mod chunk;
mod crew;
mod earlier_copy;
pub mod flows;
mod labels;
mod live;
mod meter;
mod metered;
mod missed;
mod missed_acks;
mod missing_samples;
mod mss;
pub mod naming;
pub mod packets;
pub mod quic;
mod ring;
pub mod rto;
pub mod rtt;
pub mod sender;
pub mod sequence;
mod tee;
pub mod throughput;
pub mod tls;
mod vantage;
pub mod verdict;

pub use both::{Both, Either};
pub use busiest::Busiest;
pub use labels::{Labelled, SenderLabel};
pub use live::meter_live;
pub use meter::{Meter, meter, meter_along_with};
pub use metered::Metered;
pub use missed::MissedData;
pub use tee::Tee;
pub use vantage::{Position, Vantage};
