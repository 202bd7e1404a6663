//! A sample of packets that both captures choose alike.
//!
//! Both points must choose the same packets without knowing of each other, so a packet is chosen
//! by its content: those with the smallest content hashes are kept (a bottom-k sketch; the idea of
//! consistent sampling is that of RFC 5475, section 6.2). Small captures are kept whole, large ones
//! give a uniform sample, and memory is bounded either way.

use super::fields::FieldValues;
use crate::Sighted;
use tcpexp_units::{TimeDelta, Timestamp};

/// Two like packets closer than this are taken for copies of one, in the sample and where a capture
/// records each packet twice.
pub(in crate::spp) const COPY_GAP: TimeDelta = TimeDelta::from_millis(1);

/// The packets with the smallest hashes, `KEPT` of them.
#[derive(Debug)]
pub(in crate::spp) struct Sketch<const KEPT: usize> {
    kept: Vec<Sketched>,
    /// Larger hashes are not kept.
    limit: u64,
}

impl<const KEPT: usize> Default for Sketch<KEPT> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            limit: u64::MAX,
        }
    }
}

/// One packet of the sample.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Sketched {
    hash: u64,
    pub(in crate::spp) record: u64,
    pub(in crate::spp) time: Timestamp,
    pub(in crate::spp) fields: FieldValues,
}

/// What two samples share, in order of the first one's records.
#[derive(Debug, Default)]
pub(in crate::spp) struct Common {
    /// Packets that stand in both samples once and only once.
    pub(super) once: Vec<(Sketched, Sketched)>,
    /// Segments that only their IP ID tells from others.
    pub(super) by_id: Vec<(Sketched, Sketched)>,
    /// How often both hold packets that are alike.
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
        self.kept.push(Sketched {
            hash,
            record: sighted.record,
            time: sighted.at,
            fields: FieldValues::of(sighted.packet),
        });
        if self.kept.len() >= 2 * KEPT {
            self.compact();
        }
    }

    /// Sorts, drops copies, keeps no more than two of a kind, and then only the smallest hashes.
    fn compact(&mut self) {
        // What is sorted is small: the packets are moved once.
        let places = 0..u32::try_from(self.kept.len()).expect("twice KEPT fits");
        let mut order: Vec<(u64, u32)> = places
            .map(|place| (self.kept[place as usize].hash, place))
            .collect();
        order.sort_unstable();
        let mut kept: Vec<Sketched> = Vec::with_capacity(2 * KEPT);
        let mut alike = 0;
        for (hash, place) in order {
            let packet = self.kept[place as usize];
            match kept.last().filter(|before| before.hash == hash) {
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
        self.kept = kept;
    }

    /// The packets that both samples hold.
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
        common.once.sort_unstable_by_key(|(ours, _)| ours.record);
        common.by_id.sort_unstable_by_key(|(ours, _)| ours.record);
        common
    }
}

/// Segments that are alike but for an IP ID that each sample holds once: a retransmission has
/// another one.
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
    fn is_copy_of(&self, earlier: &Self) -> bool {
        // Captured before and after a router, a packet has another time to live.
        let fields = FieldValues {
            ttl: earlier.fields.ttl,
            ..self.fields
        };
        self.hash == earlier.hash
            && fields == earlier.fields
            && (self.fields.ip_id.is_some_and(|id| id != 0) || self.time - earlier.time < COPY_GAP)
    }
}
