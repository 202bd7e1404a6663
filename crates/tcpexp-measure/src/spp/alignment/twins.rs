//! Whether a capture holds each packet twice.

use super::sketch::COPY_GAP;
use tcpexp_units::Timestamp;

/// Among how many segments a twin is looked for.
const RECENT: usize = 8;

/// So many segments are enough to tell whether a capture doubles.
const JUDGED: u64 = 65_536;

/// TCP data that follows the like of it at once: hosts hardly ever send so, while there is nothing
/// odd about two acknowledgments that are alike.
#[derive(Debug, Default)]
pub(super) struct Twins {
    /// The latest that are without a twin, by number.
    recent: [Option<(u64, Timestamp)>; RECENT],
    segments: u64,
    pairs: u64,
}

impl Twins {
    #[inline]
    pub(super) fn observe(&mut self, identity: u64, at: Timestamp) {
        if self.segments < JUDGED {
            self.compare(identity, at);
        }
    }

    fn compare(&mut self, identity: u64, at: Timestamp) {
        let place = self.segments % RECENT as u64;
        self.segments += 1;
        let is_twin = |&mut (other, time): &mut (u64, Timestamp)| {
            other == identity && (at - time).abs() < COPY_GAP
        };
        let recent = &mut self.recent;
        if recent
            .iter_mut()
            .any(|other| other.take_if(is_twin).is_some())
        {
            self.pairs += 1;
        } else {
            let place = usize::try_from(place).expect("less than RECENT");
            recent[place] = Some((identity, at));
        }
    }

    /// Nine in ten and more have one; a few segments are no rule.
    pub(super) fn are_the_rule(&self) -> bool {
        self.segments >= 20 && self.pairs * 20 >= self.segments * 9
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_units::TimeDelta;

    use super::*;

    fn twins(of_ten: u64, gap: TimeDelta) -> Twins {
        let mut twins = Twins::default();
        for number in 0..100_u64 {
            let at = Timestamp::from_nanos(0) + TimeDelta::from_millis(number.cast_signed());
            twins.observe(number, at);
            if number % 10 < of_ten {
                twins.observe(number, at + gap);
            }
        }
        twins
    }

    #[test]
    fn capture_doubles_if_nearly_all_data_follows_its_like_at_once() {
        let at_once = TimeDelta::from_micros(2);
        assert!(twins(10, TimeDelta::ZERO).are_the_rule());
        assert!(twins(10, at_once).are_the_rule());
        assert!(!twins(5, at_once).are_the_rule());
        assert!(!twins(0, at_once).are_the_rule());
        assert!(!twins(10, COPY_GAP + COPY_GAP).are_the_rule());
    }
}
