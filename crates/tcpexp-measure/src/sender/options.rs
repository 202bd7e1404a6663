//! Options of the reconstruction.

use super::profile::Profile;
use crate::Position;

/// Options of the reconstruction.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderOptions {
    /// Position of the capture, for data of both directions. `None` infers it from the packets.
    pub position: Option<Position>,
    /// Operating system whose rules are replayed.
    pub profile: Profile,
}
