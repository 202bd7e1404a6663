//! Timestamps of one direction without an echo.

use std::collections::VecDeque;

use tcpexp_flow::{Segment, StreamOffset, is_after};
use tcpexp_units::Timestamp;

use super::in_flight::EXPIRY;

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
    /// True once an echoed `TSval` was dropped. Behind a middlebox that changes the timestamps or their echoes,
    /// no echo matches.
    has_matched: bool,
    /// The missed packets that echoes show, up to a `TSval`.
    missed: Option<Missed>,
}

/// Packets that the capture missed, as an echo of a `TSval` shows that no captured packet carries.
#[derive(Clone, Copy, Debug)]
struct Missed {
    /// No further echo before this value, or of it, shows another gap.
    until: u32,
    /// True until [`Tsvals::take_gap`] returns the gap.
    is_new: bool,
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
            // No packet carried this value. `AckWatch` counts the gap behind the latest packet.
            self.missed = Some(Missed {
                until: value,
                is_new: false,
            });
            return None;
        }
        while self
            .sent
            .front()
            .is_some_and(|oldest| is_after(value, oldest.value))
        {
            self.pop();
        }
        let tsval = self.sent.front_mut()?;
        if tsval.value != value {
            self.echo_unknown(value);
            return None;
        }
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

    /// Returns true once for each gap between captured packets whose missed packets are echoed.
    #[inline]
    pub(super) fn take_gap(&mut self) -> bool {
        self.missed
            .as_mut()
            .is_some_and(|missed| std::mem::take(&mut missed.is_new))
    }

    /// Processes an echo of a value between captured ones that no captured packet carries.
    #[cold]
    fn echo_unknown(&mut self, value: u32) {
        let Some((gone, next)) = self.gone.zip(self.sent.front()) else {
            return;
        };
        let is_known = self
            .missed
            .is_some_and(|missed| !is_after(value, missed.until));
        // A late packet with an echo from before the latest echo shows nothing new.
        if self.has_matched && !next.is_echoed && is_after(value, gone) && !is_known {
            self.missed = Some(Missed {
                until: next.value,
                is_new: true,
            });
        }
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
        if let Some(tsval) = self.sent.pop_front() {
            self.gone = Some(tsval.value);
            self.has_matched |= tsval.is_echoed;
        }
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
    fn an_echo_between_captured_timestamps_shows_missed_packets_once() {
        // The capture missed the packets with 101 and 102, and another after 104.
        let mut tsvals = Tsvals::default();
        for segment in
            segments("0.000 > ack 1 ts 100 0\n0.003 > ack 1 ts 103 0\n0.004 > ack 1 ts 104 0")
        {
            tsvals.send(segment.timestamps.unwrap().0, &segment, true);
        }
        let ack = segments("0 > 1:11(10)")[0].start;
        let mut gap_at = |value| {
            tsvals.echo(value, ack);
            tsvals.take_gap()
        };
        let echoes = [99, 100, 101, 101, 102, 103, 102, 104, 105, 105];
        let gaps = echoes.map(&mut gap_at);
        let expected = [
            false, false, true, false, false, false, false, false, false, false,
        ];
        assert_eq!(gaps, expected);
        for segment in segments("0.006 > ack 1 ts 106 0") {
            tsvals.send(106, &segment, true);
        }
        tsvals.echo(105, ack);
        assert!(!tsvals.take_gap(), "known since the first echo of 105");
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
