//! ACKs of data that was never sent, which the sender drops.

use tcpexp_flow::{Classifier, DoubtedAck, StreamOffset};

/// Maximum number of stretches of one direction, so that forged ACKs do not fill the memory.
const MAX_STRETCHES: usize = 1_024;

/// The ACKs of one direction's data that is not sent, found by the first pass.
#[derive(Clone, Debug, Default)]
pub(super) struct UnsentAcks(Vec<Stretch>);

/// A stretch of ACKs. It begins with an ACK of data never sent, and ends with the ACK that refutes it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Places of the first and the last ACK of the stretch.
    places: (u64, u64),
    /// SND.NXT before the first of them: within the stretch, each ACK above it is of data never sent.
    nxt: StreamOffset,
}

impl UnsentAcks {
    /// True if the captured ACK at this place is of data that was never sent.
    #[inline]
    pub(super) fn has(&self, place: u64, ack: StreamOffset) -> bool {
        !self.0.is_empty() && self.finds(place, ack)
    }

    #[cold]
    fn finds(&self, place: u64, ack: StreamOffset) -> bool {
        let before = self.0.partition_point(|stretch| stretch.places.1 <= place);
        let stretch = self.0.get(before);
        stretch.is_some_and(|stretch| stretch.places.0 <= place && ack > stretch.nxt)
    }
}

/// The search in the first pass.
#[derive(Debug, Default)]
pub(super) struct UnsentAckSearch {
    /// `None` before an ACK of data that was not captured. Boxed, because most flows have no such ACK.
    doubts: Option<Box<Doubts>>,
}

#[derive(Debug, Default)]
struct Doubts {
    /// A doubted ACK, and the place of the first of them.
    doubted: Option<(DoubtedAck, u64)>,
    found: UnsentAcks,
}

impl UnsentAckSearch {
    /// Processes the ACK at `place`; `data` is what was captured before it. Returns the end of this data if the
    /// ACK is beyond it.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        place: u64,
        ack: StreamOffset,
        data: &Classifier,
    ) -> Option<StreamOffset> {
        if let Some(nxt) = data.nxt()
            && (ack > nxt || self.doubts.is_some())
        {
            let doubts = self.doubts.get_or_insert_default();
            doubts.judge(place, ack, nxt, data);
            return Some(nxt).filter(|nxt| ack > *nxt);
        }
        None
    }

    pub(super) fn found(&self) -> UnsentAcks {
        let doubts = self.doubts.as_deref();
        doubts
            .map(|doubts| doubts.found.clone())
            .unwrap_or_default()
    }
}

impl Doubts {
    #[cold]
    fn judge(&mut self, place: u64, ack: StreamOffset, nxt: StreamOffset, data: &Classifier) {
        if ack > nxt {
            let before = self.doubted.map(|(doubted, _)| doubted);
            let doubted = DoubtedAck::raised(before, ack, nxt);
            let is_same = before.is_some_and(|before| before.nxt == doubted.nxt);
            let first = self.doubted.filter(|_| is_same);
            self.doubted = Some((doubted, first.map_or(place, |(_, first)| first)));
        } else if let Some((doubted, first)) = self.doubted {
            if doubted.is_refuted_by(ack, nxt, |from, to| data.has_captured(from, to)) {
                self.doubted = None;
                if self.found.0.len() < MAX_STRETCHES {
                    self.found.0.push(Stretch {
                        places: (first, place),
                        nxt: doubted.nxt,
                    });
                }
            } else if ack >= doubted.ack {
                self.doubted = None;
            }
        }
    }
}
