//! How two captures relate: shared packets, the side of each host, and the header fields that the
//! path preserves.

mod align;
mod begins;
mod common;
mod fields;
mod identification;
mod progress;
mod proof;
mod repeats;
mod shift;
mod sides;
mod sketch;
mod sorted;
mod spacing;
mod survey;
mod twins;

pub use align::{Alignment, NothingInCommon};
pub(in crate::spp) use fields::{Ends, address_number, sack_hash};
pub use identification::{Field, FieldKept, Identification};
pub(in crate::spp) use repeats::Recurrences;
pub use shift::SequenceShift;
pub(in crate::spp) use shift::Shifts;
pub(in crate::spp) use sides::Sides;
pub(in crate::spp) use sketch::COPY_GAP;
pub(in crate::spp) use spacing::SpacedOwds;
pub use survey::Survey;
pub use twins::Twins;
