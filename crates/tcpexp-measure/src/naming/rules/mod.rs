//! The rules of each congestion control, as Linux implements them.
//!
//! A rule predicts windows: how an ACK grows the window in congestion avoidance, and to which
//! threshold a loss reduces it. Windows are in segments, times in microseconds.

mod aimd;
mod bic;
mod cdg;
mod cubic;
mod dctcp;
mod htcp;
mod illinois;
mod lp;
mod nv;
mod round;
mod vegas;
mod veno;
mod westwood;
mod yeah;

use std::fmt::Debug;

use super::control::Control;

/// Minimum slow start threshold (RFC 5681, equation 4).
const MIN_THRESHOLD: u32 = 2;
/// Timer ticks per second in kernels of most distributions (`CONFIG_HZ`).
const HZ: i64 = 250;
/// Microseconds per timer tick.
const TICK_US: i64 = 1_000_000 / HZ;

/// BIC and CUBIC compute the increase anew when the window has changed, or after 1/32 s.
const REFRESH_US: i64 = 1_000_000 / 32;

/// An ACK that advances `snd_una`, as a congestion control sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ack {
    /// Time since the first ACK.
    pub(super) at_us: i64,
    /// Newly acknowledged segments.
    pub(super) segments: u32,
    /// Segments that the receiver newly has, by this ACK's number or SACK blocks (`acked` of `cong_avoid`): those
    /// that earlier SACK blocks covered do not count again.
    pub(super) delivered: u32,
    /// Newly acknowledged bytes.
    pub(super) bytes: u64,
    /// Round-trip time that the ACK shows; `None` if it acknowledges retransmitted data.
    pub(super) rtt_us: Option<i64>,
    /// Smoothed round-trip time after this ACK.
    pub(super) srtt_us: i64,
    /// `snd_una` after the ACK.
    pub(super) una: i64,
    /// `snd_nxt` when the ACK arrives.
    pub(super) nxt: i64,
    /// Segments in the network when the ACK arrives.
    pub(super) in_flight: u32,
    /// Segment size.
    pub(super) smss_bytes: u32,
    /// Segments that the ACK reports as marked.
    pub(super) marked: u32,
    /// True outside of recoveries before the ACK, when Linux measures (`pkts_acked`).
    pub(super) was_open: bool,
    /// True outside of recoveries after the ACK, when Linux grows the window (`cong_avoid`).
    pub(super) is_open: bool,
}

/// An ACK that acknowledges nothing cumulatively.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicate {
    /// Time since the first ACK.
    pub(super) at_us: i64,
    /// Round-trip time that its SACK blocks show.
    pub(super) rtt_us: Option<i64>,
    /// Segment size.
    pub(super) smss_bytes: u32,
}

/// The rules of one congestion control, with the state that Linux keeps for one connection.
pub(super) trait Rule: Replicate + Debug + Send {
    /// Measures. Called for each ACK, before [`grow`](Self::grow).
    fn observe(&mut self, _ack: &Ack) {}

    /// Measures a duplicate ACK.
    fn observe_duplicate(&mut self, _ack: &Duplicate) {}

    /// The window after an ACK in congestion avoidance, while the window limits the sender.
    fn grow(&mut self, cwnd: u32, ack: &Ack) -> u32;

    /// Measures an ACK in slow start, whose growth is the same under all controls.
    fn start(&mut self, _cwnd: u32, _ack: &Ack) {}

    /// The slow start threshold at a loss in a window of `cwnd`.
    fn reduce(&mut self, cwnd: u32) -> u32;

    /// The slow start threshold at a congestion echo in a window of `cwnd`.
    fn reduce_at_echo(&mut self, cwnd: u32) -> u32 {
        self.reduce(cwnd)
    }

    /// The window right after a recovery that set `threshold`.
    fn settle(&mut self, threshold: u32) -> u32 {
        threshold
    }

    /// Congestion avoidance begins.
    fn begin(&mut self) {}

    /// A retransmission timeout.
    fn time_out(&mut self) {}

    /// The window after a cut without a loss, for controls whose time of such cuts cannot be
    /// predicted.
    fn cut(&mut self, _cwnd: u32) -> Option<u32> {
        None
    }

    /// Number of cuts without a loss that the control would have made on average and that did not
    /// happen; above a few, another control is at work.
    fn missed_cuts(&self) -> f64 {
        0.0
    }
}

/// A rule with the state of another one, to predict without learning.
pub(super) trait Replicate {
    fn replica(&self) -> Box<dyn Rule>;
}

impl<T: Rule + Clone + 'static> Replicate for T {
    fn replica(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

/// The candidates.
pub(super) fn all() -> Vec<(Control, Box<dyn Rule>)> {
    vec![
        (Control::Reno, Box::new(aimd::Reno::default())),
        (Control::Cubic, Box::new(cubic::Cubic::default())),
        (Control::Bic, Box::new(bic::Bic::default())),
        (Control::HighSpeed, Box::new(aimd::HighSpeed::default())),
        (Control::Scalable, Box::new(aimd::Scalable::default())),
        (Control::Htcp, Box::new(htcp::Htcp::default())),
        (Control::Hybla, Box::new(aimd::Hybla::default())),
        (Control::Illinois, Box::new(illinois::Illinois::default())),
        (Control::Yeah, Box::new(yeah::Yeah::default())),
        (Control::Vegas, Box::new(vegas::Vegas::default())),
        (Control::Veno, Box::new(veno::Veno::default())),
        (Control::Nv, Box::new(nv::Nv::default())),
        (Control::Westwood, Box::new(westwood::Westwood::default())),
        (Control::Cdg, Box::new(cdg::Cdg::default())),
        (Control::Lp, Box::new(lp::Lp::default())),
        (Control::Dctcp, Box::new(dctcp::Dctcp::default())),
    ]
}

/// Grows a window by one segment per `every` acknowledged segments (`tcp_cong_avoid_ai`).
#[derive(Clone, Copy, Debug, Default)]
struct Counter(u32);

impl Counter {
    fn grow(&mut self, cwnd: u32, every: u32, segments: u32) -> u32 {
        let every = every.max(1);
        let mut cwnd = cwnd;
        // Linux credits a full count before it adds the new segments.
        if self.0 >= every {
            self.0 = 0;
            cwnd += 1;
        }
        self.0 += segments;
        let more = self.0 / every;
        self.0 -= more * every;
        cwnd + more
    }

    fn reset(&mut self) {
        self.0 = 0;
    }
}

/// `value` multiplied by `numerator / 1024`, at least the minimum threshold.
fn per_1024(value: u32, numerator: u32) -> u32 {
    let product = u64::from(value) * u64::from(numerator) / 1024;
    u32::try_from(product)
        .unwrap_or(u32::MAX)
        .max(MIN_THRESHOLD)
}

/// `value` multiplied by `numerator / 2048`.
fn per_2048(value: u32, numerator: u32) -> u32 {
    u32::try_from(u64::from(value) * u64::from(numerator) / 2048).unwrap_or(u32::MAX)
}

fn halved(cwnd: u32) -> u32 {
    (cwnd / 2).max(MIN_THRESHOLD)
}
