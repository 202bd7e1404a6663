//! The two measurement points.

use std::fmt;

/// One of the two measurement points, named by the order of the captures on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Where the first capture was taken.
    Src,
    /// Where the second capture was taken.
    Dst,
}

impl Point {
    /// Both, in order of their [`index`](Self::index).
    pub const BOTH: [Self; 2] = [Self::Src, Self::Dst];

    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Src => Self::Dst,
            Self::Dst => Self::Src,
        }
    }

    /// 0 or 1, for arrays with one place per point.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name used in tables.
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
