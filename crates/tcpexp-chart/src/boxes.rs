//! Box plots and violins over the parameters of a sweep.

use tcpexp_table::Frame;

use crate::axis::{AxisSpec, range};
use crate::clip::Point;
use crate::density::Density;
use crate::facet::{Facet, arranged};
use crate::layer::Layer;
use crate::left_out::LeftOut;
use crate::logarithmic::Logarithmic;
use crate::plot::Plot;
use crate::quantile::joined;
use crate::quantity::Shown;
use crate::scene::Scene;
use crate::slots::{Place, SlotAxis, Slots};
use crate::stroke::{Marker, Stroke};
use crate::theme::Ink;
use crate::tukey::Tukey;
use crate::{AxisStyle, Error, Levels, Quantity, Style, Svg, Theme};

const OUTLINE: u32 = 2;
const MEDIAN: u32 = 4;
/// Width of the bright line below a median, where hatches are as dark as medians.
const MEDIAN_GROUND: u32 = 12;
/// Radius of an outlier's dot.
const OUTLIER: u32 = 3;
/// Radius of the dot at a violin's median.
const DOT: u32 = 5;

/// Shape of a slot's distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A Tukey box: quartiles and median, whiskers to the last value within 1.5 interquartile
    /// ranges, and dots for all values beyond.
    Box,
    /// The estimated density as a width, the median as a dot and the quartiles as a line.
    Violin,
}

/// Draws the distribution of the column `y` in each of `slots`, side by side for `colours`.
pub fn distribution_figure(
    frame: &Frame,
    (y, quantity): (&str, &Quantity),
    (slots, colours, facets): (&Levels, &Levels, &Levels),
    shape: Shape,
    style: &Style,
) -> Result<Svg, Error> {
    let axis = SlotAxis { slots, colours };
    let left_out = LeftOut::of(frame, y)?;
    let facets = Facet::all(frame, facets, [slots, colours]);
    let of_facets: Result<Vec<Slots<'_>>, Error> = facets
        .iter()
        .map(|facet| {
            let [slots, colours] = &facet.groups;
            Slots::of(&facet.rows, y, slots, colours)
        })
        .collect();
    let of_facets = of_facets?;
    let (least, most) = joined(of_facets.iter().map(Slots::extremes)).ok_or(Error::Nothing)?;
    let shown = quantity.shown(least, most);
    let values = of_facets.iter().flat_map(Slots::places);
    let values = values.flat_map(|(_, values)| values.iter().copied());
    let on_log = Logarithmic::on(&style.y, values);
    let more = on_log
        .as_ref()
        .map(|log| log.words("value", "vertical", &style.y));
    let boxes = of_facets.iter().flat_map(Slots::places);
    let boxes: Vec<Tukey> = boxes.filter_map(|(_, values)| Tukey::of(values)).collect();
    let mut hidden = String::new();
    let y_range = if let Some(log) = on_log {
        let quartiles = boxes
            .iter()
            .flat_map(|one| [one.lower_quartile, one.median]);
        let (low, most) = log.range_to(quartiles)?;
        hidden = hidden_medians(&boxes, low, &style.y);
        shown.ends((low, most))
    } else {
        let (least, most) = shown.ends((least, most));
        range(least, most)
    };
    let y = AxisSpec::values(quantity.on_axis(&shown), y_range, &style.y);
    let plot = |(facet, slots): (&Facet<2>, &Slots<'_>)| {
        let mut plot = facet.titled(Plot::new(axis.spec(&style.x), y.clone()));
        for (place, values) in slots.places() {
            let layers = match shape {
                Shape::Box => boxed(place, values, &shown, style.theme),
                Shape::Violin => {
                    let density = if style.y.log {
                        Density::of_logarithms(values)
                    } else {
                        Density::of(values)
                    };
                    violin(place, values, density, &shown)
                }
            };
            plot.layers.extend(layers);
        }
        plot
    };
    let plots = facets.iter().zip(&of_facets).map(plot);
    Scene {
        keys: axis.keys(),
        rows: arranged(plots.collect(), style.size),
    }
    .draw(&style.noting_also(&(left_out.words(&shown) + &more.unwrap_or_default() + &hidden)))
}

/// The end of the note on a logarithmic axis: the number of medians below it. A lower end that the user
/// chose needs no note.
fn hidden_medians(boxes: &[Tukey], low: f64, style: &AxisStyle) -> String {
    // A limit that is not above zero is no end of this axis.
    if style.low.is_some_and(|chosen| chosen > 0.0) {
        return String::new();
    }
    match boxes.iter().filter(|one| one.median < low).count() {
        0 => String::new(),
        1 => "; 1 median is below the vertical axis".to_owned(),
        several => format!("; {several} medians are below the vertical axis"),
    }
}

fn boxed(place: Place, values: &[f64], shown: &Shown, theme: Theme) -> Vec<Layer> {
    let Some(tukey) = Tukey::of(values) else {
        return Vec::new();
    };
    let Place {
        colour,
        middle,
        width,
    } = place;
    let ink = Ink::Series(colour);
    let (left, right) = place.sides();
    let [bottom, top] = [tukey.lower_quartile, tukey.upper_quartile].map(|y| shown.value(y));
    let (low, high) = (shown.value(tukey.whiskers.0), shown.value(tukey.whiskers.1));
    let median = shown.value(tukey.median);
    let cap = width / 4.0;
    let across = |y: f64, half: f64| ((middle - half, y), (middle + half, y));
    let outliers = tukey.outliers.iter().map(|y| (middle, shown.value(*y)));
    let mut layers = vec![
        Layer::Points(outliers.collect(), Marker::Circle, ink, OUTLIER),
        Layer::Segments(
            vec![
                ((middle, low), (middle, bottom)),
                ((middle, top), (middle, high)),
                across(low, cap),
                across(high, cap),
            ],
            Stroke::solid(ink, OUTLINE),
        ),
    ];
    let corners = vec![(left, bottom), (right, bottom), (right, top), (left, top)];
    let outline = Stroke::solid(ink, OUTLINE);
    // The line is shorter than the box by the round ends of its stroke.
    let median = vec![across(median, width * 0.47)];
    layers.extend(match theme {
        Theme::Grey => vec![
            Layer::Area(corners.clone(), Ink::Pale(colour), None),
            Layer::Segments(median.clone(), Stroke::solid(Ink::Paper, MEDIAN_GROUND)),
            // Above the ground of the median, which is as wide as the box.
            Layer::Segments(sides(&corners), outline),
            Layer::Segments(median, Stroke::solid(Ink::Black, MEDIAN)),
        ],
        Theme::Paper | Theme::Dark => vec![
            Layer::Area(corners, Ink::Pale(colour), Some(outline)),
            Layer::Segments(median, Stroke::solid(ink, MEDIAN)),
        ],
    });
    layers
}

/// The sides of an area with these corners.
fn sides(corners: &[Point]) -> Vec<(Point, Point)> {
    let next = corners.iter().cycle().skip(1);
    corners.iter().copied().zip(next.copied()).collect()
}

fn violin(place: Place, values: &[f64], density: Option<Density>, shown: &Shown) -> Vec<Layer> {
    let (Some(tukey), Some(density)) = (Tukey::of(values), density) else {
        return Vec::new();
    };
    let Place {
        colour,
        middle,
        width,
    } = place;
    let ink = Ink::Series(colour);
    let half = |share: f64| share * width / 2.0;
    let right = density.points.iter();
    let right: Vec<Point> = right
        .map(|(y, share)| (middle + half(*share), shown.value(*y)))
        .collect();
    let left = right.iter().rev().map(|(x, y)| (2.0 * middle - x, *y));
    let outline = right.iter().copied().chain(left).collect();
    let quartiles = [tukey.lower_quartile, tukey.upper_quartile];
    let [bottom, top] = quartiles.map(|y| (middle, shown.value(y)));
    let median = (middle, shown.value(tukey.median));
    vec![
        Layer::Area(
            outline,
            Ink::Pale(colour),
            Some(Stroke::solid(ink, OUTLINE)),
        ),
        Layer::Segments(vec![(bottom, top)], Stroke::solid(ink, MEDIAN)),
        Layer::Points(vec![median], Marker::Circle, Ink::Black, DOT),
    ]
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_table::Series;

    use super::*;
    use crate::FigureSize;

    const SIZE: FigureSize = FigureSize {
        width_mm: 85,
        height_mm: 60,
    };

    /// RTTs of two congestion controls over two delays and two buffers.
    fn sweep() -> Frame {
        let mut cells: Vec<(String, i64, i64, i64)> = Vec::new();
        for (number, cc) in ["cubic", "vegas"].into_iter().enumerate() {
            for delay in [20, 100] {
                for buffer in [50, 180] {
                    for sample in 0..40 {
                        let queue = if number == 0 {
                            buffer * sample / 40
                        } else {
                            sample % 5
                        };
                        cells.push((cc.to_owned(), delay, buffer, 2 * delay + queue));
                    }
                }
            }
        }
        Frame::of(vec![
            (
                "cc".into(),
                Series::texts(cells.iter().map(|cell| Some(&cell.0))),
            ),
            (
                "delay_ms".into(),
                Series::Whole(cells.iter().map(|cell| Some(cell.1)).collect()),
            ),
            (
                "buffer_packets".into(),
                Series::Whole(cells.iter().map(|cell| Some(cell.2)).collect()),
            ),
            (
                "rtt_ms".into(),
                Series::Whole(cells.iter().map(|cell| Some(cell.3)).collect()),
            ),
        ])
    }

    fn figure(shape: Shape, style: &Style) -> Svg {
        let frame = sweep();
        let levels = |columns: &[&str]| {
            let columns: Vec<String> = columns.iter().map(ToString::to_string).collect();
            Levels::of(&frame, &columns)
        };
        let (slots, colours) = (levels(&["delay_ms", "buffer_packets"]), levels(&["cc"]));
        let rtt = Quantity::of_column("rtt_ms");
        let all = Levels::of(&frame, &[]);
        let groups = (&slots, &colours, &all);
        distribution_figure(&frame, ("rtt_ms", &rtt), groups, shape, style).unwrap()
    }

    #[test]
    fn bands_name_slots_and_the_legend_names_colours() {
        let [boxes, violins] = [Shape::Box, Shape::Violin].map(|shape| figure(shape, &SIZE.into()));
        assert_snapshot!(boxes.texts(), @r"cubic | vegas | 50 | 180 | 50 | 180 | 0 | 100 | 200 | 300 | delay 20 ms | delay 100 ms | buffer (packets) | RTT (ms)");
        assert_eq!(boxes.texts(), violins.texts());
        assert_eq!(figure(Shape::Violin, &SIZE.into()), violins);
    }

    #[test]
    fn a_small_figure_matches_its_snapshot() {
        let frame = Frame::of(vec![(
            "value".into(),
            Series::Whole([1, 2, 3, 4, 5, 6, 7, 8, 30].map(Some).to_vec()),
        )]);
        let all = Levels::of(&frame, &[]);
        let size = FigureSize {
            width_mm: 40,
            height_mm: 32,
        };
        let value = Quantity::plain("value");
        let drawn = distribution_figure(
            &frame,
            ("value", &value),
            (&all, &all, &all),
            Shape::Box,
            &size.into(),
        );
        assert_snapshot!(drawn.unwrap().as_str().replace("><", ">\n<"));
    }

    #[test]
    fn a_logarithmic_axis_shows_the_boxes_of_values_far_below_the_largest() {
        let frame = |values: Vec<i64>| {
            let values = values.into_iter().map(Some).collect();
            Frame::of(vec![("value".into(), Series::Whole(values))])
        };
        let drawn = |frame: &Frame| {
            let all = Levels::of(frame, &[]);
            let mut style = Style::from(SIZE);
            style.y.log = true;
            let value = Quantity::plain("value");
            let groups = (&all, &all, &all);
            let drawn = distribution_figure(frame, ("value", &value), groups, Shape::Box, &style);
            drawn
                .map(|svg| svg.texts())
                .map_err(|error| error.to_string())
        };
        assert_snapshot!(drawn(&frame(vec![0, 0, 2, 3, 4, 100_000])).unwrap(), @" | 1 | 10 | 100 | 1000 | 10000 | 100000 |  | value | 2 of 6 values are not above zero: the vertical axis does not show them");
        // The median is between a value on the axis and one below it.
        let between = drawn(&frame(vec![0, 2000])).unwrap();
        assert!(
            between
                .ends_with("1 of 2 values is not above zero: the vertical axis does not show it"),
            "{between}"
        );
        let below = drawn(&frame(vec![0, 0, 0, 2000])).unwrap();
        // A note may continue on the next line.
        let below = below.replace(" | ", " ");
        assert!(
            below.ends_with(
                "the vertical axis does not show them; 1 median is below the vertical axis"
            ),
            "{below}"
        );
        assert_eq!(
            drawn(&frame(vec![0, 0])).unwrap_err(),
            "no value is above zero, and a logarithmic axis shows no others"
        );
    }

    #[test]
    fn missing_values_are_a_named_error() {
        let frame = Frame::of(vec![("rtt_ms".into(), Series::Real(vec![None, None]))]);
        let all = Levels::of(&frame, &[]);
        let rtt = Quantity::of_column("rtt_ms");
        let of = |y| {
            let style = Style::default();
            let drawn =
                distribution_figure(&frame, (y, &rtt), (&all, &all, &all), Shape::Box, &style);
            drawn.unwrap_err().to_string()
        };
        assert_eq!(of("rtt_ms"), "there is nothing to draw");
        assert_eq!(of("rtt_s"), "there is no column rtt_s");
    }
}
