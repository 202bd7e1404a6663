//! Compares the observed pacing with BBR's.

use tcpexp_units::{TimeDelta, Timestamp};

use super::bbr::Bbr;
use super::cycle::MOST_CANDIDATES;

/// Part of the least round-trip time that one comparison spans.
const SPANS_PER_RTT: i64 = 4;
/// Least number of sends in a comparison.
const MIN_SENDS: u32 = 4;
/// Segments below the window from which pacing, not the window, delays the next packet: BBR sends
/// super-packets of two segments at low rates.
const ROOM: u32 = 3;
/// Weight of the latest comparison in the running errors: they cover about two gain cycles.
const LATEST: f64 = 1.0 / 64.0;
/// Running error up to which the pacing agrees with the model; less than half the difference
/// between the gains 1 and 1.25.
const AGREES: f64 = 0.1;
/// In the gain cycle, least ratio between the running error at a constant rate and that of BBR.
const MIN_RATIO: f64 = 1.5;
/// Comparisons in the gain cycle before this ratio counts: two cycles.
const MIN_CYCLE: u32 = 64;
/// Greatest error that counts.
const MOST_ERROR: f64 = 1.0;
/// Comparisons before the first answer.
const MIN_COMPARISONS: u32 = 4;
/// Rates compared at most: those of the candidates for the phase of the gain cycle.
const MOST_RATES: usize = MOST_CANDIDATES;

/// Compares the time that data takes to leave with the time that BBR paces it over.
#[derive(Clone, Debug, Default)]
pub(super) struct PacingWatch {
    span: Option<Span>,
    error: f64,
    /// Running errors in the gain cycle, of BBR and at a constant rate.
    cycle_errors: (f64, f64),
    comparisons: u32,
    fit: ModelFit,
}

/// Data that leaves one after the other.
#[derive(Clone, Debug)]
struct Span {
    began: Timestamp,
    last_at: Timestamp,
    last_bytes: u32,
    sends: u32,
    /// Nanoseconds at each rate: those of the cycle, or the only one.
    paced: [f64; MOST_RATES],
    rates: usize,
    generation: u32,
    /// Nanoseconds at a constant rate.
    steady: f64,
    /// True if the window held back a packet.
    is_full: bool,
}

/// How well the pacing agrees with BBR's, over a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelFit {
    /// Comparisons in the gain cycle.
    pub in_cycle: u32,
    /// Sum of their errors with the best phase: the logarithm of the observed by the predicted time, at most 1.
    pub cycle_error_sum: f64,
    /// Sum of their errors at a constant rate.
    pub constant_error_sum: f64,
}

impl ModelFit {
    /// True if the pacing follows BBR's gain cycle, and not a constant rate.
    pub fn is_bbr(&self) -> bool {
        self.in_cycle >= MIN_CYCLE
            && self.cycle_error_sum <= AGREES * f64::from(self.in_cycle)
            && self.constant_error_sum >= MIN_RATIO * self.cycle_error_sum
    }
}

impl PacingWatch {
    pub(super) fn fit(&self) -> ModelFit {
        self.fit
    }

    /// True if the latest pacing agrees with the model.
    pub(super) fn agrees(&self) -> bool {
        let (error, constant) = self.cycle_errors;
        let cycles = self.fit.in_cycle < MIN_CYCLE || constant >= MIN_RATIO * error;
        self.comparisons >= MIN_COMPARISONS && self.error <= AGREES && cycles
    }

    /// Records data that leaves, with `in_flight` segments in the network after it.
    pub(super) fn send(
        &mut self,
        at: Timestamp,
        bytes: u32,
        in_flight: u32,
        is_idle: bool,
        bbr: &mut Bbr,
        smss_bytes: u32,
    ) {
        let mut rates = [0; MOST_RATES];
        let mut count = 0;
        for (place, rate) in rates.iter_mut().zip(bbr.rates(smss_bytes)) {
            *place = rate;
            count += 1;
        }
        if count == 0 {
            rates[0] = bbr.pacing_rate;
            count = 1;
        }
        let is_full = in_flight + ROOM > bbr.cwnd;
        let span = match &mut self.span {
            Some(span) if span.is_of(count, bbr) && !is_idle => span,
            _ => {
                self.span = Some(Span::new(at, bytes, count, is_full, bbr));
                return;
            }
        };
        if rates[0] == 0 {
            return;
        }
        for (sum, rate) in span.paced.iter_mut().zip(&rates[..count]) {
            *sum += f64::from(span.last_bytes) * 1e9 / (*rate).max(1) as f64;
        }
        let steady = bbr.steady_rate(smss_bytes).max(1);
        span.steady += f64::from(span.last_bytes) * 1e9 / steady as f64;
        span.sends += 1;
        span.last_bytes = bytes;
        span.last_at = at;
        let least_rtt = bbr.least_rtt.unwrap_or(TimeDelta::ZERO).as_nanos();
        let is_long = (at - span.began).as_nanos() * SPANS_PER_RTT >= least_rtt;
        if is_long && span.sends >= MIN_SENDS {
            let span = span.clone();
            self.span = Some(Span::new(at, bytes, count, is_full, bbr));
            self.compare(&span, bbr);
        } else {
            span.is_full |= is_full;
        }
    }

    fn compare(&mut self, span: &Span, bbr: &mut Bbr) {
        let took = (span.last_at - span.began).as_nanos() as f64;
        let mut ratios = [0.0; MOST_RATES];
        for (ratio, paced) in ratios.iter_mut().zip(&span.paced[..span.rates]) {
            *ratio = (took / paced.max(1.0)).max(1e-9).ln();
        }
        let is_cycling = span.rates > 1;
        let best = if is_cycling {
            bbr.cycle.best()
        } else {
            Some(0)
        };
        // A full window may delay data beyond its pacing.
        if span.is_full {
            return;
        }
        if is_cycling {
            bbr.cycle.compare(&ratios[..span.rates]);
        }
        let Some(best) = best else {
            return;
        };
        let error = ratios[best].abs().min(MOST_ERROR);
        self.comparisons += 1;
        let weight = LATEST.max(1.0 / f64::from(self.comparisons));
        self.error += (error - self.error) * weight;
        if is_cycling {
            let constant = (took / span.steady.max(1.0)).max(1e-9).ln().abs();
            let constant = constant.min(MOST_ERROR);
            self.cycle_errors.0 += (error - self.cycle_errors.0) * LATEST;
            self.cycle_errors.1 += (constant - self.cycle_errors.1) * LATEST;
            self.fit.in_cycle += 1;
            self.fit.cycle_error_sum += error;
            self.fit.constant_error_sum += constant;
        }
    }
}

impl Span {
    /// True if the candidates are still those that the span began with.
    fn is_of(&self, rates: usize, bbr: &Bbr) -> bool {
        self.rates == rates && self.generation == bbr.cycle.generation()
    }

    fn new(at: Timestamp, bytes: u32, rates: usize, is_full: bool, bbr: &Bbr) -> Self {
        Self {
            began: at,
            last_at: at,
            last_bytes: bytes,
            sends: 0,
            paced: [0.0; MOST_RATES],
            rates,
            generation: bbr.cycle.generation(),
            steady: 0.0,
            is_full,
        }
    }
}
