//! The marks of a chart, read back from its SVG.

use resvg::usvg::roxmltree::{Document, Node};

use crate::desk::{Desk, text};

/// Half of a pixel of an axis: coordinates in a chart are whole numbers.
const ROUNDING: f64 = 0.5;

/// A chart, with the positions of its marks in pixels.
pub(crate) struct Chart {
    pub(crate) texts: Vec<Label>,
    /// Horizontal and vertical lines of the grid.
    pub(crate) grid: Vec<Points>,
    /// Filled shapes with their colours.
    pub(crate) areas: Vec<(String, Points)>,
    /// Open lines with their colours.
    pub(crate) lines: Vec<(String, Points)>,
    /// Left and right sides of rectangles with their colours.
    pub(crate) sides: Vec<(String, (f64, f64))>,
    /// Centres of round markers with their colours and radii.
    pub(crate) dots: Vec<(String, (f64, f64), f64)>,
}

pub(crate) type Points = Vec<(f64, f64)>;

pub(crate) struct Label {
    pub(crate) text: String,
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// How the text is placed at its x: `start`, `middle` or `end`.
    anchor: String,
}

/// The linear scale of an axis.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    /// Position and value of two ticks.
    ticks: [(f64, f64); 2],
}

impl Scale {
    pub(crate) fn value(self, position: f64) -> f64 {
        let [(p0, v0), (p1, v1)] = self.ticks;
        v0 + (position - p0) * (v1 - v0) / (p1 - p0)
    }

    pub(crate) fn position(self, value: f64) -> f64 {
        let [(p0, v0), (p1, v1)] = self.ticks;
        p0 + (value - v0) * (p1 - p0) / (v1 - v0)
    }

    /// The largest error of a value that rounding of the positions causes. A tick's position is
    /// rounded too, and far from the ticks that error grows.
    pub(crate) fn error(self) -> f64 {
        let [(p0, v0), (p1, v1)] = self.ticks;
        3.0 * ROUNDING * ((v1 - v0) / (p1 - p0)).abs()
    }
}

impl Chart {
    /// Draws `plot LINE`.
    pub(crate) fn of(desk: &Desk, line: &str) -> Self {
        desk.text(&format!("plot {line} -o chart.svg"));
        let svg = text(&desk.get("chart.svg"));
        let document = Document::parse(&svg).unwrap();
        let mut chart = Self {
            texts: Vec::new(),
            grid: Vec::new(),
            areas: Vec::new(),
            lines: Vec::new(),
            sides: Vec::new(),
            dots: Vec::new(),
        };
        for node in document.descendants().filter(Node::is_element) {
            chart.add(node);
        }
        chart
    }

    fn add(&mut self, node: Node<'_, '_>) {
        let name = |name: &str| node.attribute(name).unwrap_or_default().to_owned();
        let number = |name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let points = || -> Points {
            let pairs = node.attribute("points").unwrap().split_whitespace();
            let pair = |pair: &str| {
                let (x, y) = pair.split_once(',').unwrap();
                (x.parse().unwrap(), y.parse().unwrap())
            };
            pairs.map(pair).collect()
        };
        match node.tag_name().name() {
            "text" => self.texts.push(Label {
                text: node.text().unwrap_or_default().trim().to_owned(),
                x: number("x"),
                y: number("y"),
                anchor: name("text-anchor"),
            }),
            "rect" => {
                let left = number("x");
                let ends = (left, left + number("width"));
                self.sides.push((name("fill"), ends));
            }
            "polygon" => self.areas.push((name("fill"), points())),
            "polyline" if name("stroke") == "#DDDDDD" => self.grid.push(points()),
            "polyline" => self.lines.push((name("stroke"), points())),
            "circle" => self
                .dots
                .push((name("fill"), (number("cx"), number("cy")), number("r"))),
            _ => {}
        }
    }

    /// The scale of the vertical axis: grid lines with a number at their left end.
    pub(crate) fn y(&self) -> Scale {
        let lines = self
            .grid
            .iter()
            .filter(|line| is_same(line[0].1, line[1].1));
        self.scale(lines.map(|line| line[0].1), |label, at| {
            label.anchor == "end" && (label.y - at).abs() < 4.0
        })
    }

    /// The scale of the horizontal axis: grid lines with a number below.
    pub(crate) fn x(&self) -> Scale {
        let lines = self
            .grid
            .iter()
            .filter(|line| is_same(line[0].0, line[1].0));
        self.scale(lines.map(|line| line[0].0), |label, at| {
            label.anchor == "middle" && (label.x - at).abs() < 1.0
        })
    }

    fn scale(
        &self,
        positions: impl Iterator<Item = f64>,
        is_at: impl Fn(&Label, f64) -> bool,
    ) -> Scale {
        let tick = |at: f64| {
            let mut numbers = self.texts.iter().filter(|label| is_at(label, at));
            let value = numbers.find_map(|label| label.text.parse().ok())?;
            Some((at, value))
        };
        let ticks: Vec<(f64, f64)> = positions.filter_map(tick).collect();
        Scale {
            ticks: [ticks[0], *ticks.last().unwrap()],
        }
    }
}

/// True for coordinates of one place.
pub(crate) fn is_same(a: f64, b: f64) -> bool {
    (a - b).abs() < ROUNDING
}
