//! The use of ECN in a connection whose handshake was not captured.

use tcpexp_flow::{EcnMode, Segment, ace};
use tcpexp_wire::Ecn;

/// ECN bits of one direction's packets, for connections without a captured handshake.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnSigns {
    /// True if a data packet is ECN-capable or marked.
    is_capable: bool,
    /// Union of the ACE fields of all packets after the SYN.
    ace: u8,
}

impl EcnSigns {
    #[inline]
    pub(super) fn take(&mut self, segment: &Segment) {
        // RFC 3168, section 6.1.4, sends pure ACKs as not ECN-capable, so only data counts here.
        let ecn = Ecn::of(segment.seen.traffic_class);
        self.is_capable |= segment.seen.payload_bytes > 0 && ecn != Ecn::NotEct;
        // The bits of a SYN negotiate ECN and count nothing (RFC 9768, section 3.1).
        if !segment.flags.syn() {
            self.ace |= ace(segment.flags);
        }
    }

    /// How `receiver` reports marks on this direction's data; `None` if the flags do not show it.
    pub(super) fn mode(self, receiver: Self) -> Option<EcnMode> {
        const AE: u8 = 0b100;
        const CWR: u8 = 0b010;
        if (self.ace | receiver.ace) & AE != 0 {
            // RFC 3168 hosts leave the bit 0.
            return Some(EcnMode::Accurate);
        }
        if !self.is_capable {
            return Some(EcnMode::NotEcn);
        }
        // A sender that reads ECE as in RFC 3168 answers with CWR. Without CWR, the bits may be an
        // ACE counter that stays below 4.
        let is_classic = self.ace & CWR != 0 || receiver.ace == 0;
        is_classic.then_some(EcnMode::Classic)
    }
}
