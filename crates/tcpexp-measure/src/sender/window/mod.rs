//! The congestion window: observed where the sender fills it, replayed where it does not.

mod context;
mod doubt;
mod fall;
mod hidden;
mod replay;
mod round;
mod silence;

use std::collections::VecDeque;

use tcpexp_flow::StreamOffset;

use super::increase::Increase;
use super::profile::Profile;
use super::recovery::Before;
use super::reduction::MIN_THRESHOLD;
use super::sample::CwndSource;
use super::undecided::Reduced;
pub(super) use context::{AckContext, Reply};
use doubt::Doubt;
use replay::Usage;
use round::{Growth, Rounds};
use silence::Silence;

/// Number of latest ACKs that decide whether the sender fills its window. Chosen on captures whose
/// senders' kernels logged cwnd.
const JUDGED: usize = 8;
/// Minimum number of ACKs for this decision.
const MIN_JUDGED: usize = 3;

/// An estimate of the congestion window.
#[derive(Clone, Copy, Debug)]
pub(super) enum CwndEstimate {
    Sure(u32, CwndSource),
    /// A sender that was limited by its window sent nothing: either the window shrank, or the
    /// application has no data. The sender's next action decides.
    Undecided,
    /// The sender answers, with less in flight than before. Its next answers show whether the window shrank.
    Resuming,
}

/// The estimate and its evidence.
#[derive(Debug)]
pub(super) struct Window {
    profile: Profile,
    /// Congestion window in segments.
    pub(super) cwnd: u32,
    /// Segments by which the latest ACK has grown it.
    grown: u32,
    pub(super) ssthresh: Option<u32>,
    initial: u32,
    /// Lower bound of the window in segments; 0 if there is none. `None` in a capture at the sender, which needs
    /// no bound. Elsewhere, data seems to answer the latest ACK that it echoes, so a slow application may seem to
    /// fill its window.
    least: Option<u32>,
    increase: Increase,
    usage: Usage,
    judged: VecDeque<(bool, u32)>,
    /// The pipe after the latest ACK, unless the sender left it unanswered.
    answered: Option<u32>,
    silence: Silence,
    /// True if the sender sends several segments at a time (TSO or GSO), so it does not always fill
    /// the window.
    is_bursty: bool,
    /// The growth in the last round trip, which shows the end of slow start.
    rounds: Rounds,
    pub(super) is_filled: bool,
    start: Beginning,
    /// The replay's threshold while the real one is unknown, because it was set before the capture began.
    assumed_ssthresh: Option<u32>,
    /// `None` unless the latest reduction had no loss and a round trip has not passed since.
    doubt: Option<Doubt>,
    /// The threshold, if it is only the window at which a round trip showed the end of slow start.
    noticed_ssthresh: Option<u32>,
    /// True if nothing has shown the window since a reduction of unknown size.
    is_hidden: bool,
    /// Segments acknowledged since the window was last shown, while the threshold is unknown: in slow start the
    /// window has grown by as many, in congestion avoidance hardly.
    unsure: u32,
}

/// What is known of the window before the capture, or before the packets that it missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// All that matters: the stream began with the initial window, or the sender has repaired a loss since.
    Seen,
    /// The capture began later, and nothing has shown the window since: the sender may use a part of it only.
    NotShown,
    /// The capture began later, but the sender has filled the window since; or it missed packets. The threshold
    /// is unknown.
    Shown,
}

impl Window {
    pub(super) fn new(
        profile: Profile,
        smss_bytes: u32,
        is_bursty: bool,
        shows_answers: bool,
    ) -> Self {
        let initial = profile.initial_window_segments(smss_bytes);
        Self {
            profile,
            cwnd: initial,
            grown: 0,
            ssthresh: None,
            initial,
            least: (!shows_answers).then_some(initial),
            increase: Increase::default(),
            usage: Usage::default(),
            judged: VecDeque::with_capacity(JUDGED + 1),
            answered: None,
            silence: Silence::default(),
            is_bursty,
            rounds: Rounds::default(),
            is_filled: false,
            start: Beginning::Seen,
            assumed_ssthresh: None,
            doubt: None,
            noticed_ssthresh: None,
            is_hidden: false,
            unsure: 0,
        }
    }

    /// The threshold, if it is known.
    pub(super) fn known_ssthresh(&self) -> Option<u32> {
        self.ssthresh
            .filter(|_| self.ssthresh != self.assumed_ssthresh)
    }

    /// Begins in the middle of a stream, with `pipe` segments in flight in place of the initial window.
    pub(super) fn begin_in_the_middle(&mut self, pipe: u32) {
        self.set_cwnd(pipe.max(1));
        self.set_least(0);
        self.start = Beginning::NotShown;
    }

    /// True unless the capture began in the middle of the stream, and the sender has not shown its window since.
    pub(super) fn is_shown(&self) -> bool {
        self.start != Beginning::NotShown
    }

    /// True if the window is known to be below or above the threshold. In the middle of a stream, it may have been
    /// reduced before.
    pub(super) fn has_known_phase(&self) -> bool {
        self.start == Beginning::Seen || self.ssthresh.is_some()
    }

    /// The estimate outside of recoveries.
    pub(super) fn open(&mut self, now: &AckContext) -> CwndEstimate {
        // A probe may exceed the window by one segment (`tcp_send_loss_probe`).
        let beyond = u32::from(now.has_probed && now.pipe > self.cwnd);
        let now = &AckContext {
            pipe: now.pipe - beyond,
            ..*now
        };
        self.is_filled = false;
        if now.is_closed {
            // The receiver's window holds the sender back, so this ACK counts as unfilled.
            self.judge(now);
            self.cover(now);
            self.pause();
            return CwndEstimate::Sure(self.cwnd, CwndSource::ReceiverLimited);
        }
        if self.is_filling() && !now.reply.has_sent() {
            self.is_filled = !self.is_hidden;
            if now.reply == Reply::NothingYet && self.silence.is_ending() {
                return CwndEstimate::Resuming;
            }
            self.answered = None;
            self.silence.wait(self.cwnd);
            return CwndEstimate::Undecided;
        }
        // ACKs that arrive together are answered once; to judge each would make a full window look
        // unfilled.
        if now.reply != Reply::NothingYet {
            self.judge(now);
        }
        if self.began_at_one() {
            self.set_least(0);
        }
        let before = self.answered;
        let has_fallen = before.is_some_and(|before| self.falls_for_lack_of_data(before, now.pipe));
        if now.reply == Reply::AtOnce {
            self.answered = Some(now.pipe);
        }
        let has_less = now.is_drained || has_fallen || self.is_below_least(now.pipe);
        let is_drained = has_less && now.pipe < self.cwnd;
        if !self.is_filling() || now.reply != Reply::AtOnce || is_drained {
            self.cover(now);
            self.pause();
            return CwndEstimate::Sure(self.cwnd, CwndSource::ApplicationLimited);
        }
        self.is_filled = true;
        if before.is_some_and(|before| self.may_lack_data(before, now.pipe)) {
            self.silence.doubt(self.cwnd);
        }
        if self.is_hidden {
            self.silence = Silence::default();
        } else if !self.silence.answer(now.pipe) {
            return CwndEstimate::Resuming;
        }
        self.show();
        if self.start == Beginning::NotShown {
            self.start = Beginning::Shown;
        }
        // TSO defers segments, so the pipe stays up to 1.6 % below the window (measured at 100
        // Mbit/s).
        self.cwnd = if self.is_bursty {
            let most = self.judged.iter().map(|&(_, pipe)| pipe).max();
            most.unwrap_or(now.pipe)
        } else {
            now.pipe
        };
        self.resolve_doubt(now.una);
        self.notice_slow_start_end(now);
        if self.ssthresh.is_some_and(|ssthresh| self.cwnd >= ssthresh) {
            self.increase.reach(self.cwnd);
        }
        CwndEstimate::Sure(self.cwnd, CwndSource::Filled)
    }

    /// True if the first two flights were one and two segments: the window began at one segment, as after a lost
    /// SYN (RFC 6298, section 5.7).
    fn began_at_one(&self) -> bool {
        self.judged.len() == 2 && self.judged[0].1 == 1 && self.judged[1].1 == 2
    }

    /// True if the pipe is below the lower bound of the window: the application limits the sender, although it
    /// seems to answer each ACK.
    fn is_below_least(&self, pipe: u32) -> bool {
        self.least.is_some_and(|least| pipe < least)
    }

    /// Sets the lower bound of the window, where one is kept.
    fn set_least(&mut self, least: u32) {
        self.least = self.least.map(|_| least);
    }

    /// True if the sender answered at least 70 % of the latest ACKs.
    fn is_filling(&self) -> bool {
        let filled = self.judged.iter().filter(|(filled, _)| *filled).count();
        self.judged.len() >= MIN_JUDGED && filled * 10 >= self.judged.len() * 7
    }

    /// Interrupts what is measured while the sender fills its window.
    pub(super) fn pause(&mut self) {
        self.silence = Silence::default();
        self.increase.pause();
        self.rounds.interrupt();
    }

    /// Raises the window to the pipe: all data sent fits into the window.
    fn cover(&mut self, now: &AckContext) {
        if now.reply.has_sent() {
            self.cwnd = self.cwnd.max(now.pipe);
        }
    }

    fn judge(&mut self, now: &AckContext) {
        // Nagle's algorithm holds a short segment back until earlier data is acknowledged (RFC 9293, section
        // 3.7.4), so a short answer may follow each ACK of an application that writes little.
        let is_short = now.is_drained && now.pipe < self.cwnd;
        let is_filled = now.reply == Reply::AtOnce && !now.is_closed && !is_short;
        self.judged.push_back((is_filled, now.pipe));
        if self.judged.len() > JUDGED {
            self.judged.pop_front();
        }
    }

    /// Sets the window after a reduction without a loss, with `una..nxt` outstanding. Its threshold is uncertain.
    pub(super) fn reduced(&mut self, reduced: Reduced, una: StreamOffset, nxt: StreamOffset) {
        let Reduced {
            before,
            cwnd,
            ssthresh,
        } = reduced;
        let doubt = self.doubt(before, una, nxt);
        self.show();
        self.set_cwnd(cwnd);
        self.set_least(0);
        self.forget_origin();
        self.doubt = Some(doubt);
        // A bursty sender in slow start may only wait for room for several segments (TSO).
        if ssthresh.is_some() || !self.is_bursty || self.ssthresh.is_some() {
            self.ssthresh = ssthresh.or(Some(cwnd));
            self.assumed_ssthresh = self.ssthresh;
        }
        // The pipes from before the reduction would raise the window of a bursty sender again.
        self.judged
            .iter_mut()
            .for_each(|judged| *judged = (true, cwnd));
    }

    /// Detects the end of slow start without a loss, at rising delay (`HyStart`, RFC 9406): the window
    /// grows too slowly for slow start in a round trip. If it later grows from this threshold as fast as
    /// in slow start, slow start has not ended, and the threshold is unknown again.
    fn notice_slow_start_end(&mut self, now: &AckContext) {
        let Some(growth) = self.rounds.fill(now.una, now.nxt, self.cwnd) else {
            return;
        };
        let is_slow_start = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
        match growth {
            // A window that stays below any threshold shows a lack of data.
            Growth::Slow(ssthresh) if is_slow_start && ssthresh >= MIN_THRESHOLD => {
                self.ssthresh = Some(ssthresh);
                self.set_least(0);
                self.noticed_ssthresh = self.ssthresh;
                // In the middle of a stream, slow start may have ended long before.
                self.assumed_ssthresh = self.ssthresh.filter(|_| self.start != Beginning::Seen);
            }
            // Below its threshold, as after an idle time, a sender is in slow start.
            Growth::Fast(from)
                if self.ssthresh == self.noticed_ssthresh && self.ssthresh <= Some(from) =>
            {
                self.ssthresh = None;
                self.forget_origin();
            }
            Growth::Slow(_) | Growth::Fast(_) => {}
        }
    }

    /// The threshold has another origin from now on.
    fn forget_origin(&mut self) {
        self.doubt = None;
        self.assumed_ssthresh = None;
        self.noticed_ssthresh = None;
    }

    /// Begins a recovery that sets `threshold`, if already known.
    pub(super) fn reduce(&mut self, threshold: Option<u32>) {
        self.ssthresh = threshold.or(self.ssthresh);
        self.forget();
    }

    /// Ends a recovery: the pipe is the reduced window.
    pub(super) fn settle(&mut self, pipe: u32) {
        self.start = Beginning::Seen;
        self.forget_origin();
        self.show();
        self.set_cwnd(pipe.max(MIN_THRESHOLD));
        self.set_least(0);
        self.ssthresh = Some(self.cwnd);
        self.forget();
        self.increase = Increase::default();
        // A sender that repairs losses has more data than the window allows.
        self.judged.extend([(true, self.cwnd); MIN_JUDGED]);
    }

    /// Ends a timeout's recovery: the window grows from the pipe to `threshold`, if known.
    pub(super) fn resume(&mut self, pipe: u32, threshold: Option<u32>) {
        self.settle(pipe);
        self.set_cwnd(pipe.max(1));
        self.ssthresh = threshold;
    }

    /// Ends a recovery in which something other than the window limited the sender.
    pub(super) fn settle_unfilled(&mut self, threshold: u32) {
        self.forget_origin();
        self.show();
        self.set_cwnd(threshold.max(MIN_THRESHOLD));
        self.set_least(0);
        self.ssthresh = Some(self.cwnd);
        self.increase = Increase::default();
        // Unlike after `settle`, the following ACKs have to show that the sender fills its window.
        self.forget();
    }

    /// Undoes a reduction of the window `before`.
    pub(super) fn undo(&mut self, before: &Before) {
        // As in `tcp_reno_undo_cwnd`, the window never falls when a reduction is undone.
        self.set_cwnd(self.cwnd.max(before.cwnd));
        self.ssthresh = before.ssthresh;
        self.noticed_ssthresh = None;
        self.is_hidden = !before.is_known;
        self.unsure = 0;
        self.forget();
    }

    fn forget(&mut self) {
        self.increase.forget();
        self.judged.clear();
        self.answered = None;
        self.silence = Silence::default();
        self.rounds.interrupt();
    }
}
