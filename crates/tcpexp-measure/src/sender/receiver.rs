//! The sender's order of events, recovered from a capture at the receiver.
//!
//! Data echoes the timestamp of the latest ACK that reached the sender before the data left (RFC
//! 7323, section 4). An ACK therefore reached the sender before the data that echoes its timestamp
//! or a later timestamp, and after all other data.
//!
//! An ACK behind a gap in the receiver's own data is not echoed until the gap closes (RFC 7323, section
//! 4.3), so it shows no order: by the echo, it may have reached the sender or not.

use std::collections::VecDeque;

use tcpexp_flow::{SHORTEST_TIMEOUT, StreamOffset, is_after};
use tcpexp_units::{TimeDelta, Timestamp};

use super::engine::Engine;
use super::event::{Acked, Located, Sent};
use super::retransmissions::Retransmissions;
use super::row::SenderRow;
use super::side::Side;
use super::stamps::Ticks;

/// Maximum number of ACKs that wait for an echo.
const MAX_DEPARTED: usize = 1 << 16;

/// ACKs that left the receiver and are not echoed yet.
///
/// The replayed clock of the sender lags by the one-way delay of ACKs: the sender receives an ACK
/// when the ACK leaves the receiver. Data leaves when the latest ACK that it echoes is received; if
/// no later ACK had left one round trip before the data arrived, the data leaves at that time
/// instead. The time from data to its ACK is thus a whole round trip although both are captured at
/// the receiver, and queueing does not make the clock drift.
///
/// A timer sends the data after a silence. An ACK that left long before and is not echoed was lost, so
/// it gives no send time.
#[derive(Debug)]
pub(super) struct Replay<'a> {
    departed: VecDeque<Departed>,
    /// `None` if no data echoed an ACK.
    least_rtt: Option<TimeDelta>,
    /// Time of the latest event at the sender; `None` before the first.
    latest: Option<Timestamp>,
    /// Time at which the latest data arrived.
    arrived: Option<Timestamp>,
    /// The sender's timestamp clock, mapped to the capture's clock minus a round trip.
    ticks: Ticks,
    /// Data of the receiver that the sender has acknowledged.
    answered: Option<StreamOffset>,
    /// True if the last ACK dropped followed ACKs that the capture missed, until the next ACK departs.
    follows_missed: bool,
    /// Retransmissions of this data.
    receiver_again: Option<&'a Retransmissions>,
}

/// An ACK that left the receiver.
#[derive(Clone, Copy, Debug)]
struct Departed {
    stamp: u32,
    acked: Acked,
    /// End of the data in its segment; `None` without data.
    data_end: Option<StreamOffset>,
    /// True if this data is sent again later, so that it may have been lost.
    is_sent_again: bool,
}

/// Whether a sender that does not echo an ACK had received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Receipt {
    Received,
    NotReceived,
    Unknown,
}

impl Departed {
    /// The receipt at a sender that has received all data before `next` and echoes `echo`.
    fn receipt(&self, echo: Option<u32>, next: Option<StreamOffset>) -> Receipt {
        if echo.is_none_or(|echo| !is_after(self.stamp, echo)) {
            return Receipt::Received;
        }
        let Some(next) = next else {
            return Receipt::NotReceived;
        };
        match self.data_end {
            Some(end) if end <= next => Receipt::Received,
            // Data behind a gap, or data that opens one.
            _ if self.acked.seq > next || self.is_sent_again => Receipt::Unknown,
            _ => Receipt::NotReceived,
        }
    }
}

impl<'a> Replay<'a> {
    /// `receiver` is the direction of the ACKs; `None` if it has hardly any data.
    pub(super) fn new(side: &Side, receiver: Option<&'a Side>) -> Self {
        let least_rtt = side.least_echo;
        let first_tick = side
            .first_tick
            .map(|(stamp, began)| (stamp, began - least_rtt.unwrap_or_default()));
        Self {
            departed: VecDeque::new(),
            least_rtt,
            latest: None,
            arrived: None,
            ticks: Ticks::started(side.tick, first_tick),
            answered: None,
            follows_missed: false,
            receiver_again: receiver.map(|side| &side.retransmissions),
        }
    }

    /// Records what a packet of the sender acknowledges.
    pub(super) fn answer(&mut self, ack: StreamOffset) {
        self.answered = self.answered.max(Some(ack));
    }

    /// Time at which the sender sent a SYN that was captured at `at`, like data that answers no ACK;
    /// `None` if the round-trip time is unknown.
    pub(super) fn syn_left_at(&self, at: Timestamp) -> Option<Timestamp> {
        self.least_rtt.map(|least| at - least)
    }

    /// Records an ACK that leaves the receiver, in a segment that ends at `end`.
    pub(super) fn depart(&mut self, stamp: u32, mut acked: Acked, end: StreamOffset) {
        let (again, has_data) = (self.receiver_again, !acked.is_bare);
        let is_sent_again =
            has_data && again.is_some_and(|again| again.covers(acked.seq, end, acked.place + 1));
        if self.departed.len() == MAX_DEPARTED {
            self.drop_oldest();
        }
        acked.gap.before |= std::mem::take(&mut self.follows_missed);
        self.departed.push_back(Departed {
            stamp,
            acked,
            data_end: has_data.then_some(end),
            is_sent_again,
        });
    }

    /// Replays data that echoes `echo`, after the ACKs that it follows.
    pub(super) fn arrive(
        &mut self,
        mut sent: Sent,
        echo: Option<u32>,
        engine: &mut Engine<'_>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        // Data without an echo shows no order, so it follows all ACKs captured before it.
        let next = self.answered;
        while let Some(departed) = self.departed.front()
            && departed.receipt(echo, next) == Receipt::Received
        {
            self.release(sent.packet, engine, rows);
        }
        if let Some(latest) = self.latest {
            engine.fill(latest, sent.packet, rows);
            if engine.is_again(&sent) {
                engine.fill_burst(latest, sent.packet, rows);
            }
        }
        let mut at_most = sent.at - self.least_rtt.unwrap_or_default();
        self.ticks.send(at_most, sent.stamp);
        // A queue delays the data but not its timestamp, so the tick may give an earlier bound.
        if let Some(tick) = self.ticks.latest() {
            at_most = at_most.min(tick);
        }
        self.drop_lost(sent.at, at_most, echo, engine);
        let first = self.departed.front();
        if first.is_some_and(|first| first.receipt(echo, next) == Receipt::Unknown) {
            engine.leave_untimed(sent.start..sent.end);
        }
        let next = self.departed.front().map(|departed| departed.acked.at);
        sent.at = match next {
            // The data does not echo the next ACK, so it left the sender before this ACK came.
            Some(next) if next <= at_most => self.latest.unwrap_or(next),
            _ => self.latest.map_or(at_most, |latest| latest.max(at_most)),
        };
        self.latest = Some(sent.at);
        engine.send(&sent, rows);
    }

    /// Drops the ACKs that never reached the sender, if data that left at `at_most` arrives after a
    /// silence. A later ACK covers the same data.
    fn drop_lost(
        &mut self,
        arrival: Timestamp,
        at_most: Timestamp,
        echo: Option<u32>,
        engine: &mut Engine<'_>,
    ) {
        let before = self.arrived.replace(arrival);
        // Linux adds at least its minimum timeout to the smoothed round-trip time.
        let timeout = self.least_rtt.unwrap_or_default() + SHORTEST_TIMEOUT;
        if before.is_some_and(|before| arrival - before < timeout) {
            return;
        }
        while let Some(departed) = self.departed.front()
            && at_most - departed.acked.at >= timeout
        {
            // If it was received, the later ACK gives no round-trip time.
            if departed.receipt(echo, self.answered) == Receipt::Unknown {
                let ack = departed.acked.ack;
                engine.leave_untimed(ack.moved(-1)..ack);
            }
            self.drop_oldest();
        }
    }

    /// Drops the oldest ACK: a later one covers the same data, and follows the same missed ACKs.
    fn drop_oldest(&mut self) {
        let Some(dropped) = self.departed.pop_front() else {
            return;
        };
        match self.departed.front_mut() {
            Some(next) => next.acked.gap.before |= dropped.acked.gap.before,
            None => self.follows_missed |= dropped.acked.gap.before,
        }
    }

    fn release(
        &mut self,
        packet: Located,
        engine: &mut Engine<'_>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        if let Some(Departed { mut acked, .. }) = self.departed.pop_front() {
            // Retransmissions carry the places of their arrival.
            acked.place = packet.place;
            if let Some(latest) = self.latest {
                engine.fill(latest, packet, rows);
                // The replayed clock must not run backwards.
                acked.at = acked.at.max(latest);
            }
            self.latest = Some(acked.at);
            engine.on_ack(&acked, rows);
        }
    }

    /// Replays all ACKs that left up to `until`.
    pub(super) fn flush(
        &mut self,
        until: Timestamp,
        engine: &mut Engine<'_>,
        rows: &mut impl Extend<SenderRow>,
    ) {
        while self
            .departed
            .front()
            .is_some_and(|departed| departed.acked.at <= until)
        {
            // No data follows these ACKs, so no later retransmission marks a loss.
            self.release(Located::AT_END, engine, rows);
        }
    }
}
