//! One direction's sightings at the reference point: a list in capture order that finds the first
//! match of a walk from its head.

use foldhash::{HashMap, HashMapExt};

use super::Sighting;

/// A list of removable sightings, with summaries for the search.
///
/// The original walks a linked list for every packet, up to 10,000 steps. A segment tree over the
/// same list answers each query in logarithmic time, even if the file is not in time order.
pub(super) struct Queue {
    sightings: Vec<Sighting>,
    /// Node `n` summarises nodes `2n` and `2n + 1`; the leaves start at `leaves`.
    tree: Vec<Summary>,
    leaves: usize,
    /// Position of the first sighting of each id that may remain.
    first_of_id: HashMap<u64, usize>,
    /// Position of the next sighting of the same id.
    next_of_id: Vec<Option<usize>>,
}

/// Summary of the remaining sightings in one part of the list.
#[derive(Clone, Copy)]
struct Summary {
    count: usize,
    earliest_second: i64,
    latest_second: i64,
}

impl Summary {
    const EMPTY: Self = Self {
        count: 0,
        earliest_second: i64::MAX,
        latest_second: i64::MIN,
    };

    fn join(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            earliest_second: self.earliest_second.min(other.earliest_second),
            latest_second: self.latest_second.max(other.latest_second),
        }
    }
}

impl Queue {
    pub(super) fn new(sightings: Vec<Sighting>) -> Self {
        let leaves = sightings.len().next_power_of_two();
        let mut tree = vec![Summary::EMPTY; 2 * leaves];
        for (leaf, sighting) in tree[leaves..].iter_mut().zip(&sightings) {
            let second = sighting.second();
            *leaf = Summary {
                count: 1,
                earliest_second: second,
                latest_second: second,
            };
        }
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node].join(tree[2 * node + 1]);
        }

        let mut first_of_id = HashMap::with_capacity(sightings.len());
        let mut next_of_id = vec![None; sightings.len()];
        // The walk from the back leaves the first sighting of each id in the map.
        for (position, sighting) in sightings.iter().enumerate().rev() {
            next_of_id[position] = first_of_id.insert(sighting.id, position);
        }
        Self {
            sightings,
            tree,
            leaves,
            first_of_id,
            next_of_id,
        }
    }

    pub(super) fn sighting(&self, position: usize) -> Sighting {
        self.sightings[position]
    }

    /// Position of the first remaining sighting.
    pub(super) fn head(&self) -> Option<usize> {
        self.first(|part| part.count > 0)
    }

    /// Position of the first sighting later than `second`.
    pub(super) fn first_after(&self, second: i64) -> Option<usize> {
        self.first(|part| part.latest_second > second)
    }

    /// Position of the first sighting earlier than `second`.
    pub(super) fn first_before(&self, second: i64) -> Option<usize> {
        self.first(|part| part.earliest_second < second)
    }

    /// Position of the first sighting of `id`.
    pub(super) fn first_of(&mut self, id: u64) -> Option<usize> {
        let first = self.first_of_id.get_mut(&id)?;
        // A removed sighting never returns, so each is skipped only once.
        while self.tree[self.leaves + *first].count == 0 {
            *first = self.next_of_id[*first]?;
        }
        Some(*first)
    }

    /// Number of remaining sightings before `position`.
    pub(super) fn count_ahead(&self, position: usize) -> usize {
        let mut node = self.leaves + position;
        let mut count = 0;
        while node > 1 {
            // The left sibling of a right child is wholly before `position`.
            if node % 2 == 1 {
                count += self.tree[node - 1].count;
            }
            node /= 2;
        }
        count
    }

    pub(super) fn remove(&mut self, position: usize) {
        let mut node = self.leaves + position;
        self.tree[node] = Summary::EMPTY;
        while node > 1 {
            node /= 2;
            self.tree[node] = self.tree[2 * node].join(self.tree[2 * node + 1]);
        }
    }

    /// The first position whose leaf satisfies `holds`. A part satisfies `holds` if one of its
    /// leaves does.
    fn first(&self, holds: impl Fn(&Summary) -> bool) -> Option<usize> {
        let mut node = 1;
        if !holds(&self.tree[node]) {
            return None;
        }
        while node < self.leaves {
            node *= 2;
            if !holds(&self.tree[node]) {
                node += 1;
            }
        }
        Some(node - self.leaves)
    }
}
