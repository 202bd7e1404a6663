//! Data that the sender sent and the capture missed.
//!
//! The data counts as sent, but nothing shows when: it gives no round-trip time, does not end an idle time, and
//! is no evidence of the order in which data was lost.

use tcpexp_flow::StreamOffset;
use tcpexp_units::Timestamp;

use super::Engine;
use super::stream::Stream;
use crate::Position;
use crate::missed::has_missed_data;
use crate::sender::event::{Acked, Sent};
use crate::sender::row::SenderRow;
use crate::sender::sample::{CwndSource, SenderSample};
use crate::sender::window::AckContext;

impl Engine<'_> {
    /// Adds acknowledged data that the capture missed to the stream.
    pub(super) fn admit(&mut self, acked: &Acked, stream: Stream) -> Stream {
        if stream.may_have_older_data() && acked.ack < stream.una {
            return stream;
        }
        let furthest = if acked.blocks.is_empty() {
            acked.ack
        } else {
            let ends = acked.blocks.selective(acked.ack).map(|block| block.1);
            ends.fold(acked.ack, StreamOffset::max)
        };
        // The capture may have missed a window of data; an ACK further ahead is invalid.
        if furthest > stream.nxt && !self.is_too_much(furthest) {
            if has_missed_data(furthest, stream.nxt) {
                self.gap.hides_nxt = true;
                self.totals.limits.doubt();
            }
            self.pass_missed(acked.at, stream.nxt, furthest);
            return Stream {
                nxt: furthest,
                ..stream
            };
        }
        stream
    }

    /// Sends new data, after earlier data that the capture missed.
    pub(super) fn send_beyond(&mut self, sent: &Sent, nxt: StreamOffset) {
        // Elsewhere, the data may have been lost before it reached the capture.
        let is_missed = self.gap.hides_nxt || self.subject.side.position == Some(Position::Sender);
        let has_gap = sent.start > nxt;
        self.gap.hides_nxt = false;
        if has_gap && is_missed {
            self.pass_missed(sent.at, nxt, sent.start);
            self.send_new(sent.at, sent.stamp, (sent.start, sent.end));
        } else {
            // The data in the gap has timestamps of its own.
            let stamp = sent.stamp.filter(|_| !has_gap);
            self.send_new(sent.at, stamp, (nxt, sent.end));
        }
    }

    /// Emits what is known of the state before an ACK at which missed data may be in flight. A later packet shows
    /// this data, so the window goes on from its last value.
    #[cold]
    pub(super) fn emit_without_flight(
        &mut self,
        acked: &Acked,
        now: &AckContext,
        rows: &mut impl Extend<SenderRow>,
    ) {
        // The missed data may have answered the latest ACK.
        self.undecided.hide(rows);
        // One ACK without a flight leaves the growth between the ACKs around it known. During more ACKs, the
        // sender may have run out of data.
        if self.gap.is_open() {
            self.window.pause();
        }
        if acked.is_syn {
            return;
        }
        let sample = SenderSample {
            cwnd_source: CwndSource::NotSeen,
            snd_una: None,
            snd_nxt: None,
            flight_size_bytes: None,
            pipe_bytes: None,
            pipe_segments: None,
            usable_window_bytes: None,
            limit: None,
            model: None,
            ..self.sample(now, None, CwndSource::NotSeen)
        };
        rows.extend([SenderRow::Sample(sample)]);
    }

    /// Adds data that the sender sent at an unknown time before `at`.
    #[cold]
    fn pass_missed(&mut self, at: Timestamp, from: StreamOffset, to: StreamOffset) {
        self.leave_untimed(from..to);
        self.append(at, None, (from, to));
        self.board.hide_times(from);
    }
}
