//! The chart of `tcpexp cwnd --plot`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tcpexp::LabelledSenderRow;
use tcpexp_chart::{CwndSeries, FigureSize, Style, cwnd_figure};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_logs::score::NamedRecord;
use tcpexp_measure::sender::{CwndSource, RecoveryEpoch, SenderRow, SenderSample};
use tcpexp_pair::spp::Point;
use tcpexp_table::SenderLabel;

use crate::output::Output;
use crate::picture::{Blank, FOLLOWED, Picture, with_direction};

/// Maximum number of panels in one figure: as many as fit on a page.
const MAX_PANELS: usize = 4;
/// A sender is omitted if its samples (one per ACK) are fewer than those of the busiest sender
/// divided by this number.
const MIN_PART: u64 = 50;
/// Height of the first panel with the legend, and of each further one.
const HEIGHTS_MM: [u32; 2] = [75, 60];

/// Windows of the senders with the most samples, thinned during the run.
pub(crate) struct CwndChart {
    blank: Blank,
    followed: BTreeMap<(FlowId, Direction), Followed>,
    /// Number of senders, drawn or not.
    senders: usize,
}

struct Followed {
    label: SenderLabel,
    series: CwndSeries,
    has_window: bool,
    /// Source of the latest window.
    source: Option<CwndSource>,
}

impl CwndChart {
    /// Creates the chart; fails immediately if the file cannot be created.
    pub(crate) fn create(picture: &Picture) -> anyhow::Result<Self> {
        Ok(Self {
            blank: Blank::create(picture)?,
            followed: BTreeMap::new(),
            senders: 0,
        })
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: &LabelledSenderRow) {
        match &row.row {
            SenderRow::Sample(sample) => self.sample(&row.flow, sample),
            SenderRow::Recovery(epoch) => self.recovery(&row.flow, epoch),
            SenderRow::Summary(_) => self.senders += 1,
            SenderRow::Retransmission(_) => {}
        }
    }

    fn sample(&mut self, label: &SenderLabel, sample: &SenderSample) {
        let followed = self.follow(label, sample.direction);
        followed.series.add(sample);
        followed.has_window |= sample.cwnd_segments.is_some();
        followed.source = Some(sample.cwnd_source);
    }

    fn recovery(&mut self, label: &SenderLabel, epoch: &RecoveryEpoch) {
        let followed = self.follow(label, epoch.direction);
        followed.series.add_recovery(epoch);
    }

    fn follow(&mut self, label: &SenderLabel, direction: Direction) -> &mut Followed {
        let key = (label.flow, direction);
        // Few senders are drawn, so memory must not grow with their number.
        if !self.followed.contains_key(&key) && self.followed.len() >= FOLLOWED {
            self.give_up_least();
        }
        self.followed.entry(key).or_insert_with(|| {
            let ends = label.ends.map_or(String::new(), |(initiator, responder)| {
                format!("{initiator} > {responder}")
            });
            let clock = label.capture.map_or(0, Point::index);
            Followed {
                label: *label,
                series: CwndSeries::new(with_direction(&ends, direction), clock),
                has_window: false,
                source: None,
            }
        })
    }

    /// Adds the state that kernels logged for these senders.
    pub(crate) fn add_truth(&mut self, truth: &[NamedRecord]) {
        let only = self.followed.len() == 1;
        for ((_, direction), followed) in &mut self.followed {
            let ends = followed.label.ends.map(|(initiator, responder)| {
                [(initiator, responder), (responder, initiator)][direction.index()]
            });
            let of = truth
                .iter()
                // A log without endpoints belongs to the only sender, as in `score_all`.
                .find(|record| record.ends == ends || record.ends.is_none() && only);
            for sample in of.into_iter().flat_map(|of| &of.record.samples) {
                followed.series.add_measured(sample);
            }
        }
    }

    /// Draws the chart. The file gets its final name when the output is finished.
    pub(crate) fn draw(self) -> anyhow::Result<Output> {
        let mut shown: Vec<Followed> = self.followed.into_values().collect();
        shown.sort_by_key(|followed| Reverse(followed.series.samples()));
        let most = shown.first().map_or(0, |busiest| busiest.series.samples());
        shown.retain(|followed| followed.series.samples() >= most / MIN_PART);
        shown.truncate(MAX_PANELS);
        let note = note(&shown, self.senders);
        let series: Vec<CwndSeries> = shown.into_iter().map(|followed| followed.series).collect();
        let further = u32::try_from(series.len()).unwrap_or(1).saturating_sub(1);
        let size = FigureSize {
            height_mm: HEIGHTS_MM[0] + further * HEIGHTS_MM[1],
            ..FigureSize::default()
        };
        let style = Style {
            note,
            ..Style::from(size)
        };
        self.blank.fill(cwnd_figure(&series, style))
    }

    /// Drops the sender with the fewest samples, which is unlikely to be drawn.
    fn give_up_least(&mut self) {
        let least = self
            .followed
            .iter()
            .min_by_key(|(_, followed)| followed.series.samples());
        if let Some(key) = least.map(|(key, _)| *key) {
            self.followed.remove(&key);
        }
    }
}

/// States which of all senders the chart shows, and why some have no window. `None` if it shows the
/// windows of all senders.
fn note(shown: &[Followed], all: usize) -> Option<String> {
    let mut parts: Vec<String> = busiest_of(shown.len(), all).into_iter().collect();
    for followed in shown.iter().filter(|followed| !followed.has_window) {
        let part = match followed.source {
            Some(CwndSource::Paced) => {
                "a sender paces its packets below its window, so its window is unknown"
            }
            Some(CwndSource::WarmUp) => {
                "a sender has not filled its window since the capture began, so its window is unknown"
            }
            Some(CwndSource::NotSeen) => {
                "the order of a sender's events is unknown, and so is its window"
            }
            _ => continue,
        };
        if parts.iter().all(|known| known != part) {
            parts.push(part.to_owned());
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// States how many senders the chart shows: `the 4 busiest of 9 senders`. `None` if it shows all.
fn busiest_of(shown: usize, all: usize) -> Option<String> {
    let busiest = match shown {
        shown if shown >= all => return None,
        1 => "the busiest".to_owned(),
        shown => format!("the {shown} busiest"),
    };
    Some(format!("{busiest} of {all} senders"))
}
