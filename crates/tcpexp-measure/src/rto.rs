//! Smoothed round-trip time and retransmission timeout, replayed from samples.

use tcpexp_flow::StreamOffset;
use tcpexp_units::TimeDelta;

/// Timeout before the first sample (RFC 6298, section 2.1); the same in Linux.
const INITIAL_RTO: TimeDelta = TimeDelta::from_seconds(1);
/// Minimum timeout of RFC 6298, section 2.4.
const RFC_RTO_MIN: TimeDelta = TimeDelta::from_seconds(1);
/// Maximum timeout: the lowest limit that RFC 6298, section 2.5, allows.
const RFC_RTO_MAX: TimeDelta = TimeDelta::from_seconds(60);
/// Linux's minimum of four times the deviation (`TCP_RTO_MIN`).
const LINUX_VARIANCE_MIN_MICROS: i32 = 200_000;
/// Largest round-trip time, some 268 s: eight times as much fits into 32 bits.
const LINUX_RTT_MAX_MICROS: i32 = i32::MAX >> 3;
/// Timer tick of the kernel configuration of most distributions (`HZ=250`).
const LINUX_JIFFY: TimeDelta = TimeDelta::from_millis(4);
/// Linux's maximum timeout (`TCP_RTO_MAX`).
pub(crate) const LINUX_RTO_MAX: TimeDelta = TimeDelta::from_seconds(120);

/// Number of doublings after which any timeout has reached its maximum.
const MAX_DOUBLINGS: u32 = LINUX_RTO_MAX.as_nanos().ilog2() + 1;

/// The estimator of RFC 6298.
///
/// Values are scaled integers in nanoseconds, as RFC 6298 suggests, so a replay needs no floats.
#[derive(Clone, Copy, Debug)]
pub struct Rfc6298Rto {
    granularity: TimeDelta,
    /// Eight times SRTT and four times RTTVAR in nanoseconds; `None` before the first sample.
    scaled: Option<(i64, i64)>,
    rto: TimeDelta,
}

impl Default for Rfc6298Rto {
    /// A clock of one millisecond; RFC 6298, section 4, finds clocks of 100 ms or finer to perform
    /// better.
    fn default() -> Self {
        Self::new(TimeDelta::from_millis(1))
    }
}

impl Rfc6298Rto {
    /// Creates an estimator with a clock tick of `granularity` (G in RFC 6298).
    pub const fn new(granularity: TimeDelta) -> Self {
        Self {
            granularity,
            scaled: None,
            rto: INITIAL_RTO,
        }
    }

    /// Adds a round-trip time (sections 2.2 and 2.3). Ignores negative values, which show wrong
    /// capture times.
    pub fn sample(&mut self, rtt: TimeDelta) {
        let rtt = rtt.as_nanos();
        // Leaves four bits: three for the scale of 8, one for sums. A capture may contain any time.
        if !(0..=i64::MAX >> 4).contains(&rtt) {
            return;
        }
        let (srtt8, rttvar4) = match self.scaled {
            // Section 2.2: SRTT = R and RTTVAR = R/2, here scaled by 8 and by 4.
            None => (rtt << 3, rtt << 1),
            // Section 2.3: SRTT += (R - SRTT) / 8 and RTTVAR += (|SRTT - R| - RTTVAR) / 4.
            Some((srtt8, rttvar4)) => {
                let off = (srtt8 >> 3) - rtt;
                // Update RTTVAR first, with the previous SRTT.
                (srtt8 - off, rttvar4 - (rttvar4 >> 2) + off.abs())
            }
        };
        self.scaled = Some((srtt8, rttvar4));
        // RTO = SRTT + max(G, 4 * RTTVAR); `rttvar4` contains the factor 4.
        let variance = TimeDelta::from_nanos(rttvar4).max(self.granularity);
        let rto = TimeDelta::from_nanos(srtt8 >> 3) + variance;
        self.rto = rto.clamp(RFC_RTO_MIN, RFC_RTO_MAX);
    }

    /// Doubles the timeout after it expired (section 5.5), until the next sample.
    pub fn back_off(&mut self) {
        self.rto = (self.rto + self.rto).min(RFC_RTO_MAX);
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<TimeDelta> {
        self.scaled
            .map(|(srtt8, _)| TimeDelta::from_nanos(srtt8 >> 3))
    }

    /// Mean deviation of the round-trip time; `None` before the first sample.
    pub fn rttvar(&self) -> Option<TimeDelta> {
        self.scaled
            .map(|(_, rttvar4)| TimeDelta::from_nanos(rttvar4 >> 2))
    }

    /// Retransmission timeout, between one second and one minute; one second before the first
    /// sample.
    pub fn rto(&self) -> TimeDelta {
        self.rto
    }
}

/// The estimator of Linux (`tcp_rtt_estimator`), in the kernel's integers.
///
/// It differs from RFC 6298 in three ways. The timeout uses the maximum deviation of the last round
/// trip, at least 50 ms. The deviation falls only once per round trip. A falling round-trip time
/// changes the deviation an eighth as much. The timeout is thus never less than SRTT + 200 ms.
///
/// Assumes the kernel's default `rto_min`, which a route may override, and timer ticks of 4 ms.
/// Round-trip times above 268 s count as 268 s.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxRto {
    state: Option<LinuxState>,
    /// Number of times that the timeout expired since the last sample.
    expiries: u32,
}

/// The kernel's fields, in microseconds. As in the kernel, they have 32 bits: there may be two of
/// each for a million connections.
#[derive(Clone, Copy, Debug)]
struct LinuxState {
    /// Eight times the smoothed round-trip time.
    srtt: i32,
    /// Four times the mean deviation.
    mdev: i32,
    /// Maximum `mdev` of this round trip.
    mdev_max: i32,
    /// Smoothed `mdev_max`: rises at once, falls once per round trip.
    rttvar: i32,
    /// End of this round trip: `snd_una` beyond this offset.
    rtt_seq: StreamOffset,
}

impl LinuxRto {
    /// Adds a round-trip time, truncated to microseconds as in the kernel.
    ///
    /// `snd_una` is the acknowledgment number of the sample's ACK, `snd_nxt` the end of the data
    /// sent so far. Negative values are ignored.
    #[inline]
    pub fn sample(&mut self, rtt: TimeDelta, snd_una: StreamOffset, snd_nxt: StreamOffset) {
        if rtt < TimeDelta::ZERO {
            return;
        }
        let micros = i32::try_from(rtt.as_nanos() / 1_000).map_or(LINUX_RTT_MAX_MICROS, |micros| {
            micros.min(LINUX_RTT_MAX_MICROS)
        });
        match &mut self.state {
            None => self.state = Some(LinuxState::first(micros, snd_nxt)),
            Some(state) => state.update(micros, snd_una, snd_nxt),
        }
        self.expiries = 0;
    }

    /// Doubles the timeout after it expired, until the next sample.
    pub fn back_off(&mut self) {
        self.expiries = (self.expiries + 1).min(MAX_DOUBLINGS);
    }

    /// Smoothed round-trip time, `tcpi_rtt`; `None` before the first sample.
    pub fn srtt(&self) -> Option<TimeDelta> {
        self.state
            .map(|state| TimeDelta::from_micros(i64::from(state.srtt >> 3)))
    }

    /// Mean deviation of the round-trip time, `tcpi_rttvar`; `None` before the first sample.
    ///
    /// The kernel computes its timeout from the recent maximum, not from this value.
    pub fn rttvar(&self) -> Option<TimeDelta> {
        self.state
            .map(|state| TimeDelta::from_micros(i64::from(state.mdev >> 2)))
    }

    /// Retransmission timeout, `tcpi_rto`; one second before the first sample.
    ///
    /// Computed on demand: most samples are followed by no retransmission.
    pub fn rto(&self) -> TimeDelta {
        let rto = self.state.map_or(INITIAL_RTO, |state| {
            // `__tcp_set_rto`: `rttvar` contains the factor 4 of RFC 6298.
            let micros = i64::from(state.srtt >> 3) + i64::from(state.rttvar);
            in_jiffies(TimeDelta::from_micros(micros)).min(LINUX_RTO_MAX)
        });
        let doubled = rto.as_nanos().saturating_mul(1 << self.expiries);
        TimeDelta::from_nanos(doubled).min(LINUX_RTO_MAX)
    }
}

/// Rounds up to timer ticks, like `usecs_to_jiffies`.
fn in_jiffies(span: TimeDelta) -> TimeDelta {
    let jiffy = LINUX_JIFFY.as_nanos();
    TimeDelta::from_nanos((span.as_nanos() + jiffy - 1) / jiffy * jiffy)
}

impl LinuxState {
    fn first(rtt: i32, snd_nxt: StreamOffset) -> Self {
        let mdev = rtt << 1;
        let rttvar = mdev.max(LINUX_VARIANCE_MIN_MICROS);
        Self {
            // The kernel keeps SRTT above 0, because 0 means no sample.
            srtt: (rtt << 3).max(1),
            mdev,
            mdev_max: rttvar,
            rttvar,
            rtt_seq: snd_nxt,
        }
    }

    fn update(&mut self, rtt: i32, snd_una: StreamOffset, snd_nxt: StreamOffset) {
        let error = rtt - (self.srtt >> 3);
        self.srtt = (self.srtt + error).max(1);
        let mut step = error.abs() - (self.mdev >> 2);
        // While the round-trip time falls, the kernel uses a finer gain, alpha * beta, after Eifel.
        if error < 0 && step > 0 {
            step >>= 3;
        }
        self.mdev += step;
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if snd_una > self.rtt_seq {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.rtt_seq = snd_nxt;
            self.mdev_max = LINUX_VARIANCE_MIN_MICROS;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use insta::assert_snapshot;
    use proptest::prelude::*;
    use tcpexp_wire::SeqNum;

    use super::*;

    const START: StreamOffset = StreamOffset::first(SeqNum(0));

    /// SRTT, RTTVAR and RTO after each of these round-trip times in milliseconds, one sample per
    /// round trip.
    fn linux(samples: &[i64]) -> String {
        let mut rto = LinuxRto::default();
        let mut lines = String::new();
        for (round, &millis) in (1..).zip(samples) {
            let sent = START.plus(round * 1000);
            rto.sample(TimeDelta::from_millis(millis), sent, sent.plus(1000));
            let (srtt, rttvar) = (rto.srtt().unwrap(), rto.rttvar().unwrap());
            writeln!(lines, "{millis}: {srtt:.3} {rttvar:.3} {:.3}", rto.rto()).unwrap();
        }
        lines
    }

    fn rfc(samples: &[i64]) -> String {
        let mut rto = Rfc6298Rto::default();
        let mut lines = String::new();
        for &millis in samples {
            rto.sample(TimeDelta::from_millis(millis));
            let (srtt, rttvar) = (rto.srtt().unwrap(), rto.rttvar().unwrap());
            writeln!(lines, "{millis}: {srtt:.3} {rttvar:.3} {:.3}", rto.rto()).unwrap();
        }
        lines
    }

    #[test]
    fn before_the_first_sample_only_the_timeout_is_known() {
        let (linux, rfc) = (LinuxRto::default(), Rfc6298Rto::default());
        assert_eq!((linux.srtt(), linux.rttvar()), (None, None));
        assert_eq!((rfc.srtt(), rfc.rttvar()), (None, None));
        assert_eq!((linux.rto(), rfc.rto()), (INITIAL_RTO, INITIAL_RTO));
    }

    #[test]
    fn timeout_of_the_rfc_is_never_below_a_second() {
        assert_snapshot!(rfc(&[40, 40, 80, 40, 800, 800]), @r"
        40: 40.000 ms 20.000 ms 1.000 s
        40: 40.000 ms 15.000 ms 1.000 s
        80: 45.000 ms 21.250 ms 1.000 s
        40: 44.375 ms 17.188 ms 1.000 s
        800: 138.828 ms 201.797 ms 1.000 s
        800: 221.475 ms 316.641 ms 1.488 s
        ");
    }

    #[test]
    fn timeout_of_linux_stays_200_ms_above_the_round_trip() {
        assert_snapshot!(linux(&[40, 40, 40, 80, 400, 40, 40]), @r"
        40: 40.000 ms 20.000 ms 240.000 ms
        40: 40.000 ms 15.000 ms 240.000 ms
        40: 40.000 ms 11.250 ms 240.000 ms
        80: 45.000 ms 18.437 ms 248.000 ms
        400: 89.375 ms 102.578 ms 500.000 ms
        40: 83.203 ms 89.277 ms 496.000 ms
        40: 77.802 ms 77.759 ms 476.000 ms
        ");
    }

    #[test]
    fn falling_round_trip_moves_the_deviation_of_linux_less_than_a_rising_one() {
        assert_snapshot!(linux(&[400, 800]), @r"
        400: 400.000 ms 200.000 ms 1.200 s
        800: 450.000 ms 250.000 ms 1.452 s
        ");
        assert_snapshot!(linux(&[800, 400]), @r"
        800: 800.000 ms 400.000 ms 2.400 s
        400: 750.000 ms 400.000 ms 2.352 s
        ");
    }

    #[test]
    fn each_expiry_doubles_the_timeout_up_to_its_limit() {
        let mut linux = LinuxRto::default();
        let mut rfc = Rfc6298Rto::default();
        for _ in 0..3 {
            linux.back_off();
            rfc.back_off();
        }
        let eight = TimeDelta::from_seconds(8);
        assert_eq!((linux.rto(), rfc.rto()), (eight, eight));
        for _ in 0..9 {
            linux.back_off();
            rfc.back_off();
        }
        assert_eq!((linux.rto(), rfc.rto()), (LINUX_RTO_MAX, RFC_RTO_MAX));
        linux.sample(TimeDelta::from_millis(40), START, START);
        rfc.sample(TimeDelta::from_millis(40));
        assert_eq!(linux.rto(), TimeDelta::from_millis(240));
        assert_eq!(rfc.rto(), RFC_RTO_MIN);
    }

    proptest! {
        #[test]
        fn arbitrary_samples_never_panic_and_keep_timeouts_in_their_bounds(samples in prop::collection::vec(any::<i64>(), 1..20)) {
            let (mut linux, mut rfc) = (LinuxRto::default(), Rfc6298Rto::default());
            for (round, nanos) in (1..).zip(samples) {
                linux.sample(TimeDelta::from_nanos(nanos), START.plus(round), START.plus(round + 1));
                rfc.sample(TimeDelta::from_nanos(nanos));
                prop_assert!(linux.rto() <= LINUX_RTO_MAX);
                prop_assert!((RFC_RTO_MIN..=RFC_RTO_MAX).contains(&rfc.rto()));
            }
        }

        #[test]
        fn smoothed_round_trip_lies_between_the_samples(samples in prop::collection::vec(1_i64..3_000_000, 1..50)) {
            let (mut linux, mut rfc) = (LinuxRto::default(), Rfc6298Rto::default());
            for &micros in &samples {
                linux.sample(TimeDelta::from_micros(micros), START, START);
                rfc.sample(TimeDelta::from_micros(micros));
            }
            let least = TimeDelta::from_micros(*samples.iter().min().unwrap());
            let most = TimeDelta::from_micros(*samples.iter().max().unwrap());
            for srtt in [linux.srtt().unwrap(), rfc.srtt().unwrap()] {
                prop_assert!(least <= srtt && srtt <= most, "{} not in {}..{}", srtt, least, most);
            }
        }
    }
}
