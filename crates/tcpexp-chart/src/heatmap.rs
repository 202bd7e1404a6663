//! Heat maps: a quantity over two parameters.

use tcpexp_table::Frame;

use crate::axis::AxisSpec;
use crate::heat::HeatScale;
use crate::layer::Layer;
use crate::plot::Plot;
use crate::runs::Runs;
use crate::scene::Scene;
use crate::theme::Ink;
use crate::undrawn::Median;
use crate::without::Without;
use crate::{AxisStyle, Error, Levels, Quantity, Statistic, Style, Svg};

/// Draws the median over runs of a column as a colour for each pair of two parameters.
///
/// A statistic first reduces each run to one number. A cell shows its number if it fits. Pairs
/// without measurements stay blank. A cell whose median is not known shows its bound, or `never`, without a
/// colour.
pub fn heatmap_figure(
    frame: &Frame,
    (value, quantity, statistic): (&str, &Quantity, Statistic),
    (x, y): (&Levels, &Levels),
    (limits, style): (&AxisStyle, &Style),
) -> Result<Svg, Error> {
    let runs = Runs::of(frame, value, (x, y), statistic)?;
    let medians: Vec<Vec<Option<Median>>> = (0..x.len())
        .map(|column| (0..y.len()).map(|row| runs.median(column, row)).collect())
        .collect();
    let runs = [runs];
    let undrawn = Runs::undrawn(&runs);
    let values = || runs[0].medians();
    let without = Without::of(frame, value);
    let no_values = || without.error(value, quantity, undrawn);
    let least = values().reduce(f64::min).ok_or_else(no_values)?;
    let most = values().reduce(f64::max).ok_or_else(no_values)?;
    let shown = quantity.shown(least, most);
    let name = statistic.on_axis(quantity, &shown);
    let mut scale_range = (shown.value(least), shown.value(most));
    let mut only = None;
    // Equal values have no range; a unit on both sides puts them in the middle of the scale.
    if scale_range.0 >= scale_range.1 {
        only = Some((scale_range.0, shown.digits(most)));
        scale_range = (scale_range.0 - 1.0, scale_range.1 + 1.0);
    }
    let scale = HeatScale {
        axis: AxisSpec::values(name, scale_range, limits),
        // With limits the reader has chosen a scale.
        only: only.filter(|_| limits.low.is_none() && limits.high.is_none()),
    };
    let mut plot = Plot::new(slots(x, &style.x), slots(y, &style.y));
    for (column, rows) in medians.iter().enumerate() {
        for (row, median) in rows.iter().enumerate() {
            let Some(median) = median else { continue };
            let (middle, height) = (column as f64, row as f64);
            // A cell whose median is not known has no colour.
            let (ink, text) = match median {
                Median::Known(estimate) => {
                    let ink = scale.ink(shown.value(estimate.median));
                    (ink, shown.digits(estimate.median))
                }
                Median::AtLeast(least) => (Ink::Paper, format!(">{}", shown.digits(*least))),
                Median::Never => (Ink::Paper, "never".to_owned()),
            };
            let corner = |right: f64, up: f64| (middle + right / 2.0, height + up / 2.0);
            let corners = vec![
                corner(-1.0, -1.0),
                corner(1.0, -1.0),
                corner(1.0, 1.0),
                corner(-1.0, 1.0),
            ];
            plot.layers.push(Layer::Area(corners, ink, None));
            plot.layers.push(Layer::Text((middle, height), text, ink));
        }
    }
    plot.scale = Some(scale);
    Scene {
        keys: Vec::new(),
        rows: vec![plot.into()],
    }
    .draw(&style.noting(
        Runs::note(&runs, style.note.as_deref()) + &undrawn.words(&shown) + &without.words(),
    ))
}

fn slots(levels: &Levels, style: &AxisStyle) -> AxisSpec {
    let labels = (0..levels.len()).map(|level| levels.short(level)).collect();
    let axis = AxisSpec::slots(levels.axis_name(), labels, levels.bands(), style);
    match style.name {
        Some(_) => axis,
        None => axis.in_bands_of(levels.band_names()),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use tcpexp_table::Series;

    use super::*;
    use crate::FigureSize;

    fn whole(cells: impl IntoIterator<Item = i64>) -> Series {
        Series::Whole(cells.into_iter().map(Some).collect())
    }

    #[test]
    fn each_pair_of_parameters_has_a_colour_and_a_number() {
        let pairs = (0..12_u32).filter(|pair| *pair != 7);
        let frame = Frame::of(vec![
            (
                "rate_mbps".into(),
                whole(pairs.clone().map(|pair| [2, 6, 10][pair as usize % 3])),
            ),
            (
                "delay_ms".into(),
                whole(
                    pairs
                        .clone()
                        .map(|pair| [0, 20, 40, 100][pair as usize / 3]),
                ),
            ),
            (
                "loss_share".into(),
                Series::Real(pairs.map(|pair| Some(f64::from(pair) / 1000.0)).collect()),
            ),
        ]);
        let [x, y] = ["rate_mbps", "delay_ms"].map(|column| Levels::of(&frame, &[column.into()]));
        let loss = Quantity::of_column("loss_share");
        let what = ("loss_share", &loss, Statistic::Mean);
        let size = FigureSize {
            width_mm: 85,
            height_mm: 60,
        };
        let style = Style::from(size);
        let figure = heatmap_figure(&frame, what, (&x, &y), (&AxisStyle::default(), &style));
        let figure = figure.unwrap();
        assert_snapshot!(figure.texts(), @r"2 | 6 | 10 | 0 | 20 | 40 | 100 | rate (Mbit/s) | delay (ms) | 0.000 | 0.300 | 0.600 | 0.900 | 0.100 | 0.400 | 1.00 | 0.200 | 0.500 | 0.800 | 1.10 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | mean loss (%) | one row each");
        assert_eq!(figure.as_str().matches("<polygon").count(), 11);
    }

    #[test]
    fn twelve_columns_and_rows_of_flows_have_their_names_at_column_width() {
        let flows = (0..12).map(|n| Some(format!("172.16.10.3:{} > 172.16.11.2:5201", 33_500 + n)));
        let frame = Frame::of(vec![
            ("flow".into(), Series::texts(flows.clone())),
            ("to".into(), Series::texts(flows)),
            ("goodput_bps".into(), whole(0..12)),
        ]);
        let [x, y] = ["flow", "to"].map(|column| Levels::of(&frame, &[column.into()]));
        let goodput = Quantity::of_column("goodput_bps");
        let what = ("goodput_bps", &goodput, Statistic::Mean);
        let style = Style {
            may_grow: true,
            ..Style::from(FigureSize {
                width_mm: 85,
                height_mm: 60,
            })
        };
        let figure = heatmap_figure(&frame, what, (&x, &y), (&AxisStyle::default(), &style));
        let texts = figure.unwrap().texts();
        for flow in 33_500..33_512 {
            assert_eq!(texts.matches(&flow.to_string()).count(), 2, "{texts}");
        }
    }

    #[test]
    fn names_below_need_no_turn_beside_long_names_that_are_shortened() {
        let frame = Frame::of(vec![
            (
                "cc".into(),
                Series::texts(["cubic", "reno", "vegas"].map(Some)),
            ),
            (
                "flow".into(),
                Series::texts(
                    [1, 2, 3].map(|n| Some(format!("172.16.10.3:3350{n} > 172.16.11.2:5201"))),
                ),
            ),
            ("goodput_bps".into(), whole([1, 2, 3])),
        ]);
        let [x, y] = ["cc", "flow"].map(|column| Levels::of(&frame, &[column.into()]));
        let goodput = Quantity::of_column("goodput_bps");
        let what = ("goodput_bps", &goodput, Statistic::Mean);
        let style = Style::from(FigureSize {
            width_mm: 85,
            height_mm: 60,
        });
        let figure = heatmap_figure(&frame, what, (&x, &y), (&AxisStyle::default(), &style));
        // The names of the vertical axis and of the scale.
        let figure = figure.unwrap();
        assert_eq!(figure.as_str().matches("rotate(").count(), 2);
    }
}
