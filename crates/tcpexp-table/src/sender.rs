//! The table of sender state: a row per ACK that a sender receives, or per poll of its kernel.

use tcpexp_flow::StreamOffset;
use tcpexp_measure::sender::{CwndSource, ModelPhase, PathModel, SenderSample};

use crate::columns::{Builder, Columns};
use crate::labels::{Labelled, SenderLabel, sender_label_columns};

/// A row of sender state.
pub type SenderSampleRow = Labelled<SenderSample, SenderLabel>;

/// The columns of `tcpexp cwnd`, and of `tcpexp import` for logs of senders.
pub fn sender_columns() -> Columns<SenderSampleRow> {
    let columns = sender_label_columns(Columns::named("sender"), |row: &SenderSampleRow| &row.flow)
        .name("direction", "Direction of the sender's data: forward (initiator to responder) or reverse.", |row| row.row.direction.name())
        .time("time", "Time when an ACK reached the sender, in a log also when the sender was polled. A log without dates starts at 1970-01-01. The row is the state before that ACK is processed.", |row| row.row.at);
    let columns = windows(columns, |row| Some(&row.row));
    let columns = cwnd_source(columns, |row| row.row.cwnd_source);
    let columns = control(columns, |row| Some(&row.row));
    model(columns, |row| row.row.model.as_ref()).done()
}

/// Adds the columns for the data in flight and the windows.
pub(crate) fn windows<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> Option<&SenderSample>,
) -> Builder<R> {
    columns
        .maybe_id("snd_una_seq", "SND.UNA (RFC 9293, section 3.3.1), the oldest sequence number not acknowledged, as on the wire: it wraps. Null if a log has no such value, while data from before the capture is in flight, and where packets that the capture missed hide it (cwnd_source not_seen).", move |row| of(row)?.snd_una.map(wire))
        .maybe_id("snd_nxt_seq", "SND.NXT, the next sequence number to send for the first time, as on the wire: it wraps. If the capture is away from a sender without timestamps, this is the end of the data captured so far. Null if a log has no such value, and where data that the capture missed may be in flight (cwnd_source not_seen and snd_una_seq null).", move |row| of(row)?.snd_nxt.map(wire))
        .maybe_id("smss_bytes", "Sender maximum segment size (RFC 5681, section 2) as seen in the data, in bytes. Null if a log has no such value, and if the capture begins in the middle and no packet shows it: all packets may hold several segments, or none holds a full segment. Also null after a retransmission that splits a segment, until a full segment follows.", move |row| of(row)?.smss_bytes)
        .maybe_count("flight_size_bytes", "FlightSize (RFC 5681, section 2): bytes sent and not acknowledged. Null if a log has no such value, while data from before the capture is in flight, and where the capture does not show the order of events at the sender, or missed packets: cwnd_source is then not_seen, or warm_up if smss_bytes is unknown.", move |row| of(row)?.flight_size_bytes)
        .maybe_count("pipe_bytes", "Pipe (RFC 6675, section 2): estimated bytes in the network. Null if unknown.", move |row| of(row)?.pipe_bytes)
        .maybe_id("pipe_segments", "Estimated segments in the network. Null if unknown.", move |row| of(row)?.pipe_segments)
        .maybe_id("cwnd_segments", "Congestion window in segments: an estimate, unless cwnd_source is measured. Null if the window is unknown; cwnd_source gives the reason.", move |row| of(row)?.cwnd_segments)
        .maybe_count("cwnd_bytes", "Congestion window in bytes: the segments times smss_bytes, or the value of a log in bytes. Null if unknown.", move |row| of(row)?.cwnd_bytes)
}

/// Adds the column for the source of the congestion window.
pub(crate) fn cwnd_source<R: 'static>(columns: Builder<R>, of: fn(&R) -> CwndSource) -> Builder<R> {
    columns
        .name("cwnd_source", "Source of the window: measured (a kernel logged it), filled (the sender fills it, so it equals the data in the network), recovery (data in the network plus what an ACK may add), receiver_limited or application_limited (replayed by the sender's rules; receiver_limited without a window: the capture does not show the threshold of the recovery, or how far the window has grown). Or the reason why it is unknown: undecided (a sender that filled its window was silent until a loss recovery began: it may have cut the window, or have had no data; or the sender had no data in a recovery, or the capture missed packets, and nothing has shown the window since; or the threshold is unknown, so the growth since the sender last filled its window is unknown; or a recovery has just ended, and the sender has not filled its window since, for a round trip at most; or the recovery of a timeout has ended, and the sender has not filled its window since; or the room in the receive window does not show what holds the sender back), warm_up (the capture began in the middle, and the sender has neither filled nor reduced its window since, or smss_bytes is unknown), paced (the sender paces below its window), not_seen (captured away from a sender without timestamps; or, where snd_una is null too, the capture missed ACKs or data before this one).", move |row| of(row).name())
}

/// Adds the columns for the state of congestion control and its timers.
pub(crate) fn control<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> Option<&SenderSample>,
) -> Builder<R> {
    columns
        .maybe_id("ssthresh_segments", "Slow start threshold in segments. Null if infinite or unknown: after missed packets, after a sender leaves ACKs unanswered and then has less in flight without a loss or a mark, right after a recovery, after a retransmission that splits a segment, and in a recovery unless the sender's reductions follow a known rule.", move |row| of(row)?.ssthresh_segments)
        .maybe_text("phase", "Phase of congestion control: slow_start, congestion_avoidance, fast_recovery, loss_recovery (after a timeout) or window_reduction (after ECN echoes). Null if unknown, as in the middle of a connection before its first reduction, and after missed packets until the sender fills its window for a round trip, and after a timeout while the window may have reached the unknown threshold.", move |row| of(row)?.phase.map(tcpexp_measure::sender::Phase::name))
        .maybe_id("recovery_epoch", "Number of the recovery among this sender's, from 0. Null outside a recovery, and if a log has no such value.", move |row| of(row)?.recovery_epoch)
        .maybe_span("srtt_ns", "Smoothed round-trip time in nanoseconds. Null before the first measurement, if a log has no such value, and if the capture does not show it: away from the sender, without TCP timestamps or with fewer than ten of their ticks in the round trip. Also null while recent samples are missing: the capture missed ACKs or data, or the other end's data was lost, so that the sender's data does not echo new timestamps (RFC 7323, section 4.3).", move |row| of(row)?.srtt)
        .maybe_span("rto_ns", "Retransmission timeout in nanoseconds. Null if a log has no such value; from a capture, null where srtt_ns is.", move |row| of(row)?.rto)
        .maybe_signed("usable_window_bytes", "Usable window in bytes: SND.UNA + SND.WND - SND.NXT. Negative after the receive window shrank. Null if the window is unknown, and where the capture does not show the order of events at the sender, or missed packets: cwnd_source is then not_seen, or warm_up if smss_bytes is unknown.", move |row| of(row)?.usable_window_bytes)
        .maybe_text("limit", "Limit of the sender: congestion_window, receiver_window, or application (or its send buffer, which looks the same). Null if unknown.", move |row| of(row)?.limit.map(tcpexp_measure::sender::Limit::name))
}

/// Adds the columns for the model of the path of a sender that paces.
pub(crate) fn model<R: 'static>(
    columns: Builder<R>,
    of: fn(&R) -> Option<&PathModel>,
) -> Builder<R> {
    fn gain(percent: Option<u16>) -> Option<f64> {
        percent.map(|percent| f64::from(percent) / 100.0)
    }
    columns
        .maybe_count("bandwidth_bps", "Bottleneck bandwidth in bits of payload per second, as BBR measures it: the maximum delivery rate of the last ten round trips (draft-cheng-iccrg-delivery-rate-estimation). Null unless the sender paces (cwnd_source paced) or a log has the value.", move |row| of(row)?.bandwidth_bps)
        .maybe_count("bandwidth_low_bps", "Lower bound of bandwidth_bps; it allows for the difference between the times of the capture and of the kernel. Null where bandwidth_bps is null.", move |row| Some(of(row)?.bandwidth_bounds_bps()?.0))
        .maybe_count("bandwidth_high_bps", "Upper bound of bandwidth_bps. Null where bandwidth_bps is null.", move |row| Some(of(row)?.bandwidth_bounds_bps()?.1))
        .maybe_span("propagation_rtt_ns", "Propagation round-trip time in nanoseconds, as BBR measures it: the minimum of the last ten seconds. Null where bandwidth_bps is null.", move |row| of(row)?.least_rtt)
        .maybe_span("propagation_rtt_low_ns", "Lower bound of propagation_rtt_ns. Null where bandwidth_bps is null.", move |row| Some(of(row)?.least_rtt_bounds()?.0))
        .maybe_span("propagation_rtt_high_ns", "Upper bound of propagation_rtt_ns. Null where bandwidth_bps is null.", move |row| Some(of(row)?.least_rtt_bounds()?.1))
        .maybe_text("bbr_phase", "Phase of BBR: startup, drain, probe_bandwidth or probe_rtt. Null unless a log has it, or the sender's pacing agrees with BBR's, version 1.", move |row| of(row)?.phase.map(ModelPhase::name))
        .maybe_count("pacing_rate_bps", "Pacing rate of BBR in bits of payload per second: bandwidth times pacing gain, less Linux's margin of 1 %. Null where bbr_phase is null, and while the phase of the gain cycle is not known.", move |row| of(row)?.pacing_rate_bps)
        .maybe_float("pacing_gain", "Pacing gain of BBR. Null where bbr_phase is null, and while the phase of the gain cycle is not known.", move |row| gain(of(row)?.pacing_gain_percent))
        .maybe_float("window_gain", "Window gain of BBR. Null where bbr_phase is null.", move |row| gain(of(row)?.window_gain_percent))
        .maybe_id("inflight_cap_segments", "Congestion window of BBR in segments, replayed by its rules: the most that it lets into the network. The window of other senders is cwnd_segments. Null where bbr_phase is null.", move |row| of(row)?.inflight_cap_segments)
}

pub(crate) fn wire(offset: StreamOffset) -> u32 {
    offset.seq().0
}
