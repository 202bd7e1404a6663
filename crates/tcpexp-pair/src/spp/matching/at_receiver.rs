//! Whether the downstream point is at the receiver.

use std::collections::VecDeque;

use tcpexp_flow::{StreamOffset, is_after};
use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum time from the arrival of data to its acknowledgment at the receiver. A receiver acknowledges at least every
/// second full-sized segment at once (RFC 9293, section 3.8.6.3). The hosts of the captures in `fixtures` take 7 to
/// 20 µs; the limit is that of `tcpexp-measure` for the answer of a sender.
const ANSWER: TimeDelta = TimeDelta::from_micros(300);
/// Maximum number of acknowledgments kept. Further ones are dropped until arrivals have passed the first. A single
/// acknowledgment that follows its data at once is sufficient.
const REMEMBERED: usize = 32;

/// Evidence that the downstream point of one direction of a TCP flow is at the receiver.
///
/// The first acknowledgment of data cannot pass a point sooner after the data than a round trip between
/// this point and the receiver.
#[derive(Debug, Default)]
pub(super) struct AtReceiver {
    is_shown: bool,
    /// Place (lower half), time and value of acknowledgments that left the downstream point, the first one first.
    acks: VecDeque<(u32, Timestamp, StreamOffset)>,
}

impl AtReceiver {
    /// Adds an acknowledgment that is higher than all before.
    pub(super) fn acknowledge(&mut self, place: u32, at: Timestamp, ack: StreamOffset) {
        if !self.is_shown && self.acks.len() < REMEMBERED {
            self.acks.push_back((place, at, ack));
        }
    }

    /// Adds the arrival of data that left only once and ends at `end`; `tick` is the resolution of the clock.
    pub(super) fn arrive(&mut self, place: u32, at: Timestamp, end: StreamOffset, tick: TimeDelta) {
        while let Some(&(of_ack, ..)) = self.acks.front()
            && is_after(place, of_ack)
        {
            self.acks.pop_front();
        }
        let Some(&(_, answered, ack)) = self.acks.front() else {
            return;
        };
        let after = answered - at;
        if ack >= end && after >= TimeDelta::ZERO && after + tick <= ANSWER {
            self.is_shown = true;
            self.acks = VecDeque::new();
        }
    }

    /// True if the point is at the receiver.
    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    /// True if data that ends at byte 200 shows the receiver. It arrives at place 2 and 1 s; the acknowledgments have
    /// these places, times after 1 s in microseconds, and values.
    fn is_shown(acks: &[(u32, i64, u32)], tick: TimeDelta) -> bool {
        let byte = |byte: u32| StreamOffset::first(SeqNum(0)).plus(byte);
        let second = Timestamp::from_nanos(1_000_000_000);
        let mut receiver = AtReceiver::default();
        for &(place, micros, ack) in acks {
            receiver.acknowledge(place, second + TimeDelta::from_micros(micros), byte(ack));
        }
        receiver.arrive(2, second, byte(200), tick);
        receiver.is_shown()
    }

    #[test]
    fn only_an_immediate_acknowledgment_shows_the_receiver() {
        let fine = TimeDelta::from_micros(1);
        assert!(is_shown(&[(1, -5, 100), (3, 20, 200)], fine));
        // Of earlier data, of a receiver further away, and on a clock that was set back.
        for ack in [(3, 20, 100), (3, 900, 200), (3, -20, 200)] {
            assert!(!is_shown(&[ack], fine), "{ack:?}");
        }
    }

    #[test]
    fn times_of_a_coarse_clock_do_not_show_the_receiver() {
        assert!(!is_shown(&[(3, 0, 200)], TimeDelta::from_millis(1)));
    }
}
