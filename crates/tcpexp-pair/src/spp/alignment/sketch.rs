//! A sample of packets that is the same in both captures.
//!
//! Each point takes its sample independently of the other point, so the content of a packet
//! decides: the sample keeps the packets with the smallest content hashes (a bottom-k sketch; RFC
//! 5475, section 6.2, describes consistent sampling). A small capture is kept whole, a large
//! capture yields a uniform sample, and memory is bounded.

use std::mem;

use super::fields::FieldValues;
use tcpexp_flow::Sighted;
use tcpexp_units::{TimeDelta, Timestamp};

/// Two identical packets closer than this are two records of one packet, in the sample and in
/// captures that record each packet twice.
pub(in crate::spp) const COPY_GAP: TimeDelta = TimeDelta::from_millis(1);

/// The `KEPT` packets with the smallest hashes.
#[derive(Debug)]
pub(in crate::spp) struct Sketch<const KEPT: usize> {
    kept: Vec<Sketched>,
    /// Empty memory for the next sorted packets: new memory would cost a page fault per page.
    spare: Vec<Sketched>,
    /// The largest hash that is kept.
    limit: u64,
}

impl<const KEPT: usize> Default for Sketch<KEPT> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            spare: Vec::new(),
            limit: u64::MAX,
        }
    }
}

/// One packet of the sample.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Sketched {
    hash: u64,
    /// See [`Sighted::place`].
    pub(in crate::spp) place: u64,
    pub(in crate::spp) time: Timestamp,
    pub(in crate::spp) fields: FieldValues,
}

/// The packets that two samples share, in the order of the first sample's capture.
#[derive(Debug, Default)]
pub(in crate::spp) struct Common {
    /// Packets that occur exactly once in each sample.
    pub(super) once: Vec<(Sketched, Sketched)>,
    /// Segments that only their IP ID distinguishes.
    pub(super) by_id: Vec<(Sketched, Sketched)>,
    /// Number of shared hashes that more than one packet of a sample has.
    pub(super) alike: u64,
}

impl<const KEPT: usize> Sketch<KEPT> {
    #[inline]
    pub(super) fn offer(&mut self, hash: u64, sighted: &Sighted<'_>) {
        if hash <= self.limit {
            self.keep(hash, sighted);
        }
    }

    fn keep(&mut self, hash: u64, sighted: &Sighted<'_>) {
        self.kept.push(Sketched::new(hash, sighted));
        // One sort per `KEPT` packets keeps the cost per packet small.
        if self.kept.len() >= 2 * KEPT {
            self.compact();
        }
    }

    /// Sorts, drops duplicate records, keeps at most two packets per hash and only the smallest
    /// hashes.
    fn compact(&mut self) {
        let mut kept = mem::take(&mut self.spare);
        kept.reserve(2 * KEPT);
        let mut alike = 0;
        let hashes = self.kept.iter().map(|packet| packet.hash);
        for key in keys_by_hash(hashes, self.limit) {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the place is the lower half"
            )]
            let packet = self.kept[key as u64 as usize];
            let hash = packet.hash;
            match kept.last().filter(|before| before.hash == hash) {
                // Two packets show that a hash is not unique; more would only take room.
                Some(before) if alike == 2 || packet.is_copy_of(before) => continue,
                Some(_) => alike += 1,
                None if kept.len() >= KEPT => {
                    self.limit = hash - 1;
                    break;
                }
                None => alike = 1,
            }
            kept.push(packet);
        }
        self.spare = mem::replace(&mut self.kept, kept);
        self.spare.clear();
    }

    /// The packets of the sample, after [`common`](Self::common) has compared it.
    pub(super) fn kept(&self) -> &[Sketched] {
        &self.kept
    }

    /// Returns the packets that both samples hold.
    pub(in crate::spp) fn common(&mut self, other: &mut Self) -> Common {
        self.compact();
        other.compact();
        let mut common = Common::default();
        let mut others = other.kept.chunk_by(|a, b| a.hash == b.hash).peekable();
        for run in self.kept.chunk_by(|a, b| a.hash == b.hash) {
            while others
                .next_if(|theirs| theirs[0].hash < run[0].hash)
                .is_some()
            {}
            let Some(theirs) = others.next_if(|theirs| theirs[0].hash == run[0].hash) else {
                continue;
            };
            if let (&[ours], &[theirs]) = (run, theirs) {
                common.once.push((ours, theirs));
            } else {
                common.alike += 1;
                common.by_id.extend(same_ids(run, theirs));
            }
        }
        // By keys: each packet is large, and is moved only once.
        common.once.sort_by_cached_key(|(ours, _)| ours.place);
        common.by_id.sort_by_cached_key(|(ours, _)| ours.place);
        common
    }
}

/// Keys of packets in order: the hash above the place of the packet. No hash exceeds `limit`.
///
/// Hashes are uniform, so buckets by hash, as many as packets, hold one or two packets each, and
/// sorting the buckets takes a third of the instructions of sorting all keys.
fn keys_by_hash(
    hashes: impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + Clone,
    limit: u64,
) -> Vec<u128> {
    let packets = hashes.len();
    // The largest hash, scaled, has its highest bit set.
    let scale = (limit | 1).leading_zeros();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "less than the number of packets"
    )]
    let bucket = |hash: u64| ((u128::from(hash << scale) * packets as u128) >> u64::BITS) as usize;
    // Holds the number of packets in each bucket first, then the end of each bucket, finally its start.
    let mut bounds = vec![0_usize; packets + 1];
    for hash in hashes.clone() {
        bounds[bucket(hash)] += 1;
    }
    let mut end = 0;
    for bound in &mut bounds {
        end += *bound;
        *bound = end;
    }
    let mut keys = vec![0; packets];
    for (place, hash) in hashes.enumerate().rev() {
        let bound = &mut bounds[bucket(hash)];
        *bound -= 1;
        keys[*bound] = u128::from(hash) << u64::BITS | place as u128;
    }
    for bucket in bounds.windows(2) {
        // Most buckets have one packet or none.
        if bucket[1] - bucket[0] > 1 {
            keys[bucket[0]..bucket[1]].sort_unstable();
        }
    }
    keys
}

/// Pairs segments by an IP ID that occurs once in each sample: a retransmission has another IP ID.
fn same_ids<'a>(
    ours: &'a [Sketched],
    theirs: &'a [Sketched],
) -> impl Iterator<Item = (Sketched, Sketched)> + 'a {
    fn once(packets: &[Sketched], id: Option<u16>) -> Option<Sketched> {
        let mut same = packets.iter().filter(|packet| packet.fields.ip_id == id);
        same.next().copied().filter(|_| same.next().is_none())
    }
    let own_ids = ours.iter().filter(|packet| {
        let has_own_id = packet.fields.ip_id.is_some_and(|id| id != 0);
        has_own_id && packet.fields.is_tcp
    });
    own_ids.filter_map(|packet| {
        let id = packet.fields.ip_id;
        once(ours, id).zip(once(theirs, id))
    })
}

impl Sketched {
    /// A packet whose `hash` is that of all packets it is compared with.
    pub(super) fn new(hash: u64, sighted: &Sighted<'_>) -> Self {
        Self {
            hash,
            place: sighted.place(),
            time: sighted.at,
            fields: FieldValues::of(sighted.packet),
        }
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    fn is_copy_of(&self, earlier: &Self) -> bool {
        // The TTL differs if the packet is captured before and after a router.
        let fields = FieldValues {
            ttl: earlier.fields.ttl,
            ..self.fields
        };
        self.hash == earlier.hash
            && fields == earlier.fields
            && (self.fields.ip_id.is_some_and(|id| id != 0) || self.time - earlier.time < COPY_GAP)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::keys_by_hash;

    proptest! {
        #[test]
        fn keys_are_in_order_of_hash_and_then_of_capture(
            limit in any::<u64>(),
            hashes in prop::collection::vec(prop_oneof![any::<u64>(), 0..9_u64], 0..200),
        ) {
            let hashes: Vec<u64> = hashes.iter().map(|hash| (*hash).min(limit)).collect();
            let keyed = |(place, hash): (u128, &u64)| u128::from(*hash) << u64::BITS | place;
            let mut expected: Vec<u128> = (0..).zip(&hashes).map(keyed).collect();
            expected.sort_unstable();
            prop_assert_eq!(keys_by_hash(hashes.iter().copied(), limit), expected);
        }
    }
}
