//! What the capture shows of a sender around ACKs and data that the capture missed.
//!
//! From the last ACK before the gap on, the data in flight, the window and the round-trip time are
//! unknown, because the captured ACKs show less than the sender knew. The first ACK behind the gap
//! restores the flight, unless segments below `snd_nxt` may have been reported in missed SACK blocks. Behind
//! missed data, the next captured data restores it, because only that data shows `snd_nxt`. The congestion
//! window stays unknown until the sender shows it again.

use tcpexp_flow::StreamOffset;

use super::Engine;
use super::state::{Settling, State};
use super::stream::Stream;
use crate::sender::event::Acked;
use crate::sender::row::SenderRow;
use crate::sender::sample::{CwndSource, SenderSample};
use crate::sender::window::AckContext;

/// The latest gap between the ACKs.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct AckGap {
    /// True from the ACK before the gap to the ACK behind it, and while data that the capture missed may be in
    /// flight.
    is_open: bool,
    /// True if the gap hides the sender's state before the latest ACK.
    pub(super) hides_state: bool,
    /// End of the data whose SACK blocks may be in the gap, until it is acknowledged.
    until: Option<StreamOffset>,
    /// True if nothing has shown the congestion window since the gap.
    hides_window: bool,
    /// True from an ACK of data that the capture missed to the next captured data: more such data may be in
    /// flight.
    pub(super) hides_nxt: bool,
}

impl AckGap {
    /// True if a recovery that begins or ends now has a window that the capture does not show.
    pub(super) fn hides_recovery(&self) -> bool {
        self.is_open || self.hides_state
    }

    /// True if nothing has shown the congestion window since the gap.
    pub(super) fn hides_window(&self) -> bool {
        self.hides_window
    }

    /// True from the ACK before the gap to the ACK behind it, and while data that the capture missed may be in
    /// flight.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }
}

impl Engine<'_> {
    /// Begins with an ACK of the stream as it was before. Returns true if a gap hides the state before
    /// the ACK.
    #[inline]
    pub(super) fn enter_gap(&mut self, acked: &Acked, before: &Stream) -> bool {
        if acked.gap.before || self.gap.hides_nxt || self.gap.until.is_some() {
            self.pass_gap(acked, before);
        }
        self.gap.hides_state
    }

    #[cold]
    fn pass_gap(&mut self, acked: &Acked, before: &Stream) {
        // Without loss or reordering, an ACK covers what the missed ones covered.
        let is_disordered = !self.state.is_open()
            || self.board.has_sacked()
            || self.board.has_retransmitted()
            || acked.blocks.iter().next().is_some()
            || acked.ack <= before.una;
        let is_behind = acked.gap.before || self.gap.hides_nxt;
        if is_behind && is_disordered {
            self.gap.until = Some(before.nxt);
        }
        self.gap.until = self.gap.until.filter(|until| before.una < *until);
        self.gap.hides_state = is_behind || self.gap.until.is_some();
    }

    /// Emits what is known of the state before an ACK behind a gap.
    #[cold]
    pub(super) fn emit_hidden(
        &mut self,
        acked: &Acked,
        now: &AckContext,
        rows: &mut impl Extend<SenderRow>,
    ) {
        // The missed packets may have shown a smaller window.
        self.undecided.hide(rows);
        if acked.is_syn {
            return;
        }
        let whole = self.sample(now, None, CwndSource::NotSeen);
        let sample = SenderSample {
            record: whole.record,
            snd_nxt: whole.snd_nxt,
            smss_bytes: whole.smss_bytes,
            recovery_epoch: whole.recovery_epoch,
            latest_marked_packets: whole.latest_marked_packets,
            ..SenderSample::unknown(whole.at, whole.flow, whole.direction)
        };
        rows.extend([SenderRow::Sample(sample)]);
    }

    /// Ends with an ACK.
    #[inline]
    pub(super) fn leave_gap(&mut self, acked: &Acked, rows: &mut impl Extend<SenderRow>) {
        if self.gap.hides_state {
            self.lose_sight(rows);
        } else {
            self.gap.hides_window &= self.window.is_hidden() && self.state.is_open();
        }
        self.gap.is_open = acked.gap.behind || acked.gap.hides_flight;
    }

    #[cold]
    fn lose_sight(&mut self, rows: &mut impl Extend<SenderRow>) {
        match std::mem::take(&mut self.state) {
            State::Open => {}
            State::Settling(Settling { ended, .. }) | State::Regrowing(ended) => {
                self.report(&ended.recovery, Some(ended.at), None, rows);
            }
            recovering @ State::Recovering(_) => self.state = recovering,
        }
        self.window.lose_sight();
        self.gap.hides_window = true;
        self.gap.hides_state = self.gap.until.is_some();
    }
}
