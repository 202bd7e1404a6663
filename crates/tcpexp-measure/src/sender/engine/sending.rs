//! What the sender sends: its SYN and its data.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

use super::Engine;
use super::state::State;
use super::stream::{Start, Stream};
use crate::sender::data_gaps::LONGEST_GAP_BYTES;
use crate::sender::event::Sent;
use crate::sender::row::SenderRow;
use crate::sender::scoreboard::Scoreboard;

/// Maximum number of outstanding segments; more reset the state, because each takes memory. The largest
/// window is 1 GiB (RFC 7323, section 2.3): 741,000 segments of 1,448 bytes.
const MOST_OUTSTANDING: i64 = 1 << 20;

impl Engine<'_> {
    /// Smoothed round-trip time of the sender; `None` before the first sample.
    pub(in crate::sender) fn srtt(&self) -> Option<TimeDelta> {
        self.timer.srtt()
    }

    /// Processes a SYN of the sender, captured at `seen`, which left the sender at `at`; `None` if unknown.
    pub(in crate::sender) fn open(
        &mut self,
        seen: Timestamp,
        at: Option<Timestamp>,
        start: StreamOffset,
        stamp: Option<u32>,
    ) {
        self.syns.send(seen, start, stamp);
        // The SYN takes one sequence number.
        let first = start.plus(1);
        let Some(stream) = &mut self.stream else {
            self.stream = Some(Stream::opened(at, first));
            return;
        };
        stream.una = first;
        stream.nxt = first;
        // Of a retransmitted SYN, only a timestamp shows which copy an ACK answers (RFC 6298, section 3).
        if let Start::Opening(_) | Start::Reopening(..) = stream.start {
            stream.start = at.map_or(Start::Complete, |at| Start::Reopening(at, stamp));
        }
    }

    /// Processes data that the sender sends.
    pub(in crate::sender) fn send(&mut self, sent: &Sent, rows: &mut impl Extend<SenderRow>) {
        // The time since the latest event counts towards the limit that applied until now.
        self.totals.limits.pass(sent.at);
        let nxt = self.begin(sent.start).nxt;
        let losses = self.losses.as_mut();
        let earlier_copy = losses.and_then(|losses| losses.send(sent, nxt));
        if !self.exchange.answers(sent.at) {
            // Data not triggered by an ACK, such as a probe, may exceed the window.
            self.see_settled(sent.at, rows);
        }
        let is_idle = self.board.is_empty();
        // A sender may repackage retransmitted bytes with new data, so one packet may be both.
        if sent.end > nxt {
            // Data in flight that no ACK has answered for two round trips.
            self.exchange.has_probed_anew |=
                !is_idle && self.exchange.may_probe(sent.at, self.timer.srtt());
            self.send_beyond(sent, nxt);
        }
        if sent.start < nxt {
            let again = Sent {
                end: sent.end.min(nxt),
                ..*sent
            };
            self.retransmit(&again, earlier_copy, rows);
        }
        if let Some(model) = &mut self.model {
            let bytes = u32::try_from(sent.end.since(sent.start)).unwrap_or(0);
            let (last, in_flight) = (self.board.transmissions(), self.board.pipe());
            model.send(sent.at, bytes, last, in_flight, is_idle);
        }
        let sent_bytes = sent.end.since(sent.start);
        self.exchange.send(sent.at, sent_bytes);
        self.exchange.is_drained = sent_bytes % i64::from(self.subject.side.smss_bytes.max(1)) != 0;
        self.is_split &= self.exchange.is_drained;
        self.note_limit();
        self.ticks.send(sent.at, sent.stamp);
    }

    /// The stream before data that begins at `start`; a new stream if it is unknown or the gap is
    /// too long.
    fn begin(&mut self, start: StreamOffset) -> Stream {
        let is_too_much = self.is_too_much(start);
        let stream = self.stream.get_or_insert(Stream::from_data(start));
        if is_too_much {
            self.board = Scoreboard::default();
            *stream = Stream {
                window_bytes: stream.window_bytes,
                wl1: stream.wl1,
                ..Stream::from_data(start)
            };
        }
        *stream
    }

    /// True if the data up to `to` is too much to be in the network.
    pub(super) fn is_too_much(&self, to: StreamOffset) -> bool {
        let Some(stream) = self.stream else {
            return false;
        };
        let gap_bytes = to.since(stream.nxt);
        let segments = gap_bytes / i64::from(self.subject.side.smss_bytes.max(1));
        gap_bytes > LONGEST_GAP_BYTES
            || segments + i64::from(self.board.outstanding()) > MOST_OUTSTANDING
    }

    /// Processes new data, including earlier data that was lost before it reached the capture.
    pub(super) fn send_new(
        &mut self,
        at: Timestamp,
        stamp: Option<u32>,
        (from, to): (StreamOffset, StreamOffset),
    ) {
        // Linux restarts an idle sender only with no data outstanding
        // (`tcp_slow_start_after_idle_check`).
        if self.board.is_empty()
            && self.state.is_open()
            && let Some(last) = self.exchange.last_sent()
        {
            let has_restarted = self.window.restart(at - last, self.timer.rto());
            if let State::Settling(settling) = &mut self.state {
                settling.has_restarted |= has_restarted;
            }
        }
        self.append(at, stamp, (from, to));
    }

    /// Adds new data to the stream.
    pub(super) fn append(
        &mut self,
        at: Timestamp,
        stamp: Option<u32>,
        (from, to): (StreamOffset, StreamOffset),
    ) {
        let smss_bytes = self.subject.side.smss_bytes;
        let segments = self.board.append(at, stamp, (from, to), smss_bytes);
        // `prr_out` (RFC 6937, section 3) counts new data as well as retransmissions.
        if let Some(stream) = &mut self.stream {
            if let Some(recovery) = self.state.recovery_mut() {
                recovery.send_new(segments, stream.una);
            }
            stream.nxt = to;
        }
    }
}
