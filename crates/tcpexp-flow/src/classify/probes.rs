//! Keep-alives and window probes: segments that repeat the last sequence number of acknowledged data.

use super::{Class, Classifier, Sent};
use crate::Segment;
use crate::cause::SHORTEST_TIMEOUT;
use crate::identity::{OrderEvidence, SendOrder};

impl Classifier {
    /// The class of a pure ACK with the sequence number before `nxt`. Linux probes with the number before
    /// `snd_una` and without payload (`tcp_xmit_probe_skb`).
    #[cold]
    pub(super) fn before_nxt(&self, sent: Sent, segment: &Segment) -> Class {
        // While data is outstanding, a sender retransmits it. Without captured ACKs, it may be acknowledged.
        let is_acknowledged = self.una().is_none_or(|una| una >= sent.nxt);
        let is_ack = segment.ack.is_some() && !segment.flags.rst();
        if !is_ack || !is_acknowledged || self.is_overtaken(sent, segment) {
            return Class::Empty;
        }
        self.probe()
    }

    fn probe(&self) -> Class {
        if self.is_window_closed() {
            Class::WindowProbe
        } else {
            Class::KeepAlive
        }
    }

    /// True if the latest data overtook `segment`, whose sequence number is before `nxt`: the sender had not sent
    /// that number before.
    fn is_overtaken(&self, sent: Sent, segment: &Segment) -> bool {
        let (order, known_by) = self.identity.order(segment);
        // No timer sends a keep-alive so soon. A closed window may be probed after a shorter timeout.
        let is_soon = segment.seen.at - sent.latest.at < SHORTEST_TIMEOUT;
        match order {
            SendOrder::Later => false,
            SendOrder::Earlier if known_by == OrderEvidence::Timestamp => true,
            // An Identification that counts may wrap between two segments with data.
            SendOrder::Earlier => is_soon,
            SendOrder::Unknown => is_soon && !self.is_window_closed(),
        }
    }

    /// The class of a segment that repeats the last byte of acknowledged data, or the sequence number of
    /// the SYN, as a probe; `None` if it is data.
    #[cold]
    pub(super) fn as_probe(&self, sent: Sent, segment: &Segment) -> Option<Class> {
        let is_last_byte = segment.seen.payload_bytes == 1 && segment.end() == sent.nxt;
        if !is_last_byte || segment.flags.fin() || segment.flags.syn() {
            return None;
        }
        let is_acknowledged = self.una().is_some_and(|una| segment.end() <= una);
        // A second transmission of the last byte is data, not a probe, if the byte was never
        // acknowledged, or if it has PSH and was a segment of its own before, as in a remote shell.
        let is_same = sent.latest.start == segment.start && segment.flags.psh();
        // The number of the SYN carries no data.
        let is_of_syn = !self.copies.has_any() && self.beginning.is_syn(segment.start);
        if !is_of_syn && (!is_acknowledged || is_same) {
            return None;
        }
        if self.identity.is_past_router(segment) {
            return Some(Class::Copy);
        }
        (!self.is_overtaken(sent, segment)).then(|| self.probe())
    }
}
