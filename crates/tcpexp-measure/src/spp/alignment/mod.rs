//! What two captures have to do with each other: what both hold, which side each host is on, and
//! which header fields the path leaves alone.

mod align;
mod begins;
mod fields;
mod identification;
mod progress;
mod repeats;
mod sides;
mod sketch;
mod survey;
mod twins;

pub use align::{Alignment, NothingInCommon};
pub(in crate::spp) use fields::{address_number, sack_hash};
pub use identification::{Field, FieldKept, Identification};
pub(in crate::spp) use repeats::Recurrences;
pub(in crate::spp) use sides::Sides;
pub(in crate::spp) use sketch::COPY_GAP;
pub use survey::Survey;
