//! Charts of distributions in slots: arguments and drawing of `box` and `violin`.

use tcpexp_chart::{Shape, distribution_figure};

use crate::known_names;

use super::data::{DataArgs, grouped, quantity};
use super::facet::{FacetArgs, Room, divide};
use super::figure::FigureArgs;
use super::pool::PoolArgs;
use super::slots::SlotArgs;

#[derive(clap::Args)]
pub(super) struct DistributionArgs {
    #[command(flatten)]
    data: DataArgs,

    /// Column to draw
    #[arg(
        long,
        value_name = "COLUMN",
        value_parser = known_names::columns(),
        hide_possible_values = true,
        default_value = "rtt",
        help_heading = "Rows and columns"
    )]
    y: String,

    #[command(flatten)]
    slots: SlotArgs,

    #[command(flatten)]
    facet: FacetArgs,

    #[command(flatten)]
    pool: PoolArgs,

    #[command(flatten)]
    figure: FigureArgs,
}

impl DistributionArgs {
    pub(super) fn draw(&self, shape: Shape) -> anyhow::Result<()> {
        self.figure.has_categories_on_x()?;
        let figure = self.figure.create(65, self.data.quiet)?;
        let data = self.data.open()?.pooled(self.pool.pooling());
        let usual = ["rtt", "owd", "throughput", "sender"];
        let [slots, colours] = self.slots.columns();
        let groups = [slots, colours, self.facet.columns()];
        let mut rows = data.grouped(&self.y, &groups, &usual, &[])?;
        self.data.warn_of_others(&data, &rows);
        let room = Room::Places(figure.style.size.width_mm);
        divide(&rows.frame, &mut rows.groups, 0, room);
        let [slots, colours, facets] = grouped(&rows)?;
        let quantity = quantity(&rows, self.slots.y_unit.as_deref())?;
        let y = (rows.column.as_str(), &quantity);
        let note = rows.sample_note();
        let groups = (&slots, &colours, &facets);
        figure
            .noting(note)
            .finish(|style| distribution_figure(&rows.frame, y, groups, shape, style))
    }
}
