//! The last pass over a capture: senders, bins and, with one capture, round-trip times.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::FixedState;
use tcpexp_flow::{Direction, FlowId, Packets};
use tcpexp_measure::rtt::{SingleRttMeter, SingleRttRow};
use tcpexp_measure::sender::{SenderOptions, SenderRow, sender_state_along_with};
use tcpexp_measure::throughput::{
    MAX_EMPTY_ROWS, RowCounts, ThroughputBin, ThroughputCounter, ThroughputOptions, ThroughputRow,
    ThroughputTotals,
};
use tcpexp_measure::{Either, Position};
use tcpexp_pair::spp::Point;
use tcpexp_table::SenderEvent;
use tcpexp_table::dataset::{
    EventRow, RttRow, RttSource, RunEvent, SenderStateRow, SenderTotals, ThroughputBinRow,
};
use tcpexp_units::{TimeDelta, Timestamp};

use super::names::Names;
use super::survey::Surveyed;
use super::tables::{Table, Tables};
use crate::Error;
use crate::view::View;

/// A sender, by its flow's number and the direction of its data.
type Sender = (FlowId, Direction);

/// Totals of the senders by the dataset's flow numbers and directions.
pub(super) type Summaries = HashMap<Sender, SenderTotals, FixedState>;

/// Senders of one capture, by the capture's flow numbers and directions.
pub(super) type Chosen = HashSet<Sender, FixedState>;

/// The last pass over one capture.
pub(super) struct Replay<'a> {
    pub(super) view: View<'a>,
    pub(super) point: Point,
    pub(super) surveyed: &'a Surveyed,
    pub(super) names: &'a Names,
    pub(super) options: SenderOptions,
    pub(super) throughput: ThroughputOptions,
    /// Shift of the bin boundaries that gives both captures the same bins.
    pub(super) bins_moved: TimeDelta,
    /// The senders reconstructed from this capture.
    pub(super) chosen: &'a Chosen,
    /// True if round-trip times are measured in this capture alone.
    pub(super) has_round_trips: bool,
    /// Converts a time of this capture's clock to the source's clock.
    pub(super) at_source: &'a (dyn Fn(Timestamp) -> Timestamp + Sync),
}

impl Replay<'_> {
    /// Reads the capture and writes its rows.
    pub(super) fn run(
        &self,
        tables: &mut Tables,
        summaries: &mut Summaries,
    ) -> Result<ThroughputTotals, Error> {
        let Tables {
            rtt,
            sender,
            events,
            throughput,
            ..
        } = tables;
        let mut walk = self.view.walk_once()?;
        let mut counter = ThroughputCounter::new(self.throughput, walk.table());
        let mut outcome = Ok(());
        let mut counts = RowCounts::default();
        let mut bin = |row: ThroughputRow| {
            counts.add(&row);
            self.require_filled(counts)?;
            self.bin(&row, throughput)
        };
        sender_state_along_with(
            &mut walk,
            &self.surveyed.hindsight,
            self.options,
            |arrivals| {
                // The first error waits for the end of the pass.
                if outcome.is_ok() {
                    outcome = counter.take(arrivals, &mut bin);
                }
            },
            |flow| {
                self.has_round_trips
                    .then(|| Box::new(SingleRttMeter::new(flow)))
            },
            |rows| {
                rows.into_iter().try_for_each(|row| match row {
                    Either::First(row) => self.sender(row, sender, events, summaries),
                    Either::Second(row) => self.round_trip(row, rtt),
                })
            },
        )?;
        outcome?;
        counter.end(&mut bin)
    }

    /// Returns an error if nearly all bins are empty and there are too many to write.
    fn require_filled(&self, counts: RowCounts) -> Result<(), Error> {
        if !counts.are_nearly_empty(MAX_EMPTY_ROWS) {
            return Ok(());
        }
        Err(Error::EmptyBins {
            path: self.view.name().to_owned(),
            filled: counts.filled,
        })
    }

    fn bin(&self, row: &ThroughputRow, table: &mut Table<ThroughputBinRow>) -> Result<(), Error> {
        let &ThroughputRow::Bin(bin) = row else {
            return Ok(());
        };
        let local = bin.flow.map(|flow| self.names.of_local(self.point, flow));
        let (flow, bin) = match local {
            None => (None, bin),
            Some(None) => return Ok(()),
            Some(Some(local)) => {
                let direction = bin.direction.map(|direction| local.turned(direction));
                (
                    Some(Arc::clone(&local.flow)),
                    ThroughputBin { direction, ..bin },
                )
            }
        };
        table.add(ThroughputBinRow {
            capture: self.point,
            flow,
            at: bin.start - self.bins_moved,
            bin,
        })
    }

    fn sender(
        &self,
        mut row: SenderRow,
        states: &mut Table<SenderStateRow>,
        events: &mut Table<EventRow>,
        summaries: &mut Summaries,
    ) -> Result<(), Error> {
        let (flow, direction) = whose(&mut row);
        // A sender that both captures show is reconstructed from one of them only.
        if !self.chosen.contains(&(*flow, *direction)) {
            return Ok(());
        }
        let Some(local) = self.names.of_local(self.point, *flow) else {
            return Ok(());
        };
        (*flow, *direction) = (local.flow.flow, local.turned(*direction));
        let flow = Arc::clone(&local.flow);
        let event = match row {
            SenderRow::Sample(mut sample) => {
                sample.at = (self.at_source)(sample.at);
                return states.add(SenderStateRow {
                    capture: self.point,
                    flow,
                    sample,
                });
            }
            SenderRow::Summary(summary) => {
                let sender = (summary.flow, summary.direction);
                summaries.insert(sender, SenderTotals::from(&summary));
                return Ok(());
            }
            SenderRow::Recovery(mut recovery) => {
                recovery.began = (self.at_source)(recovery.began);
                recovery.ended = recovery.ended.map(self.at_source);
                SenderEvent::Recovery(recovery)
            }
            SenderRow::Retransmission(mut retransmitted) => {
                retransmitted.at = (self.at_source)(retransmitted.at);
                SenderEvent::Retransmission(retransmitted)
            }
        };
        events.add(EventRow {
            capture: Some(self.point),
            log: None,
            flow: Some(flow),
            event: RunEvent::Sender(event),
        })
    }

    fn round_trip(&self, mut row: SingleRttRow, table: &mut Table<RttRow>) -> Result<(), Error> {
        if let Some(tick) = self.surveyed.info.coarse_tick {
            row.add_clock_error(tick);
        }
        let SingleRttRow::Sample(mut sample) = row else {
            return Ok(());
        };
        let Some(local) = self.names.of_local(self.point, sample.flow) else {
            return Ok(());
        };
        sample.direction = local.turned(sample.direction);
        table.add(RttRow {
            flow: Arc::clone(&local.flow),
            at: (self.at_source)(sample.at),
            source: RttSource::Answer(sample),
        })
    }
}

/// Flow and direction of the row's sender.
fn whose(row: &mut SenderRow) -> (&mut FlowId, &mut Direction) {
    match row {
        SenderRow::Sample(row) => (&mut row.flow, &mut row.direction),
        SenderRow::Recovery(row) => (&mut row.flow, &mut row.direction),
        SenderRow::Retransmission(row) => (&mut row.flow, &mut row.direction),
        SenderRow::Summary(row) => (&mut row.flow, &mut row.direction),
    }
}

/// Chooses the capture from which each sender is reconstructed: the one taken at the sender, or the
/// first capture if both or neither were. Senders of other parts of the analysis are left out.
pub(super) fn choose(names: &Names, captures: [Option<&Surveyed>; 2]) -> [Chosen; 2] {
    let mut found: HashMap<Sender, [Option<Sender>; 2], FixedState> = HashMap::default();
    for point in Point::BOTH {
        let Some(surveyed) = captures[point.index()] else {
            continue;
        };
        let own = names
            .of_capture(point)
            .filter(|(local, _)| local.flow.is_own);
        for (local, number) in own {
            for direction in Direction::BOTH {
                if surveyed.hindsight.has_sender(number, direction) {
                    let key = (local.flow.flow, local.turned(direction));
                    found.entry(key).or_default()[point.index()] = Some((number, direction));
                }
            }
        }
    }
    let mut chosen = [Chosen::default(), Chosen::default()];
    for senders in found.into_values() {
        let is_at_sender = |point: Point| {
            let Some((flow, direction)) = senders[point.index()] else {
                return false;
            };
            let hindsight = captures[point.index()].map(|surveyed| &surveyed.hindsight);
            let position = hindsight.and_then(|hindsight| hindsight.position(flow, direction));
            position == Some(Position::Sender)
        };
        let is_dst_better = is_at_sender(Point::Dst) && !is_at_sender(Point::Src);
        let point = if is_dst_better || senders[Point::Src.index()].is_none() {
            Point::Dst
        } else {
            Point::Src
        };
        chosen[point.index()].extend(senders[point.index()]);
    }
    chosen
}
