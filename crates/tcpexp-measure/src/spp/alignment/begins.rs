//! Connections of which the capture shows the SYN.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use tcpexp_wire::TcpFlags;

use super::fields::FieldValues;

/// So many connections are remembered by their SYN.
const BEGINS: usize = 65_536;

/// Connections that began within a capture: nothing of them passed the point unseen before.
#[derive(Debug, Default)]
pub(in crate::spp) struct Begins(HashSet<[(u64, u16); 2], FixedState>);

impl Begins {
    #[cold]
    pub(super) fn add(&mut self, syn: &FieldValues) {
        if self.0.len() < BEGINS {
            self.0.insert(syn.endpoints());
        }
    }

    /// Whether `packet` is of one of them, and no SYN itself: that may have been sent before.
    pub(in crate::spp) fn hold(&self, packet: &FieldValues) -> bool {
        packet.flags & TcpFlags::SYN.bits() == 0 && self.0.contains(&packet.endpoints())
    }
}
