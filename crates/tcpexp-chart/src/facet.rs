//! One panel per value of a parameter, with the same axes.

use tcpexp_table::Frame;

use crate::Levels;
use crate::canvas::{TEXT_HEIGHT, UNITS_PER_MM};
use crate::plot::Plot;
use crate::row::Row;
use crate::style::FigureSize;

/// Least width of a panel in millimetres: two beside each other in a column of 85 mm, four on a page of
/// 178 mm. Narrower panels have no room for the labels of their axes.
const LEAST_WIDTH_MM: u32 = 42;

/// Usual width of the labels of a vertical axis in millimetres.
const USUAL_BESIDE_MM: u32 = 14;

/// The rows of one panel, with the groups of all rows.
pub(crate) struct Facet<const N: usize> {
    /// Name of the panel; `None` for the only panel.
    pub(crate) title: Option<String>,
    pub(crate) rows: Frame,
    /// The groups, with the numbers that they have among all rows.
    pub(crate) groups: [Levels; N],
}

impl<const N: usize> Facet<N> {
    /// One panel for each group of `facets`, in their order.
    pub(crate) fn all(frame: &Frame, facets: &Levels, groups: [&Levels; N]) -> Vec<Self> {
        let of_level = |level: usize| {
            let keep: Vec<bool> = (0..frame.rows())
                .map(|row| facets.of_row(row) == level)
                .collect();
            Self {
                title: Some(facets.label(level)).filter(|title| !title.is_empty()),
                rows: frame.filtered(&keep),
                groups: groups.map(|levels| levels.filtered(&keep)),
            }
        };
        (0..facets.len()).map(of_level).collect()
    }

    /// The plot with the name of the panel.
    pub(crate) fn titled(&self, plot: Plot) -> Plot {
        Plot {
            title: self.title.clone(),
            ..plot
        }
    }
}

/// Width in millimetres of a panel in which each of these slots is as wide as a line of text.
pub fn room_of_slots(slots: usize) -> u32 {
    let slots = u32::try_from(slots).unwrap_or(u32::MAX);
    let units = slots.saturating_mul(TEXT_HEIGHT.unsigned_abs());
    USUAL_BESIDE_MM.saturating_add(units.div_ceil(UNITS_PER_MM))
}

/// Arranges panels in rows of equal length. Only the first panel of a row has labels of its vertical axis.
pub(crate) fn arranged(plots: Vec<Plot>, size: FigureSize) -> Vec<Row> {
    let slots = plots.iter().map(|plot| plot.x.slot_count()).max();
    let slots = usize::try_from(slots.unwrap_or(0)).unwrap_or(0);
    let least = room_of_slots(slots).max(LEAST_WIDTH_MM);
    let most = (size.width_mm / least).max(1) as usize;
    let rows = plots.len().div_ceil(most).max(1);
    let columns = plots.len().div_ceil(rows);
    let mut rows = Vec::new();
    let mut plots = plots.into_iter().peekable();
    while plots.peek().is_some() {
        let of_row = plots.by_ref().take(columns).enumerate();
        let of_row: Vec<(i32, Plot)> = of_row
            .map(|(column, plot)| {
                let shares_y = column > 0;
                (1, Plot { shares_y, ..plot })
            })
            .collect();
        rows.push(Row {
            absent: columns - of_row.len(),
            plots: of_row,
            ..Row::default()
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use tcpexp_table::Series;

    use super::*;
    use crate::AxisStyle;
    use crate::axis::AxisSpec;

    #[test]
    fn panels_have_their_rows_and_the_groups_of_all_rows() {
        let frame = Frame::of(vec![
            (
                "cc".into(),
                Series::texts(["reno", "cubic", "reno"].map(Some)),
            ),
            (
                "delay_ms".into(),
                Series::Whole(vec![Some(20), Some(20), Some(5)]),
            ),
        ]);
        let [cc, delay] = ["cc", "delay_ms"].map(|name| Levels::of(&frame, &[name.to_owned()]));
        let facets = Facet::all(&frame, &delay, [&cc]);
        let titles: Vec<_> = facets
            .iter()
            .map(|facet| facet.title.clone().unwrap())
            .collect();
        assert_eq!(titles, ["delay 5 ms", "delay 20 ms"]);
        let rows: Vec<usize> = facets.iter().map(|facet| facet.rows.rows()).collect();
        assert_eq!(rows, [1, 2]);
        // The one row of the first panel is of the second group of all rows.
        assert_eq!(facets[0].groups[0].of_row(0), 1);
        assert_eq!(facets[0].groups[0].len(), 2);
        let all = Levels::of(&frame, &[]);
        assert_eq!(Facet::all(&frame, &all, []).len(), 1);
    }

    #[test]
    fn rows_of_panels_are_equally_long_and_leave_room_for_those_that_are_absent() {
        let axis = || AxisSpec::values("", (0.0, 1.0), &AxisStyle::default());
        let shape = |panels: usize, width_mm: u32| -> Vec<(usize, usize)> {
            let plots = vec![Plot::new(axis(), axis()); panels];
            let size = FigureSize {
                width_mm,
                height_mm: 60,
            };
            let rows = arranged(plots, size);
            rows.iter()
                .map(|row| (row.plots.len(), row.absent))
                .collect()
        };
        assert_eq!(shape(1, 85), [(1, 0)]);
        assert_eq!(shape(3, 85), [(2, 0), (1, 1)]);
        assert_eq!(shape(5, 178), [(3, 0), (2, 1)]);
        assert_eq!(shape(2, 30), [(1, 0), (1, 0)]);
    }
}
