//! The order in which a sender sent its packets, by the counters in them.

use crate::Segment;

/// When a segment was sent, compared with those captured before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Before one of them: it was reordered on the path.
    Earlier,
    /// After them.
    Later,
    /// Unknown.
    Unknown,
}

/// By what the order of sending is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownBy {
    /// Its bytes were captured before, in another packet.
    Bytes,
    /// The sender's IPv4 Identification counts up.
    IpId,
    /// The sender's timestamp clock counts up.
    Timestamp,
    /// The gap was open for less than a round trip, so nobody can have asked for it.
    Time,
    /// It is not known.
    Nothing,
}

/// A step of the Identification that still counts as counting up: a sender's other connections may
/// use the same counter.
const MAX_ID_STEP: u16 = 1 << 12;
/// Steps up per step down from which the Identification counts as a counter.
const STEPS_PER_MISSTEP: u32 = 16;

/// The furthest that one direction's counters have been seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Identity {
    ip_id: Option<u16>,
    steps: u32,
    missteps: u32,
    tsval: Option<u32>,
}

impl Identity {
    /// Takes in a segment that is where it was expected.
    #[inline]
    pub(crate) fn in_order(&mut self, segment: &Segment) {
        if let (Some(id), Some(before)) = (segment.seen.ip_id, self.ip_id) {
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
    }

    /// Takes in a segment behind its place; returns when it was sent.
    pub(crate) fn out_of_order(&mut self, segment: &Segment) -> (Order, KnownBy) {
        let by_id = self.by_ip_id(segment);
        let by_timestamp = self.by_timestamp(segment);
        if by_id == Order::Later {
            self.ip_id = segment.seen.ip_id;
        }
        if by_timestamp == Order::Later {
            self.tsval = segment.timestamps.map(|(tsval, _)| tsval);
        }
        match (by_id, by_timestamp) {
            (Order::Unknown, Order::Unknown) => (Order::Unknown, KnownBy::Nothing),
            (Order::Unknown, order) => (order, KnownBy::Timestamp),
            // A clock that has moved on cannot have been overtaken by a slower one.
            (Order::Earlier, Order::Later) => (Order::Later, KnownBy::Timestamp),
            (order, _) => (order, KnownBy::IpId),
        }
    }

    /// Whether `segment` has the very numbers of the one taken in last.
    pub(crate) fn is_of(&self, segment: &Segment) -> bool {
        // A stack that sends 0 in every packet identifies none.
        segment.seen.ip_id.is_some_and(|id| id != 0)
            && segment.seen.ip_id == self.ip_id
            && segment.timestamps.map(|(tsval, _)| tsval) == self.tsval
    }

    fn by_ip_id(&self, segment: &Segment) -> Order {
        let is_counter = self.steps > self.missteps.saturating_mul(STEPS_PER_MISSTEP);
        match (segment.seen.ip_id, self.ip_id) {
            (Some(id), Some(furthest)) if is_counter && id != furthest => {
                let ahead = id.wrapping_sub(furthest).cast_signed();
                if ahead < 0 {
                    Order::Earlier
                } else {
                    Order::Later
                }
            }
            _ => Order::Unknown,
        }
    }

    fn by_timestamp(&self, segment: &Segment) -> Order {
        let Some(((tsval, _), furthest)) = segment.timestamps.zip(self.tsval) else {
            return Order::Unknown;
        };
        match tsval.wrapping_sub(furthest).cast_signed() {
            // One tick may hold several packets (RFC 7323, section 5.4).
            0 => Order::Unknown,
            1.. => Order::Later,
            _ => Order::Earlier,
        }
    }
}
