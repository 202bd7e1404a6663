//! Replay of proportional rate reduction (RFC 6937; `tcp_cwnd_reduction`).

/// Minimum number of delivered segments for reading the sender's rate of reduction.
const MIN_DELIVERED: u32 = 16;
/// Minimum threshold in segments (RFC 5681, equation 4).
pub(super) const MIN_THRESHOLD: u32 = 2;
/// Number of consecutive ACKs with an unfilled window after which the application or the receiver
/// counts as the sender's limit.
const MIN_SHORT: u32 = 8;
/// Segments delivered between two transmissions, at most, of a sender that reduces its window in
/// proportion: two for a factor of 1/2, the lowest in use, and one for a delayed ACK (RFC 5681,
/// section 4.2).
pub(super) const MOST_SILENT: u32 = 3;

/// The window during a recovery.
///
/// As long as the sender sends everything that its window allows, the window equals the pipe. Where
/// the application or the receiver's window limits the sender, the window follows from the rule,
/// with a threshold derived from the rate of this reduction or from earlier recoveries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    prior: u32,
    /// Segments delivered and sent since the recovery began.
    delivered: u32,
    sent: u32,
    threshold: Option<u32>,
    is_proportional: bool,
    cwnd: u32,
    short: u32,
    /// Segments delivered since the latest transmission.
    silent: u32,
    /// True if the latest ACK found the sender silent for longer than its window allows.
    was_silent: bool,
    /// Segments of the window that the latest ACK found unused.
    unused: u32,
    has_sent_new: bool,
    latest: u32,
    /// Pipe at which the sender has made up for its current silence, in segments; 0 if the silence is short.
    owed: u32,
    /// The same for earlier long silences; 0 once the sender has made up for them.
    missed: u32,
}

impl Reduction {
    /// Begins a recovery from a window of `prior` segments, with `threshold` if earlier recoveries
    /// show it.
    pub(super) fn new(prior: u32, threshold: Option<u32>) -> Self {
        Self {
            prior,
            threshold,
            is_proportional: true,
            ..Self::default()
        }
    }

    pub(super) fn send(&mut self, segments: u32) {
        self.sent += segments;
        self.silent = 0;
    }

    /// As [`send`](Self::send), of new data.
    pub(super) fn send_new(&mut self, segments: u32) {
        self.has_sent_new = true;
        self.send(segments);
    }

    /// The window when an ACK arrives with `pipe` segments in the network; `None` if it is unknown.
    /// `sees_sent` is false away from the sender: the capture does not show repairs that were lost before they
    /// reached it.
    pub(super) fn look(
        &mut self,
        pipe: u32,
        is_closed: bool,
        has_sack: bool,
        sees_sent: bool,
    ) -> Option<u32> {
        // A sender that goes on sending, below the threshold of earlier recoveries, has a lower one:
        // Westwood+ sets it from the bandwidth at the end of a recovery, and to half until then.
        // Without SACK, the pipe is too uncertain to rule out the threshold.
        let has_unspent = self.has_unspent(pipe);
        let has_no_data = has_unspent && sees_sent;
        let goes_on = has_sack && self.silent <= MOST_SILENT && !has_no_data;
        let is_short = pipe < self.cwnd && !goes_on;
        self.short = if is_short { self.short + 1 } else { 0 };
        // A closed receiver window breaks the proportion of sent to delivered segments.
        self.is_proportional &= !is_closed;
        let is_limited = is_closed || has_no_data || self.short >= MIN_SHORT;
        if self.silent > MOST_SILENT {
            // Factors of 1/2 and more allow one transmission for two deliveries.
            let before = pipe.saturating_add(self.silent);
            self.owed = before.saturating_sub(self.silent / 2 + MOST_SILENT);
        } else {
            let missed = self.missed.max(std::mem::take(&mut self.owed));
            self.missed = if pipe < missed { missed } else { 0 };
        }
        self.latest = if is_short && is_limited {
            self.cwnd
        } else {
            pipe
        };
        let has_stopped = self.silent > 0 && !self.has_sent_new && pipe < self.least_threshold();
        self.was_silent = self.silent > MOST_SILENT || has_stopped || has_unspent;
        self.unused = self.latest.saturating_sub(pipe);
        // Without a threshold, the pipe of a sender that the receiver's window or the application
        // holds back does not show the window.
        (!self.was_silent || self.threshold.is_some()).then_some(self.latest)
    }

    /// The lowest threshold in use. Below the threshold, each delivery allows a transmission (PRR-SSRB of
    /// RFC 6937, section 3).
    fn least_threshold(&self) -> u32 {
        (self.prior / 2).max(MIN_THRESHOLD)
    }

    /// True if the sender is below every threshold in use and has left more transmissions unused than a delayed
    /// ACK explains: it has no data. `silent` alone does not show this, because an ACK that delivers nothing
    /// does not increase it.
    fn has_unspent(&self, pipe: u32) -> bool {
        let room = self.least_threshold().saturating_sub(pipe);
        let owed = self.delivered.saturating_sub(self.sent);
        owed.min(room) > MOST_SILENT
    }

    /// True if the window limits the sender: the latest ACK found it filled.
    pub(super) fn is_filled(&self) -> bool {
        !self.was_silent && self.unused == 0
    }

    /// True if the sender sent all that its window allowed: until the latest ACK, it answered the
    /// deliveries. `was_full` is true if the data outstanding at the start filled the window. Else,
    /// repairs alone show no limit, because even a sender without further data repairs its losses. New
    /// data shows one only if it fills the lowest threshold.
    pub(super) fn shows_window(&self, was_full: bool) -> bool {
        let has_filled = self.has_sent_new && self.latest >= self.least_threshold();
        !self.was_silent && (was_full || has_filled)
    }

    /// True unless the sender fell silent although its window had room, and has sent less than the window
    /// allowed since.
    pub(super) fn has_caught_up(&self) -> bool {
        self.owed == 0 && self.missed == 0
    }

    /// True if earlier recoveries or the rate of this reduction show the threshold.
    pub(super) fn has_threshold(&self) -> bool {
        self.threshold.is_some()
    }

    /// The window when the latest ACK arrived.
    pub(super) fn latest(&self) -> u32 {
        self.latest
    }

    /// Processes an ACK that delivers segments and leaves `pipe` segments in the network.
    pub(super) fn deliver(&mut self, delivered: u32, pipe: u32, may_speed_up: bool) {
        // As in `tcp_cwnd_reduction`, an ACK that delivers nothing changes nothing.
        if delivered == 0 {
            return;
        }
        // A sender that sends nothing for longer than its window demands shows no proportion.
        let is_answering = self.silent <= MOST_SILENT && self.has_caught_up();
        self.delivered += delivered;
        self.silent += delivered;
        if is_answering {
            self.read_threshold(pipe);
        }
        // The rule needs the threshold; until then, the pipe is a lower bound of the window.
        let Some(threshold) = self.threshold else {
            self.cwnd = pipe;
            return;
        };
        let owed = self.delivered.saturating_sub(self.sent);
        let allowed = if pipe > threshold {
            // RFC 6937, section 3: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out. Linux uses
            // `prior_cwnd` for RecoverFS.
            let target = scaled_up(self.delivered, threshold, self.prior);
            target.saturating_sub(self.sent)
        } else {
            // PRR-SSRB of the same section; Linux adds its extra segment only for a safe ACK.
            let most = owed.max(delivered) + u32::from(may_speed_up);
            most.min(threshold - pipe)
        };
        // The first retransmission is always allowed.
        self.cwnd = pipe + allowed.max(u32::from(self.sent == 0));
    }

    /// During the proportional part `sent / delivered = ssthresh / prior_cwnd` (RFC 6937, section 3). A sender
    /// below the lowest factor in use, 1/2, has no data to send.
    fn read_threshold(&mut self, pipe: u32) {
        if !self.is_proportional || self.delivered < MIN_DELIVERED {
            return;
        }
        let threshold = scaled(self.prior, (self.sent, self.delivered));
        let is_proportional = self.sent + MOST_SILENT >= self.delivered / 2;
        if is_proportional && pipe > threshold {
            self.threshold = Some(threshold);
        } else {
            // At the threshold, PRR-SSRB takes over and ends the proportion, as a lack of data does.
            self.is_proportional = false;
        }
    }

    /// The threshold, if something other than the window limited the sender.
    pub(super) fn unreached(&self) -> Option<u32> {
        self.threshold.filter(|_| self.short >= MIN_SHORT)
    }
}

/// A factor by which a window is reduced, as numerator and denominator.
pub(super) type Factor = (u32, u32);

/// `value` multiplied by a factor.
pub(super) fn scaled(value: u32, (to, from): Factor) -> u32 {
    let product = u64::from(value) * u64::from(to) / u64::from(from.max(1));
    u32::try_from(product).unwrap_or(u32::MAX)
}

fn scaled_up(value: u32, to: u32, from: u32) -> u32 {
    let product = (u64::from(value) * u64::from(to)).div_ceil(u64::from(from.max(1)));
    u32::try_from(product).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIOR: u32 = 15;

    /// The windows of a sender whose threshold is half its window, where earlier recoveries showed
    /// 14 of 15 segments. Each ACK delivers one segment; the sender answers every `interval`th ACK.
    fn windows(interval: u32, has_sack: bool) -> Vec<(u32, u32)> {
        let mut reduction = Reduction::new(PRIOR, Some(PRIOR - 1));
        let mut pipe = PRIOR;
        let mut windows = Vec::new();
        for ack in 1..=12 {
            pipe -= 1;
            reduction.deliver(1, pipe, true);
            if ack % interval == 0 {
                reduction.send(1);
                pipe += 1;
            }
            windows.push((pipe, reduction.look(pipe, false, has_sack, true).unwrap()));
        }
        windows
    }

    #[test]
    fn sender_that_goes_on_sending_has_a_lower_threshold() {
        for (pipe, window) in windows(2, true) {
            assert_eq!(window, pipe);
        }
    }

    #[test]
    fn sender_without_data_keeps_its_window() {
        let (pipe, window) = *windows(13, true).last().unwrap();
        assert!(window > pipe, "{window} {pipe}");
    }

    #[test]
    fn window_above_a_closed_receiver_window_is_unknown_without_a_threshold() {
        let windows = |threshold| {
            let mut reduction = Reduction::new(PRIOR, threshold);
            let pipes = (0..PRIOR).rev();
            let windows = pipes.map(|pipe| {
                reduction.deliver(1, pipe, true);
                reduction.look(pipe, true, true, true)
            });
            windows.collect::<Vec<_>>()
        };
        let unknown = windows(None);
        assert_eq!(unknown[..3], [Some(14), Some(13), Some(12)]);
        assert!(unknown[3..].iter().all(Option::is_none));
        assert_eq!(windows(Some(10)).last(), Some(&Some(10)));
    }

    #[test]
    fn pipe_of_a_sender_that_repairs_its_losses_and_stops_is_not_its_window() {
        let windows = |threshold| {
            let mut reduction = Reduction::new(100, threshold);
            for pipe in (33..45).rev() {
                reduction.deliver(1, pipe, false);
            }
            reduction.send(3);
            // Duplicate ACKs that deliver nothing follow.
            [(); 3].map(|()| {
                reduction.deliver(0, 36, false);
                reduction.look(36, false, true, true)
            })
        };
        assert_eq!(windows(None), [None; 3]);
        // RFC 6937, section 3: at the last delivery, the pipe of 33 and prr_delivered - prr_out = 12.
        assert_eq!(windows(Some(70)), [Some(45); 3]);
    }

    #[test]
    fn sender_that_repairs_its_losses_and_has_no_more_data_shows_no_threshold() {
        let mut reduction = Reduction::new(188, None);
        reduction.send(1);
        for pipe in (60..160).rev() {
            reduction.deliver(1, pipe, false);
            // A repair now and then.
            if pipe % 16 == 0 {
                reduction.send(1);
            }
            reduction.look(pipe, false, true, true);
        }
        assert!(!reduction.has_threshold());
        assert!(!reduction.is_filled());
    }

    #[test]
    fn window_with_room_that_a_known_threshold_shows_does_not_limit_the_sender() {
        let mut reduction = Reduction::new(PRIOR, Some(PRIOR - 1));
        for pipe in (0..PRIOR).rev() {
            reduction.deliver(1, pipe, true);
            reduction.look(pipe, false, true, true);
        }
        assert!(!reduction.is_filled());
    }

    #[test]
    fn where_lost_repairs_are_not_seen_a_known_threshold_keeps_the_pipe() {
        let mut reduction = Reduction::new(100, Some(70));
        for pipe in (33..45).rev() {
            reduction.deliver(1, pipe, false);
        }
        reduction.send(3);
        assert_eq!(reduction.look(36, false, true, false), Some(36));
    }

    #[test]
    fn pipe_of_a_sender_that_repairs_with_each_delivery_is_its_window() {
        let mut reduction = Reduction::new(100, None);
        for pipe in (20..40).rev() {
            reduction.deliver(1, pipe, false);
            reduction.send(1);
            assert_eq!(reduction.look(pipe, false, true, true), Some(pipe));
        }
    }

    #[test]
    fn sender_that_was_silent_in_a_window_with_room_has_not_caught_up_until_it_sends_as_much() {
        let mut reduction = Reduction::new(40, None);
        for pipe in (24..40).rev() {
            reduction.deliver(1, pipe, false);
            reduction.look(pipe, false, false, true);
        }
        assert!(!reduction.has_caught_up());
        // Half of the 16 deliveries, except for the rounding of an ACK.
        for (pipe, has_caught_up) in [(28, false), (29, true), (20, true)] {
            reduction.send_new(4);
            reduction.look(pipe, false, false, true);
            assert_eq!(reduction.has_caught_up(), has_caught_up, "{pipe}");
        }
    }

    #[test]
    fn new_data_below_the_lowest_threshold_shows_no_window() {
        let mut reduction = Reduction::new(10, None);
        for _ in 0..4 {
            reduction.deliver(1, 2, false);
            reduction.send_new(1);
            reduction.look(3, false, true, true);
        }
        assert!(!reduction.shows_window(false));
        assert!(reduction.shows_window(true));
    }

    #[test]
    fn threshold_of_earlier_recoveries_holds_without_sack() {
        let (pipe, window) = *windows(2, false).last().unwrap();
        assert!(window > pipe, "{window} {pipe}");
    }
}
