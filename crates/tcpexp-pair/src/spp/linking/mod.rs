//! Packet marks, and which flow of one capture is which flow of the other.

mod by_key;
mod holders;
mod link;
mod local;
mod mark;
mod paired;
mod sighting;

pub(in crate::spp) use link::{Linker, Listener};
pub(in crate::spp) use mark::{Mark, Marker};
pub(in crate::spp) use paired::Found;
pub use paired::{LocalFlow, PairedFlow, Unpaired};
pub(in crate::spp) use sighting::{Event, Sighting, low_half, whole};
