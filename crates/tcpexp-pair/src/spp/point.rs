//! The two measurement points.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One of the two measurement points, named by the order of the captures on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Point {
    /// The point of the first capture.
    Src,
    /// The point of the second capture.
    Dst,
}

impl Point {
    /// Both points, in order of [`index`](Self::index).
    pub const BOTH: [Self; 2] = [Self::Src, Self::Dst];

    /// The other point.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Src => Self::Dst,
            Self::Dst => Self::Src,
        }
    }

    /// 0 or 1: the array index of this point.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Name of the point in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Src => "src",
            Self::Dst => "dst",
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
