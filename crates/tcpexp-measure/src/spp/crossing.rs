//! One packet seen at both points.

use tcpexp_units::{TimeDelta, Timestamp};

use super::Point;

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
    /// A packet's passage of the first point on its way and then of the second: for each the record
    /// number and the time on that point's own clock.
    pub fn new(way: Way, departed: (u64, Timestamp), arrived: (u64, Timestamp)) -> Self {
        let (src, dst) = match way {
            Way::Out => (departed, arrived),
            Way::Back => (arrived, departed),
        };
        Self {
            way,
            src_record: src.0,
            dst_record: dst.0,
            src_time: src.1,
            dst_time: dst.1,
        }
    }

    /// When it passed `point`, on that point's clock.
    pub fn time_at(&self, point: Point) -> Timestamp {
        match point {
            Point::Src => self.src_time,
            Point::Dst => self.dst_time,
        }
    }

    /// What the destination's clock showed more than the source's: their offset plus the one-way
    /// delay for a packet on its way [`Way::Out`], minus it for one on its way [`Way::Back`].
    ///
    /// The one place where times of two clocks are subtracted.
    pub fn difference(&self) -> TimeDelta {
        self.dst_time - self.src_time
    }

    /// One-way delay with the clocks' offset in it.
    pub fn raw_owd(&self) -> TimeDelta {
        match self.way {
            Way::Out => self.difference(),
            Way::Back => -self.difference(),
        }
    }
}
