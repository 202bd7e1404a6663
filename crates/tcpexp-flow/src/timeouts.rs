//! Idle timeouts of flows.

use tcpexp_units::TimeDelta;

use crate::{Flow, Protocol};

/// The idle time after which a flow is over, in capture time.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// A TCP connection that is open. RFC 5382, section 5, has middleboxes keep one for two hours
    /// and four minutes; a flow table that does the same never splits what still works.
    pub open: TimeDelta,
    /// A TCP connection of which only one end has sent (RFC 5382, section 5: four minutes).
    pub opening: TimeDelta,
    /// A TCP connection that was closed or reset: late retransmissions still belong to it.
    pub closed: TimeDelta,
    /// A UDP flow (RFC 4787, section 4.3, recommends five minutes).
    pub udp: TimeDelta,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            open: TimeDelta::from_seconds(7440),
            opening: TimeDelta::from_seconds(240),
            closed: TimeDelta::from_seconds(60),
            udp: TimeDelta::from_seconds(300),
        }
    }
}

impl Timeouts {
    /// The one for what `flow` is now.
    pub(crate) fn of(&self, flow: &Flow) -> TimeDelta {
        match flow.key.protocol() {
            Protocol::Udp => self.udp,
            Protocol::Tcp if flow.is_closed() => self.closed,
            Protocol::Tcp if flow.is_opening() => self.opening,
            Protocol::Tcp => self.open,
        }
    }

    /// The least of all.
    pub(crate) fn shortest(&self) -> TimeDelta {
        let Self {
            open,
            opening,
            closed,
            udp,
        } = *self;
        open.min(opening).min(closed).min(udp)
    }
}
