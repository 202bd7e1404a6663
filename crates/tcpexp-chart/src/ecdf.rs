//! Empirical distributions of several groups in one panel.

use std::collections::BTreeMap;

use crate::axis::{AxisSpec, range};
use crate::facet::arranged;
use crate::layer::Layer;
use crate::left_out::LeftOut;
use crate::legend::Key;
use crate::lines::staircase;
use crate::logarithmic::Logarithmic;
use crate::plot::Plot;
use crate::quantile::{Sorted, extremes, joined};
use crate::quantity::Shown;
use crate::scene::Scene;
use crate::stroke::Stroke;
use crate::{AxisStyle, Error, GroupPanel, Quantity, Style, Svg};

/// Maximum number of steps in a drawn distribution: more than ten per millimetre.
const STEPS: usize = 2000;
const WIDTH: u32 = 4;

/// Draws the empirical distribution of each group: the share of values that do not exceed a value.
///
/// The legend shows the medians if there is one panel.
pub fn ecdf_figure(
    quantity: &Quantity,
    panels: &[GroupPanel],
    style: &Style,
) -> Result<Svg, Error> {
    let of_panels = panels.iter().map(|panel| extremes(&panel.groups));
    let (least, most) = joined(of_panels).ok_or(Error::Nothing)?;
    let values = panels.iter().flat_map(|panel| &panel.groups);
    let values = values.flat_map(|group| group.values.iter().copied());
    let on_log = Logarithmic::on(&style.x, values);
    let more = on_log
        .as_ref()
        .map(|log| log.words("value", "horizontal", &style.x));
    let shown = quantity.shown(least, most);
    let left_out: LeftOut = panels.iter().map(|panel| panel.left_out).sum();
    let more = left_out.words(&shown) + &more.unwrap_or_default();
    let mut style = style.noting_also(&more);
    // A logarithmic axis starts at the smallest value and ends at the largest.
    let x_range = if let Some(log) = on_log {
        shown.ends(log.range()?)
    } else {
        let (least, most) = shown.ends((least, most));
        range(least, most)
    };
    let x = AxisSpec::values(quantity.on_axis(&shown), x_range, &style.x);
    // A distribution starts at zero, which has no logarithm.
    style.y.log = false;
    let share = AxisStyle {
        name: style.y.name.clone().or(Some("fraction of values".into())),
        ..style.y.clone()
    };
    let y = AxisSpec::values("", (0.0, 1.0), &share);
    let mut keys: BTreeMap<usize, Key> = BTreeMap::new();
    let mut plot = |panel: &GroupPanel| {
        let mut plot = Plot::new(x.clone(), y.clone());
        plot.title.clone_from(&panel.title);
        for (number, group) in panel.groups.iter().enumerate() {
            let values = Sorted::of(&group.values);
            let Some(median) = values.quantile(0.5) else {
                continue;
            };
            let stroke = Stroke::of_series(number, WIDTH);
            let steps = values.steps(STEPS).into_iter();
            let mut line = staircase(steps.map(|(value, share)| (shown.value(value), share)));
            // The distribution is 0 below its smallest value.
            line.insert(0, (plot.x.low.min(shown.value(least)), 0.0));
            // The distribution is 1 above its largest value.
            line.extend([(plot.x.high.max(shown.value(most)), 1.0)]);
            plot.layers.push(Layer::Line(line, stroke));
            let key = Key::stroke(group.label.clone(), stroke);
            keys.insert(
                number,
                match panels {
                    [_] if group.label.is_empty() => {
                        Key::stroke(median_words(&shown, median), stroke)
                    }
                    [_] => key.with_value(format!(": {}", median_words(&shown, median))),
                    _ => key,
                },
            );
        }
        plot
    };
    let plots = panels.iter().map(&mut plot).collect();
    Scene {
        keys: keys.into_values().collect(),
        rows: arranged(plots, style.size),
    }
    .draw(&style)
}

fn median_words(shown: &Shown, median: f64) -> String {
    format!("median {}", shown.text(median))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::{FigureSize, Group};

    const SIZE: FigureSize = FigureSize {
        width_mm: 85,
        height_mm: 60,
    };

    fn group(label: &str, values: impl IntoIterator<Item = f64>) -> Group {
        Group {
            label: label.to_owned(),
            values: values.into_iter().collect(),
        }
    }

    #[test]
    fn long_names_leave_room_for_the_medians() {
        let names = ["1001", "1002"].map(|port| {
            format!("[2001:db8:1111:2222:3333:4444:5555:1]:{port} > [2001:db8:aaaa:bbbb:cccc:dddd:eeee:2]:5201")
        });
        let groups = vec![
            group(&names[0], [41e6]),
            group("[2001:db8::9]:5 > [2001:db8::8]:5201", [42e6]),
        ];
        let rtt = Quantity::of_column("rtt_ns");
        let texts = ecdf_figure(&rtt, &[groups.into()], &SIZE.into())
            .unwrap()
            .texts();
        assert!(
            texts.contains(": median 41.0 ms") && texts.contains(": median 42.0 ms"),
            "{texts}"
        );
        let groups = names
            .map(|name| group(&format!("run {name}"), [41e6]))
            .to_vec();
        let texts = ecdf_figure(&rtt, &[groups.into()], &SIZE.into())
            .unwrap()
            .texts();
        assert_eq!(texts.matches(": median 41.0 ms").count(), 2, "{texts}");
        assert!(texts.contains("1001") && texts.contains("1002"), "{texts}");
    }

    #[test]
    fn the_legend_names_medians_and_the_axes_name_units() {
        let groups = vec![
            group("cubic", (0..=100).map(|n| 40e6 + f64::from(n) * 1e6)),
            group("vegas", [41e6, 42e6]),
            group("idle", []),
        ];
        let rtt = Quantity::of_column("rtt_ns");
        let figure = ecdf_figure(&rtt, &[groups.clone().into()], &SIZE.into()).unwrap();
        assert_snapshot!(figure.texts(), @r"cubic: median 90.0 ms | vegas: median 41.5 ms | 0 | 50 | 100 | 0.0 | 0.2 | 0.4 | 0.6 | 0.8 | 1.0 | RTT (ms) | fraction of values");
        assert_eq!(
            ecdf_figure(&rtt, &[groups.clone().into()], &SIZE.into()).unwrap(),
            figure
        );
    }

    #[test]
    fn groups_without_names_have_no_legend() {
        let panel = |title: &str| GroupPanel {
            title: Some(title.to_owned()),
            groups: vec![group("", [1e6, 2e6])],
            ..GroupPanel::default()
        };
        let rtt = Quantity::of_column("rtt_ns");
        let figure = ecdf_figure(&rtt, &[panel("a"), panel("b")], &SIZE.into()).unwrap();
        // The distribution of each panel.
        let lines = figure.as_str().matches(r##"stroke="#0072B2""##).count();
        assert_eq!(lines, 2);
    }

    #[test]
    fn the_only_group_has_its_median_without_a_name() {
        let rtt = Quantity::of_column("rtt_ns");
        let groups = vec![group("", [9e6, 10e6, 11e6])];
        let figure = ecdf_figure(&rtt, &[groups.into()], &SIZE.into()).unwrap();
        let texts = figure.texts();
        assert!(texts.starts_with("median 10.0 ms | "), "{texts}");
    }

    #[test]
    fn a_small_figure_matches_its_snapshot() {
        let groups = vec![group("a", [1.0, 2.0, 4.0]), group("b", [2.0, 3.0])];
        let size = FigureSize {
            width_mm: 45,
            height_mm: 32,
        };
        let figure =
            ecdf_figure(&Quantity::plain("value"), &[groups.into()], &size.into()).unwrap();
        assert_snapshot!(figure.as_str().replace("><", ">\n<"));
    }

    #[test]
    fn missing_data_is_a_named_error() {
        let error = ecdf_figure(
            &Quantity::plain("x"),
            &[vec![group("idle", [])].into()],
            &Style::default(),
        );
        assert_eq!(error.unwrap_err().to_string(), "there is nothing to draw");
    }
}
