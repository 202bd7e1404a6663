//! Turns two captures of one path into samples.
//!
//! Pure functions of packets: a capture reader implements [`Packets`](tcpexp_flow::Packets) and
//! receives samples.
//!
//! - Round-trip times by synthetic packet pairs, without synchronised clocks: [`spp`].
//! - The fate and the one-way delay of each packet: [`path`].
//! - The pairs of the original SPP, sample for sample: [`compat`].
//!
//! ```
//! use tcpexp_flow::Packets;
//! use tcpexp_pair::spp::{Alignment, NothingInCommon, Options, Survey, measure};
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
pub mod path;
pub mod spp;
