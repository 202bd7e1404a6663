//! The moment up to which the samples of a live measurement are final.

use tcpexp_pair::spp::RttSample;
use tcpexp_units::{TimeDelta, Timestamp};

/// A sample is final once both points are this far past its second packet: later packets of the
/// same flow may overtake each other by less.
const SETTLING: TimeDelta = TimeDelta::from_millis(200);

/// The time up to which all samples have been passed on, by [`Point::index`] on the clock of each
/// point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frontier {
    until: [Timestamp; 2],
}

/// The samples that became final with one window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Advance {
    from: [Timestamp; 2],
    pub(super) until: [Timestamp; 2],
}

impl Default for Frontier {
    fn default() -> Self {
        Self {
            until: [Timestamp::MIN; 2],
        }
    }
}

impl Frontier {
    /// Moves to the moment that both points have passed. `offset` is the destination's clock minus
    /// the source's.
    pub(super) fn advance(&mut self, progress: [Timestamp; 2], offset: TimeDelta) -> Advance {
        let at_src = progress[0].min(progress[1] - offset) - SETTLING;
        self.advance_to([at_src, at_src + offset])
    }

    /// Moves past all samples.
    pub(super) fn finish(&mut self) -> Advance {
        self.advance_to([Timestamp::MAX; 2])
    }

    /// Estimates of the offset differ between windows, so the new moment may be before the old one
    /// on one of the clocks.
    fn advance_to(&mut self, until: [Timestamp; 2]) -> Advance {
        let from = self.until;
        self.until = [from[0].max(until[0]), from[1].max(until[1])];
        Advance {
            from,
            until: self.until,
        }
    }
}

impl Advance {
    /// True if the sample became final.
    pub(super) fn has(&self, sample: &RttSample) -> bool {
        completed(sample) > self.from[sample.reference.index()] && !self.is_before(sample)
    }

    /// True if the sample is not final yet.
    pub(super) fn is_before(&self, sample: &RttSample) -> bool {
        completed(sample) > self.until[sample.reference.index()]
    }
}

/// Time of the sample's second packet at the reference point.
fn completed(sample: &RttSample) -> Timestamp {
    sample.time + sample.owd_out + sample.turnaround + sample.owd_back
}
