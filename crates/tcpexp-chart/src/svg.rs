//! A finished chart as SVG.

use std::sync::{Arc, LazyLock};

use resvg::{tiny_skia, usvg};

use crate::Error;
use crate::font::FONT;

/// A chart as SVG.
///
/// The font is Liberation Sans. Viewers without it use Arial or Helvetica, which have the same
/// letter widths, or fit the letters of another font to these widths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Svg(pub(crate) String);

static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    // Fonts of the system are not loaded, so the picture is the same on every machine.
    fonts.load_font_data(FONT.to_vec());
    Arc::new(fonts)
});

impl Svg {
    /// The SVG document.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Renders the chart as a PNG file at `scale` times 96 pixels per inch; 3 is enough for print.
    pub fn to_png(&self, scale: f32) -> Result<Vec<u8>, Error> {
        let tree = self.tree()?;
        let [width, height] =
            [tree.size().width(), tree.size().height()].map(|side| pixels_of(side * scale));
        let mut pixels =
            tiny_skia::Pixmap::new(width, height).ok_or(Error::Pixels { width, height })?;
        let to_pixels = tiny_skia::Transform::from_scale(scale, scale);
        resvg::render(&tree, to_pixels, &mut pixels.as_mut());
        pixels
            .encode_png()
            .map_err(|source| Error::Render(Box::new(source)))
    }

    /// The letters that Liberation Sans lacks, in order of appearance: PNG and PDF have an empty box for
    /// each.
    pub fn missing_letters(&self) -> Result<Vec<char>, Error> {
        // The font has all of ASCII.
        if self.0.is_ascii() {
            return Ok(Vec::new());
        }
        let mut missing = Vec::new();
        collect_missing(self.tree()?.root(), &mut missing);
        Ok(missing)
    }

    /// The shapes of the chart.
    pub(crate) fn tree(&self) -> Result<usvg::Tree, Error> {
        let options = usvg::Options {
            fontdb: FONTS.clone(),
            ..usvg::Options::default()
        };
        usvg::Tree::from_str(&self.0, &options).map_err(|source| Error::Render(Box::new(source)))
    }
}

fn collect_missing(inside: &usvg::Group, missing: &mut Vec<char>) {
    /// Number of the box that a font shows for letters that it lacks.
    const BOX: usvg::GlyphId = usvg::GlyphId(0);
    for node in inside.children() {
        match node {
            usvg::Node::Group(inner) => collect_missing(inner, missing),
            usvg::Node::Text(text) => {
                let glyphs = text
                    .layouted()
                    .iter()
                    .flat_map(|span| &span.positioned_glyphs);
                for letter in glyphs
                    .filter(|glyph| glyph.id == BOX)
                    .flat_map(|glyph| glyph.text.chars())
                {
                    if !missing.contains(&letter) {
                        missing.push(letter);
                    }
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
impl Svg {
    /// The texts of a figure in drawing order: legend, then each panel's horizontal labels,
    /// vertical labels and names.
    pub(crate) fn texts(&self) -> String {
        let elements = self.0.split("<text").skip(1);
        let text = |element: &str| {
            let (_, inside) = element.split_once('>').unwrap();
            inside.split_once('<').unwrap().0.trim().to_owned()
        };
        elements.map(text).collect::<Vec<_>>().join(" | ")
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and a picture of no or too many pixels is an error"
)]
fn pixels_of(length: f32) -> u32 {
    length.round() as u32
}

#[cfg(test)]
mod tests {
    use tcpexp_units::{TimeDelta, Timestamp};

    use crate::{DelaySeries, Style, rtt_figure};

    #[test]
    fn letters_that_the_font_lacks_are_known_before_they_are_empty_boxes() {
        let titled = |title: &str| {
            let mut series = DelaySeries::new("a flow");
            series.add(Timestamp::from_nanos(0), TimeDelta::from_millis(40));
            let style = Style {
                title: Some(title.to_owned()),
                ..Style::default()
            };
            let svg = rtt_figure(&[series], style).unwrap();
            svg.missing_letters().unwrap()
        };
        assert_eq!(titled("RTT in µs − größer, Ελλάδα, Привет…"), []);
        assert_eq!(titled("日本語 and 日"), ['日', '本', '語']);
    }
}
