//! What the datasets of a comparison leave unknown.

use tcpexp_metrics::compare::{ClassRun, Measure, Options, Run};

/// What the dataset of a run leaves unknown, so that measures are null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Round-trip times: the only capture is not at or near the hosts that send.
    Rtt,
    /// Rates of a class: its window is too short for the bins.
    Rates,
    /// Shares and rates over time: their windows are shorter than the bins.
    Windows,
}

impl Gap {
    /// All gaps, the most serious first.
    pub const ALL: [Self; 3] = [Self::Rtt, Self::Rates, Self::Windows];

    /// What is unknown, and why.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Rtt => "RTTs are null: the only capture is not near the sender of the data",
            Self::Rates => {
                "some rates are null: the bins are too wide for the time measured (analyze --bin)"
            }
            Self::Windows => {
                "jain_window_*, convergence_s and rate_response_s are null: --window is shorter than a bin"
            }
        }
    }

    /// The gaps of a run with these values, measured with these options.
    pub(super) fn all_of(run: &Run, classes: &[ClassRun], options: &Options) -> Vec<Self> {
        let with_bins = || run.senders.iter().filter(|one| !one.arrived.is_empty());
        // A class that ends within the warm-up has no rate with bins of any width.
        let start = run.origin + options.warmup;
        let with_time = || with_bins().filter(move |one| one.active.until > start);
        let has_no_rate = |class: &ClassRun| {
            let is_its =
                |class_of: &str| class.class.as_deref().is_none_or(|name| name == class_of);
            let rates = [Measure::Goodput, Measure::FlowGoodput];
            with_time().any(|sender| is_its(&sender.class))
                && rates
                    .into_iter()
                    .any(|rate| class.values.value(rate).is_none())
        };
        let mut bins = with_bins().flat_map(|sender| &sender.arrived);
        let is_there = |gap: &Self| match gap {
            Self::Rtt => run.senders.iter().any(|one| one.is_captured_elsewhere),
            Self::Rates => classes.iter().any(has_no_rate),
            Self::Windows => bins.any(|bin| bin.width > options.window),
        };
        Self::ALL.into_iter().filter(is_there).collect()
    }
}
