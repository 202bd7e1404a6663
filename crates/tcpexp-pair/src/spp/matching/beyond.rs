//! Whether packets are lost beyond the downstream point.

use tcpexp_flow::StreamOffset;

/// Evidence that the path loses packets of one direction of a TCP flow beyond the downstream point.
///
/// Behind a capture at the receiver no path follows. A capture further away may have missed a packet that
/// was lost beyond it. The receiver then waits for this packet, although it passed the point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LossesBeyond {
    /// The latest byte that the receiver lacked after it had been captured downstream.
    suspected: Option<StreamOffset>,
    are_proven: bool,
}

impl LossesBeyond {
    /// Adds a byte that was captured downstream before repeated acknowledgments showed that the receiver
    /// lacks it. This alone is no proof: a retransmission may have arrived while the acknowledgments
    /// were on their way.
    pub(super) fn suspect(&mut self, byte: StreamOffset) {
        self.suspected = Some(byte);
    }

    /// True if data from `start` to `end` has a suspected byte: then its arrival may prove a loss.
    pub(super) fn has_suspect(&self, start: StreamOffset, end: StreamOffset) -> bool {
        self.suspected
            .is_some_and(|byte| (start..end).contains(&byte))
    }

    /// Adds that another transmission of the suspected byte arrived while the receiver waited for it.
    pub(super) fn prove(&mut self) {
        self.are_proven = true;
    }

    /// True if packets were lost beyond the downstream point.
    pub(super) fn are_proven(&self) -> bool {
        self.are_proven
    }
}
