//! The chart of `tcpexp throughput --plot`.

use std::collections::BTreeMap;

use tcpexp_chart::{FigureSize, RateSeries, rate_figure};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::throughput::{ThroughputBin, ThroughputFlow};
use tcpexp_table::FlowLabel;

use crate::output::Output;
use crate::picture::{Blank, FOLLOWED, Picture, with_direction};

/// Rates of the flows with the most bytes, thinned during the run.
pub(crate) struct RateChart {
    blank: Blank,
    link_rate_bps: Option<u64>,
    followed: BTreeMap<(FlowId, Direction), RateSeries>,
    /// Rates of all flows together, by [`Direction::index`].
    totals: [RateSeries; 2],
    /// Number of flows with packets, by direction.
    senders: [u64; 2],
    /// Number of directions with packets of the flows to draw.
    wanted: u64,
}

impl RateChart {
    /// Creates the chart; fails immediately if the file cannot be created.
    pub(crate) fn create(picture: &Picture, link_rate_bps: Option<u64>) -> anyhow::Result<Self> {
        Ok(Self {
            blank: Blank::create(picture)?,
            link_rate_bps,
            followed: BTreeMap::new(),
            totals: Default::default(),
            senders: [0; 2],
            wanted: 0,
        })
    }

    /// Adds a bin of a flow to draw, or of all flows together (`None`).
    pub(crate) fn add(&mut self, flow: Option<&FlowLabel>, bin: &ThroughputBin) {
        let Some(direction) = bin.direction else {
            return;
        };
        // Only the first and the last bin of the capture can be without a rate.
        let Some(rate_bps) = bin.wire_rate_bps() else {
            return;
        };
        // The first bin of a given origin may begin before the capture.
        let (start, width) = (bin.start + bin.left_out, bin.width - bin.left_out);
        let covered = bin.covered;
        let Some(flow) = flow else {
            self.totals[direction.index()].add(start, width, covered, rate_bps);
            return;
        };
        let series = match self.followed.get_mut(&(flow.flow, direction)) {
            Some(series) => series,
            // A series starts with the first bin that is not empty.
            None if rate_bps == 0 => return,
            None => {
                self.make_room();
                let name = format!("{} > {}", flow.initiator, flow.responder);
                let series = RateSeries::new(with_direction(&name, direction));
                self.followed
                    .entry((flow.flow, direction))
                    .or_insert(series)
            }
        };
        series.add(start, width, covered, rate_bps);
    }

    /// Counts a finished flow. `is_wanted` is true for a flow to draw, and not only for the totals.
    pub(crate) fn end(&mut self, flow: &ThroughputFlow, is_wanted: bool) {
        for (senders, volume) in self.senders.iter_mut().zip(&flow.directions) {
            let sends = u64::from(volume.packets > 0);
            *senders += sends;
            self.wanted += if is_wanted { sends } else { 0 };
        }
    }

    /// Draws the chart. The file gets its final name when the output is finished.
    pub(crate) fn draw(self) -> anyhow::Result<Output> {
        let names = ["all %, forward", "all %, reverse"];
        let totals = self.totals.into_iter().zip(self.senders).zip(names);
        let totals: Vec<RateSeries> = totals
            // With one sender, the total equals the sender's own line.
            .filter(|((_, senders), _)| *senders > 1)
            .map(|((mut total, senders), name)| {
                total.label = name.replace('%', &format!("{senders} flows"));
                total
            })
            .collect();
        let flows: Vec<RateSeries> = self.followed.into_values().collect();
        let flows = (flows.as_slice(), self.wanted);
        let figure = rate_figure(flows, &totals, self.link_rate_bps, FigureSize::default());
        self.blank.fill(figure)
    }

    /// If there are too many flows, drops the smallest, which is unlikely to be drawn.
    fn make_room(&mut self) {
        if self.followed.len() < FOLLOWED {
            return;
        }
        let least = self
            .followed
            .iter()
            .min_by_key(|(_, series)| series.sum_bps());
        if let Some(flow) = least.map(|(&flow, _)| flow) {
            self.followed.remove(&flow);
        }
    }
}
