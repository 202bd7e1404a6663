//! Measures that are compared: name, unit and definition of each.

use Measure as M;
use tcpexp_units::TimeDelta;

use crate::bounds::Bounds;

/// A number computed for each run and each class of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Measure {
    /// Payload of the class that arrived for the first time, per second.
    Goodput,
    /// Goodput of one sender of the class; the mean over several.
    FlowGoodput,
    /// Share of the bottleneck's capacity that the class used.
    Utilisation,
    /// Minimum round-trip time between the hosts over the whole run.
    BaseRtt,
    /// Minimum round-trip time in the window.
    RttMin,
    /// Median round-trip time in the window.
    RttMedian,
    /// 95th percentile of the round-trip times.
    RttP95,
    /// 99th percentile of the round-trip times.
    RttP99,
    /// Mean round-trip time in the window.
    RttMean,
    /// Median of the round-trip times less the base of the sender's path.
    InducedRttMedian,
    /// 95th percentile of the round-trip times less the base of the sender's path.
    InducedRttP95,
    /// Share of the sent packets that never arrived.
    LossRatio,
    /// Share of the sent payload bytes that are retransmissions.
    RetransmissionRatio,
    /// Share of the arrived packets that carry the mark Congestion Experienced.
    MarkRatio,
    /// Packets that the queues of the routers marked, by their own counters.
    QueueMarked,
    /// Jain's fairness index of the senders' goodputs.
    Jain,
    /// Lowest of Jain's indices over short windows.
    JainWindowMin,
    /// Median of Jain's indices over short windows.
    JainWindowMedian,
    /// Share of the short windows with a Jain's index of 0.9 or more.
    JainWindowFairShare,
    /// Ratio of the largest to the smallest goodput of a sender.
    MaxMinRatio,
    /// Smallest epsilon for which the goodputs are epsilon-fair: one minus smallest over largest.
    Epsilon,
    /// Time from the last sender's start until all senders have nearly equal shares.
    Convergence,
    /// Exponent `a` for which goodputs fall as 1/RTT^a.
    RttUnfairness,
    /// Mean goodput of the class's bulk senders over the mean of other classes' bulk senders.
    ShareRatio,
    /// Goodput of one sender over its median in the baseline.
    Friendliness,
    /// Share of the baseline's goodput that the class loses.
    GoodputHarm,
    /// Share of the median round-trip time that exceeds the baseline's.
    RttHarm,
    /// Share of the median completion time that exceeds the baseline's.
    CompletionHarm,
    /// Time from a change of the path until the total rate stays near the new capacity.
    RateResponse,
    /// Time from a change of the path until the round-trip time stays within twice its base.
    RttResponse,
    /// Median completion time of transfers.
    CompletionMedian,
    /// 95th percentile of the transfers' completion times.
    CompletionP95,
    /// Time from the start of the first transfer to the end of the last.
    LoadTime,
    /// Median slowdown: completion time over the least possible one.
    SlowdownMedian,
    /// 95th percentile of the slowdowns.
    SlowdownP95,
    /// TCP transfer time ratio: ideal over actual goodput (RFC 6349, section 4.1).
    TransferTimeRatio,
    /// Share of the sent payload bytes that are not retransmissions (RFC 6349, section 4.2).
    TcpEfficiency,
    /// Excess of the mean round-trip time over its base, relative to the base (RFC 6349, section
    /// 4.3).
    BufferDelay,
    /// Mean opinion score of a telephone call with the delays and losses of the packets.
    Mos,
    /// Time until a video begins to play.
    StartupDelay,
    /// Number of times that a video waits for a segment.
    StallCount,
    /// Share of the playing time that a video waits.
    StallRatio,
    /// Mean bitrate of a video's segments.
    VideoRate,
}

/// A value for each [`Measure`].
#[derive(Clone, Debug, PartialEq)]
pub struct Values([Option<Bounds>; Measure::ALL.len()]);

impl Default for Values {
    fn default() -> Self {
        Self([None; Measure::ALL.len()])
    }
}

impl Values {
    /// Returns the value of a measure; infinite if the run ended before the measure's goal was
    /// reached. `None` without a value, and if it is known only within bounds.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        self.bounds(measure)?.value()
    }

    /// Returns the bounds of a measure's value, which are equal if the value is known.
    pub fn bounds(&self, measure: Measure) -> Option<Bounds> {
        self.0[measure as usize]
    }

    pub(super) fn set(&mut self, measure: Measure, value: Option<f64>) {
        self.set_bounds(measure, value.map(Bounds::known));
    }

    pub(super) fn set_bounds(&mut self, measure: Measure, value: Option<Bounds>) {
        let is_number = value.is_none_or(|value| value.is_known() && value.least.is_finite());
        debug_assert!(is_number || measure.has_bounds(), "{measure:?}: {value:?}");
        self.0[measure as usize] = value;
    }

    /// Sets the value of each measure, or clears all of them.
    pub(super) fn set_all<const N: usize>(
        &mut self,
        measures: [Measure; N],
        values: Option<[f64; N]>,
    ) {
        for (place, measure) in measures.into_iter().enumerate() {
            self.set(measure, values.map(|values| values[place]));
        }
    }
}

/// Converts a time to reach to a value in seconds; infinite for `None`.
pub(super) fn reached(time: Option<TimeDelta>) -> f64 {
    time.map_or(f64::INFINITY, TimeDelta::as_seconds_f64)
}

impl Measure {
    /// All measures, in the order of the declaration, which is also the order of a table's columns.
    pub const ALL: [Self; 43] = [
        M::Goodput,
        M::FlowGoodput,
        M::Utilisation,
        M::BaseRtt,
        M::RttMin,
        M::RttMedian,
        M::RttP95,
        M::RttP99,
        M::RttMean,
        M::InducedRttMedian,
        M::InducedRttP95,
        M::LossRatio,
        M::RetransmissionRatio,
        M::MarkRatio,
        M::QueueMarked,
        M::Jain,
        M::JainWindowMin,
        M::JainWindowMedian,
        M::JainWindowFairShare,
        M::MaxMinRatio,
        M::Epsilon,
        M::Convergence,
        M::RttUnfairness,
        M::ShareRatio,
        M::Friendliness,
        M::GoodputHarm,
        M::RttHarm,
        M::CompletionHarm,
        M::RateResponse,
        M::RttResponse,
        M::CompletionMedian,
        M::CompletionP95,
        M::LoadTime,
        M::SlowdownMedian,
        M::SlowdownP95,
        M::TransferTimeRatio,
        M::TcpEfficiency,
        M::BufferDelay,
        M::Mos,
        M::StartupDelay,
        M::StallCount,
        M::StallRatio,
        M::VideoRate,
    ];

    /// True for times that a run may end before reaching. Such a run counts as longer than any run
    /// that reached the goal.
    pub const fn is_time_to_reach(self) -> bool {
        matches!(self, M::Convergence | M::RateResponse | M::RttResponse)
    }

    /// True if a run may have bounds of the measure without its value, or an infinite value.
    pub const fn has_bounds(self) -> bool {
        self.is_time_to_reach()
            || matches!(
                self,
                M::LossRatio
                    | M::CompletionHarm
                    | M::CompletionMedian
                    | M::CompletionP95
                    | M::LoadTime
                    | M::SlowdownMedian
                    | M::SlowdownP95
                    | M::Mos
            )
    }

    /// True if the measure compares the senders of a run with each other, so that a single sender has none.
    pub const fn compares_senders(self) -> bool {
        matches!(
            self,
            M::Jain
                | M::JainWindowMin
                | M::JainWindowMedian
                | M::JainWindowFairShare
                | M::MaxMinRatio
                | M::Epsilon
                | M::Convergence
                | M::RttUnfairness
        )
    }

    /// The measure whose column has this name, with or without its unit.
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |measure: &Self| measure.stem() == name || measure.name() == name;
        Self::ALL.into_iter().find(is_it)
    }

    /// Returns the column name without the unit.
    pub const fn stem(self) -> &'static str {
        self.about().0
    }

    /// Returns the unit at the end of the column name; `None` for a pure number.
    pub const fn unit(self) -> Option<&'static str> {
        let unit = self.about().1;
        if unit.is_empty() { None } else { Some(unit) }
    }

    /// Returns the name of the column: the stem and the unit.
    pub fn name(self) -> String {
        self.name_with("")
    }

    /// Returns the name of a column of this measure: `goodput_low_bps` for the infix `_low`.
    pub fn name_with(self, infix: &str) -> String {
        match self.unit() {
            Some(unit) => format!("{}{infix}_{unit}", self.stem()),
            None => format!("{}{infix}", self.stem()),
        }
    }

    /// Returns the names of the columns with the smallest and the largest possible value of this measure.
    pub fn bound_names(self) -> [String; 2] {
        ["_least", "_most"].map(|infix| self.name_with(infix))
    }

    /// Returns the definition, with its source.
    pub const fn definition(self) -> &'static str {
        self.about().2
    }

    /// Returns stem, unit and definition.
    #[rustfmt::skip]
    const fn about(self) -> (&'static str, &'static str, &'static str) {
        match self {
            M::Goodput => ("goodput", "bps", "Payload of all senders of the class that arrived for the first time, in bits per second over the class's window: from the end of the warm-up, or the start of its first sender, to the end of its last (RFC 2647, section 3.17; RFC 7928, section 2.5). Duplicates of UDP packets count too if only one end was captured. Null if its error may exceed 5 %: because an end of the window divides a bin, because UDP packets that arrived twice may count, or because a series of Flent has no value for a part of its time."),
            M::FlowGoodput => ("flow_goodput", "bps", "Payload of one sender that arrived for the first time, in bits per second over the time in the window in which it was active; for several senders of the class, the mean. Null under the same condition as goodput_bps."),
            M::Utilisation => ("utilisation", "", "Bytes of the class's data that came out of the bottleneck, headers included as the bottleneck counts them, over its capacity during the window: 1 is full (RFC 5166, section 2.1.1). The capacity is the lower of the rates of the bottleneck and of its policer. For all classes together, all bytes count that came out of the link of all bulk senders, or without bulk senders of the link with more payload, acknowledgments included; null if bulk senders take both links. Unknown for a path with `linklayer` or `overhead`. Null under the same condition as goodput_bps."),
            M::BaseRtt => ("rtt_base", "ms", "Smallest round-trip time between the senders' hosts during the whole run, in either direction, warm-up included, in milliseconds; for probes, their own. The RTT of the path without a queue (baseline RTT of RFC 6349, section 3.2.1). If a queue was never empty, this RTT includes its smallest delay. For senders on several paths, the smallest. Null if the only capture is not at or near the sender of the data. Null if the plan varies the delay of the path, by jitter, by reordering or by a change during the run: the path then has no single base RTT."),
            M::RttMin => ("rtt_min", "ms", "Smallest round-trip time of the class's data in the window, in milliseconds. Null if the only capture is not at or near the sender of the data."),
            M::RttMedian => ("rtt_median", "ms", "Median round-trip time of the class's data in the window, in milliseconds, over the samples of all its senders (SQL: quantile_cont). Null if the only capture is not at or near the sender of the data."),
            M::RttP95 => ("rtt_p95", "ms", "95th percentile of the round-trip times of the class's data in the window, in milliseconds, over the samples of all its senders (SQL: quantile_cont). Null if the only capture is not at or near the sender of the data."),
            M::RttP99 => ("rtt_p99", "ms", "99th percentile of the round-trip times of the class's data in the window, in milliseconds, over the samples of all its senders (SQL: quantile_cont). Null if the only capture is not at or near the sender of the data."),
            M::RttMean => ("rtt_mean", "ms", "Mean round-trip time of the class's data in the window, in milliseconds. Null if the only capture is not at or near the sender of the data."),
            M::InducedRttMedian => ("induced_rtt_median", "ms", "Median of the delay that queues add: each round-trip time of the class's data in the window minus the base RTT of its sender's path, in milliseconds. Null under the same conditions as rtt_base_ms."),
            M::InducedRttP95 => ("induced_rtt_p95", "ms", "95th percentile of the delay that queues add: each round-trip time of the class's data in the window minus the base RTT of its sender's path, in milliseconds. Null under the same conditions as rtt_base_ms."),
            M::LossRatio => ("loss_ratio", "", "Packets sent in the window that never arrived, over all packets sent in it (RFC 7680, section 4.1), in the direction of the data. Null without captures of both ends. Bins at the ends of the receiver's capture with packets of unknown fate are left out, if the others have half of the packets or more. Null if the other packets of unknown fate may change the ratio by more than 5 % and by more than 0.0005."),
            M::RetransmissionRatio => ("retransmission_ratio", "", "Retransmitted bytes of payload in the window, over all bytes of payload sent in it. Null under the same condition as goodput_bps."),
            M::MarkRatio => ("mark_ratio", "", "Packets that arrived in the window with the ECN codepoint CE, over all packets that arrived in it, in the direction of the data (RFC 3168, section 5). Null without captures of both ends. Null under the same condition as goodput_bps."),
            M::QueueMarked => ("queue_marked", "packets", "Packets that the queues of all routers marked from the last reading of their counters before the window to the last of the run, of all flows. Only for all classes together. Null without a log of the queues, and if none counts marks."),
            M::Jain => ("jain", "", "Jain's fairness index of the senders' goodputs over the time in which all of them were active: from 1/n to 1, which is fair (Jain, Chiu, Hawe 1984; RFC 5166, section 2.3.1). For all classes together, only bulk senders count. Null for a single sender. Null also if a sender's goodput may be wrong by more than 5 % because an end of this time divides a bin."),
            M::JainWindowMin => ("jain_window_min", "", "Smallest of Jain's indices over the windows into which the time with all senders active is cut. Null if the windows are shorter than the bins."),
            M::JainWindowMedian => ("jain_window_median", "", "Median of Jain's indices over the windows into which the time with all senders active is cut. Null if the windows are shorter than the bins."),
            M::JainWindowFairShare => ("jain_window_fair_share", "", "Share of the windows of jain_window_min with an index of at least 0.9, from 0 to 1. Null if the windows are shorter than the bins."),
            M::MaxMinRatio => ("max_min_ratio", "", "The largest goodput of a sender over the smallest, in the time in which all of them were active. For all classes together, only bulk senders count. Null if one got nothing. Null also if a sender's goodput may be wrong by more than 5 % because an end of this time divides a bin."),
            M::Epsilon => ("epsilon", "", "The smallest epsilon for which the senders' goodputs are epsilon-fair, in the time in which all of them were active: one minus the smallest over the largest (RFC 5166, section 2.3.1). For all classes together, only bulk senders count. Null also if a sender's goodput may be wrong by more than 5 % because an end of this time divides a bin."),
            M::Convergence => ("convergence", "s", "Time in seconds from the start of the last sender until the share of each sender stays within delta of an equal share for hold_ns, in windows of window_ns (after the delta-fair convergence time of RFC 5166, section 2.3, from the rates that the senders start with). The warm-up counts. For all classes together, only bulk senders count. Null if the windows are shorter than the bins, or than a sample of Flent's tools."),
            M::RttUnfairness => ("rtt_unfairness_exponent", "", "The exponent a for which the senders' goodputs fall as 1/RTT^a with their base RTTs, in the time in which all of them were active; of more than two by least squares of the logarithms. Null if these RTTs differ by less than a tenth. Null also if a sender's goodput may be wrong by more than 5 % because an end of this time divides a bin."),
            M::ShareRatio => ("share_ratio", "", "Mean goodput of the class's bulk senders over that of all other classes' bulk senders, in the time in which all were active. 1 is an equal share. Null also if a sender's goodput may be wrong by more than 5 % because an end of this time divides a bin."),
            M::Friendliness => ("friendliness", "", "flow_goodput_bps over its median in the same class of the baseline: 1 is the same goodput as there, less than 1 is a loss here (RFC 5166, section 2.3). Null without a baseline."),
            M::GoodputHarm => ("goodput_harm", "", "The share of the baseline's median flow_goodput_bps that is lost here; a negative value is a gain (Ware, Mukerjee, Seshan, Sherry, HotNets 2019). Null without a baseline."),
            M::RttHarm => ("rtt_harm", "", "The share of rtt_median_ms here that exceeds the baseline's median; a negative value is a gain (Ware, Mukerjee, Seshan, Sherry, HotNets 2019). Null without a baseline."),
            M::CompletionHarm => ("completion_harm", "", "The share of completion_median_s here that exceeds the baseline's median; a negative value is a gain (Ware, Mukerjee, Seshan, Sherry, HotNets 2019). Null without a baseline, and if one of the two is null."),
            M::RateResponse => ("rate_response", "s", "Time in seconds from a change of the path until the output of the bottleneck stays within delta of the capacity for hold_ns, in windows of window_ns; for several changes, the longest. Only for all classes together (the concern is that of RFC 5166, section 2.2.1). Null if the windows are shorter than the bins."),
            M::RttResponse => ("rtt_response", "s", "Time in seconds from a change of the path until the median RTT stays at or below twice rtt_base_ms for hold_ns, in windows of window_ns; for several changes, the longest. Null under the same conditions as rtt_base_ms."),
            M::CompletionMedian => ("completion_median", "s", "Median time that a transfer took, from its first packet to its last, in seconds (flow completion time, RFC 7928, section 2.1). Transfers that failed, whose SYN was never answered, are longer than all others; a reset ends a transfer. A transfer that the start or the end of the capture cuts off takes at least the time captured. Null if a failed transfer determines the value, if the value depends on the duration of a transfer that the capture cuts off, and for traffic whose end was planned."),
            M::CompletionP95 => ("completion_p95", "s", "95th percentile of the times that transfers took, from the first packet to the last, in seconds. Null under the same conditions as completion_median_s."),
            M::LoadTime => ("load_time", "s", "Time from the first packet of the first transfer to the last packet of the last, in seconds: how long a page takes whose objects are the transfers. Null if a transfer failed or the capture cut one off, and for traffic whose end was planned."),
            M::SlowdownMedian => ("slowdown_median", "", "Median of a transfer's completion time over the least possible: two base RTTs, and its payload in full segments at the capacity of the bottleneck. Null if a transfer that failed determines the value, or if the value depends on the duration of a transfer that the capture cuts off."),
            M::SlowdownP95 => ("slowdown_p95", "", "95th percentile of the transfers' completion times over the least possible ones, which are two base RTTs, and the payload in full segments at the capacity of the bottleneck. Null if a transfer that failed determines the value, or if the value depends on the duration of a transfer that the capture cuts off."),
            M::TransferTimeRatio => ("transfer_time_ratio", "", "TCP transfer time ratio: goodput of full segments back to back at the capacity of the bottleneck, over goodput_bps (RFC 6349, section 4.1). Null under the same condition as goodput_bps."),
            M::TcpEfficiency => ("tcp_efficiency", "percent", "Share of the bytes of payload sent in the window that were not retransmitted, in percent (RFC 6349, section 4.2). Null under the same condition as goodput_bps."),
            M::BufferDelay => ("buffer_delay", "percent", "Mean excess of the round-trip times in the window over the base RTT of their path, in percent of that base RTT (RFC 6349, section 4.3). Null under the same conditions as rtt_base_ms."),
            M::Mos => ("mos", "", "Mean opinion score, from 1 (bad) to 4.5, that the E-model predicts for a call whose packets have the delays and losses of the class: of UDP at a constant rate only, for G.711 with packet loss concealment (ITU-T G.107; G.113, appendix I). A packet that arrives more than 60 ms later than the fastest is lost to the call. The delay from mouth to ear is half the base RTT, these 60 ms, and 20 ms of sound in a packet. For several senders, the mean. Null without captures of both ends, or if the base RTT is unknown. Null if packets of unknown fate may change it by more than 5 %."),
            M::StartupDelay => ("startup_delay", "s", "Time from the first packet of a video's first segment to its last, when playback begins, in seconds. Only for the tool `video`, over the whole run; for several senders, the mean. Null if a segment did not arrive completely."),
            M::StallCount => ("stall_count", "", "Number of times that a playing video waits for its next segment: each segment plays once it has arrived and the one before has been played. Only for the tool `video`, over the whole run; for several senders, the mean. Null if a segment did not arrive completely."),
            M::StallRatio => ("stall_ratio", "", "Time that a playing video waits for segments, over its playing time, waits included. Only for the tool `video`, over the whole run; for several senders, the mean. Null if a segment did not arrive completely."),
            M::VideoRate => ("video_rate", "bps", "Payload of a video's segments over their media time, in bits per second: the mean of the bitrates that the player chose, and the headers of HTTP. Only for the tool `video`, over the whole run; for several senders, the mean. Null if a segment did not arrive completely."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measure_has_a_place_a_name_and_a_definition() {
        for (place, measure) in Measure::ALL.into_iter().enumerate() {
            assert_eq!(measure as usize, place, "{measure:?}");
            assert!(measure.definition().ends_with('.'), "{measure:?}");
            let twice = Measure::ALL
                .iter()
                .filter(|other| other.stem() == measure.stem());
            assert_eq!(twice.count(), 1, "{measure:?}");
        }
    }
}
