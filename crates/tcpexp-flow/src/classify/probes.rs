//! Keep-alives and window probes: segments that repeat the last sequence number of acknowledged data.

use super::{Class, Classifier, Sent};
use crate::Segment;

impl Classifier {
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
        Some(if self.is_window_closed() {
            Class::WindowProbe
        } else {
            Class::KeepAlive
        })
    }
}
