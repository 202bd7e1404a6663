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

    /// The shapes of the chart.
    pub(crate) fn tree(&self) -> Result<usvg::Tree, Error> {
        let options = usvg::Options {
            fontdb: FONTS.clone(),
            ..usvg::Options::default()
        };
        usvg::Tree::from_str(&self.0, &options).map_err(|source| Error::Render(Box::new(source)))
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
