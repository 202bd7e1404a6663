//! Rules that differ between senders' operating systems.

use tcpexp_flow::StreamOffset;
use tcpexp_units::TimeDelta;

use super::freebsd_rto::FreeBsdRto;
use crate::rto::LinuxRto;

/// The rules for replaying a sender's state where packets do not show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Profile {
    /// Linux 4.0 and later: counts acknowledged segments and reduces the window proportionally.
    #[default]
    Linux,
    /// Linux 2.6.39 to 3.12: counts ACKs, so delayed ACKs slow the growth.
    OldLinux,
    /// Linux before 2.6.39: as [`OldLinux`](Self::OldLinux), with the smaller initial window of RFC 3390.
    EarlyLinux,
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
            Self::EarlyLinux => "early_linux",
            Self::FreeBsd => "freebsd",
        }
    }

    pub(super) const fn growth_unit(self) -> GrowthUnit {
        match self {
            Self::Linux => GrowthUnit::PerSegment,
            Self::OldLinux | Self::EarlyLinux => GrowthUnit::PerAck,
            Self::FreeBsd => GrowthUnit::Bytes { most: 2 },
        }
    }

    /// Initial window in segments of `smss_bytes`.
    pub(super) fn initial_window_segments(self, smss_bytes: u32) -> u32 {
        // Equation 1 of RFC 6928, and of RFC 3390: a number of segments, of at most these bytes or two segments.
        let (segments, bytes) = match self {
            // `TCP_INIT_CWND` has no bound in bytes.
            Self::Linux | Self::OldLinux => return 10,
            // `tcp_init_cwnd`.
            Self::EarlyLinux => (4, 4_380),
            // `tcp_compute_initwnd`.
            Self::FreeBsd => (10, 14_600),
        };
        (bytes / smss_bytes.max(1)).clamp(2, segments)
    }

    pub(super) fn timer(self) -> Timer {
        match self {
            Self::Linux | Self::OldLinux | Self::EarlyLinux => Timer::Linux(LinuxRto::default()),
            Self::FreeBsd => Timer::FreeBsd(FreeBsdRto::default()),
        }
    }
}

/// The retransmission timer of a profile.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timer {
    Linux(LinuxRto),
    FreeBsd(FreeBsdRto),
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
            Self::FreeBsd(timer) => timer.rto(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_wire::SeqNum;

    use super::*;

    const START: StreamOffset = StreamOffset::first(SeqNum(0));
    const PROFILES: [Profile; 4] = [
        Profile::Linux,
        Profile::OldLinux,
        Profile::EarlyLinux,
        Profile::FreeBsd,
    ];

    /// The timeout after a sample of `millis`, then after each of `expiries`.
    fn timeouts(profile: Profile, millis: i64, expiries: usize) -> Vec<i64> {
        let mut timer = profile.timer();
        timer.sample(TimeDelta::from_millis(millis), START, START);
        let mut timeouts = Vec::new();
        for _ in 0..=expiries {
            timeouts.push(timer.rto().as_nanos() / 1_000_000);
            timer.back_off();
        }
        timeouts
    }

    #[test]
    fn timeout_of_each_profile_doubles_when_it_expires_until_the_next_sample() {
        for profile in PROFILES {
            // FreeBSD adds its slop to the doubled time.
            let slop = if profile == Profile::FreeBsd { 200 } else { 0 };
            let timeouts = timeouts(profile, 100, 2);
            assert_eq!(timeouts[1] - slop, 2 * (timeouts[0] - slop), "{profile:?}");
            assert_eq!(timeouts[2] - slop, 4 * (timeouts[0] - slop), "{profile:?}");
            let mut timer = profile.timer();
            timer.back_off();
            timer.sample(TimeDelta::from_millis(100), START, START);
            assert_eq!(timer.rto().as_nanos() / 1_000_000, timeouts[0]);
        }
    }

    #[test]
    fn timeout_of_freebsd_lies_between_its_minimum_plus_slop_and_64_s() {
        assert_eq!(timeouts(Profile::FreeBsd, 100, 2), [500, 800, 1_400]);
        assert_eq!(timeouts(Profile::FreeBsd, 1, 1), [230, 260]);
        let last = timeouts(Profile::FreeBsd, 100, 20).pop();
        assert_eq!(last, Some(64_000));
    }

    #[test]
    fn initial_window_in_segments_depends_on_their_size() {
        let windows = |smss_bytes| PROFILES.map(|of| of.initial_window_segments(smss_bytes));
        assert_eq!(windows(536), [10, 10, 4, 10]);
        assert_eq!(windows(1_448), [10, 10, 3, 10]);
        assert_eq!(windows(2_000), [10, 10, 2, 7]);
        assert_eq!(windows(8_948), [10, 10, 2, 2]);
    }
}
