//! TCP timestamps: echo times, and the clock behind them (RFC 7323).

use std::collections::VecDeque;

use tcpexp_flow::{StreamOffset, is_after};
use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum number of timestamps that wait for an echo.
const WAITING: usize = 1_024;

/// Matches the timestamps of one direction with their echoes in the other direction.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    waiting: VecDeque<Waiting>,
    /// The latest timestamp, also after its echo.
    latest: Option<u32>,
    least: Option<TimeDelta>,
    /// The latest timestamp that no longer waits, with the place of its packet.
    gone: Option<(u32, u64)>,
    /// Echoes up to this timestamp show no further missed packet.
    known: Option<u32>,
}

/// A timestamp without an echo, with the time and the place of its first packet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    stamp: u32,
    at: Timestamp,
    place: u64,
}

impl Echoes {
    #[inline]
    pub(super) fn send(&mut self, stamp: u32, at: Timestamp, place: u64) {
        // As in pping, the first packet with a value starts the time; the rest of its tick is
        // skipped.
        if self.latest.is_none_or(|latest| is_after(stamp, latest)) {
            self.latest = Some(stamp);
            if self.waiting.len() == WAITING {
                self.drop_oldest();
            }
            self.waiting.push_back(Waiting { stamp, at, place });
        } else if self.latest != Some(stamp) {
            // A late packet does not wait, so that its echo would show a missed packet.
            self.known = self.latest;
        }
    }

    /// Processes an echo. Returns the places of the packets around a gap in which the capture missed a packet
    /// with this timestamp, once for each gap.
    #[inline]
    pub(super) fn on_ack(&mut self, echo: u32, at: Timestamp) -> Option<(u64, u64)> {
        // Only the first echo of a value counts, so all values up to `echo` can go.
        while let Some(&Waiting {
            stamp, at: sent, ..
        }) = self.waiting.front()
        {
            if is_after(stamp, echo) {
                break;
            }
            if stamp == echo
                && let Some(span) = at.checked_since(sent)
            {
                self.least = Some(self.least.map_or(span, |least| least.min(span)));
            }
            self.drop_oldest();
        }
        match self.gone {
            Some((gone, before)) if is_after(echo, gone) => self.gap_at(echo, before),
            _ => None,
        }
    }

    #[inline]
    fn drop_oldest(&mut self) {
        if let Some(Waiting { stamp, place, .. }) = self.waiting.pop_front() {
            self.gone = Some((stamp, place));
        }
    }

    /// The gap that an echo shows of a timestamp that no captured packet carries.
    #[cold]
    fn gap_at(&mut self, echo: u32, before: u64) -> Option<(u64, u64)> {
        let next = self.waiting.front();
        let is_known = self.known.is_some_and(|known| !is_after(echo, known));
        // `AckWatch` finds the gap behind the latest packet.
        self.known = Some(next.map_or(echo, |next| next.stamp))
            .filter(|_| !is_known)
            .or(self.known);
        // Behind a middlebox that changes the timestamps or their echoes, no echo matches.
        let next = next.filter(|_| !is_known && self.least.is_some())?;
        Some((before, next.place))
    }

    /// Shortest time from a timestamp to its echo.
    pub(super) fn least(&self) -> Option<TimeDelta> {
        self.least
    }
}

/// ACKs on their way to a sender, not yet echoed by the sender's data.
#[derive(Debug, Default)]
pub(super) struct ReceivedAcks {
    departed: VecDeque<(u32, StreamOffset)>,
    ack: Option<StreamOffset>,
    /// The latest ACK that is no longer remembered.
    forgotten: Option<StreamOffset>,
}

impl ReceivedAcks {
    /// Records an ACK. An ACK without a timestamp counts as received at once.
    #[inline]
    pub(super) fn push(&mut self, stamp: Option<u32>, ack: StreamOffset) {
        match stamp {
            None => self.ack = Some(ack),
            Some(stamp) => {
                // Of equal ACKs the first to arrive decides. The receiver of a transfer repeats one
                // in each packet, and would keep a thousand of them for each flow.
                let latest = self.departed.back().map(|&(_, latest)| latest).or(self.ack);
                if latest == Some(ack) {
                    return;
                }
                if self.departed.len() == WAITING {
                    let forgotten = self.departed.pop_front();
                    self.forgotten = forgotten.map(|(_, ack)| ack);
                }
                self.departed.push_back((stamp, ack));
            }
        }
    }

    /// The acknowledgment number known to the sender when it sent data that echoes `echo`.
    #[inline]
    pub(super) fn known_at(&mut self, echo: Option<u32>) -> Option<StreamOffset> {
        while let Some(&(stamp, ack)) = self.departed.front()
            && echo.is_some_and(|echo| !is_after(stamp, echo))
        {
            self.ack = Some(ack);
            self.departed.pop_front();
        }
        self.ack
    }

    /// The highest acknowledgment number that the sender may have known at that time.
    pub(super) fn known_at_most(&self) -> Option<StreamOffset> {
        match (self.ack, self.forgotten) {
            (Some(known), Some(forgotten)) if forgotten.since(known) > 0 => Some(forgotten),
            (known, forgotten) => known.or(forgotten),
        }
    }
}

/// The clock of a sender's timestamps.
#[derive(Debug)]
pub(super) struct Ticks {
    /// Length of a tick; `None` if unknown.
    tick: Option<TimeDelta>,
    /// The latest timestamp, and the latest possible start of its tick.
    latest: Option<(u32, Timestamp)>,
}

impl Ticks {
    pub(super) fn new(tick: Option<TimeDelta>) -> Self {
        Self { tick, latest: None }
    }

    /// A clock whose first packet is not sent yet. `start` is a timestamp and the latest possible start of its tick.
    pub(super) fn started(tick: Option<TimeDelta>, start: Option<(u32, Timestamp)>) -> Self {
        Self {
            tick,
            latest: start,
        }
    }

    pub(super) fn send(&mut self, at: Timestamp, stamp: Option<u32>) {
        let (Some(tick), Some(stamp)) = (self.tick, stamp) else {
            return;
        };
        self.latest = Some(match self.latest {
            None => (stamp, at),
            Some((latest, began)) => {
                let ticks = i64::from(stamp.wrapping_sub(latest).cast_signed());
                // The tick began before its packet left, and no later than the earlier ticks imply.
                let begins = began + TimeDelta::from_nanos(ticks.saturating_mul(tick.as_nanos()));
                (stamp, begins.min(at))
            }
        });
    }

    /// The latest possible start of the latest timestamp's tick.
    pub(super) fn latest(&self) -> Option<Timestamp> {
        self.latest.map(|(_, began)| began)
    }

    /// Time since the tick `echo`, in whole ticks (`tcp_rtt_tsopt_us`).
    pub(super) fn rtt(&self, at: Timestamp, echo: Option<u32>) -> Option<TimeDelta> {
        let (tick, (latest, began)) = (self.tick?.as_nanos(), self.latest?);
        let since = (at - began).as_nanos().div_euclid(tick);
        let ticks = since + i64::from(latest.wrapping_sub(echo?).cast_signed());
        // At least one tick, the resolution of the clock.
        Some(TimeDelta::from_nanos(ticks.max(1).saturating_mul(tick))).filter(|_| ticks >= 0)
    }
}

/// Finds the tick length from the first and the latest timestamp, and when the first tick began.
#[derive(Debug, Default)]
pub(super) struct TickSearch {
    first: Option<(u32, Timestamp)>,
    latest: Option<(u32, Timestamp)>,
    /// Tick length as first found.
    tick: Option<TimeDelta>,
    /// Least time by which a packet is later than its tick, if the first packet is not late; negative if the
    /// first packet waited in a queue that was shorter later.
    least_lag: TimeDelta,
}

/// Time after the first packet in which a packet may show that the first one waited in a queue. Clocks that differ
/// by 20 ppm drift apart by 2.4 ms in this time, less than the time in which data counts as the answer
/// to an ACK.
const LAG_SPAN: TimeDelta = TimeDelta::from_seconds(120);

/// Tick lengths of timestamp clocks in nanoseconds. RFC 7323, section 5.4, allows 1 ms to 1 s;
/// Linux also has 1 µs.
const TICKS: [i64; 5] = [1_000, 1_000_000, 4_000_000, 10_000_000, 100_000_000];

impl TickSearch {
    pub(super) fn send(&mut self, stamp: u32, at: Timestamp) {
        let (first, began) = *self.first.get_or_insert((stamp, at));
        self.latest = Some((stamp, at));
        if at - began > LAG_SPAN {
            return;
        }
        if self.tick.is_none() {
            self.tick = self.found();
        }
        if let Some(tick) = self.tick {
            let ticks = i64::from(stamp.wrapping_sub(first).cast_signed());
            let elapsed = TimeDelta::from_nanos(ticks.saturating_mul(tick.as_nanos()));
            self.least_lag = self.least_lag.min(at - began - elapsed);
        }
    }

    /// The first timestamp, and the latest possible start of its tick; `None` if the tick length is unknown.
    pub(super) fn start(&self) -> Option<(u32, Timestamp)> {
        let (first, began) = self.first?;
        (self.tick.is_some() && self.tick == self.found()).then(|| (first, began + self.least_lag))
    }

    /// Length of a tick, or more if the clock has hardly advanced; `None` without timestamps.
    pub(super) fn at_most(&self) -> Option<TimeDelta> {
        let ((first, began), (latest, ended)) = (self.first?, self.latest?);
        let ticks = i64::from(latest.wrapping_sub(first).cast_signed());
        let span = (ended - began).as_nanos();
        let length = if ticks > 0 { span / ticks } else { i64::MAX };
        Some(TimeDelta::from_nanos(length))
    }

    pub(super) fn found(&self) -> Option<TimeDelta> {
        let ((first, began), (latest, ended)) = (self.first?, self.latest?);
        let ticks = i64::from(latest.wrapping_sub(first).cast_signed());
        let span = (ended - began).as_nanos();
        // Rounding to whole ticks is at most 2 % of 50 ticks, well within the tolerance of 5 %.
        let tick = TICKS.into_iter().find(|tick| {
            let elapsed = ticks.saturating_mul(*tick);
            ticks >= 50 && elapsed.saturating_sub(span).saturating_abs() < span / 20
        });
        tick.map(TimeDelta::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_of_a_tick_starts_no_time_after_the_first_echo() {
        let micros = |micros: i64| Timestamp::from_nanos(micros * 1_000);
        let mut echoes = Echoes::default();
        // A tick of 1 ms over a path of 300 µs: three packets with one value.
        for at in [0, 310, 620] {
            echoes.send(7, micros(at), 0);
            echoes.on_ack(7, micros(at + 300));
            echoes.on_ack(7, micros(at + 311));
        }
        assert_eq!(echoes.least(), Some(TimeDelta::from_micros(300)));
    }

    #[test]
    fn an_echo_between_captured_timestamps_shows_one_gap() {
        let at = |millis: u32| Timestamp::from_nanos(i64::from(millis) * 1_000_000);
        let mut echoes = Echoes::default();
        for (place, stamp) in [(0, 100), (1, 103), (2, 105), (3, 106), (4, 104)] {
            echoes.send(stamp, at(stamp), place);
        }
        // The capture missed 101, 102 and 107, and recorded 104 late.
        let gaps =
            [100, 101, 101, 102, 103, 104, 107].map(|echo| echoes.on_ack(echo, at(echo + 40)));
        assert_eq!(
            gaps, [None; 7],
            "the echoes may be of packets recorded late"
        );
        let mut echoes = Echoes::default();
        for (place, stamp) in [(0, 100), (1, 103), (2, 105)] {
            echoes.send(stamp, at(stamp), place);
        }
        let gaps =
            [100, 101, 101, 102, 103, 105, 107].map(|echo| echoes.on_ack(echo, at(echo + 40)));
        assert_eq!(gaps, [None, Some((0, 1)), None, None, None, None, None]);
        echoes.send(108, at(108), 3);
        assert_eq!(
            echoes.on_ack(107, at(150)),
            None,
            "AckWatch has found this gap"
        );
    }
}
