//! Places of flows that were found lately.

use std::fmt;

use crate::slot::Slot;

/// Where flows were found lately, by the last bits of their hashes.
///
/// Of a hundred thousand flows alive some thousand are active: their places fit into a near cache,
/// those of all do not.
pub(crate) struct Recent(Box<[Slot; RECENT]>);

/// How many are remembered.
const RECENT: usize = 16_384;
/// No flow is kept there.
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
    /// The slot of the flow with this hash that was added last, or of another flow, or none.
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
