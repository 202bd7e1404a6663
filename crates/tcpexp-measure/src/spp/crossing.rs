//! One packet seen at both points.

use crate::spp::point::Point;
use tcpexp_units::{TimeDelta, Timestamp};

/// Which way a packet goes between the measurement points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// From the source point to the destination point.
    Out,
    /// From the destination point to the source point.
    Back,
}

impl Way {
    /// Both, in order of their [`index`](Self::index).
    pub const BOTH: [Self; 2] = [Self::Out, Self::Back];

    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Out => Self::Back,
            Self::Back => Self::Out,
        }
    }

    /// 0 or 1, for arrays with one place per way.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::Back => "back",
        }
    }

    /// The point such a packet passes first.
    pub const fn upstream(self) -> Point {
        match self {
            Self::Out => Point::Src,
            Self::Back => Point::Dst,
        }
    }
}

/// One packet's passage of both points, each time read on that point's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Which way the packet went.
    pub way: Way,
    /// Its record number in the source point's capture, from 0.
    pub src_record: u64,
    /// Its record number in the destination point's capture, from 0.
    pub dst_record: u64,
    /// When it passed the source point, on that point's clock.
    pub src_time: Timestamp,
    /// When it passed the destination point, on that point's clock.
    pub dst_time: Timestamp,
}

impl Crossing {
    /// What the destination's clock showed more than the source's: their offset plus the one-way
    /// delay for a packet on its way [`Way::Out`], minus it for one on its way [`Way::Back`].
    pub fn difference(&self) -> TimeDelta {
        clock_difference(self.src_time, self.dst_time)
    }

    /// One-way delay with the clocks' offset in it.
    pub fn raw_owd(&self) -> TimeDelta {
        match self.way {
            Way::Out => self.difference(),
            Way::Back => -self.difference(),
        }
    }
}

/// What the destination's clock shows more than the source's.
///
/// The one place where times of two clocks are subtracted.
pub(in crate::spp) fn clock_difference(src: Timestamp, dst: Timestamp) -> TimeDelta {
    dst - src
}
