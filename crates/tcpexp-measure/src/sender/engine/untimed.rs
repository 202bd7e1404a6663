//! Data whose send times a capture away from the sender does not show.

use std::ops::Range;

use tcpexp_flow::StreamOffset;

use super::Engine;
use crate::sender::progress::Progress;

/// Weight of one sample in the smoothed round-trip time, as a divisor (RFC 6298, section 2.3: alpha).
const SAMPLES: u32 = 8;
/// The whole weight of all samples.
const WHOLE: u32 = 1 << 16;
/// Largest weight of missing samples with which the smoothed round-trip time counts as known: missing samples of
/// up to twice the smoothed time change it by 5 % at most.
const MOST_MISSING: u32 = WHOLE / 20;

/// Data whose send times are not known, and the samples that are missing for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Untimed {
    data: Option<Range<StreamOffset>>,
    /// Weight that the missing samples have in the sender's smoothed round-trip time, of [`WHOLE`].
    missing: u32,
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

    /// Counts a sample of the sender that is missing.
    pub(super) fn miss(&mut self) {
        self.missing += (WHOLE - self.missing) / SAMPLES;
    }

    /// Counts a sample.
    pub(super) fn sample(&mut self) {
        self.missing -= self.missing / SAMPLES;
    }

    /// True if the missing samples hardly change the smoothed round-trip time.
    pub(super) fn keeps_srtt(&self) -> bool {
        self.missing <= MOST_MISSING
    }
}
