//! Detects captures that record each packet twice.

use super::fields::{content_hash, with_endpoints};
use super::sketch::COPY_GAP;
use tcpexp_units::Timestamp;
use tcpexp_wire::{Packet, Transport};

/// Number of recent segments that are compared with each new segment.
const RECENT: usize = 8;

/// Number of segments after which the verdict is final.
const JUDGED: u64 = 65_536;

/// Counts TCP data segments that directly follow an identical segment. Hosts hardly ever send them,
/// while consecutive identical acknowledgments are common.
#[derive(Debug, Default)]
pub struct Twins {
    /// The latest segments without a twin, in a ring.
    recent: [Option<(u64, Timestamp)>; RECENT],
    segments: u64,
    pairs: u64,
}

impl Twins {
    /// Adds the next packet of the capture; returns true if it is a data segment.
    pub fn add(&mut self, packet: &Packet<'_>, at: Timestamp) -> bool {
        let is_data = matches!(packet.transport, Transport::Tcp(_)) && packet.payload_bytes > 0;
        if is_data {
            let endpoints = with_endpoints(content_hash(packet), packet);
            self.observe(identity(packet, endpoints), at);
        }
        is_data
    }

    #[inline]
    pub(super) fn observe(&mut self, identity: u64, at: Timestamp) {
        if self.segments < JUDGED {
            self.compare(identity, at);
        }
    }

    fn compare(&mut self, identity: u64, at: Timestamp) {
        let place = self.segments % RECENT as u64;
        self.segments += 1;
        let is_twin = |&mut (other, time): &mut (u64, Timestamp)| {
            other == identity && (at - time).abs() < COPY_GAP
        };
        let recent = &mut self.recent;
        if recent
            .iter_mut()
            // A record has one twin, so the twin is taken out.
            .any(|other| other.take_if(is_twin).is_some())
        {
            self.pairs += 1;
        } else {
            let place = usize::try_from(place).expect("less than RECENT");
            recent[place] = Some((identity, at));
        }
    }

    /// True if at least nine in ten packets have a twin. Fewer than 20 segments prove nothing.
    pub fn are_the_rule(&self) -> bool {
        // `segments` counts both records of a pair: pairs / (segments / 2) ≥ 9 / 10.
        self.segments >= 20 && self.pairs * 20 >= self.segments * 9
    }
}

/// Identity of a data segment; `endpoints` is the hash of its endpoints and content.
pub(super) fn identity(packet: &Packet<'_>, endpoints: u64) -> u64 {
    let ip_id = packet.ip_id.unwrap_or(0);
    // The hash of the content leaves out length and IP ID, which a retransmission may change.
    endpoints ^ (u64::from(packet.payload_bytes) << 16 | u64::from(ip_id))
}

#[cfg(test)]
mod tests {
    use tcpexp_units::TimeDelta;

    use super::*;

    fn twins(of_ten: u64, gap: TimeDelta) -> Twins {
        let mut twins = Twins::default();
        for number in 0..100_u64 {
            let at = Timestamp::from_nanos(0) + TimeDelta::from_millis(number.cast_signed());
            twins.observe(number, at);
            if number % 10 < of_ten {
                twins.observe(number, at + gap);
            }
        }
        twins
    }

    #[test]
    fn capture_doubles_if_nearly_all_data_has_an_immediate_duplicate() {
        let at_once = TimeDelta::from_micros(2);
        assert!(twins(10, TimeDelta::ZERO).are_the_rule());
        assert!(twins(10, at_once).are_the_rule());
        assert!(!twins(5, at_once).are_the_rule());
        assert!(!twins(0, at_once).are_the_rule());
        assert!(!twins(10, COPY_GAP + COPY_GAP).are_the_rule());
    }
}
