//! The order of a sender's events, from a capture at the receiver.
//!
//! Data echoes the timestamp of the latest ACK that had reached the sender when the data left
//! (RFC 7323, section 4). So an ACK reached the sender before exactly the data that echoes its
//! timestamp or a later one.

use std::collections::VecDeque;

use tcpexp_units::{TimeDelta, Timestamp};

use super::engine::Engine;
use super::event::{Acked, Sent};
use super::row::SenderRow;
use super::stamps::{Ticks, is_after};

/// More ACKs are never waited for.
const MOST_DEPARTED: usize = 1 << 16;

/// ACKs that have left the receiver and that no data has echoed yet.
///
/// The sender's clock is one that runs late by the time that ACKs take: an ACK is heard when it
/// leaves. Data is sent when the last ACK that it answers is heard. If it arrives sooner than the
/// next ACK can have been heard, it may have been sent later than that: a round trip before it
/// arrives. So the time from data to its ACK is a whole round trip, though both were captured at
/// the receiver, and queueing does not make time drift.
#[derive(Debug)]
pub(super) struct Replay {
    departed: VecDeque<(u32, Acked)>,
    least_rtt: TimeDelta,
    latest: Timestamp,
    /// The sender's clock, on that of the capture less a round trip.
    ticks: Ticks,
}

impl Replay {
    pub(super) fn new(least_rtt: Option<TimeDelta>, tick: Option<TimeDelta>) -> Self {
        Self {
            departed: VecDeque::new(),
            least_rtt: least_rtt.unwrap_or_default(),
            latest: Timestamp::MIN,
            ticks: Ticks::new(tick),
        }
    }

    /// An ACK leaves the receiver.
    pub(super) fn depart(&mut self, stamp: u32, acked: Acked) {
        if self.departed.len() == MOST_DEPARTED {
            // A later one repeats what it acknowledged.
            self.departed.pop_front();
        }
        self.departed.push_back((stamp, acked));
    }

    /// Data arrives that echoes `echo`.
    pub(super) fn arrive(
        &mut self,
        mut sent: Sent,
        echo: Option<u32>,
        engine: &mut Engine<'_>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        while let Some((stamp, _)) = self.departed.front()
            && echo.is_none_or(|echo| !is_after(*stamp, echo))
        {
            self.release(sent.record, engine, rows);
        }
        let mut at_most = sent.at - self.least_rtt;
        self.ticks.send(at_most, sent.stamp);
        if let Some(tick) = self.ticks.latest() {
            at_most = at_most.min(tick);
        }
        let next = self.departed.front().map(|(_, acked)| acked.at);
        sent.at = match next {
            Some(next) if next <= at_most => self.latest,
            _ => self.latest.max(at_most),
        };
        self.latest = sent.at;
        engine.send(&sent, rows);
    }

    fn release(&mut self, record: u64, engine: &mut Engine<'_>, rows: &mut impl Extend<SenderRow>) {
        if let Some((_, mut acked)) = self.departed.pop_front() {
            // Retransmissions are numbered by the records of their arrival.
            acked.record = record;
            acked.at = acked.at.max(self.latest);
            self.latest = acked.at;
            engine.on_ack(&acked, rows);
        }
    }

    /// All ACKs that left up to `until` have reached the sender.
    pub(super) fn flush(
        &mut self,
        until: Timestamp,
        engine: &mut Engine<'_>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        while self
            .departed
            .front()
            .is_some_and(|(_, acked)| acked.at <= until)
        {
            self.release(u64::MAX, engine, rows);
        }
    }
}
