//! Drawing of lines and text on a figure, in tenths of a millimetre.

use std::cell::RefCell;
use std::error;
use std::fmt::Write as _;
use std::io;
use std::sync::LazyLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontTransform, register_font};

use crate::clip::At;
use crate::font::FONT;
use crate::hatch::hatched;
use crate::stroke::{Marker, Stroke, dashed};
use crate::style::{FigureSize, Style};
use crate::theme::Ink;
use crate::{Error, Svg, Theme};

/// Fonts in order of preference; the first three have the same letter widths as the layout. Viewers
/// fit the letters of other fonts to the width of the layout, by [`with_lengths`].
const FONT_FAMILY: &str = "Liberation Sans, Arial, Helvetica, sans-serif";

/// Units per millimetre. The backend rounds to units, so a unit is finer than a printer's dot.
pub(crate) const UNITS_PER_MM: u32 = 10;
/// Height of all text: 7.4 points.
pub(crate) const TEXT_HEIGHT: i32 = 26;

/// Steps per unit in which the width of a text is written: a whole unit is 2 % of a short number.
const WIDTH_STEPS: i32 = 10;

/// Alignment of a text at its position; vertically the text is centred.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
    /// Centred, reading from bottom to top.
    Upward,
    /// Reading from bottom to top, with the end at the position.
    UpTo,
}

pub(crate) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    theme: Theme,
    /// Widths of the texts in the order of drawing, in [`WIDTH_STEPS`] per unit.
    widths: &'a RefCell<Vec<i32>>,
}

type Drawn = Result<(), DrawingAreaErrorKind<io::Error>>;

impl Canvas<'_> {
    /// Width and height of a figure in units.
    pub(crate) fn extent(size: FigureSize) -> At {
        [size.width_mm, size.height_mm]
            .map(|side| i32::try_from(side.saturating_mul(UNITS_PER_MM)).unwrap_or(i32::MAX))
            .into()
    }

    /// Draws a figure by calling `draw` on an empty canvas.
    pub(crate) fn draw(
        style: &Style,
        draw: impl FnOnce(&Canvas<'_>) -> Result<(), Error>,
    ) -> Result<Svg, Error> {
        register()?;
        let (width, height) = Self::extent(style.size);
        let mut svg = String::new();
        let widths = RefCell::default();
        {
            let backend =
                SVGBackend::with_string(&mut svg, (width.unsigned_abs(), height.unsigned_abs()));
            let canvas = Canvas {
                area: backend.into_drawing_area(),
                theme: style.theme,
                widths: &widths,
            };
            checked(canvas.area.fill(&style.theme.colour(Ink::Paper)))?;
            draw(&canvas)?;
            checked(canvas.area.present())?;
        }
        let svg = with_lengths(&svg, &widths.into_inner());
        Ok(Svg(on_paper(&svg, style.size)))
    }

    /// Width of `text` in units.
    pub(crate) fn text_width(&self, text: &str) -> i32 {
        self.text_steps(text, 1)
    }

    /// Width of `text` in this number of steps per unit.
    fn text_steps(&self, text: &str, steps: i32) -> i32 {
        // Plotters interprets the size as ascent plus descent: 1.117 times the height in Liberation
        // Sans.
        let height = f64::from(TEXT_HEIGHT * steps) * 1.117;
        let style = (FONT_FAMILY, height).into_text_style(&self.area);
        // The estimate fails only without a font, and the crate's font is registered.
        self.area
            .estimate_text_size(text, &style)
            .map_or(0, |(width, _)| i32::try_from(width).unwrap_or(i32::MAX))
    }

    pub(crate) fn text(&self, text: &str, at: At, align: Align) -> Result<(), Error> {
        self.coloured_text(text, at, align, self.theme.colour(Ink::Black))
    }

    /// Draws text in a colour that is readable on `ink`.
    pub(crate) fn text_on(&self, ink: Ink, text: &str, at: At) -> Result<(), Error> {
        self.coloured_text(text, at, Align::Centre, self.theme.text_on(ink))
    }

    fn coloured_text(
        &self,
        text: &str,
        (x, y): At,
        align: Align,
        colour: RGBColor,
    ) -> Result<(), Error> {
        // Viewers centre on half the height of an x; digits and capitals are taller.
        const RAISED: i32 = TEXT_HEIGHT / 10;
        let at = match align {
            Align::Upward | Align::UpTo => (x + RAISED, y),
            _ => (x, y + RAISED),
        };
        let text = printable(text);
        let width = self.text_steps(&text, WIDTH_STEPS);
        self.widths.borrow_mut().push(width);
        checked(
            self.area
                .draw_text(&text, &text_style(align).color(&colour), at),
        )
    }

    /// Draws a line along `path`, with dashes.
    pub(crate) fn line(&self, path: &[At], stroke: Stroke) -> Result<(), Error> {
        let style = self.theme.colour(stroke.ink).stroke_width(stroke.width);
        let dash = stroke.dash_in(self.theme);
        for piece in dashed(path, dash, stroke.width) {
            checked(self.area.draw(&PathElement::new(piece, style)))?;
        }
        Ok(())
    }

    /// Draws a filled rectangle between two corners.
    pub(crate) fn area(&self, from: At, to: At, ink: Ink) -> Result<(), Error> {
        let filled = self.theme.colour(ink).filled();
        checked(self.area.draw(&Rectangle::new([from, to], filled)))
    }

    /// Draws a filled polygon.
    pub(crate) fn polygon(&self, corners: Vec<At>, ink: Ink) -> Result<(), Error> {
        let filled = self.theme.colour(ink).filled();
        checked(self.area.draw(&Polygon::new(corners, filled)))
    }

    /// Draws the hatch of a series across a polygon that is filled with `ink`.
    pub(crate) fn hatch(&self, corners: &[At], ink: Ink) -> Result<(), Error> {
        let Ink::Pale(number) = ink else {
            return Ok(());
        };
        hatched(corners, number, self.theme)
            .iter()
            .try_for_each(|line| self.line(line, Stroke::solid(Ink::Series(number), 2)))
    }

    /// Draws a marker.
    pub(crate) fn marker(
        &self,
        at: At,
        marker: Marker,
        ink: Ink,
        radius: u32,
    ) -> Result<(), Error> {
        if marker == Marker::Circle {
            let filled = self.theme.colour(ink).filled();
            return checked(self.area.draw(&Circle::new(at, radius, filled)));
        }
        let reach = i32::try_from(radius).unwrap_or(i32::MAX);
        let corners = marker.corners(at, reach);
        if !corners.is_empty() {
            return self.polygon(corners, ink);
        }
        let width = (radius / 3).max(2);
        marker
            .lines(at, reach)
            .iter()
            .try_for_each(|line| self.line(line, Stroke::solid(ink, width)))
    }
}

fn text_style(align: Align) -> TextStyle<'static> {
    // The SVG backend divides the size by this factor.
    let font = (FONT_FAMILY, f64::from(TEXT_HEIGHT) * 1.24).into_font();
    let (font, horizontal) = match align {
        Align::Left => (font, HPos::Left),
        Align::Centre => (font, HPos::Center),
        Align::Right => (font, HPos::Right),
        Align::Upward => (font.transform(FontTransform::Rotate270), HPos::Center),
        Align::UpTo => (font.transform(FontTransform::Rotate270), HPos::Right),
    };
    font.into_text_style(&(0, 0))
        .pos(Pos::new(horizontal, VPos::Center))
}

/// Adds to each text its width in the layout, so that letters of a wider font neither leave the paper
/// nor run into the next text.
fn with_lengths(svg: &str, widths: &[i32]) -> String {
    const START: &str = "<text ";
    let mut parts = svg.split(START);
    // Texts are escaped, so the start of an element is not in one of them.
    let mut sized = parts.next().unwrap_or_default().to_owned();
    for (place, part) in parts.enumerate() {
        sized.push_str(START);
        if let Some(width) = widths.get(place).filter(|width| **width > 0) {
            let (units, tenths) = (width / WIDTH_STEPS, width % WIDTH_STEPS);
            let _ = write!(
                sized,
                r#"textLength="{units}.{tenths}" lengthAdjust="spacingAndGlyphs" "#
            );
        }
        sized.push_str(part);
    }
    sized
}

/// Adds the size on paper to the SVG, and rounds line joints so that they do not protrude.
fn on_paper(svg: &str, size: FigureSize) -> String {
    let (width, height) = Canvas::extent(size);
    let plain = format!(r#"<svg width="{width}" height="{height}""#);
    let FigureSize {
        width_mm,
        height_mm,
    } = size;
    let sized = format!(
        r#"<svg width="{width_mm}mm" height="{height_mm}mm" stroke-linejoin="round" stroke-linecap="round""#
    );
    svg.replacen(&plain, &sized, 1)
}

/// Removes characters that XML does not allow.
fn printable(label: &str) -> String {
    let unprintable = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    label.replace(unprintable, "\u{fffd}")
}

fn checked(drawn: Drawn) -> Result<(), Error> {
    drawn.map_err(|source| Error::Draw(Box::new(source)))
}

fn register() -> Result<(), Error> {
    static REGISTERED: LazyLock<bool> =
        LazyLock::new(|| register_font(FONT_FAMILY, FontStyle::Normal, FONT).is_ok());
    let missing: Box<dyn error::Error + Send + Sync> = "the built-in font is damaged".into();
    REGISTERED.then_some(()).ok_or(Error::Draw(missing))
}
