//! The sender's position in its stream, and which events answer which.

use tcpexp_flow::{MAX_ANSWER_DELAY, StreamOffset, may_be_probe_after};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::sender::event::Acked;
use crate::sender::window::Reply;

/// [`MAX_ANSWER_DELAY`] where the order of events is replayed from timestamps, whose ticks are 1 ms.
const REPLAYED_ANSWER: TimeDelta = TimeDelta::from_millis(3);

/// A sender sends what fits once the room holds a super-packet of this size (`GSO_LEGACY_MAX_SIZE`).
const MOST_AWAITED_BYTES: i64 = 1 << 16;
/// A sender sends what fits once the room is one part in this many of the smaller of its two windows
/// (`tcp_tso_win_divisor`).
const AWAITED_PART: i64 = 3;

/// Source of the order of events at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sender) enum Order {
    /// The capture was taken at the sender.
    Seen,
    /// Recovered from timestamps (RFC 7323). Times are imprecise evidence of which event caused
    /// which.
    Replayed,
    /// The order is unknown.
    NotSeen,
}

impl Order {
    /// The longest time from an ACK to a transmission that answers it.
    pub(super) fn answer(self) -> TimeDelta {
        match self {
            Self::Seen => MAX_ANSWER_DELAY,
            Self::Replayed | Self::NotSeen => REPLAYED_ANSWER,
        }
    }
}

/// What the room in the receiver's window means for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It holds the sender back.
    Closed,
    /// It is less than the sender sent at once, but Linux does not wait for more: a full send buffer may hold the
    /// sender back.
    Doubtful,
    /// It does not hold the sender back.
    Free,
}

/// The send sequence variables of RFC 9293, section 3.3.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) una: StreamOffset,
    pub(super) nxt: StreamOffset,
    /// The receiver's window in bytes; `None` before the first ACK, or if the window scale is
    /// unknown.
    pub(super) window_bytes: Option<u64>,
    /// Sequence number of the segment that last set the window (`SND.WL1`); `None` before it.
    pub(super) wl1: Option<StreamOffset>,
    pub(super) start: Start,
}

/// Known part of the stream's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// Everything in flight was captured.
    Complete,
    /// A SYN was sent once, at this time, and is not acknowledged yet.
    Opening(Timestamp),
    /// A SYN was sent more than once and is not acknowledged yet: the time and the timestamp of the latest.
    Reopening(Timestamp, Option<u32>),
    /// The capture began after the stream, or missed a long part of it. No data after this point is
    /// acknowledged yet; the data before it is acknowledged.
    WarmingUp(StreamOffset),
    /// As before, but no ACK has reached this point yet, so an unknown amount of older data may be in
    /// flight.
    Late(StreamOffset),
}

impl Stream {
    /// A stream whose first captured data begins at `start`.
    pub(super) fn from_data(start: StreamOffset) -> Self {
        Self {
            una: start,
            nxt: start,
            window_bytes: None,
            wl1: None,
            start: Start::Late(start),
        }
    }

    /// A stream opened by a SYN; `first` is the sequence number after the SYN. Without the time at
    /// which the SYN left the sender, its acknowledgment gives no round-trip time.
    pub(super) fn opened(at: Option<Timestamp>, first: StreamOffset) -> Self {
        Self {
            una: first,
            nxt: first,
            window_bytes: None,
            wl1: None,
            start: at.map_or(Start::Complete, Start::Opening),
        }
    }

    pub(super) fn is_warming_up(&self) -> bool {
        matches!(self.start, Start::WarmingUp(_) | Start::Late(_))
    }

    /// True if data from before the first captured data may be in flight.
    pub(super) fn may_have_older_data(&self) -> bool {
        matches!(self.start, Start::Late(_))
    }

    /// The start after an ACK of all data before `ack`.
    pub(super) fn start_after(&self, ack: StreamOffset) -> Start {
        match self.start {
            Start::WarmingUp(start) | Start::Late(start) if ack <= start => Start::WarmingUp(start),
            _ => Start::Complete,
        }
    }

    /// True if an ACK at or above `snd_una` sets the window: an older segment that acknowledges nothing
    /// new carries an older window (RFC 9293, section 3.10.7.4; `tcp_may_update_window`).
    pub(super) fn takes_window_of(&self, acked: &Acked) -> bool {
        acked.ack > self.una || self.wl1.is_none_or(|wl1| acked.seq >= wl1)
    }

    /// Unused bytes of the receiver's window; negative after the window shrank.
    pub(super) fn usable_bytes(&self) -> Option<i64> {
        let window = i64::try_from(self.window_bytes?).ok()?;
        Some(window - self.nxt.since(self.una))
    }

    /// True if the receiver's window is known to allow a quarter more than the flight, so that it
    /// does not limit the sender. Senders that defer segments to send several at once (TSO) leave
    /// less room than this in a window that limits them.
    pub(super) fn has_spare_window(&self) -> bool {
        let flight = self.nxt.since(self.una);
        self.usable_bytes()
            .is_some_and(|usable| usable * 4 > flight)
    }

    /// True if the receiver's window has no room for a segment of `smss_bytes`.
    pub(super) fn is_closed(&self, smss_bytes: u32) -> bool {
        self.is_closed_for(i64::from(smss_bytes))
    }

    /// True if the receiver's window has no room for `bytes`.
    pub(super) fn is_closed_for(&self, bytes: i64) -> bool {
        self.usable_bytes().is_some_and(|usable| usable < bytes)
    }
}

/// The latest events, to decide which transmission answers which ACK.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(super) struct Exchange {
    order: Order,
    sent: Option<Timestamp>,
    acked: Option<LatestAck>,
    /// Reaction to the latest ACK so far.
    reply: Reply,
    /// Time when `snd_una` last advanced, which restarts the retransmission timer (RFC 6298,
    /// section 5.3).
    advanced: Option<Timestamp>,
    /// True if a tail loss probe was sent since `snd_una` last advanced.
    pub(super) has_probed: bool,
    /// True if the latest transmission ends with a segment shorter than the SMSS.
    pub(super) is_drained: bool,
    /// True if a tail loss probe of new data was sent since the latest ACK.
    pub(super) has_probed_anew: bool,
    /// Bytes that the sender sent at once in its latest answer to an ACK: its longest packet if the capture
    /// shows super-packets, else all of them, because they may be parts of a super-packet.
    burst_bytes: i64,
    /// True if the capture shows the sender's super-packets.
    shows_bursts: bool,
}

#[derive(Clone, Copy, Debug)]
struct LatestAck {
    at: Timestamp,
    /// True if the ACK carried data: the sender may answer the data instead of the room in its
    /// window.
    has_data: bool,
}

impl Exchange {
    pub(super) fn new(order: Order, is_bursty: bool) -> Self {
        Self {
            order,
            // Elsewhere, longer packets are those that the capturing host has merged.
            shows_bursts: is_bursty && order == Order::Seen,
            sent: None,
            acked: None,
            reply: Reply::Nothing,
            advanced: None,
            has_probed: false,
            is_drained: false,
            has_probed_anew: false,
            burst_bytes: 0,
        }
    }

    /// Records `bytes` of data that the sender sends.
    pub(super) fn send(&mut self, at: Timestamp, bytes: i64) {
        if self.reply == Reply::Nothing {
            self.burst_bytes = 0;
        }
        // The first transmission after an ACK decides; any later transmission may have another
        // cause.
        if self.reply == Reply::Nothing {
            let asks = self.acked.is_some_and(|acked| acked.has_data);
            self.reply = if !asks && self.answers(at) {
                Reply::AtOnce
            } else {
                Reply::Otherwise
            };
        }
        if self.reply == Reply::AtOnce {
            self.burst_bytes = if self.shows_bursts {
                self.burst_bytes.max(bytes)
            } else {
                self.burst_bytes + bytes
            };
        }
        self.sent = Some(at);
    }

    /// Judges the receiver's window for a sender with more data, which waits for room for a segment of
    /// `smss_bytes`, or for as many segments as it sends at once (`tcp_tso_should_defer`). `cwnd_bytes` is its
    /// congestion window.
    pub(super) fn room(&self, stream: &Stream, smss_bytes: u32, cwnd_bytes: i64) -> Room {
        let smss_bytes = i64::from(smss_bytes);
        let at_once = if self.is_drained {
            smss_bytes
        } else {
            self.burst_bytes.min(MOST_AWAITED_BYTES).max(smss_bytes)
        };
        if !stream.is_closed_for(at_once) {
            return Room::Free;
        }
        let window_bytes = stream
            .window_bytes
            .and_then(|bytes| i64::try_from(bytes).ok());
        let window_bytes = window_bytes.map_or(cwnd_bytes, |bytes| bytes.min(cwnd_bytes));
        let awaited = at_once.min(window_bytes / AWAITED_PART).max(smss_bytes);
        if stream.is_closed_for(awaited) {
            Room::Closed
        } else {
            Room::Doubtful
        }
    }

    pub(super) fn on_ack(&mut self, acked: &Acked) {
        self.acked = Some(LatestAck {
            at: acked.at,
            has_data: !acked.is_bare,
        });
        self.reply = Reply::Nothing;
        self.has_probed_anew = false;
    }

    /// True if a transmission at `at` may be a tail loss probe (RFC 8985, section 7).
    pub(super) fn may_probe(&self, at: Timestamp, srtt: Option<TimeDelta>) -> bool {
        let latest = self.sent.max(self.last_acked());
        match (latest, srtt) {
            (Some(latest), Some(srtt)) => may_be_probe_after(at - latest, srtt),
            _ => false,
        }
    }

    /// Records an ACK that advances `snd_una`.
    pub(super) fn advance(&mut self, at: Timestamp) {
        self.advanced = Some(at);
        self.has_probed = false;
    }

    /// True if a transmission at `at` answers the latest ACK.
    pub(super) fn answers(&self, at: Timestamp) -> bool {
        let answer = self.order.answer();
        self.acked.is_some_and(|acked| at - acked.at < answer)
    }

    /// Reaction to the latest ACK, when the next ACK comes at `at`.
    pub(super) fn reply(&self, at: Timestamp) -> Reply {
        match self.reply {
            // ACKs that arrive together are answered together, so this silence proves nothing yet.
            Reply::Nothing if self.answers(at) => Reply::NothingYet,
            reply => reply,
        }
    }

    pub(super) fn has_sent(&self) -> bool {
        self.reply != Reply::Nothing
    }

    pub(super) fn last_sent(&self) -> Option<Timestamp> {
        self.sent
    }

    pub(super) fn last_advance(&self) -> Option<Timestamp> {
        self.advanced
    }

    pub(super) fn last_acked(&self) -> Option<Timestamp> {
        self.acked.map(|acked| acked.at)
    }
}
