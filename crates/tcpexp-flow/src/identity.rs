//! Order in which a sender sent its packets, from the counters in them.

use crate::Segment;
use crate::hops::Hops;
use crate::serial::is_after;

/// Order of sending of a segment, relative to the segments captured before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOrder {
    /// Sent before one of them: reordered on the path.
    Earlier,
    /// Sent after them.
    Later,
    /// Unknown.
    Unknown,
}

/// Evidence for the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderEvidence {
    /// Its bytes were captured before, in another packet.
    Bytes,
    /// The sender's IPv4 Identification counts up.
    IpId,
    /// The sender's timestamp clock counts up.
    Timestamp,
    /// Time since its gap was left: less than half a round-trip time means reordering, because no
    /// ACK can have caused a retransmission yet; a whole round-trip time means a retransmission.
    Time,
    /// Time, as above, and no ACK or timer gave the sender a reason to retransmit it.
    NoCause,
    /// No evidence: the order is unknown.
    Nothing,
}

/// Greatest step of the Identification that still counts as counting up. Steps above 1 occur
/// because a sender's other connections may share the counter. Of random values, one in 16 (2^12 of 2^16)
/// counts as a step up.
const MAX_ID_STEP: u16 = 1 << 12;
/// The Identification counts as a counter if it has more than this many steps up per other step: random
/// values have one step up per 15 others, and a counter of one connection has no other steps.
const STEPS_PER_MISSTEP: u32 = 16;

/// The sender's counters in one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    ip_id: Option<u16>,
    tsval: Option<u32>,
}

impl Counters {
    pub(crate) fn of(segment: &Segment) -> Self {
        Self {
            ip_id: segment.seen.ip_id,
            tsval: segment.timestamps.map(|(tsval, _)| tsval),
        }
    }

    /// True if another packet of the flow hardly has the same counters.
    pub(crate) fn identify_packet(self) -> bool {
        // An Identification of 0 identifies no packet: some stacks send 0 in every packet.
        self.ip_id.is_some_and(|id| id != 0)
    }
}

/// Latest counter values of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity {
    ip_id: Option<u16>,
    steps: u32,
    missteps: u32,
    tsval: Option<u32>,
    hops: Hops,
}

impl Identity {
    /// Records the counters of a new segment.
    #[inline]
    pub(crate) fn in_order(&mut self, segment: &Segment) {
        if let (Some(id), Some(before)) = (segment.seen.ip_id, self.ip_id) {
            // A repeated value is a misstep too: a stack may send 0 in every packet.
            if id.wrapping_sub(before).wrapping_sub(1) < MAX_ID_STEP {
                self.steps += 1;
            } else {
                self.missteps += 1;
            }
        }
        self.ip_id = segment.seen.ip_id;
        if let Some((tsval, _)) = segment.timestamps {
            self.tsval = Some(tsval);
        }
        self.hops.observe(segment.seen.ttl);
    }

    /// Returns the order of sending of a segment that starts below `nxt`, and records its counters
    /// if it was sent later.
    pub(crate) fn out_of_order(&mut self, segment: &Segment) -> (SendOrder, OrderEvidence) {
        let order = self.order(segment);
        let by_timestamp = self.by_timestamp(segment);
        if self.by_ip_id(segment) == SendOrder::Later {
            self.ip_id = segment.seen.ip_id;
        }
        if by_timestamp == SendOrder::Later {
            self.tsval = segment.timestamps.map(|(tsval, _)| tsval);
        }
        order
    }

    /// Returns the order of sending of a segment, relative to the last recorded segment.
    pub(crate) fn order(&self, segment: &Segment) -> (SendOrder, OrderEvidence) {
        match (self.by_ip_id(segment), self.by_timestamp(segment)) {
            (SendOrder::Unknown, SendOrder::Unknown) => {
                (SendOrder::Unknown, OrderEvidence::Nothing)
            }
            (SendOrder::Unknown, order) => (order, OrderEvidence::Timestamp),
            // A segment with a newer timestamp cannot have been sent earlier.
            (SendOrder::Earlier, SendOrder::Later) => (SendOrder::Later, OrderEvidence::Timestamp),
            (order, _) => (order, OrderEvidence::IpId),
        }
    }

    /// The evidence that `segment`, which was sent before the last recorded segment, was sent after the packet
    /// with these counters; `None` if no counter shows it.
    pub(crate) fn evidence_after(
        &self,
        counters: Counters,
        segment: &Segment,
    ) -> Option<OrderEvidence> {
        let own = Counters::of(segment);
        let behind_latest = |counters: Counters| {
            let ids = self.ip_id.zip(counters.ip_id);
            ids.map(|(furthest, id)| furthest.wrapping_sub(id))
        };
        let by_id = behind_latest(own).zip(behind_latest(counters));
        let by_timestamp = own.tsval.zip(counters.tsval);
        if self.is_counter() && by_id.is_some_and(|(own, other)| own < other) {
            Some(OrderEvidence::IpId)
        } else if by_timestamp.is_some_and(|(own, other)| is_after(own, other)) {
            Some(OrderEvidence::Timestamp)
        } else {
            None
        }
    }

    /// True if `segment` has the same Identification and `TSval` as the last recorded segment.
    pub(crate) fn is_of(&self, segment: &Segment) -> bool {
        let latest = Counters {
            ip_id: self.ip_id,
            tsval: self.tsval,
        };
        let own = Counters::of(segment);
        own.identify_packet() && own == latest
    }

    /// True if the Identification or the `TSval` shows that `segment` is another packet than the last recorded
    /// segment.
    pub(crate) fn is_other(&self, segment: &Segment) -> bool {
        let is_id_other = |(one, other): (u16, u16)| one != 0 && other != 0 && one != other;
        let tsval = segment.timestamps.map(|(tsval, _)| tsval);
        segment.seen.ip_id.zip(self.ip_id).is_some_and(is_id_other) || tsval != self.tsval
    }

    /// True if the Identification of `segment` is that of the last recorded segment, and counts up: no other
    /// packet has it until the counter wraps.
    pub(crate) fn is_same_count(&self, segment: &Segment) -> bool {
        self.is_counter() && self.is_of(segment)
    }

    /// Number of packets that the sender sent after `segment` and before the last recorded segment, at most:
    /// other connections may share the counter. Valid only if the Identification shows that it was sent earlier.
    pub(crate) fn ids_behind(&self, segment: &Segment) -> i64 {
        let ids = self.ip_id.zip(segment.seen.ip_id);
        ids.map_or(0, |(furthest, id)| furthest.wrapping_sub(id).into())
    }

    /// True if the sender's counters show that `segment` was sent after the last recorded segment.
    pub(crate) fn is_later(&self, segment: &Segment) -> bool {
        self.by_ip_id(segment) == SendOrder::Later || self.by_timestamp(segment) == SendOrder::Later
    }

    /// True if the sender's timestamp shows that `segment` was sent before the last recorded segment.
    pub(crate) fn is_stamped_earlier(&self, segment: &Segment) -> bool {
        self.by_timestamp(segment) == SendOrder::Earlier
    }

    /// True if `segment`, whose bytes were captured before, is a record of the same packet past a
    /// router that the capture includes, and the sender's counters do not show a later transmission.
    pub(crate) fn is_past_router(&self, segment: &Segment) -> bool {
        // A packet of several segments (TSO) takes an Identification for each, but its record shows only the
        // first. A retransmission would have a record before the router, with its own counters.
        let has_same_stamp = segment.timestamps.is_some()
            && segment.timestamps.map(|(tsval, _)| tsval) == self.tsval;
        self.hops.is_past_router(segment.seen.ttl) && (has_same_stamp || !self.is_later(segment))
    }

    /// True if the Identification counts up.
    pub(crate) fn is_counter(&self) -> bool {
        self.steps > self.missteps.saturating_mul(STEPS_PER_MISSTEP)
    }

    fn by_ip_id(&self, segment: &Segment) -> SendOrder {
        match (segment.seen.ip_id, self.ip_id) {
            (Some(id), Some(furthest)) if self.is_counter() && id != furthest => {
                let ahead = id.wrapping_sub(furthest).cast_signed();
                if ahead < 0 {
                    SendOrder::Earlier
                } else {
                    SendOrder::Later
                }
            }
            _ => SendOrder::Unknown,
        }
    }

    fn by_timestamp(&self, segment: &Segment) -> SendOrder {
        let Some(((tsval, _), furthest)) = segment.timestamps.zip(self.tsval) else {
            return SendOrder::Unknown;
        };
        match tsval.wrapping_sub(furthest).cast_signed() {
            // One tick may hold several packets (RFC 7323, section 5.4).
            0 => SendOrder::Unknown,
            1.. => SendOrder::Later,
            _ => SendOrder::Earlier,
        }
    }
}
