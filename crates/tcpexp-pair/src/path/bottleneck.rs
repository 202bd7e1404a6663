//! Rate of the bottleneck, from the spacing of packets queued for it (packet-pair dispersion:
//! Keshav, SIGCOMM 1991; Jain and Dovrolis, 2003).

use tcpexp_flow::FlowId;
use tcpexp_units::{TimeDelta, Timestamp};

use tcpexp_metrics::Quantiles;

/// Minimum number of spacings per estimate: averages the bursts of links that send in bursts.
const SPACINGS: u32 = 8;
/// Minimum number of estimates: a stalled host releases some hundred packets at once, and their
/// spacing shows the speed of the host.
const MIN_ESTIMATES: u64 = 32;
/// Minimum duration of an estimate in clock ticks, for a precision of 10 %.
const MIN_TICKS: i64 = 10;
/// The interquartile range is at most this fraction of the median; otherwise there is no single
/// rate.
const AGREED: i64 = 4;
/// At most one spacing in this many is doubtful: the quartiles then are those of packets that queued.
const DOUBTFUL: u64 = 4;
/// Estimates are stored as the transmission time of this many bytes.
const MEGABYTE: i128 = 1_000_000;

/// The latest packet that arrived one way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) flow: FlowId,
    /// Number of the packet among the departures of its direction.
    pub(super) number: u64,
    pub(super) sent_at: Timestamp,
    pub(super) received_at: Timestamp,
    pub(super) ip_bytes: u64,
}

impl Arrival {
    /// True if `next` left right after this packet within its flow, so that the capture missed none
    /// of the flow's packets between the two. The packets of a super-packet share its number.
    pub(super) fn precedes(&self, next: &Self) -> bool {
        let follows = next.number == self.number || next.number == self.number + 1;
        self.flow == next.flow && follows
    }

    /// The spacing to `next`, if the bottleneck sent only one packet of this size during it.
    ///
    /// This holds if `next` was queued all the time: with the minimum delay, which is at most
    /// `least_owd`, it would have arrived before this packet. Both packets must have the same size,
    /// because the spacing depends on the size of the second packet on a serial link, and on the size
    /// of the first packet with a token bucket.
    ///
    /// `resolution` is the resolution of the clocks. With coarse clocks, two packets may seem to
    /// arrive at the same time, and it is uncertain by the same amount whether a packet was queued.
    pub(super) fn spacing_to(
        &self,
        next: &Self,
        least_owd: TimeDelta,
        resolution: Resolution,
    ) -> Option<TimeDelta> {
        let was_queued = next.sent_at + least_owd + resolution.coarseness <= self.received_at;
        let may_be_at_once = resolution.coarseness > TimeDelta::ZERO;
        let is_later = next.received_at > self.received_at
            || (may_be_at_once && next.received_at == self.received_at);
        let in_order = next.sent_at >= self.sent_at && is_later;
        let same_size = next.ip_bytes == self.ip_bytes;
        (was_queued && in_order && same_size).then(|| next.received_at - self.received_at)
    }
}

/// Resolution of the clocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resolution {
    /// Maximum time by which a packet can seem to arrive before it left.
    pub(super) coarseness: TimeDelta,
    /// Tick length of the clock at the receiving point.
    pub(super) tick: TimeDelta,
}

/// An estimate of the bottleneck's rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Bottleneck {
    bytes: u64,
    time: TimeDelta,
    spacings: u32,
    /// Number of all spacings, and of those whose packets may not have queued.
    all_spacings: u64,
    doubtful_spacings: u64,
    /// Transmission times of a megabyte.
    estimates: Quantiles,
}

impl Bottleneck {
    /// Adds a packet of `ip_bytes` that arrived `spacing` after another, on a clock with this
    /// `tick`. `is_sure` is false if its queueing delay may be an error of the clocks.
    ///
    /// The sum of consecutive spacings has an error of one tick, as each spacing has.
    pub(super) fn add(
        &mut self,
        ip_bytes: u64,
        spacing: TimeDelta,
        is_sure: bool,
        tick: TimeDelta,
    ) {
        self.all_spacings += 1;
        self.doubtful_spacings += u64::from(!is_sure);
        self.bytes += ip_bytes;
        self.time += spacing;
        self.spacings += 1;
        let is_long = self.time.as_nanos() / MIN_TICKS >= tick.as_nanos();
        if self.spacings >= SPACINGS && is_long {
            let nanos = i128::from(self.time.as_nanos()) * MEGABYTE / i128::from(self.bytes.max(1));
            let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
            self.estimates.add(TimeDelta::from_nanos(nanos));
            self.interrupt();
        }
    }

    /// Ends the series of spacings, because the next packet did not queue.
    pub(super) fn interrupt(&mut self) {
        (self.bytes, self.time, self.spacings) = (0, TimeDelta::ZERO, 0);
    }

    /// The median of the estimates in bits per second; `None` if they are few or disagree, or if too
    /// many of their packets may not have queued.
    pub(super) fn rate_bps(&mut self) -> Option<u64> {
        let [quarter, median, three_quarters] =
            [25, 50, 75].map(|percent| self.estimates.quantile(percent));
        let (quarter, median, three_quarters) = (quarter?, median?, three_quarters?);
        let agrees = (three_quarters - quarter).as_nanos() <= median.as_nanos() / AGREED;
        // Estimates are nanoseconds per megabyte: rate in bit/s = 8 · 10⁶ · 10⁹ / estimate.
        let bits_and_nanos = 8 * MEGABYTE * 1_000_000_000;
        let rate = bits_and_nanos.checked_div(i128::from(median.as_nanos()))?;
        let is_sure = self.doubtful_spacings <= self.all_spacings / DOUBTFUL;
        let is_known = agrees && is_sure && self.estimates.count() >= MIN_ESTIMATES;
        u64::try_from(rate).ok().filter(|_| is_known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(sent_ms: i64, received_ms: i64) -> Arrival {
        let [sent_at, received_at] =
            [sent_ms, received_ms].map(|ms| Timestamp::from_nanos(0) + TimeDelta::from_millis(ms));
        Arrival {
            flow: FlowId(0),
            number: 0,
            sent_at,
            received_at,
            ip_bytes: 1500,
        }
    }

    const LEAST: TimeDelta = TimeDelta::from_millis(20);

    #[test]
    fn queued_packet_follows_after_the_serialisation_time_of_the_bottleneck() {
        let spacing = arrival(0, 30).spacing_to(&arrival(10, 36), LEAST, Resolution::default());
        assert_eq!(spacing, Some(TimeDelta::from_millis(6)));
    }

    #[test]
    fn packet_precedes_the_next_packet_of_its_flow_and_of_its_super_packet() {
        let first = arrival(0, 30);
        let numbered = |number, flow| Arrival {
            number,
            flow: FlowId(flow),
            ..first
        };
        assert!(first.precedes(&numbered(0, 0)));
        assert!(first.precedes(&numbered(1, 0)));
        assert!(!first.precedes(&numbered(2, 0)));
        assert!(!first.precedes(&numbered(1, 1)));
        assert!(!numbered(1, 0).precedes(&first));
    }

    #[test]
    fn packet_after_an_empty_queue_yields_no_spacing() {
        assert_eq!(
            arrival(0, 30).spacing_to(&arrival(11, 37), LEAST, Resolution::default()),
            None
        );
    }

    #[test]
    fn packets_of_two_sizes_or_out_of_order_yield_no_spacing() {
        let large = arrival(0, 30);
        let small = Arrival {
            ip_bytes: 52,
            ..arrival(5, 31)
        };
        assert_eq!(large.spacing_to(&small, LEAST, Resolution::default()), None);
        assert_eq!(
            arrival(5, 30).spacing_to(&arrival(0, 36), LEAST, Resolution::default()),
            None
        );
    }

    /// Rate shown by packets of 1500 bytes with these spacings, repeated.
    fn rate_of(spacings_micros: &[i64], times: usize) -> Option<u64> {
        let mut bottleneck = Bottleneck::default();
        for micros in spacings_micros.iter().cycle().take(times) {
            bottleneck.add(
                1500,
                TimeDelta::from_micros(*micros),
                true,
                TimeDelta::from_micros(1),
            );
        }
        bottleneck.rate_bps()
    }

    #[test]
    fn packets_that_may_not_have_queued_yield_no_rate() {
        let rate = |sure_in_ten: u32| {
            let mut bottleneck = Bottleneck::default();
            let [spacing, tick] = [6_000, 1].map(TimeDelta::from_micros);
            for number in 0..1_000 {
                bottleneck.add(1500, spacing, number % 10 < sure_in_ten, tick);
            }
            bottleneck.rate_bps()
        };
        assert_eq!(rate(8), Some(2_000_000));
        assert_eq!(rate(7), None);
    }

    #[test]
    fn even_spacings_yield_the_rate() {
        assert_eq!(rate_of(&[6_000], 1_000), Some(2_000_000));
    }

    #[test]
    fn bursts_are_averaged() {
        assert_eq!(rate_of(&[1, 2_399], 1_000), Some(10_000_000));
    }

    #[test]
    fn few_spacings_yield_no_rate() {
        assert_eq!(rate_of(&[6_000], 255), None);
        assert_eq!(rate_of(&[6_000], 256), Some(2_000_000));
    }

    #[test]
    fn estimates_that_disagree_yield_no_rate() {
        let spacings: Vec<i64> = (0..64).map(|place| 1_000 << (place / 16)).collect();
        assert_eq!(rate_of(&spacings, 1_024), None);
    }

    #[test]
    fn coarse_clock_yields_the_rate_from_a_long_run_of_spacings() {
        let tick = TimeDelta::from_millis(10);
        let mut bottleneck = Bottleneck::default();
        // 3 ms per packet, on a clock of 10 ms.
        for packet in 0..10_000_i64 {
            let shown = |packet: i64| packet * 3 / 10 * 10;
            let spacing = TimeDelta::from_millis(shown(packet + 1) - shown(packet));
            bottleneck.add(1500, spacing, true, tick);
        }
        let rate = bottleneck.rate_bps().unwrap();
        assert!(rate.abs_diff(4_000_000) < 400_000, "{rate}");
    }

    #[test]
    fn coarse_clock_yields_no_rate_from_short_runs_of_spacings() {
        let mut bottleneck = Bottleneck::default();
        for packet in 0..10_000 {
            if packet % 20 == 0 {
                bottleneck.interrupt();
            }
            bottleneck.add(
                1500,
                TimeDelta::from_millis(1),
                true,
                TimeDelta::from_millis(10),
            );
        }
        assert_eq!(bottleneck.rate_bps(), None);
    }
}
