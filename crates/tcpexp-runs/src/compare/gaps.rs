//! What the datasets of a comparison leave unknown.

use tcpexp_metrics::compare::{ClassRun, Measure, Options, Run, Sender};
use tcpexp_units::Timestamp;

/// What the dataset of a run leaves unknown, so that measures are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Rates and shares: the dataset has no flow of a part of the traffic.
    Unseen,
    /// Round-trip times: the only capture is not at or near the hosts that send.
    Rtt,
    /// The base RTT: the plan varies the delay of the path.
    BaseRtt,
    /// Rates of a class: duplicates among its packets may count as goodput.
    Duplicates,
    /// Rates of a class: its window is too short for the bins.
    Rates,
    /// Shares of senders: the time in which all of them send is too short for the bins.
    Sharing,
    /// Shares and rates over time: their windows are shorter than the bins.
    Windows,
    /// All rates of a run of Flent: the unit of a series is missing or not known.
    Units,
    /// Rates of a run of Flent: a series has no value for a part of its time.
    Values,
}

impl Gap {
    /// All gaps, the most serious first.
    pub const ALL: [Self; 9] = [
        Self::Unseen,
        Self::Rtt,
        Self::BaseRtt,
        Self::Units,
        Self::Values,
        Self::Duplicates,
        Self::Rates,
        Self::Sharing,
        Self::Windows,
    ];

    /// What is unknown, and why.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Unseen => {
                "some rates and shares are null: the dataset has no flow of a part of the traffic"
            }
            Self::Rtt => "RTTs are null: the only capture is not near the sender of the data",
            Self::BaseRtt => {
                "rtt_base_ms and the measures that need it are null: the plan varies the delay of the path"
            }
            Self::Duplicates => "some rates are null: which UDP packets arrived twice is unknown",
            Self::Rates => {
                "some rates are null: the bins are too wide for the time measured (of captures: analyze --bin)"
            }
            Self::Sharing => {
                "jain, max_min_ratio, epsilon, rtt_unfairness_exponent and share_ratio are null: the bins are too wide for the time in which all senders send (of captures: analyze --bin)"
            }
            Self::Units => "rates are null: the unit of a series of rates is missing or unknown",
            Self::Values => {
                "some rates are null: a series of rates has no value for a part of its time"
            }
            Self::Windows => {
                "jain_window_*, convergence_s and rate_response_s are null: --window is shorter than a bin, or than a sample of Flent's tools"
            }
        }
    }

    /// True if the measure may be null because of this gap.
    pub(super) const fn is_of(self, measure: Measure) -> bool {
        let is_rate = matches!(
            measure,
            Measure::Goodput
                | Measure::FlowGoodput
                | Measure::Utilisation
                | Measure::Friendliness
                | Measure::GoodputHarm
                | Measure::TransferTimeRatio
        );
        // Series have no such values in any unit.
        let is_count = matches!(
            measure,
            Measure::RetransmissionRatio | Measure::MarkRatio | Measure::TcpEfficiency
        );
        let is_share = matches!(
            measure,
            Measure::Jain
                | Measure::MaxMinRatio
                | Measure::Epsilon
                | Measure::RttUnfairness
                | Measure::ShareRatio
        );
        let is_over_time = matches!(
            measure,
            Measure::JainWindowMin
                | Measure::JainWindowMedian
                | Measure::JainWindowFairShare
                | Measure::Convergence
                | Measure::RateResponse
        );
        let needs_base = matches!(
            measure,
            Measure::BaseRtt
                | Measure::InducedRttMedian
                | Measure::InducedRttP95
                | Measure::RttResponse
                | Measure::BufferDelay
                | Measure::RttUnfairness
                | Measure::SlowdownMedian
                | Measure::SlowdownP95
        );
        let is_rtt = matches!(
            measure,
            Measure::RttMin
                | Measure::RttMedian
                | Measure::RttP95
                | Measure::RttP99
                | Measure::RttMean
                | Measure::RttHarm
        );
        match self {
            Self::Rtt => is_rtt || needs_base,
            Self::BaseRtt => needs_base || matches!(measure, Measure::Mos),
            Self::Rates => is_rate || is_count,
            Self::Sharing => is_share,
            Self::Windows => is_over_time,
            Self::Unseen | Self::Units | Self::Values => is_rate || is_share || is_over_time,
            // Duplicates take part of the link too.
            Self::Duplicates => {
                (is_rate || is_share || is_over_time)
                    && !matches!(measure, Measure::Utilisation | Measure::RateResponse)
            }
        }
    }

    /// The gaps of a run with these values, measured with these options.
    pub(super) fn all_of(run: &Run, classes: &[ClassRun], options: &Options) -> Vec<Self> {
        let with_bins = || run.senders.iter().filter(|one| !one.arrived.is_empty());
        // A class that ends within the warm-up has no rate with bins of any width.
        let start = run.origin + options.warmup;
        let with_time = || with_bins().filter(move |one| one.active.until > start);
        let is_of =
            |class: &ClassRun, one: &Sender| class.class.as_ref().is_none_or(|it| *it == one.class);
        // The rates of these classes have another gap.
        let counts_duplicates = |class: &ClassRun| {
            let mut its = run.senders.iter().filter(|one| is_of(class, one));
            its.any(|one| one.counts_duplicates)
        };
        let has_no_rate = |class: &ClassRun| {
            let rates = [Measure::Goodput, Measure::FlowGoodput];
            with_time().any(|sender| is_of(class, sender))
                && rates
                    .into_iter()
                    .any(|rate| class.values.value(rate).is_none())
        };
        let has_no_shares = |class: &ClassRun| {
            class.values.value(Measure::Jain).is_none()
                && send_together(run, class.class.as_deref(), start)
        };
        let binned = || classes.iter().filter(|class| !counts_duplicates(class));
        let mut unknown = with_bins().flat_map(|sender| &sender.unknown);
        let has_unknown = unknown.any(|part| part.until > start);
        let is_coarse = |sender: &Sender| {
            let mut bins = sender.arrived.iter();
            sender.resolution > options.window || bins.any(|bin| bin.width > options.window)
        };
        let has_unseen = run.senders.iter().any(|one| one.is_unseen);
        let is_there = |gap: &Self| match gap {
            Self::Unseen => has_unseen,
            Self::Rtt => run.senders.iter().any(|one| one.is_captured_elsewhere),
            Self::Values => has_unknown,
            // Narrower bins would not help.
            Self::Rates | Self::Sharing if has_unknown || has_unseen => false,
            Self::Rates => binned().any(has_no_rate),
            Self::Sharing => binned().any(has_no_shares),
            Self::Duplicates => run.senders.iter().any(|one| one.counts_duplicates),
            // Senders without a unit are not in the run, and neither is the plan.
            Self::Units | Self::BaseRtt => false,
            Self::Windows => with_bins().any(is_coarse),
        };
        Self::ALL.into_iter().filter(is_there).collect()
    }
}

/// True if several senders, whose shares are comparable, send at the same time after `start`.
fn send_together(run: &Run, class: Option<&str>, start: Timestamp) -> bool {
    let is_compared = |one: &&Sender| match class {
        Some(class) => *one.class == *class,
        None => one.is_bulk,
    };
    let compared: Vec<&Sender> = run.senders.iter().filter(is_compared).collect();
    let from = compared.iter().map(|one| one.active.from).max();
    let until = compared.iter().map(|one| one.active.until).min();
    let (Some(from), Some(until)) = (from, until) else {
        return false;
    };
    let from = from.max(start);
    let sends = |one: &&Sender| {
        let mut bins = one.arrived.iter();
        bins.any(|bin| bin.goodput_bytes > 0 && bin.start < until && bin.start + bin.width > from)
    };
    compared.len() > 1 && from < until && compared.iter().all(sends)
}
