//! Samples held back until it is known why the sender sent nothing.

use tcpexp_units::{TimeDelta, Timestamp};

use super::row::SenderRow;
use super::sample::{CwndSource, SenderSample};

/// Unanswered ACKs in a row after which the window was cut at once. A proportional reduction
/// (RFC 6937) lets the sender answer at least every third ACK for factors of 1/2 and above.
const CUT: usize = 4;
/// Samples held back at most, which bounds memory.
const MOST: usize = 4_096;

/// Samples of a sender that filled its window and then sent nothing.
#[derive(Debug, Default)]
pub(super) struct Undecided {
    samples: Vec<SenderSample>,
    /// When the sender last began to reduce without a loss, and its window before.
    reducing: Option<(Timestamp, u32)>,
}

impl Undecided {
    /// Holds a sample back. Its window is right if the application is what limits the sender.
    pub(super) fn wait(&mut self, sample: SenderSample, rows: &mut impl Extend<SenderRow>) {
        if self.samples.len() == MOST {
            self.give_up(rows);
        }
        self.samples.push(sample);
    }

    /// The application had nothing to send.
    pub(super) fn give_up(&mut self, rows: &mut impl Extend<SenderRow>) {
        rows.extend(self.samples.drain(..).map(SenderRow::Sample));
    }

    /// Since when the sender has been reducing to `cwnd`, if that is not longer ago than `span`: it
    /// may do so because of a loss that it repairs only later.
    pub(super) fn reducing(
        &mut self,
        at: Timestamp,
        span: TimeDelta,
        cwnd: u32,
    ) -> Option<Timestamp> {
        let (began, before) = self.reducing.take()?;
        (at - began < span && cwnd < before).then_some(began)
    }

    /// The sender answers ACKs again, with `pipe` segments in the network; tells to what the window
    /// was reduced if it was.
    pub(super) fn decide(&mut self, pipe: u32, rows: &mut impl Extend<SenderRow>) -> Option<u32> {
        let before = self.samples.first()?.cwnd_segments?;
        let is_cut = self.samples.len() >= CUT;
        let was_reduced = pipe + 1 < before;
        let began = self.samples.first().map(|sample| (sample.at, before));
        self.reducing = self.reducing.or(began).filter(|_| pipe < before);
        for mut sample in self.samples.drain(..) {
            let cwnd = match sample.pipe_segments {
                _ if !was_reduced => before,
                Some(own) if !is_cut => own,
                _ => pipe,
            };
            sample.cwnd_segments = Some(cwnd);
            sample.cwnd_bytes = sample
                .smss_bytes
                .map(|smss| u64::from(smss) * u64::from(cwnd));
            sample.cwnd_source = CwndSource::Filled;
            rows.extend([SenderRow::Sample(sample)]);
        }
        was_reduced.then_some(pipe)
    }
}
