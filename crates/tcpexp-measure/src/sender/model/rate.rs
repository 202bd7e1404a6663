//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation-02; Linux's `tcp_rate.c`).

use std::collections::VecDeque;

use tcpexp_units::{TimeDelta, Timestamp};

/// Maximum number of transmissions kept: more than a window of the largest Linux buffers holds.
const MOST_KEPT: usize = 1 << 17;

/// The state when a segment was sent.
#[derive(Clone, Copy, Debug)]
struct Departure {
    sent: Timestamp,
    /// Segments delivered by then, and the time of the latest delivery.
    delivered: u64,
    delivered_at: Timestamp,
    /// Send time of the segment that was acknowledged last.
    first_sent: Timestamp,
    is_app_limited: bool,
}

/// The delivery rate of the network that an ACK shows.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateSample {
    /// Segments delivered in the interval.
    pub(super) delivered: u64,
    /// The longer of the times over which they were sent and acknowledged; `None` if it is shorter
    /// than the minimum round-trip time, so that it shows no rate.
    pub(super) interval: Option<TimeDelta>,
    /// Segments delivered when the latest delivered segment was sent.
    pub(super) prior_delivered: u64,
    pub(super) is_app_limited: bool,
}

/// Computes delivery rates.
#[derive(Debug)]
pub(super) struct RateSampler {
    departures: VecDeque<Departure>,
    /// Transmission number of the first departure.
    base: u64,
    delivered: u64,
    delivered_at: Timestamp,
    first_sent: Timestamp,
    /// The application limits the sender until more segments than these are delivered.
    app_limited: Option<u64>,
}

impl RateSampler {
    pub(super) fn new() -> Self {
        Self {
            departures: VecDeque::new(),
            base: 1,
            // The SYN counts as delivered.
            delivered: 1,
            delivered_at: Timestamp::MIN,
            first_sent: Timestamp::MIN,
            app_limited: None,
        }
    }

    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Marks the samples of all data sent until the next delivery beyond `segments` in flight.
    pub(super) fn limit_by_application(&mut self, in_flight: u32) {
        self.app_limited = Some((self.delivered + u64::from(in_flight)).max(1));
    }

    /// Records the transmissions up to number `last`; `is_idle` is true if nothing was in the network.
    pub(super) fn send(&mut self, at: Timestamp, last: u64, is_idle: bool) {
        if is_idle {
            self.first_sent = at;
            self.delivered_at = at;
        }
        let departure = Departure {
            sent: at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            is_app_limited: self.app_limited.is_some(),
        };
        while self.base + (self.departures.len() as u64) <= last {
            if self.departures.len() == MOST_KEPT {
                self.departures.pop_front();
                self.base += 1;
            }
            self.departures.push_back(departure);
        }
    }

    /// Records that an ACK at `at` delivered `segments`. The segment sent last among them has the
    /// transmission number `latest`.
    pub(super) fn deliver(
        &mut self,
        at: Timestamp,
        segments: u32,
        latest: Option<u64>,
        least_rtt: TimeDelta,
    ) -> Option<RateSample> {
        self.delivered += u64::from(segments);
        if segments > 0 {
            self.delivered_at = at;
        }
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        let place = usize::try_from(latest?.checked_sub(self.base)?).ok()?;
        let departure = *self.departures.get(place)?;
        // Earlier transmissions give no later sample unless the path reorders by more.
        self.departures.drain(..place);
        self.base += place as u64;
        self.first_sent = departure.sent;
        let sending = departure.sent - departure.first_sent;
        let receiving = at - departure.delivered_at;
        let interval = sending.max(receiving);
        Some(RateSample {
            delivered: self.delivered - departure.delivered,
            interval: Some(interval).filter(|span| *span >= least_rtt && *span > TimeDelta::ZERO),
            prior_delivered: departure.delivered,
            is_app_limited: departure.is_app_limited,
        })
    }
}
