//! Flows to samples.
//!
//! Pure functions of packets: a capture reader implements [`Packets`] and receives samples.
//!
//! - From two captures: round-trip times by synthetic packet pairs ([`spp`]), and the fate and delay
//!   of each packet on the path ([`path`]).
//! - From one capture, a [`Meter`] for each flow: summaries of connections ([`flows`]), round-trip
//!   times by ACKs and timestamps ([`rtt`]), rates in bins ([`throughput`]), and the sender's
//!   congestion state ([`sender`]).
//!
//! ```
//! use tcpexp_measure::Packets;
//! use tcpexp_measure::spp::{Alignment, NothingInCommon, Options, Survey, measure};
//!
//! /// Prints the round-trip times between two captures; `open` starts at their first packets.
//! fn print<P: Packets>(open: impl Fn() -> [P; 2]) -> Result<(), NothingInCommon> {
//!     let [src, dst] = open().map(|mut packets| {
//!         let mut survey = Survey::default();
//!         packets.show(usize::MAX, |sighted| survey.observe(sighted));
//!         survey
//!     });
//!     let alignment = Alignment::between(src, dst)?;
//!     println!("clocks: {:?}, skew {:?}", alignment.clock.offset(), alignment.clock.skew());
//!     let [mut src, mut dst] = open();
//!     measure(&mut src, &mut dst, alignment, Options::default(), |batch| {
//!         for sample in batch.samples {
//!             println!("{} {} {}", sample.flow, sample.direction, sample.rtt);
//!         }
//!         Ok(())
//!     })?;
//!     Ok(())
//! }
//! ```

mod both;
mod chunk;
pub mod compat;
pub mod flows;
mod labels;
mod live;
mod meter;
mod metered;
mod overheard;
mod packets;
pub mod path;
mod ring;
pub mod rto;
pub mod rtt;
#[cfg(test)]
mod scripted;
pub mod sender;
pub mod sequence;
pub mod spp;
pub mod throughput;
mod vantage;

pub use both::{Both, Either};
pub use labels::{Labelled, SenderLabel};
pub use live::meter_live;
pub use meter::{Meter, meter};
pub use metered::Metered;
pub use overheard::Overheard;
pub use packets::{Packets, Sighted};
pub use vantage::{Position, Vantage};
