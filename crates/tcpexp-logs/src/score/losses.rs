//! Scores of the losses found between two captures, against the drops that the bottleneck logged.

use std::collections::BTreeMap;

use tcpexp_wire::SeqNum;

use super::rows::ScoreRow;
use crate::import::LoggedDrop;

/// Data as its sender transmitted it: one packet, or a super-packet that is split into packets
/// later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Sequence number of the first byte.
    pub seq: SeqNum,
    /// Payload length in bytes.
    pub payload_bytes: u32,
    /// Number of its packets that were lost between the captures.
    pub lost_packets: u64,
}

/// Numbers of packets that the bottleneck dropped and that were found lost between two captures.
///
/// Each transmission counts separately: a lost packet and its lost retransmission are two losses.
/// Drops of packets that the captures do not contain, as before the captures began or after the
/// first of them ended, are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossScore {
    /// Number of drops that are also losses in the captures.
    pub matched: u64,
    /// Number of losses in the captures.
    pub found: u64,
    /// Number of drops of packets that the captures contain.
    pub truth: u64,
}

impl LossScore {
    /// Compares the transmissions that both captures cover with all logged drops.
    pub fn of(sent: &[Transmission], drops: &[LoggedDrop]) -> Self {
        let mut times = BTreeMap::new();
        for dropped in drops {
            *times.entry(dropped.seq.0).or_default() += 1;
        }
        // A super-packet becomes an unknown number of packets, so it may hold any number of drops.
        let mut held = Copies::of(sent, |_| u64::MAX);
        let mut lost = Copies::of(sent, |sent| sent.lost_packets);
        let mut score = Self {
            found: sent.iter().map(|sent| sent.lost_packets).sum(),
            ..Self::default()
        };
        for (seq, times) in times {
            let truth = held.take(seq, times);
            score.truth += truth;
            // Only a drop of a captured packet can match a loss, so `truth` is the limit.
            score.matched += lost.take(seq, truth);
        }
        score
    }

    /// Share of the losses found that are logged drops; `None` if no loss was found.
    pub fn precision(&self) -> Option<f64> {
        share(self.matched, self.found)
    }

    /// Share of the drops that were found as losses; `None` if there are no drops.
    pub fn recall(&self) -> Option<f64> {
        share(self.matched, self.truth)
    }

    /// Returns the rows of the score for a table.
    pub fn rows(&self) -> Vec<ScoreRow> {
        let row = |metric, of, value| ScoreRow::new(metric, "all", self.matched, of, value);
        vec![
            row("loss_precision_ratio", self.found, self.precision()),
            row("loss_recall_ratio", self.truth, self.recall()),
        ]
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Transmissions by their first sequence number, each with its length in bytes and the number of
/// its packets that may still match a drop.
struct Copies(BTreeMap<u32, Vec<(u32, u64)>>);

/// Upper bound on the payload of a super-packet, in bytes: it is an IP packet, whose length field
/// has 16 bits.
const MAX_BYTES: u32 = 1 << 16;

impl Copies {
    fn of(sent: &[Transmission], packets: impl Fn(&Transmission) -> u64) -> Self {
        let mut copies: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for sent in sent {
            let same = copies.entry(sent.seq.0).or_default();
            same.push((sent.payload_bytes, packets(sent)));
        }
        Self(copies)
    }

    /// Takes up to `most` packets that begin at `seq`, at most one from each transmission; returns
    /// the number taken.
    fn take(&mut self, seq: u32, most: u64) -> u64 {
        // The range does not wrap: in a super-packet that crosses sequence number 0, only the
        // packets before 0 are found.
        let near = self.0.range_mut(seq.saturating_sub(MAX_BYTES)..=seq);
        let mut taken = 0;
        for (start, same) in near {
            for (bytes, left) in same {
                // The range ends at `seq`, so the difference does not underflow.
                if taken < most && *left > 0 && seq - start < *bytes {
                    *left -= 1;
                    taken += 1;
                }
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(seq: u32, payload_bytes: u32, lost_packets: u64) -> Transmission {
        let seq = SeqNum(seq);
        Transmission {
            seq,
            payload_bytes,
            lost_packets,
        }
    }

    /// Returns `matched`, `found` and `truth`.
    fn score(sent: &[Transmission], drops: &[u32]) -> [u64; 3] {
        let dropped = |seq: &u32| LoggedDrop {
            seq: SeqNum(*seq),
            ip_bytes: 152,
        };
        let drops: Vec<_> = drops.iter().map(dropped).collect();
        let score = LossScore::of(sent, &drops);
        [score.matched, score.found, score.truth]
    }

    #[test]
    fn each_lost_copy_is_a_separate_loss() {
        let packets = [
            sent(0, 100, 1),
            sent(100, 100, 0),
            sent(0, 100, 1),
            sent(0, 100, 0),
        ];
        assert_eq!(score(&packets, &[0, 0]), [2, 2, 2]);
        assert_eq!(score(&packets, &[0]), [1, 2, 1]);
        assert_eq!(score(&packets, &[0, 0, 0]), [2, 2, 3]);
        assert_eq!(score(&packets, &[0, 100]), [1, 2, 2]);
    }

    #[test]
    fn drops_of_uncaptured_packets_are_omitted() {
        let packets = [sent(100, 100, 1)];
        assert_eq!(score(&packets, &[0, 100, 100, 200]), [1, 1, 1]);
        assert_eq!(score(&[], &[0]), [0, 0, 0]);
    }

    #[test]
    fn drops_within_a_super_packet_match_it() {
        let packets = [sent(0, 1000, 2), sent(1000, 1000, 0), sent(200, 100, 0)];
        assert_eq!(score(&packets, &[200, 700]), [2, 2, 2]);
        assert_eq!(score(&packets, &[200, 700, 900]), [2, 2, 3]);
        assert_eq!(score(&packets, &[1200]), [0, 2, 1]);
    }

    #[test]
    fn precision_divides_by_found_and_recall_by_true_losses() {
        let score = LossScore {
            matched: 3,
            found: 4,
            truth: 6,
        };
        assert_eq!(score.precision(), Some(0.75));
        assert_eq!(score.recall(), Some(0.5));
        assert_eq!(LossScore::default().precision(), None);
        let rows = score.rows();
        assert_eq!(rows.iter().map(|row| row.truth).collect::<Vec<_>>(), [4, 6]);
    }
}
