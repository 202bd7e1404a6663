//! Idle timeouts of flows.

use tcpexp_units::TimeDelta;

use crate::{Flow, Protocol};

/// Idle times after which a flow ends, in capture time.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// An open TCP connection. Middleboxes must keep it for at least two hours and four minutes
    /// (RFC 5382, section 5), so a table with this timeout does not split a connection that still
    /// works.
    pub open: TimeDelta,
    /// A TCP connection where only one end has sent (RFC 5382, section 5: four minutes).
    pub opening: TimeDelta,
    /// A closed or reset TCP connection: late retransmissions still belong to it.
    pub closed: TimeDelta,
    /// A flow of UDP (RFC 4787, section 4.3, recommends five minutes) or of another protocol.
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
    /// Returns the timeout for the present state of `flow`.
    pub(crate) fn of(&self, flow: &Flow) -> TimeDelta {
        match flow.key.protocol() {
            Protocol::Tcp if flow.is_closed() => self.closed,
            Protocol::Tcp if flow.is_opening() => self.opening,
            Protocol::Tcp => self.open,
            Protocol::Udp | Protocol::Other(_) => self.udp,
        }
    }

    /// Returns the shortest timeout.
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
