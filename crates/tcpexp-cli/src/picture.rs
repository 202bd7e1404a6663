//! The chart of `--plot`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use tcpexp::chart::{FigureSize, RttSeries, rtt_figure};
use tcpexp::flow::FlowId;
use tcpexp::measure::spp::{PairedFlow, Point, RttSample};

use crate::output::Output;

/// Flows that are followed one by one; beyond it the smallest are pooled.
const FOLLOWED: usize = 256;
/// Pixels per CSS pixel: print resolution.
const PNG_SCALE: f32 = 3.0;

/// What a picture's file name asks for.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Svg,
    Png,
}

impl Kind {
    pub(crate) fn of(path: &Path) -> anyhow::Result<Self> {
        let ending = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        match ending.as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => bail!(
                "cannot draw {}: its name must end in .svg or .png",
                path.display()
            ),
        }
    }
}

/// The samples of a chart, thinned as they come.
///
/// Only pairs that start and end at the source are drawn: those at the destination are of the same
/// path and tell time on another clock.
#[derive(Default)]
pub(crate) struct ChartSeries {
    names: BTreeMap<FlowId, String>,
    followed: BTreeMap<FlowId, RttSeries>,
    others: RttSeries,
}

impl ChartSeries {
    pub(crate) fn begin(&mut self, flow: &PairedFlow) {
        self.names.insert(
            flow.flow,
            format!("{} > {}", flow.initiator, flow.responder),
        );
    }

    pub(crate) fn end(&mut self, flow: FlowId) {
        self.names.remove(&flow);
    }

    pub(crate) fn add(&mut self, samples: &[RttSample]) {
        for sample in samples
            .iter()
            .filter(|sample| sample.reference == Point::Src)
        {
            if !self.followed.contains_key(&sample.flow) {
                self.make_room();
                let name = self.names.get(&sample.flow).cloned().unwrap_or_default();
                self.followed.insert(sample.flow, RttSeries::new(name));
            }
            if let Some(series) = self.followed.get_mut(&sample.flow) {
                series.add(sample.time, sample.rtt);
            }
        }
    }

    /// Draws the chart into `path`.
    pub(crate) fn draw(self, path: &Path) -> anyhow::Result<()> {
        let kind = Kind::of(path)?;
        let mut series: Vec<RttSeries> = self.followed.into_values().collect();
        let mut others = self.others;
        if others.samples() > 0 {
            others.label = "other flows".into();
            series.push(others);
        }
        let figure = rtt_figure(&series, FigureSize::default())
            .with_context(|| format!("cannot draw {}", path.display()))?;
        let mut out = Output::create(Some(path))?;
        match kind {
            Kind::Svg => out.write_all(figure.as_str().as_bytes()),
            Kind::Png => out.write_all(&figure.to_png(PNG_SCALE)?),
        }
        .with_context(|| format!("cannot write {}", path.display()))?;
        out.finish()
    }

    /// Pools the flow with fewest samples if there are many.
    fn make_room(&mut self) {
        if self.followed.len() < FOLLOWED {
            return;
        }
        let fewest = self
            .followed
            .iter()
            .min_by_key(|(_, series)| series.samples());
        if let Some(flow) = fewest.map(|(&flow, _)| flow)
            && let Some(series) = self.followed.remove(&flow)
        {
            self.others.merge(&series);
        }
    }
}
