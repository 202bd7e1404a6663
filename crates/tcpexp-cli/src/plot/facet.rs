//! Panels per value of a column.

use tcpexp::UsualGroups;
use tcpexp_chart::{Levels, room_of_slots};
use tcpexp_table::Frame;

use crate::known_names;

/// Least width of a box or bar in millimetres, with the room around it; more of them than fit are divided
/// into panels.
const LEAST_PLACE_MM: usize = 2;
/// Maximum number of lines in a panel: more are divided into panels if they have several columns. The
/// gallery's charts of twelve series are still readable.
const MAX_LINES: usize = 12;

#[derive(clap::Args)]
pub(super) struct FacetArgs {
    /// Draw one panel per value of these columns, with the same axes and one legend [default: the first
    /// grouping column, if one panel has no room for all groups]
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    facet: Vec<String>,
}

/// What a panel has room for.
#[derive(Clone, Copy)]
pub(super) enum Room {
    /// Lines or clouds of points.
    Lines,
    /// Boxes or bars, in a figure of this width in millimetres.
    Places(u32),
}

impl FacetArgs {
    /// The columns that divide the rows into panels.
    pub(super) fn columns(&self) -> (&[String], UsualGroups) {
        (&self.facet, UsualGroups::No)
    }
}

/// If one panel would have too many groups, moves their first columns to the panels.
///
/// `groups` are the columns of each grouping, those of the panels last. `divided` is the number of the
/// grouping that may lose its first column.
pub(super) fn divide(frame: &Frame, groups: &mut [Vec<String>], divided: usize, room: Room) {
    let Some((facets, others)) = groups.split_last_mut() else {
        return;
    };
    // A column of the panels has one value in each, and would repeat all of them on each axis.
    others[divided].retain(|column| !facets.contains(column));
    if !facets.is_empty() {
        return;
    }
    let number = |columns: &Vec<String>| Levels::of(frame, columns).len().max(1);
    let is_crowded = |others: &[Vec<String>]| match room {
        Room::Lines => number(&others[divided]) > MAX_LINES,
        Room::Places(width_mm) => {
            let places: usize = others.iter().map(number).product();
            places * LEAST_PLACE_MM > width_mm as usize
                // Each slot has a label.
                || room_of_slots(number(&others[divided])) > width_mm
        }
    };
    while others[divided].len() > 1 && is_crowded(others) {
        facets.push(others[divided].remove(0));
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_table::Series;

    use super::*;

    #[test]
    fn too_many_groups_of_two_columns_are_divided_by_the_first() {
        let rows = 0..64_i64;
        let frame = Frame::of(vec![
            (
                "delay".into(),
                Series::Whole(rows.clone().map(|row| Some(row / 16)).collect()),
            ),
            (
                "rate".into(),
                Series::Whole(rows.map(|row| Some(row % 16)).collect()),
            ),
        ]);
        let columns = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let after = |groups: &[&[&str]], room| {
            let mut groups: Vec<Vec<String>> = groups.iter().map(|names| columns(names)).collect();
            divide(&frame, &mut groups, 0, room);
            groups
        };
        let divided = vec![columns(&["rate"]), columns(&["delay"])];
        assert_eq!(after(&[&["delay", "rate"], &[]], Room::Lines), divided);
        assert_eq!(after(&[&["delay", "rate"], &[]], Room::Places(85)), divided);
        let whole = vec![columns(&["delay", "rate"]), Vec::new()];
        assert_eq!(after(&[&["delay", "rate"], &[]], Room::Places(181)), whole);
        // Boxes of 2 mm fit, but not labels.
        assert_eq!(
            after(&[&["delay", "rate"], &[]], Room::Places(178)),
            divided
        );
        // A column of the panels does not group the rows of a panel as well.
        let twice = after(&[&["delay", "rate"], &["delay"]], Room::Lines);
        assert_eq!(twice, divided);
        let one = vec![columns(&["rate"]), Vec::new()];
        assert_eq!(after(&[&["rate"], &[]], Room::Lines), one);
    }
}
