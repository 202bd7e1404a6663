//! Counts of lost packets.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Numbers of packets that the path lost, by a capture of each end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostPackets {
    /// Packets that are known to be lost.
    pub known: u64,
    /// Packets whose fate is unknown: the path may have lost none or all of them.
    pub unknown: u64,
}

impl LostPackets {
    /// The number of lost packets, if the fate of all packets is known.
    pub fn exact(self) -> Option<u64> {
        (self.unknown == 0).then_some(self.known)
    }
}

impl Add for LostPackets {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            known: self.known + other.known,
            unknown: self.unknown + other.unknown,
        }
    }
}

impl AddAssign for LostPackets {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for LostPackets {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
