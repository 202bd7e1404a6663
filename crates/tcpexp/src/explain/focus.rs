//! What is explained, and which packets it is about.

use std::ops::RangeInclusive;

use tcpexp_measure::packets::FlowPacketRow;
use tcpexp_measure::sender::{RecoveryEpoch, Retransmission};
use tcpexp_units::{TimeDelta, Timestamp};

/// Greatest time before an event in which its cause is looked for, and greatest round-trip time
/// around a moment. A longer silence has its cause in what came right before it.
pub(super) const MAX_REACH: TimeDelta = TimeDelta::from_seconds(10);

/// What is explained, on the clock of the capture.
#[derive(Clone, Copy, Debug)]
pub(super) enum Focus {
    Whole,
    At(Timestamp),
    Recovery(RecoveryEpoch),
    Retransmission(Retransmission),
}

impl Focus {
    /// Times outside of which no packet belongs to it.
    pub(super) fn reach(&self) -> RangeInclusive<Timestamp> {
        match self {
            Self::Whole => Timestamp::MIN..=Timestamp::MAX,
            Self::At(at) => *at - MAX_REACH..=*at + MAX_REACH,
            Self::Recovery(epoch) => {
                epoch.began - MAX_REACH..=epoch.ended.unwrap_or(Timestamp::MAX)
            }
            Self::Retransmission(again) => again.at - MAX_REACH..=again.at + MAX_REACH,
        }
    }
}

/// True if the packet belongs to what is explained, at its time.
pub(super) fn is_about(packet: &FlowPacketRow, focus: &Focus) -> bool {
    match focus {
        Focus::Whole | Focus::At(_) => true,
        Focus::Recovery(epoch) => packet.flow == epoch.flow,
        Focus::Retransmission(again) if packet.flow != again.flow => false,
        Focus::Retransmission(again) => {
            is_copy(packet, again)
                || packet.direction != again.direction
                    && packet.tcp.is_some_and(|tcp| {
                        tcp.is_duplicate_ack
                            || tcp.sack[0].is_some()
                            || tcp.ack.is_some_and(|ack| ack >= again.start)
                    })
        }
    }
}

/// True if the packet carries some of the retransmitted bytes.
pub(super) fn is_copy(packet: &FlowPacketRow, again: &Retransmission) -> bool {
    packet.direction == again.direction
        && packet.payload_bytes > 0
        && packet.tcp.is_some_and(|tcp| {
            let start = tcp.start.plus(tcp.flags.syn().into());
            start < again.end && start.plus(packet.payload_bytes) > again.start
        })
}
