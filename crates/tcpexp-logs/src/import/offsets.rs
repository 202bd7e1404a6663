//! Stream offsets of the sequence numbers of a log.

use tcpexp_flow::StreamOffset;
use tcpexp_wire::SeqNum;

/// Unwraps a pair of sequence numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unwrapped(Option<StreamOffset>);

impl Unwrapped {
    /// The stream offsets of `una` and `nxt`, which lie within 2 GiB of the previous pair.
    pub(super) fn place(&mut self, una: SeqNum, nxt: SeqNum) -> (StreamOffset, StreamOffset) {
        let una = match self.0 {
            Some(last) => last.nearest(una),
            None => StreamOffset::first(una),
        };
        self.0 = Some(una);
        (una, una.nearest(nxt))
    }
}
