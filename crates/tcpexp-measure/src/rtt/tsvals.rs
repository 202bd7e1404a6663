//! Timestamps of one direction without an echo.

use std::collections::VecDeque;

use tcpexp_flow::{Segment, StreamOffset, is_after};
use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum waiting time for an echo.
const EXPIRY: TimeDelta = TimeDelta::from_seconds(120);
/// Maximum number of stored timestamps: two minutes of milliseconds.
const MAX_TSVALS: usize = 120_000;
/// Maximum number of stored timestamps before the first packet of the other end, which may never
/// come.
const MAX_TSVALS_ONE_WAY: usize = 1 << 10;

/// The `TSval`s of one direction, from the latest echoed `TSval` on (RFC 7323, section 3.2).
#[derive(Debug, Default)]
pub(super) struct Tsvals {
    /// In the order of the sender's timestamp clock.
    sent: VecDeque<Tsval>,
    /// The latest dropped `TSval`; older values are not new.
    gone: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Tsval {
    value: u32,
    first: Sight,
    /// The first packet with this value that requires an answer.
    asking: Option<Sight>,
    is_echoed: bool,
}

/// A packet with a timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub(super) at: Timestamp,
    pub(super) offset: StreamOffset,
    pub(super) is_syn: bool,
}

/// The packet that an echo answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Echo {
    pub(super) of: Sight,
    /// True if the packet required an answer.
    pub(super) is_asked: bool,
    /// True for the first echo of the timestamp.
    pub(super) is_first: bool,
}

impl Tsvals {
    /// Records a packet with a timestamp.
    pub(super) fn send(&mut self, value: u32, segment: &Segment, is_other_end_captured: bool) {
        let sight = Sight {
            at: segment.seen.at,
            offset: segment.start,
            is_syn: segment.flags.syn(),
        };
        let asking = segment.is_numbered().then_some(sight);
        let tsval = Tsval {
            value,
            first: sight,
            asking,
            is_echoed: false,
        };
        match self.sent.back_mut() {
            Some(last) if last.value == value => last.asking = last.asking.or(asking),
            Some(last) if !is_after(value, last.value) => self.insert(tsval),
            None if self.gone.is_some_and(|gone| !is_after(value, gone)) => {}
            _ => self.sent.push_back(tsval),
        }
        let most = if is_other_end_captured {
            MAX_TSVALS
        } else {
            MAX_TSVALS_ONE_WAY
        };
        self.give_up_old(sight.at, most);
    }

    /// Returns the packet answered by an echo of `value` with the acknowledgment number `ack`.
    pub(super) fn echo(&mut self, value: u32, ack: StreamOffset) -> Option<Echo> {
        let newest = self.sent.back()?.value;
        if is_after(value, newest) {
            // No packet carried this value.
            return None;
        }
        while self
            .sent
            .front()
            .is_some_and(|oldest| is_after(value, oldest.value))
        {
            self.pop();
        }
        let tsval = self.sent.front_mut().filter(|tsval| tsval.value == value)?;
        let is_first = !std::mem::replace(&mut tsval.is_echoed, true);
        // A pure ACK and data may share a tick. The echo answers the data only if it acknowledges
        // part of it.
        let asked = tsval
            .asking
            .filter(|asking| *asking == tsval.first || ack > asking.offset);
        Some(Echo {
            of: asked.unwrap_or(tsval.first),
            is_asked: asked.is_some(),
            is_first,
        })
    }

    /// Records a packet captured after later packets. If it fills a hole, its timestamp is echoed
    /// (RFC 7323, section 4.3).
    #[cold]
    fn insert(&mut self, tsval: Tsval) {
        if self.gone.is_some_and(|gone| !is_after(tsval.value, gone)) {
            return;
        }
        let place = self
            .sent
            .partition_point(|other| is_after(tsval.value, other.value));
        match self.sent.get_mut(place) {
            Some(other) if other.value == tsval.value => {
                other.asking = other.asking.or(tsval.asking);
            }
            // Values before an echoed value are no longer echoed.
            Some(other) if other.is_echoed => {}
            _ => self.sent.insert(place, tsval),
        }
    }

    fn give_up_old(&mut self, now: Timestamp, most: usize) {
        while let Some(oldest) = self.sent.front() {
            if self.sent.len() <= most && now - oldest.first.at <= EXPIRY {
                break;
            }
            self.pop();
        }
    }

    fn pop(&mut self) {
        self.gone = self.sent.pop_front().map(|tsval| tsval.value).or(self.gone);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use tcpexp_testkit::scripted::segments;

    #[test]
    fn few_timestamps_are_kept_if_none_is_echoed() {
        let mut trace = String::new();
        for number in 0..3_000 {
            let (seconds, millis) = (number / 1000, number % 1000);
            writeln!(trace, "{seconds}.{millis:03} > ack 1 ts {number} 0").unwrap();
        }
        let mut tsvals = Tsvals::default();
        for segment in segments(&trace) {
            let (value, _) = segment.timestamps.unwrap();
            tsvals.send(value, &segment, false);
            assert!(tsvals.sent.len() <= MAX_TSVALS_ONE_WAY);
        }
        for segment in segments(&trace) {
            let (value, _) = segment.timestamps.unwrap();
            tsvals.echo(value, segment.start);
        }
        assert_eq!(
            tsvals.sent.len(),
            1,
            "only the last one may be echoed again"
        );
    }

    #[test]
    fn timestamp_of_a_late_packet_is_matched_to_its_echo() {
        let mut tsvals = Tsvals::default();
        let late = "
            0.000 > 1:11(10) ts 100 0
            0.002 > 21:31(10) ts 102 0
            0.003 > 11:21(10) ts 101 0
        ";
        let sent = segments(late);
        for segment in &sent {
            tsvals.send(segment.timestamps.unwrap().0, segment, true);
        }
        let echo = tsvals.echo(101, sent[1].end()).unwrap();
        assert_eq!(echo.of.at, sent[2].seen.at);
        assert!(echo.is_first && echo.is_asked);
        assert!(!tsvals.echo(101, sent[1].end()).unwrap().is_first);
        assert_eq!(tsvals.echo(100, sent[1].end()), None);
    }
}
