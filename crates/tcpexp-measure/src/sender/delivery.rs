//! Delivery rate of acknowledged data.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{BitRate, ByteCount, TimeDelta, Timestamp};

/// The maximum delivery rate over one round trip.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    round: Option<(Timestamp, StreamOffset)>,
    greatest_bps: Option<u64>,
}

impl Delivery {
    /// Records a cumulative acknowledgment up to `ack`.
    pub(super) fn acknowledge(
        &mut self,
        at: Timestamp,
        ack: StreamOffset,
        srtt: Option<TimeDelta>,
    ) {
        let Some((began, from)) = self.round else {
            self.round = Some((at, ack));
            return;
        };
        let span = at - began;
        // A shorter span would measure the rate of one ACK burst.
        if srtt.is_none_or(|srtt| span < srtt) || span < TimeDelta::from_millis(1) {
            return;
        }
        self.round = Some((at, ack));
        let bytes = ByteCount::new(u64::try_from(ack.since(from)).unwrap_or(0));
        let rate = bytes.rate_over(span).map(BitRate::as_bps);
        self.greatest_bps = self.greatest_bps.max(rate);
    }

    /// Discards the current round trip: after a filled hole, the next ACK covers data delivered
    /// earlier.
    pub(super) fn restart(&mut self) {
        self.round = None;
    }

    pub(super) fn greatest_bps(&self) -> Option<u64> {
        self.greatest_bps
    }

    /// Twice the maximum delivery rate times `rtt`, in segments; BBR's window gain is 2.
    pub(super) fn model_window_segments(&self, rtt: TimeDelta, smss_bytes: u32) -> Option<u32> {
        let bits = u128::from(self.greatest_bps?) * u128::try_from(rtt.as_nanos()).ok()?;
        let segments = 2 * bits / 8 / 1_000_000_000 / u128::from(smss_bytes.max(1));
        u32::try_from(segments).ok()
    }
}
