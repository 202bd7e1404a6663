//! The end of the silence of a sender that had filled its window.

use crate::sender::undecided::CUT;

/// Consecutive answers that show a cut of the window. A sender that has cut its window answers each ACK
/// again. A single answer may be data that the application happens to write then.
const MIN_ANSWERS: usize = 3;

/// The ACKs that the sender leaves unanswered, and its answers after them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    unanswered: usize,
    /// The window when the silence began, in segments.
    before: u32,
    answers: usize,
}

impl Silence {
    /// Counts an ACK that a sender with this window leaves unanswered.
    pub(super) fn wait(&mut self, cwnd: u32) {
        if self.answers > 0 {
            *self = Self::default();
        }
        if self.unanswered == 0 {
            self.before = cwnd;
        }
        self.unanswered += 1;
    }

    /// Waits for answers as after a silence: an answer leaves much less in flight than a window of `cwnd` allows.
    pub(super) fn doubt(&mut self, cwnd: u32) {
        if self.unanswered < CUT {
            *self = Self {
                unanswered: CUT,
                before: cwnd,
                answers: 0,
            };
        }
    }

    /// True if the sender has answered an ACK since, but not enough of them.
    pub(super) fn is_ending(&self) -> bool {
        self.answers > 0
    }

    /// Counts an answer, with `pipe` segments in the network. Returns true once the answers show whether
    /// the sender has cut its window.
    pub(super) fn answer(&mut self, pipe: u32) -> bool {
        let is_cut = self.unanswered >= CUT && pipe + 1 < self.before;
        self.answers += 1;
        let is_decided = !is_cut || self.answers >= MIN_ANSWERS;
        if is_decided {
            *self = Self::default();
        }
        is_decided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The results of consecutive answers after a silence in a window of 20 segments.
    fn answers(unanswered: usize, pipes: &[u32]) -> Vec<bool> {
        let mut silence = Silence::default();
        (0..unanswered).for_each(|_| silence.wait(20));
        pipes.iter().map(|pipe| silence.answer(*pipe)).collect()
    }

    #[test]
    fn three_answers_show_a_cut() {
        assert_eq!(answers(CUT, &[12, 12, 12]), [false, false, true]);
    }

    #[test]
    fn one_answer_ends_a_short_silence_or_fills_the_window() {
        assert_eq!(answers(CUT - 1, &[18]), [true]);
        assert_eq!(answers(CUT, &[19]), [true]);
        assert_eq!(answers(CUT, &[12, 20]), [false, true]);
    }
}
