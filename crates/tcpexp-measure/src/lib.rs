//! Flows to samples: synthetic packet pairs between two measurement points.
//!
//! Pure functions of packets: what reads captures implements [`Packets`], and gets samples.
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

pub mod compat;
/// Where it was before; the flow crate has it.
pub mod first_copies {
    pub use tcpexp_flow::FirstCopies;
}
pub mod flows;
pub mod import;
mod live;
mod meter;
mod packets;
pub mod path;
mod quantiles;
pub mod rto;
pub mod rtt;
pub mod score;
#[cfg(test)]
mod scripted;
pub mod sender;
pub mod spp;
pub mod throughput;
mod vantage;

pub use live::meter_live;
pub use meter::{Meter, Metered, meter};
pub use packets::{Packets, Sighted};
pub use quantiles::{Quantiles, RttSummary};
pub use vantage::{Position, Vantage};
