//! A finished chart as PDF.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Pdf, Rect, Ref};
use resvg::tiny_skia::{self, PathSegment, Point, Transform};
use resvg::usvg::{self, FillRule, Group, LineCap, LineJoin, Node, Paint, Path};

use crate::{Error, Svg};

/// Points per CSS pixel: 72 and 96 per inch.
const POINTS_PER_PIXEL: f32 = 72.0 / 96.0;
/// Levels of a colour channel in SVG; PDF counts from 0 to 1.
const LEVELS: f32 = 255.0;

impl Svg {
    /// The chart as a PDF file with one page in the size of the figure.
    ///
    /// Text is drawn as outlines, so no font is needed, and readers cannot search it.
    pub fn to_pdf(&self) -> Result<Vec<u8>, Error> {
        let tree = self.tree()?;
        let size = tree.size();
        let [width, height] = [size.width(), size.height()].map(|side| side * POINTS_PER_PIXEL);
        let mut page = Content::new();
        // The origin of a PDF page is its lower left corner.
        page.transform([POINTS_PER_PIXEL, 0.0, 0.0, -POINTS_PER_PIXEL, 0.0, height]);
        group(&mut page, tree.root());
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::default());
        let packed = packed
            .write_all(page.finish().as_slice())
            .and_then(|()| packed.finish())
            .map_err(|source| Error::Render(Box::new(source)))?;
        let [catalog, pages, only_page, content] = [1, 2, 3, 4].map(Ref::new);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(pages);
        pdf.pages(pages).kids([only_page]).count(1);
        pdf.page(only_page)
            .parent(pages)
            .media_box(Rect::new(0.0, 0.0, width, height))
            .contents(content)
            .resources();
        pdf.stream(content, &packed).filter(Filter::FlateDecode);
        Ok(pdf.finish())
    }
}

fn group(page: &mut Content, inside: &Group) {
    for node in inside.children() {
        match node {
            Node::Group(inner) => group(page, inner),
            Node::Text(text) => group(page, text.flattened()),
            Node::Path(path) => draw(page, path),
            // Charts contain no images.
            Node::Image(_) => {}
        }
    }
}

/// Draws a path. Charts are opaque and have plain colours.
fn draw(page: &mut Content, path: &Path) {
    if !path.is_visible() {
        return;
    }
    let colour = |paint: &Paint| match paint {
        Paint::Color(colour) => {
            Some([colour.red, colour.green, colour.blue].map(|level| f32::from(level) / LEVELS))
        }
        _ => None,
    };
    let fill = path
        .fill()
        .and_then(|fill| Some((colour(fill.paint())?, fill.rule())));
    let stroke = path
        .stroke()
        .and_then(|stroke| Some((colour(stroke.paint())?, stroke)));
    page.save_state();
    page.transform(matrix(path.abs_transform()));
    if let Some(([red, green, blue], _)) = fill {
        page.set_fill_rgb(red, green, blue);
    }
    if let Some(([red, green, blue], stroke)) = stroke {
        page.set_stroke_rgb(red, green, blue);
        pen(page, stroke);
    }
    outline(page, path.data());
    match (fill, stroke.is_some()) {
        (Some((_, FillRule::NonZero)), false) => page.fill_nonzero(),
        (Some((_, FillRule::EvenOdd)), false) => page.fill_even_odd(),
        (Some((_, FillRule::NonZero)), true) => page.fill_nonzero_and_stroke(),
        (Some((_, FillRule::EvenOdd)), true) => page.fill_even_odd_and_stroke(),
        (None, true) => page.stroke(),
        (None, false) => page.end_path(),
    };
    page.restore_state();
}

fn matrix(of: Transform) -> [f32; 6] {
    [of.sx, of.ky, of.kx, of.sy, of.tx, of.ty]
}

fn pen(page: &mut Content, stroke: &usvg::Stroke) {
    page.set_line_width(stroke.width().get());
    page.set_line_cap(match stroke.linecap() {
        LineCap::Butt => LineCapStyle::ButtCap,
        LineCap::Round => LineCapStyle::RoundCap,
        LineCap::Square => LineCapStyle::ProjectingSquareCap,
    });
    page.set_line_join(match stroke.linejoin() {
        LineJoin::Miter | LineJoin::MiterClip => LineJoinStyle::MiterJoin,
        LineJoin::Round => LineJoinStyle::RoundJoin,
        LineJoin::Bevel => LineJoinStyle::BevelJoin,
    });
    if let Some(dashes) = stroke.dasharray() {
        page.set_dash_pattern(dashes.iter().copied(), stroke.dashoffset());
    }
}

fn outline(page: &mut Content, path: &tiny_skia::Path) {
    let mut from = Point::zero();
    for segment in path.segments() {
        match segment {
            PathSegment::MoveTo(to) => {
                page.move_to(to.x, to.y);
                from = to;
            }
            PathSegment::LineTo(to) => {
                page.line_to(to.x, to.y);
                from = to;
            }
            PathSegment::QuadTo(bend, to) => {
                let [first, second] = [from, to].map(|end| towards(end, bend));
                page.cubic_to(first.x, first.y, second.x, second.y, to.x, to.y);
                from = to;
            }
            PathSegment::CubicTo(first, second, to) => {
                page.cubic_to(first.x, first.y, second.x, second.y, to.x, to.y);
                from = to;
            }
            PathSegment::Close => {
                page.close_path();
            }
        }
    }
}

/// A control point of the cubic curve that equals a quadratic one: two thirds of the way from an end
/// to the quadratic control point.
fn towards(end: Point, bend: Point) -> Point {
    let part = |from: f32, to: f32| from + (to - from) * 2.0 / 3.0;
    Point::from_xy(part(end.x, bend.x), part(end.y, bend.y))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::process::Command;

    use flate2::read::ZlibDecoder;
    use resvg::tiny_skia::{Pixmap, PremultipliedColorU8};
    use tcpexp_units::{TimeDelta, Timestamp};

    use super::*;
    use crate::{FigureSize, RateSeries, rate_figure};

    const PICTURE: &str = r##"<svg width="40mm" height="20mm" viewBox="0 0 400 200"
        xmlns="http://www.w3.org/2000/svg"><rect x="0" y="0" width="400" height="200" fill="#FF0000"/>
        <polyline fill="none" stroke="#0000FF" stroke-width="4" points="10,20 30,40"/>
        <text x="50" y="100" font-family="Liberation Sans" font-size="26">Q</text></svg>"##;

    fn find(bytes: &[u8], needle: &[u8]) -> usize {
        let mut windows = bytes.windows(needle.len());
        windows.position(|window| window == needle).unwrap()
    }

    fn content(pdf: &[u8]) -> String {
        let start = find(pdf, b"\nstream\n") + b"\nstream\n".len();
        let mut text = String::new();
        ZlibDecoder::new(&pdf[start..])
            .read_to_string(&mut text)
            .unwrap();
        text
    }

    #[test]
    fn a_page_has_the_size_of_the_figure_and_all_its_parts() {
        let pdf = Svg(PICTURE.to_owned()).to_pdf().unwrap();
        let head = String::from_utf8_lossy(&pdf[..find(&pdf, b"\nstream\n")]).into_owned();
        // 40 mm by 20 mm in points of 1/72 inch.
        assert!(
            head.contains("/MediaBox [0 0 113.38583 56.692917]"),
            "{head}"
        );
        let content = content(&pdf);
        for part in ["1 0 0 rg", "0 0 1 RG", "4 w", "10 20 m\n30 40 l\nS"] {
            assert!(content.contains(part), "{part}: {content}");
        }
        // The letter is a filled outline with curves.
        assert!(content.matches(" c\n").count() > 8, "{content}");
    }

    /// The boxes of all texts, in CSS pixels.
    fn texts(inside: &Group) -> Vec<usvg::Rect> {
        let of = |node: &Node| match node {
            Node::Group(inner) => texts(inner),
            Node::Text(text) => vec![text.flattened().abs_bounding_box()],
            _ => Vec::new(),
        };
        inside.children().iter().flat_map(of).collect()
    }

    /// Darkness of a pixel, from 0 to 255; white beyond the picture.
    fn ink(picture: &Pixmap, x: u32, y: u32) -> u32 {
        let green = picture.pixel(x, y).map(PremultipliedColorU8::green);
        255 - u32::from(green.unwrap_or(255))
    }

    #[test]
    fn another_program_shows_the_texts_and_lines_of_the_svg() {
        const SCALE: u32 = 2;
        let Some(reader) = tcpexp_testkit::find_program("pdftoppm") else {
            tcpexp_testkit::skip("needs pdftoppm, of Poppler");
            return;
        };
        let mut rates = RateSeries::new("an upload > a server");
        for bin in 0..100_i64 {
            let start = Timestamp::from_nanos(bin * 100_000_000);
            let width = TimeDelta::from_millis(100);
            rates.add(start, width, width, bin.unsigned_abs() * 90_000);
        }
        let svg = rate_figure((&[rates], 1), &[], Some(8_000_000), FigureSize::default()).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("chart.pdf"), svg.to_pdf().unwrap()).unwrap();
        let shown = Command::new(reader)
            .args(["-singlefile", "-png", "-r"])
            .arg((96 * SCALE).to_string())
            .args([at("chart.pdf"), at("chart")])
            .status();
        assert!(shown.unwrap().success());
        let pdf = Pixmap::decode_png(&fs::read(at("chart.png")).unwrap()).unwrap();
        let png = Pixmap::decode_png(&svg.to_png(SCALE as f32).unwrap()).unwrap();
        // Each program rounds a part of a pixel in its own way.
        assert!(pdf.width().abs_diff(png.width()) <= 1);
        assert!(pdf.height().abs_diff(png.height()) <= 1);
        let places = || (0..png.height()).flat_map(|y| (0..png.width()).map(move |x| (x, y)));
        // Smoothing of edges differs, and only there.
        let unlike = places().filter(|&(x, y)| ink(&pdf, x, y).abs_diff(ink(&png, x, y)) > 128);
        let unlike = unlike.count();
        assert!(unlike < places().count() / 500, "{unlike} pixels");
        let tree = svg.tree().unwrap();
        let boxes = texts(tree.root());
        assert!(boxes.len() > 10, "{}", boxes.len());
        for area in boxes {
            let of = |picture: &Pixmap| -> u32 {
                let inside = places().filter(|&(x, y)| {
                    let [x, y] = [x, y].map(|at| at as f32 / SCALE as f32);
                    (area.left()..area.right()).contains(&x)
                        && (area.top()..area.bottom()).contains(&y)
                });
                inside.map(|(x, y)| ink(picture, x, y)).sum()
            };
            let (in_pdf, in_png) = (of(&pdf), of(&png));
            assert!(in_png > 0, "{area:?}");
            assert!(
                in_pdf.abs_diff(in_png) <= in_png / 5,
                "{area:?}: {in_pdf} and {in_png}"
            );
        }
    }

    #[test]
    fn the_same_figure_yields_the_same_bytes() {
        let pdf = || Svg(PICTURE.to_owned()).to_pdf().unwrap();
        assert_eq!(pdf(), pdf());
    }
}
