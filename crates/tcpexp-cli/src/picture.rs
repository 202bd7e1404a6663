//! The chart of `--plot`.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use tcpexp_chart::{DelaySeries, Style, Svg};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::output::Output;

/// Maximum number of flow directions with their own series; beyond it the smallest are pooled.
pub(crate) const FOLLOWED: usize = 256;
/// Pixels per CSS pixel, for print resolution.
const PNG_SCALE: f32 = 3.0;

/// A picture file; its extension selects the format.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Svg,
    Pdf,
    Png,
}

impl Picture {
    pub(crate) fn at(path: PathBuf) -> Result<Self, &'static str> {
        let ending = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let kind = match ending.as_str() {
            "svg" => Kind::Svg,
            "pdf" => Kind::Pdf,
            "png" => Kind::Png,
            _ => return Err("the name must end in .svg, .pdf or .png"),
        };
        Ok(Self { path, kind })
    }
}

/// A chart before drawing, with its output file.
pub(crate) struct Blank {
    picture: Picture,
    out: Output,
}

impl Blank {
    /// Creates the file; fails immediately if that is not possible.
    pub(crate) fn create(picture: &Picture) -> anyhow::Result<Self> {
        Ok(Self {
            picture: picture.clone(),
            out: Output::create(Some(&picture.path))?,
        })
    }

    /// True if all text is in the font of this program. The viewer of an SVG has further fonts.
    pub(crate) const fn has_one_font(&self) -> bool {
        matches!(self.picture.kind, Kind::Pdf | Kind::Png)
    }

    /// Writes the figure to the file. The file gets its final name when the output is finished.
    pub(crate) fn fill(self, figure: Result<Svg, tcpexp_chart::Error>) -> anyhow::Result<Output> {
        let Self { picture, mut out } = self;
        let name = picture.path.display();
        let figure = figure.with_context(|| format!("cannot draw {name}"))?;
        match picture.kind {
            Kind::Svg => out.write_all(figure.as_str().as_bytes()),
            Kind::Pdf => out.write_all(&figure.to_pdf()?),
            Kind::Png => out.write_all(&figure.to_png(PNG_SCALE)?),
        }
        .and_then(|()| out.flush())
        .with_context(|| format!("cannot write {name}"))?;
        Ok(out)
    }
}

/// Function that draws delay series.
pub(crate) type Figure = fn(&[DelaySeries], Style) -> Result<Svg, tcpexp_chart::Error>;

/// Delay series of a chart, thinned during the run, with the output file.
pub(crate) struct Chart {
    blank: Blank,
    names: BTreeMap<FlowId, String>,
    followed: BTreeMap<(FlowId, Direction), DelaySeries>,
    others: DelaySeries,
}

impl Chart {
    /// Creates the chart; fails immediately if the file cannot be created.
    pub(crate) fn create(picture: &Picture) -> anyhow::Result<Self> {
        Ok(Self {
            blank: Blank::create(picture)?,
            names: BTreeMap::new(),
            followed: BTreeMap::new(),
            others: DelaySeries::default(),
        })
    }

    pub(crate) fn begin(&mut self, flow: FlowId, initiator: SocketAddr, responder: SocketAddr) {
        self.names
            .insert(flow, format!("{initiator} > {responder}"));
    }

    pub(crate) fn end(&mut self, flow: FlowId) {
        self.names.remove(&flow);
    }

    /// Adds a sample. Samples of one flow and direction form one line.
    pub(crate) fn add(&mut self, flow: FlowId, way: Direction, at: Timestamp, delay: TimeDelta) {
        self.series(flow, way).add(at, delay);
    }

    /// Adds `packets` lost packets, sent at `at`. A flow direction without delay samples is not
    /// drawn.
    pub(crate) fn lose(&mut self, flow: FlowId, way: Direction, at: Timestamp, packets: u64) {
        self.series(flow, way).lose(at, packets);
    }

    /// Draws the chart with `figure`, and with `note` below it. The file gets its final name when the
    /// output is finished.
    pub(crate) fn draw(self, figure: Figure, note: Option<String>) -> anyhow::Result<Output> {
        let mut series: Vec<DelaySeries> = self.followed.into_values().collect();
        let mut others = self.others;
        if others.samples() > 0 {
            others.label = "other flows".into();
            series.push(others);
        }
        let style = Style {
            note,
            ..Style::default()
        };
        self.blank.fill(figure(&series, style))
    }

    fn series(&mut self, flow: FlowId, way: Direction) -> &mut DelaySeries {
        if !self.followed.contains_key(&(flow, way)) {
            self.make_room();
        }
        self.followed.entry((flow, way)).or_insert_with(|| {
            let name = self.names.get(&flow).map_or("", String::as_str);
            DelaySeries::new(with_direction(name, way))
        })
    }

    /// Pools the series with the fewest samples if there are too many.
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
            // Later samples of this flow begin a new series.
            self.others.merge(&series);
        }
    }
}

/// Legend text of one direction of a flow.
pub(crate) fn with_direction(flow: &str, direction: Direction) -> String {
    match direction {
        Direction::Forward => flow.to_owned(),
        Direction::Reverse => format!("{flow} (reverse)"),
    }
}
