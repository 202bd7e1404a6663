//! Second records of a packet past a router, by the TTL.

/// The TTL identifies a capture point if at most one packet in this many has another TTL than the
/// packet before. Paths of different lengths that share the packets of a flow change it in half of them.
const PACKETS_PER_CHANGE: u32 = 16;
/// Number of changes of the TTL on one path: the first packet, which has no packet before it, and one change of
/// the route.
const EXPECTED_CHANGES: u32 = 2;

/// The TTL with which the packets of a direction pass the first point of a capture.
///
/// A capture of all interfaces of a router has each packet twice: before the router and, after the
/// time in its queue, past it. A router decrements the TTL (RFC 1812, section 5.3.1).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hops {
    ttl: u8,
    kept: u32,
    changed: u32,
}

impl Hops {
    /// Records the TTL of a packet that cannot be a second record.
    #[inline]
    pub(crate) fn observe(&mut self, ttl: u8) {
        if ttl == self.ttl {
            self.kept = self.kept.saturating_add(1);
        } else {
            self.changed = self.changed.saturating_add(1);
            self.ttl = ttl;
        }
    }

    /// True if a packet with this TTL has passed a router since it passed the first point.
    #[inline]
    pub(crate) fn is_past_router(&self, ttl: u8) -> bool {
        let unexpected = self.changed.saturating_sub(EXPECTED_CHANGES);
        ttl < self.ttl && unexpected.saturating_mul(PACKETS_PER_CHANGE) <= self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hops(ttls: impl IntoIterator<Item = u8>) -> Hops {
        let mut hops = Hops::default();
        ttls.into_iter().for_each(|ttl| hops.observe(ttl));
        hops
    }

    #[test]
    fn packet_with_a_lower_ttl_than_at_the_first_point_is_past_a_router() {
        assert!(hops([64]).is_past_router(63));
        assert!(!hops([64]).is_past_router(64));
        assert!(!hops([63]).is_past_router(64));
        assert!(!Hops::default().is_past_router(63));
    }

    #[test]
    fn new_route_sets_the_ttl_of_the_first_point() {
        let hops = hops([64, 64, 64, 62, 62]);
        assert!(!hops.is_past_router(62));
        assert!(hops.is_past_router(61));
    }

    #[test]
    fn ttl_of_paths_that_share_the_packets_identifies_no_point() {
        let shared = (0..100).map(|number| 64 - number % 2);
        assert!(!hops(shared).is_past_router(60));
    }
}
