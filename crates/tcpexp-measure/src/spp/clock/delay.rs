//! One-way delays of one way, in order of time.

/// Fewer packets than this show no slope.
pub(super) const LEAST_PACKETS: usize = 8;

/// One packet's delay.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Delay {
    /// When, from an arbitrary start.
    pub(in crate::spp) at_ns: i64,
    /// One-way delay with the clocks' offset in it, less an arbitrary constant.
    pub(in crate::spp) owd_ns: i64,
}

/// Delays that are not alone: of every few packets in a row, the slowest.
///
/// A packet mistaken for another can seem impossibly fast. It is ignored unless its neighbours
/// are as fast; what is lost are delays smaller than those of both neighbours.
pub(in crate::spp) fn confirmed(delays: &[Delay]) -> Vec<Delay> {
    let in_a_row = match delays.len() {
        0..LEAST_PACKETS => 1,
        LEAST_PACKETS..64 => 2,
        _ => 3,
    };
    delays
        .windows(in_a_row)
        .filter_map(|row| row.iter().max_by_key(|delay| delay.owd_ns).copied())
        .collect()
}
