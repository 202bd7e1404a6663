//! Options of the reconstruction.

use super::profile::Profile;
use crate::Position;

/// Options of the reconstruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderOptions {
    /// Where the capture was taken, for data of both directions. `None` infers it from the packets.
    pub position: Option<Position>,
    /// The operating system whose rules are replayed.
    pub profile: Profile,
}
