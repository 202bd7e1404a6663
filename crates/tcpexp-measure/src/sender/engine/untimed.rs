//! Data whose send times the capture does not show.

use std::ops::Range;

use tcpexp_flow::StreamOffset;

use super::Engine;
use crate::missing_samples::MissingSamples;
use crate::sender::progress::Progress;

/// Data whose send times are not known, and the samples that are missing for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Untimed {
    data: Option<Range<StreamOffset>>,
    pub(super) missing: MissingSamples,
}

impl Engine<'_> {
    /// Gives no round-trip time for this data.
    pub(in crate::sender) fn leave_untimed(&mut self, sent: Range<StreamOffset>) {
        let una = self.stream.map(|stream| stream.una);
        let before = self.untimed.data.take();
        let before = before.filter(|data| una.is_none_or(|una| data.end > una));
        self.untimed.data = Some(match before {
            Some(data) => data.start.min(sent.start)..data.end.max(sent.end),
            None => sent,
        });
    }
}

impl Untimed {
    /// True if the data between `una` and `ack`, or selectively acknowledged data, may be untimed.
    pub(super) fn covers(&self, una: StreamOffset, ack: StreamOffset, progress: &Progress) -> bool {
        self.data.as_ref().is_some_and(|data| {
            una < data.end && (ack > data.start || progress.first_sacked.is_some())
        })
    }
}
