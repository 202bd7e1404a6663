//! The parts of measurements that the table `flows` shows.
//!
//! An analysis keeps the parts of all flows until its last pass. They take less memory than the
//! measurements.

use tcpexp_measure::flows::DirectionSummary;
use tcpexp_measure::sender::{CongestionFamily, LimitedTime, SenderSummary};
use tcpexp_units::TimeDelta;

/// The packets of a direction at the point that it passes second.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// Number of packets.
    pub packets: u64,
    /// Bytes of the IP datagrams.
    pub ip_bytes: u64,
    /// Bytes of payload, each counted once.
    pub unique_bytes: u64,
    /// Time from the first packet to the last; `None` without packets.
    pub span: Option<TimeDelta>,
}

impl From<&DirectionSummary> for Arrived {
    fn from(summary: &DirectionSummary) -> Self {
        Self {
            packets: summary.packets,
            ip_bytes: summary.ip_bytes,
            unique_bytes: summary.unique_bytes,
            span: summary.span.map(|(first, last)| last - first),
        }
    }
}

/// The totals of a reconstructed sender.
#[derive(Clone, Copy, Debug)]
pub struct SenderTotals {
    /// Number of recoveries of all kinds.
    pub recoveries: u32,
    /// Number of recoveries that began with a timeout.
    pub timeouts: u32,
    /// Time spent in each limit.
    pub limited: LimitedTime,
    /// Family of the likely congestion control; `None` if the evidence fits no family.
    pub family: Option<CongestionFamily>,
}

impl From<&SenderSummary> for SenderTotals {
    fn from(summary: &SenderSummary) -> Self {
        Self {
            recoveries: summary.recoveries,
            timeouts: summary.timeouts,
            limited: summary.limited,
            family: summary.hint.family,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_take_less_memory_than_the_measurements() {
        assert!(size_of::<Arrived>() < size_of::<DirectionSummary>() / 2);
        assert!(size_of::<SenderTotals>() < size_of::<SenderSummary>());
    }
}
