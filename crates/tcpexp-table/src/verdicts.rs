//! The table of `tcpexp why`: a row per sender and cause.

use tcpexp_measure::verdict::{Evidence, LimitCause, Opening, Verdict};
use tcpexp_measure::{Position, SenderLabel};
use tcpexp_units::TimeDelta;

use crate::columns::Columns;
use crate::labels::{Labelled, sender_label_columns};

/// One cause in a verdict.
#[derive(Clone, Copy, Debug)]
pub struct CauseOf {
    /// The cause.
    pub cause: LimitCause,
    /// The verdict.
    pub verdict: Verdict,
}

/// One cause in a verdict, with its flow.
pub type CauseRow = Labelled<CauseOf, SenderLabel>;

/// The rows of a verdict, the cause that took longest first.
pub fn cause_rows(verdict: &Labelled<Verdict, SenderLabel>) -> Vec<CauseRow> {
    let causes = verdict.row.causes().into_iter();
    let row = |cause| Labelled {
        flow: std::sync::Arc::clone(&verdict.flow),
        row: CauseOf {
            cause,
            verdict: verdict.row,
        },
    };
    causes.map(row).collect()
}

/// The columns of `tcpexp why`.
pub fn cause_columns() -> Columns<CauseRow> {
    sender_label_columns(Columns::named("causes"), |row: &CauseRow| &row.flow)
        .name("direction", "Direction of the sender's data: forward (initiator to responder) or reverse.", |row| row.row.verdict.direction.name())
        .name("cause", "What limited the sender: setup (the TCP handshake), tls (the TLS handshake), application (or its send buffer), receiver_window, window_growth (the congestion window still grows), loss (the window is small after losses without a queue), policing, path_capacity (with a short queue), own_queue (longer than the path's round-trip time, filled by the sender), others_queue (filled by other traffic), timeouts, or not_certain.", |row| row.row.cause.name())
        .span("limited_ns", "Time limited by this cause, in nanoseconds.", |row| row.row.verdict.times[row.row.cause.index()])
        .float("share", "limited_ns over duration_ns, from 0 to 1.", |row| row.row.share())
        .flag("is_main", "Whether it is the main cause: it took at least half of the time and is certain. False in all rows of a sender without a certain main cause.", |row| row.row.cause == row.row.verdict.main && row.row.cause != LimitCause::NotCertain)
        .time("start_time", "Time of the flow's first packet; if another capture has it, of the sender's first data.", |row| row.row.verdict.began)
        .span("duration_ns", "Time from there to the sender's last ACK, or to its last timeout, in nanoseconds.", |row| row.row.verdict.duration)
        .maybe_time("longest_start_time", "Start of the longest uninterrupted period limited by this cause, for `tcpexp explain --at`. Null if the cause has only the time of the last round trip.", |row| row.row.longest().map(|(at, _)| at))
        .maybe_span("longest_ns", "Length of this period, in nanoseconds. Null where longest_start_time is null.", |row| row.row.longest().map(|(_, span)| span))
        .maybe_span("base_rtt_ns", "Smallest smoothed round-trip time of the sender, in nanoseconds. It may include a queue if the capture began in the middle of the connection, where repeated_syn_packets is null. Null if unknown.", |row| row.row.verdict.evidence.base_rtt)
        .maybe_span("queue_delay_ns", "Median of the smoothed round-trip time above the least, over the round trips with a queue, in nanoseconds. Null without such round trips.", |row| row.row.verdict.evidence.queue_delay)
        .maybe_float("rtt_growth_share", "Share of the growth of the bytes in flight that the round-trip time follows: about 1 in a queue that the sender fills alone, about 0 in a queue of others. Rounded towards zero to two decimals. Null with few round trips with a queue, and if the bytes in flight hardly change.", |row| of_percent(row.row.verdict.evidence.rtt_growth_percent))
        .maybe_count("losses_with_queue", "Losses noticed while a queue was filled; losses repaired together count once. Null in a capture away from the sender without usable TCP timestamps.", |row| row.row.seen(|evidence| evidence.losses_with_queue))
        .maybe_count("losses_without_queue", "Losses noticed without a queue. Null in a capture away from the sender without usable TCP timestamps.", |row| row.row.seen(|evidence| evidence.losses_without_queue))
        .maybe_count("goodput_between_losses_bps", "Median goodput between two losses, of those with or those without a queue, whichever are more, in bits per second. Null with fewer than two.", |row| row.row.verdict.evidence.goodput_between_losses_bps)
        .maybe_float("goodput_spread_share", "Interquartile range of this goodput over its median: small with a policer or a full path, large with random losses. Rounded towards zero to two decimals. Null with fewer than eight losses.", |row| of_percent(row.row.verdict.evidence.goodput_spread_percent))
        .maybe_count("timeouts", "Retransmission timeouts. Null in a capture away from the sender without usable TCP timestamps.", |row| row.row.seen(|evidence| evidence.timeouts))
        .maybe_count("retransmitted_packets", "Retransmitted packets. Null in a capture away from the sender without usable TCP timestamps.", |row| row.row.seen(|evidence| evidence.retransmitted))
        .maybe_count("lost_packets", "Data packets of the sender lost on the path. Null without a capture at the other end, and if the fate of some of them is unknown.", |row| row.row.verdict.evidence.lost?.exact())
        .count("missed_bytes", "Bytes of the sender's data that were acknowledged and that the capture never shows, at least. Without the SYN, bytes that may have been sent before the capture began do not count. The time around them counts as not_certain.", |row| row.row.verdict.evidence.missed_bytes)
        .maybe_name("position", "Position of the capture relative to the sender's data: sender, receiver or between. Null if unknown. Only a capture at the sender proves every cause: elsewhere, the time of application is not_certain; at an unknown position, that of all causes but setup and tls.", |row| row.row.verdict.evidence.position.map(Position::name))
        .maybe_span("tcp_handshake_ns", "Time from the first SYN to the ACK of the SYN-ACK, in nanoseconds. Null unless both were captured.", |row| row.row.opening()?.tcp_handshake)
        .maybe_count("repeated_syn_packets", "SYNs and SYN-ACKs that were sent again. Null if the capture does not have the flow's beginning.", |row| row.row.opening().filter(|opening| opening.has_syn).map(|opening| opening.repeated_syns))
        .maybe_time("tls_start_time", "Time of the TLS ClientHello. Null without TLS.", |row| Some(row.row.opening()?.tls?.began))
        .maybe_span("tls_handshake_ns", "Time from the ClientHello until both ends may send data, in nanoseconds. Null without TLS, and if the capture has no end of the handshake.", |row| {
            let tls = row.row.opening()?.tls?;
            Some(tls.ended? - tls.began)
        })
        .done()
}

fn of_percent(percent: Option<i64>) -> Option<f64> {
    percent.map(|percent| percent as f64 / 100.0)
}

impl CauseOf {
    fn share(&self) -> f64 {
        let limited = self.verdict.times[self.cause.index()];
        // A sender without a duration has no time limited by a cause either.
        limited.as_nanos() as f64 / self.verdict.duration.as_nanos().max(1) as f64
    }

    /// A number that a capture has only if it shows the order of the sender's data and ACKs.
    fn seen(&self, number: impl Fn(&Evidence) -> u64) -> Option<u64> {
        let evidence = &self.verdict.evidence;
        (!evidence.lacks_order).then(|| number(evidence))
    }

    fn opening(&self) -> Option<Opening> {
        self.verdict.evidence.opening
    }

    fn longest(&self) -> Option<(tcpexp_units::Timestamp, TimeDelta)> {
        self.verdict.longest[self.cause.index()]
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_flow::{Direction, FlowId};
    use tcpexp_units::Timestamp;

    use super::*;

    #[test]
    fn a_share_is_the_exact_quotient_of_the_limited_time_and_the_duration() {
        let mut verdict = Verdict {
            flow: FlowId(0),
            direction: Direction::Forward,
            began: Timestamp::from_nanos(0),
            duration: TimeDelta::from_seconds(1),
            main: LimitCause::NotCertain,
            times: [TimeDelta::ZERO; LimitCause::COUNT],
            longest: [None; LimitCause::COUNT],
            evidence: Evidence::default(),
        };
        let cause = LimitCause::Setup;
        verdict.times[cause.index()] = TimeDelta::from_micros(133);
        let share = CauseOf { cause, verdict }.share();
        assert!((share - 0.000_133).abs() < 1e-15, "{share}");
    }
}
