//! One packet seen at both points.

use crate::spp::point::Point;
use serde::{Deserialize, Serialize};
use tcpexp_units::{TimeDelta, Timestamp};

/// Direction of a packet between the measurement points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum PathDirection {
    /// From the source point to the destination point.
    Out,
    /// From the destination point to the source point.
    Back,
}

impl PathDirection {
    /// Both directions, in order of [`index`](Self::index).
    pub const BOTH: [Self; 2] = [Self::Out, Self::Back];

    /// Orders the values of a departure and an arrival by [`Point::index`].
    pub(crate) fn by_point<T>(self, sent: T, received: T) -> [T; 2] {
        match self {
            Self::Out => [sent, received],
            Self::Back => [received, sent],
        }
    }

    /// The opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Out => Self::Back,
            Self::Back => Self::Out,
        }
    }

    /// 0 or 1: the array index of this direction.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name of the direction in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::Back => "back",
        }
    }

    /// The point that a packet in this direction passes first.
    pub const fn upstream(self) -> Point {
        match self {
            Self::Out => Point::Src,
            Self::Back => Point::Dst,
        }
    }
}

/// One packet's passage of both points, each timestamp on the clock of its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Way the packet went.
    pub path_direction: PathDirection,
    /// Place in the order of the source capture: [`Sighted::place`](tcpexp_flow::Sighted::place).
    pub src_place: u64,
    /// Place in the order of the destination capture.
    pub dst_place: u64,
    /// Time at the source point, on the source clock.
    pub src_time: Timestamp,
    /// Time at the destination point, on the destination clock.
    pub dst_time: Timestamp,
    /// Payload of TCP or UDP: a longer packet takes a link for longer.
    pub payload_bytes: u32,
}

impl Crossing {
    /// Destination time minus source time: clock offset plus one-way delay for [`PathDirection::Out`], clock
    /// offset minus one-way delay for [`PathDirection::Back`].
    pub fn difference(&self) -> TimeDelta {
        clock_difference(self.src_time, self.dst_time)
    }

    /// One-way delay, clock offset included.
    pub fn raw_owd(&self) -> TimeDelta {
        match self.path_direction {
            PathDirection::Out => self.difference(),
            PathDirection::Back => -self.difference(),
        }
    }
}

/// Destination time minus source time.
///
/// The only place that subtracts times of two clocks.
pub(in crate::spp) fn clock_difference(src: Timestamp, dst: Timestamp) -> TimeDelta {
    dst - src
}
