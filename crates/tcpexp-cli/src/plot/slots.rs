//! Slots along the horizontal axis, and the groups side by side in each slot.

use tcpexp::UsualGroups;

#[derive(clap::Args)]
pub(super) struct SlotArgs {
    /// Slots along the horizontal axis: one for each value of one column, or of two, the first in
    /// bands [default: what a sweep varies, else files, else flows]
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    x: Vec<String>,

    /// Side by side in each slot: one colour for each value of these columns
    #[arg(
        long,
        value_name = "COLUMN,…",
        value_delimiter = ',',
        help_heading = "Rows and columns"
    )]
    colour: Vec<String>,

    /// The unit of the vertical axis [default: what fits the values]
    #[arg(long, value_name = "UNIT", help_heading = "Axes")]
    pub(super) y_unit: Option<String>,
}

impl SlotArgs {
    /// Returns the columns that group rows, and whether default groups apply if there are none.
    pub(super) fn columns(&self) -> [(&[String], UsualGroups); 2] {
        [(&self.x, UsualGroups::Yes), (&self.colour, UsualGroups::No)]
    }
}
