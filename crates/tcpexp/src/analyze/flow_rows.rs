//! The table of flows, written after all other tables.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId};
use tcpexp_measure::flows::ConnectionSummary;
use tcpexp_pair::spp::{PathDirection, Point};
use tcpexp_table::dataset::{Arrived, DatasetFlow, FlowPath, FlowRow};
use tcpexp_units::Timestamp;

use super::names::Names;
use super::replay::Summaries;
use super::survey::Surveyed;
use super::tables::Table;
use crate::Error;

/// Inputs of the table of flows.
pub(super) struct Flows<'a> {
    pub(super) names: &'a Names,
    pub(super) captures: [Option<&'a Surveyed>; 2],
    pub(super) paths: &'a HashMap<FlowId, Arc<FlowPath>, FixedState>,
    pub(super) senders: &'a Summaries,
    /// Converts a time of the destination's clock to the source's clock.
    pub(super) at_source: &'a dyn Fn(Timestamp) -> Timestamp,
}

/// A flow of the dataset in both captures.
struct Known {
    flow: Arc<DatasetFlow>,
    /// By [`Point::index`]: the connection, and its direction that is forward in the dataset.
    at: [Option<(Arc<ConnectionSummary>, Direction)>; 2],
}

impl Flows<'_> {
    /// Writes two rows per flow, in order of flow numbers. The table sorts rows by start time.
    pub(super) fn write(&self, table: &mut Table<FlowRow>) -> Result<(), Error> {
        for known in self.known().values() {
            for direction in Direction::BOTH {
                if let Some(row) = self.row(known, direction) {
                    table.add(row)?;
                }
            }
        }
        Ok(())
    }

    fn known(&self) -> BTreeMap<FlowId, Known> {
        let mut all: BTreeMap<FlowId, Known> = BTreeMap::new();
        for point in Point::BOTH {
            let Some(surveyed) = self.captures[point.index()] else {
                continue;
            };
            for (local, number) in self.names.of_capture(point) {
                let Some(connection) = surveyed.connection(number) else {
                    continue;
                };
                let known = all.entry(local.flow.flow).or_insert_with(|| Known {
                    flow: Arc::clone(&local.flow),
                    at: [None, None],
                });
                let forward = local.turned(Direction::Forward);
                known.at[point.index()] = Some((Arc::clone(connection), forward));
            }
        }
        all
    }

    fn row(&self, known: &Known, direction: Direction) -> Option<FlowRow> {
        let flow = &known.flow;
        let path = self.paths.get(&flow.flow);
        let path_direction = path.and_then(|path| path.path_direction(direction));
        // The upstream capture shows what the sender sent. A flow in one capture leaves no choice.
        let first = path_direction.map_or(Point::Src, PathDirection::upstream);
        let capture = match known.at[first.index()] {
            Some(_) => first,
            None => first.opposite(),
        };
        let local = |point: Point| {
            let (connection, forward) = known.at[point.index()].as_ref()?;
            let local = match forward {
                Direction::Forward => direction,
                Direction::Reverse => direction.opposite(),
            };
            Some((connection, local))
        };
        let (connection, called) = local(capture)?;
        let arrived = local(capture.opposite())
            .map(|(connection, called)| Arrived::from(&connection.directions[called.index()]));
        let at = match capture {
            Point::Src => connection.first_at,
            Point::Dst => (self.at_source)(connection.first_at),
        };
        Some(FlowRow {
            flow: Arc::clone(flow),
            direction,
            capture,
            at,
            connection: Arc::clone(connection),
            local: called,
            arrived,
            path: path.map(Arc::clone),
            sender: self.senders.get(&(flow.flow, direction)).copied(),
        })
    }
}
