//! Evidence for BBR, whose window packets do not show.

use super::rules::Ack;

/// Segments in the network while BBR probes the round-trip time (`bbr_cwnd_min_target`), and one that
/// an ACK releases.
const PROBE_FLIGHT: u32 = 5;
/// Length of a probe of the round-trip time: at least 200 ms (`bbr_probe_rtt_mode_ms`), and at most
/// a round trip more before and after; less a delayed ACK.
const PROBE_US: i64 = 180_000;
/// Greatest multiple of the round-trip time by which a probe may be longer.
const PROBE_ROUNDS: i64 = 3;
/// Flight before a probe, at least.
const MIN_FLIGHT: u32 = 10;
/// ACKs within a probe, at least; an idle sender has none.
const MIN_PROBE_ACKS: u32 = 4;

/// Follows the flight of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ModelWatch {
    least_rtt_us: Option<i64>,
    /// Start of a small flight, and ACKs since.
    small: Option<(i64, u32)>,
    was_large: bool,
    /// Number of probes of the round-trip time.
    pub(super) probes: u32,
}

impl ModelWatch {
    pub(super) fn acknowledge(&mut self, ack: &Ack) {
        if let Some(rtt_us) = ack.rtt_us {
            self.least_rtt_us = Some(self.least_rtt_us.map_or(rtt_us, |least| least.min(rtt_us)));
        }
        if !ack.is_open {
            self.small = None;
            self.was_large = false;
            return;
        }
        if ack.in_flight <= PROBE_FLIGHT {
            if self.was_large {
                let (_, acks) = self.small.get_or_insert((ack.at_us, 0));
                *acks += 1;
            }
            return;
        }
        if let Some((since_us, acks)) = self.small.take() {
            let span_us = ack.at_us - since_us;
            let most_us = 200_000 + PROBE_ROUNDS * self.least_rtt_us.unwrap_or(0);
            if (PROBE_US..=most_us).contains(&span_us) && acks >= MIN_PROBE_ACKS {
                self.probes += 1;
            }
            self.was_large = false;
        }
        self.was_large |= ack.in_flight >= MIN_FLIGHT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of probes in flights of these sizes, with ACKs every 20 ms.
    fn probes(flights: impl IntoIterator<Item = u32>) -> u32 {
        let mut watch = ModelWatch::default();
        for (step, in_flight) in (0..).zip(flights) {
            watch.acknowledge(&Ack {
                at_us: step * 20_000,
                rtt_us: Some(40_000),
                in_flight,
                is_open: true,
                ..Ack::default()
            });
        }
        watch.probes
    }

    #[test]
    fn four_segments_for_200_ms_are_a_probe() {
        let flights = [[40; 50].as_slice(), &[4; 11], &[40; 5]].concat();
        assert_eq!(probes(flights), 1);
    }

    #[test]
    fn small_flights_for_another_time_are_no_probe() {
        for acks in [3, 40] {
            let flights = [[40; 50].as_slice(), &vec![4; acks], &[40; 5]].concat();
            assert_eq!(probes(flights), 0, "{acks}");
        }
        assert_eq!(probes([4; 60]), 0);
    }
}
