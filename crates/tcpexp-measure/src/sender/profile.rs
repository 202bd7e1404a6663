//! Rules that differ between senders' operating systems.

use tcpexp_flow::StreamOffset;
use tcpexp_units::TimeDelta;

use crate::rto::{LinuxRto, Rfc6298Rto};

/// The rules for replaying a sender's state where packets do not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Linux 4.0 and later: counts acknowledged segments and reduces the window proportionally.
    #[default]
    Linux,
    /// Linux before 3.13: counts ACKs, so delayed ACKs slow the growth.
    OldLinux,
    /// FreeBSD: counts bytes, at most two segments per ACK (RFC 3465). In recovery, its own
    /// `snd_cwnd` is one segment or inflated by duplicate ACKs; the replay reports the amount it
    /// may have in the network.
    FreeBsd,
}

/// What a sender counts to grow its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GrowthUnit {
    PerSegment,
    PerAck,
    /// Bytes, up to `most` segments per ACK.
    Bytes {
        most: u32,
    },
}

impl Profile {
    /// The name used in tables and options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::OldLinux => "old_linux",
            Self::FreeBsd => "freebsd",
        }
    }

    pub(super) const fn growth_unit(self) -> GrowthUnit {
        match self {
            Self::Linux => GrowthUnit::PerSegment,
            Self::OldLinux => GrowthUnit::PerAck,
            Self::FreeBsd => GrowthUnit::Bytes { most: 2 },
        }
    }

    /// Initial window in segments (RFC 6928, or the older RFC 3390).
    pub(super) const fn initial_window_segments(self) -> u32 {
        match self {
            Self::Linux | Self::FreeBsd => 10,
            Self::OldLinux => 3,
        }
    }

    pub(super) fn timer(self) -> Timer {
        match self {
            Self::Linux | Self::OldLinux => Timer::Linux(LinuxRto::default()),
            Self::FreeBsd => Timer::FreeBsd(Rfc6298Rto::default()),
        }
    }
}

/// FreeBSD's minimum timeout including its slop (`TCPTV_MIN`, `TCPTV_CPU_VAR`).
const FREEBSD_RTO_MIN: TimeDelta = TimeDelta::from_millis(230);

/// The retransmission timer of a profile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timer {
    Linux(LinuxRto),
    FreeBsd(Rfc6298Rto),
}

impl Timer {
    pub(super) fn sample(&mut self, rtt: TimeDelta, una: StreamOffset, nxt: StreamOffset) {
        match self {
            Self::Linux(timer) => timer.sample(rtt, una, nxt),
            Self::FreeBsd(timer) => timer.sample(rtt),
        }
    }

    pub(super) fn back_off(&mut self) {
        match self {
            Self::Linux(timer) => timer.back_off(),
            Self::FreeBsd(timer) => timer.back_off(),
        }
    }

    pub(super) const fn is_linux(&self) -> bool {
        matches!(self, Self::Linux(_))
    }

    pub(super) fn srtt(&self) -> Option<TimeDelta> {
        match self {
            Self::Linux(timer) => timer.srtt(),
            Self::FreeBsd(timer) => timer.srtt(),
        }
    }

    pub(super) fn rto(&self) -> TimeDelta {
        match self {
            Self::Linux(timer) => timer.rto(),
            // RFC 6298 with FreeBSD's minimum.
            Self::FreeBsd(timer) => match (timer.srtt(), timer.rttvar()) {
                (Some(srtt), Some(rttvar)) => {
                    let four = TimeDelta::from_nanos(rttvar.as_nanos().saturating_mul(4));
                    (srtt + four).max(FREEBSD_RTO_MIN)
                }
                _ => timer.rto(),
            },
        }
    }
}
