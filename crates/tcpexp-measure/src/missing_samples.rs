//! Samples of the round-trip time that a sender took and that a capture does not show.

/// A sample has 1/8 of the weight in the smoothed round-trip time (RFC 6298, section 2.3: alpha).
const GAIN_DIVISOR: u32 = 8;
/// The whole weight of all samples.
const WHOLE: u32 = 1 << 16;
/// Largest weight of missing samples with which the smoothed round-trip time counts as known: missing samples of
/// up to twice the smoothed time change it by 5 % at most.
const MOST_MISSING: u32 = WHOLE / 20;
/// Number of samples after which those before them have no weight left: (7/8)^64 < 1/5000.
const REMEMBERED: u32 = 64;

/// The weight that missing samples have in a sender's smoothed round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissingSamples {
    /// Of [`WHOLE`].
    weight: u32,
}

impl MissingSamples {
    /// Counts up to `samples` samples of the sender that are missing.
    pub(crate) fn miss(&mut self, samples: u32) {
        for _ in 0..samples.min(REMEMBERED) {
            self.weight += (WHOLE - self.weight) / GAIN_DIVISOR;
        }
    }

    /// Counts an unknown number of missing samples.
    pub(crate) fn miss_any_number(&mut self) {
        self.weight = WHOLE;
    }

    /// Counts a sample.
    #[inline]
    pub(crate) fn sample(&mut self) {
        self.weight -= self.weight / GAIN_DIVISOR;
    }

    /// True if the missing samples hardly change the smoothed round-trip time.
    #[inline]
    pub(crate) fn keeps_srtt(self) -> bool {
        self.weight <= MOST_MISSING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srtt_counts_as_known_once_missing_samples_have_a_twentieth_of_the_weight() {
        // (7/8)^7 / 8 = 4.9 %, and (7/8)^23 = 4.6 %.
        for (missing, needed) in [(Some(1), 7), (Some(REMEMBERED), 23), (None, 23)] {
            let mut samples = MissingSamples::default();
            match missing {
                Some(missing) => samples.miss(missing),
                None => samples.miss_any_number(),
            }
            let mut seen = 0;
            while !samples.keeps_srtt() {
                samples.sample();
                seen += 1;
            }
            assert_eq!(seen, needed, "{missing:?}");
        }
    }
}
