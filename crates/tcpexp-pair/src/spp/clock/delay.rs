//! One-way delays of one way, in order of time.

/// Minimum number of packets to estimate a slope.
pub(super) const MIN_PACKETS: usize = 8;

/// One packet's delay.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Delay {
    /// Time since an arbitrary start.
    pub(in crate::spp) at_ns: i64,
    /// One-way delay, clock offset included, minus an arbitrary constant.
    pub(in crate::spp) owd_ns: i64,
}

/// Filters out isolated small delays: of every few packets in a row, the slowest is kept.
///
/// A false match can have an impossibly small delay. It is ignored unless its neighbours are as
/// fast. Delays smaller than those of both neighbours are lost too.
pub(in crate::spp) fn confirmed(delays: &[Delay]) -> Vec<Delay> {
    let in_a_row = match delays.len() {
        0..MIN_PACKETS => 1,
        MIN_PACKETS..64 => 2,
        _ => 3,
    };
    delays
        .windows(in_a_row)
        .filter_map(|row| row.iter().max_by_key(|delay| delay.owd_ns).copied())
        .collect()
}
