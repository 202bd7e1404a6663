//! Cache of recently used slots.

use std::fmt;

use crate::slot::Slot;

/// Slots of recently found flows, indexed by the low bits of their hashes.
///
/// Only a few thousand of a hundred thousand live flows are active. Their slots fit into a near cache;
/// the slots of all flows do not.
pub(crate) struct Recent(Box<[Slot; RECENT]>);

/// Number of slots in the cache.
const RECENT: usize = 16_384;
/// Marks an empty entry: no flow has this slot.
const NOWHERE: Slot = Slot(u32::MAX);

impl Default for Recent {
    fn default() -> Self {
        let slots = vec![NOWHERE; RECENT].try_into();
        Self(slots.expect("as long as an array of RECENT"))
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").finish_non_exhaustive()
    }
}

impl Recent {
    /// Returns the slot cached for this hash: of its flow, of another flow, or none.
    #[inline]
    pub(crate) fn slot(&self, hash: u64) -> Slot {
        self.0[Self::place(hash)]
    }

    pub(crate) fn add(&mut self, hash: u64, slot: Slot) {
        self.0[Self::place(hash)] = slot;
    }

    pub(crate) fn forget(&mut self, hash: u64, slot: Slot) {
        let place = &mut self.0[Self::place(hash)];
        if *place == slot {
            *place = NOWHERE;
        }
    }

    #[inline]
    fn place(hash: u64) -> usize {
        usize::try_from(hash % RECENT as u64).expect("less than the length of an array")
    }
}
