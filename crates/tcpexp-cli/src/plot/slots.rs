//! Slots along the horizontal axis, and the groups side by side in each slot.

use tcpexp::UsualGroups;

use crate::known_names;

#[derive(clap::Args)]
pub(super) struct SlotArgs {
    /// Draw one slot per value of a column along the horizontal axis; with two columns, the first
    /// one groups the slots into bands [default: the parameters that distinguish the runs of
    /// a sweep, else files, else flows]
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    x: Vec<String>,

    /// Draw the values of these columns side by side in each slot, in one colour each
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    colour: Vec<String>,

    /// Unit of the vertical axis [default: chosen by the values]
    #[arg(long, value_name = "UNIT", help_heading = "Axes")]
    pub(super) y_unit: Option<String>,
}

impl SlotArgs {
    /// Returns the columns that group rows, and whether default groups apply if there are none.
    pub(super) fn columns(&self) -> [(&[String], UsualGroups); 2] {
        [(&self.x, UsualGroups::Yes), (&self.colour, UsualGroups::No)]
    }
}
