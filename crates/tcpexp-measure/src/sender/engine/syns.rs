//! The SYNs of the sender.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

/// A SYN that repeats sooner than any timer expires (`TCP_RTO_MIN`) is a copy that the path made.
const LEAST_TIMEOUT: TimeDelta = TimeDelta::from_millis(200);
/// Retransmissions of the SYN after which the window begins at one segment (`tcp_init_transfer`). RFC 5681,
/// section 3.1, asks for this after the first; Linux allows for a path that is slower than the initial timer.
const MANY: u32 = 2;

/// The retransmissions of a SYN until its answer.
#[derive(Debug, Default)]
pub(super) struct Syns {
    latest: Option<(Timestamp, StreamOffset)>,
    first_stamp: Option<u32>,
    retransmitted: u32,
}

impl Syns {
    pub(super) fn send(&mut self, at: Timestamp, start: StreamOffset, stamp: Option<u32>) {
        match self.latest {
            Some((latest, known)) if known == start => {
                if at - latest < LEAST_TIMEOUT {
                    return;
                }
                self.retransmitted += 1;
            }
            _ => {
                self.first_stamp = stamp;
                self.retransmitted = 0;
            }
        }
        self.latest = Some((at, start));
    }

    /// Processes the SYN-ACK. Returns true if the window begins at one segment: the SYN was retransmitted often,
    /// and the echo does not show that the first SYN has arrived (`tcp_try_undo_spurious_syn`).
    pub(super) fn answer(&mut self, echo: Option<u32>) -> bool {
        let is_of_first = self.first_stamp.is_some() && echo == self.first_stamp;
        let was_often = std::mem::take(&mut self.retransmitted) >= MANY;
        was_often && !is_of_first
    }
}
