//! The network between two measurement points.

use tcpexp_units::TimeDelta;

/// Direction of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client, which opens the flow, to the server; SRC captures the packet before DST.
    #[default]
    Forward,
    /// From the server to the client; DST captures the packet before SRC.
    Reverse,
}

impl Direction {
    /// The opposite direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// The measurement point that captures this direction first.
    pub const fn upstream(self) -> Point {
        match self {
            Self::Forward => Point::Src,
            Self::Reverse => Point::Dst,
        }
    }

    /// The measurement point that captures this direction last.
    pub const fn downstream(self) -> Point {
        self.opposite().upstream()
    }
}

/// A measurement point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// At the client. Its clock shows true time, except after a [`ClockStep`](super::ClockStep).
    #[default]
    Src,
    /// At the server.
    Dst,
}

/// One direction of the network between the two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Bottleneck rate in bits per second, counted over IP packets with their framing.
    pub rate_bps: u64,
    /// Size of the queue before the bottleneck in bytes; packets that do not fit are dropped.
    pub queue_bytes: u64,
    /// One-way propagation delay.
    pub delay: TimeDelta,
    /// Maximum of the additional delay of each packet, uniformly distributed.
    pub jitter: TimeDelta,
    /// True if a packet with less jitter may overtake a packet with more.
    pub reorders: bool,
    /// Random loss after the queue, in packets per million.
    pub loss_ppm: u32,
    /// Packets per million that the network duplicates.
    pub duplicate_ppm: u32,
    /// Drops what exceeds a rate, before the queue.
    pub policer: Option<Policer>,
    /// Drops all packets for some time, again and again.
    pub outage: Option<Outage>,
}

/// A policer: a token bucket that drops packets for which it has no tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// Rate in bits per second, counted as in [`Path::rate_bps`].
    pub rate_bps: u64,
    /// Size of the bucket in bytes.
    pub burst_bytes: u64,
}

/// Times in which all packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Start of the first outage, after the start of the run.
    pub first: TimeDelta,
    /// Length of an outage.
    pub length: TimeDelta,
    /// Time from the start of one outage to the start of the next.
    pub period: TimeDelta,
}

impl Default for Path {
    /// 100 Mbit/s, 10 ms, a queue of 250 kB (the bandwidth-delay product for 20 ms), no loss.
    fn default() -> Self {
        Self {
            rate_bps: 100_000_000,
            queue_bytes: 250_000,
            delay: TimeDelta::from_millis(10),
            jitter: TimeDelta::ZERO,
            reorders: false,
            loss_ppm: 0,
            duplicate_ppm: 0,
            policer: None,
            outage: None,
        }
    }
}
