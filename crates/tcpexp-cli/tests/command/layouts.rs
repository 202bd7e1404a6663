//! Overlaps of texts, data and edges in a chart, found in its SVG.

use std::fs;
use std::sync::Arc;

use resvg::tiny_skia::{PathSegment, Point};
use resvg::usvg::{self, Group, Node};

/// Fewer CSS pixels of overlap are the rounding of positions.
const TOLERANCE: f32 = 0.3;
/// Least gap between texts beside each other: a space between words is 2 CSS pixels wide.
const LEAST_GAP: f32 = 3.0;

/// Lays out charts with the font that they are drawn with.
pub(crate) struct Layouts {
    fonts: Arc<usvg::fontdb::Database>,
}

impl Layouts {
    pub(crate) fn new() -> Self {
        let mut fonts = usvg::fontdb::Database::new();
        let font = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../tcpexp-chart/fonts/LiberationSans-Regular.ttf"
        );
        fonts.load_font_data(fs::read(font).unwrap());
        Self {
            fonts: Arc::new(fonts),
        }
    }

    /// What overlaps in a chart. A chart with texts in its data is not searched for data that cross texts.
    pub(crate) fn overlaps(&self, svg: &str, has_texts_in_data: bool) -> Vec<String> {
        let options = usvg::Options {
            fontdb: Arc::clone(&self.fonts),
            ..usvg::Options::default()
        };
        let tree = usvg::Tree::from_str(svg, &options).unwrap();
        let mut found = Found::default();
        found.collect(tree.root());
        let size = tree.size();
        let paper = Area {
            left: 0.0,
            top: 0.0,
            right: size.width(),
            bottom: size.height(),
        };
        let mut faults = Vec::new();
        for (place, (text, area, is_upright)) in found.texts.iter().enumerate() {
            if !paper.contains(area) {
                faults.push(format!("\"{text}\" leaves the paper"));
            }
            for (other, beside, _) in &found.texts[..place] {
                // Labels that read upwards stand beside each other like lines, not like words.
                let gap = if *is_upright { 0.0 } else { LEAST_GAP };
                if area.runs_into(beside, gap) {
                    faults.push(format!("\"{text}\" overlaps \"{other}\""));
                }
            }
            if !has_texts_in_data && found.lines.iter().any(|line| area.is_crossed_by(*line)) {
                faults.push(format!("data cross \"{text}\""));
            }
        }
        faults
    }
}

/// A rectangle on the paper, in CSS pixels.
#[derive(Clone, Copy, Debug)]
struct Area {
    left: f32,
    top: f32,
    right: f32,
    bottom: f32,
}

impl Area {
    fn of(node: usvg::Rect) -> Self {
        Self {
            left: node.left(),
            top: node.top(),
            right: node.right(),
            bottom: node.bottom(),
        }
    }

    fn contains(&self, other: &Self) -> bool {
        other.left >= self.left - TOLERANCE
            && other.top >= self.top - TOLERANCE
            && other.right <= self.right + TOLERANCE
            && other.bottom <= self.bottom + TOLERANCE
    }

    /// True if the areas come nearer than `gap` side by side, or overlap.
    fn runs_into(&self, other: &Self, gap: f32) -> bool {
        self.left < other.right + gap
            && other.left < self.right + gap
            && self.top + TOLERANCE < other.bottom
            && other.top + TOLERANCE < self.bottom
    }

    /// True if the segment enters the area: a part of it remains after clipping at all four sides
    /// (Liang and Barsky 1984).
    fn is_crossed_by(&self, (from, to): (Point, Point)) -> bool {
        let (mut enters, mut leaves) = (0.0_f32, 1.0_f32);
        let along = (to.x - from.x, to.y - from.y);
        let sides = [
            (-along.0, from.x - self.left - TOLERANCE),
            (along.0, self.right - TOLERANCE - from.x),
            (-along.1, from.y - self.top - TOLERANCE),
            (along.1, self.bottom - TOLERANCE - from.y),
        ];
        for (speed, room) in sides {
            if speed == 0.0 {
                if room < 0.0 {
                    return false;
                }
            } else if speed < 0.0 {
                enters = enters.max(room / speed);
            } else {
                leaves = leaves.min(room / speed);
            }
        }
        enters < leaves
    }
}

/// Texts of a chart, and the lines and outlines of everything else.
#[derive(Default)]
struct Found {
    /// Each text, its area, and whether it reads upwards.
    texts: Vec<(String, Area, bool)>,
    lines: Vec<(Point, Point)>,
}

impl Found {
    fn collect(&mut self, group: &Group) {
        for node in group.children() {
            match node {
                Node::Group(inner) => self.collect(inner),
                Node::Text(text) => {
                    let said = text.chunks().iter().map(usvg::TextChunk::text);
                    // The outlines of the letters: the box of the text has room for all accents.
                    let area = Area::of(text.flattened().abs_bounding_box());
                    let is_upright = text.abs_transform().kx != 0.0;
                    self.texts.push((said.collect(), area, is_upright));
                }
                Node::Path(path) => self.outline(path),
                Node::Image(_) => {}
            }
        }
    }

    fn outline(&mut self, path: &usvg::Path) {
        let moved = |mut point: Point| {
            path.abs_transform().map_point(&mut point);
            point
        };
        let (mut first, mut last) = (Point::zero(), Point::zero());
        for segment in path.data().segments() {
            let to = match segment {
                PathSegment::MoveTo(to) => {
                    first = moved(to);
                    last = first;
                    continue;
                }
                // The chord of a curve is near enough: curves are markers and joints.
                PathSegment::LineTo(to)
                | PathSegment::QuadTo(_, to)
                | PathSegment::CubicTo(_, _, to) => moved(to),
                PathSegment::Close => first,
            };
            self.lines.push((last, to));
            last = to;
        }
    }
}
