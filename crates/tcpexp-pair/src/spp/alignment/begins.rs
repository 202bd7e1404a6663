//! Connections whose SYN was captured.

use std::collections::HashSet;

use foldhash::fast::FixedState;
use tcpexp_wire::TcpFlags;

use super::fields::FieldValues;

/// Maximum number of connections remembered by their SYN.
const BEGINS: usize = 65_536;

/// Connections that began during a capture: none of their packets passed the point before it.
#[derive(Debug, Default)]
pub(in crate::spp) struct Begins(HashSet<[(u64, u16); 2], FixedState>);

impl Begins {
    #[cold]
    pub(super) fn add(&mut self, syn: &FieldValues) {
        if self.0.len() < BEGINS {
            self.0.insert(syn.endpoints());
        }
    }

    /// True if `packet` belongs to one of these connections and is no SYN: an identical SYN may
    /// have passed before the capture began.
    pub(in crate::spp) fn hold(&self, packet: &FieldValues) -> bool {
        packet.flags & TcpFlags::SYN.bits() == 0 && self.0.contains(&packet.endpoints())
    }
}
