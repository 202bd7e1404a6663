//! Measurements of packet fates, with checks of general invariants.

use std::collections::HashMap;
use std::path::Path;

use tcpexp::{Error, PathOptions, PathReport, Recording, path};
use tcpexp_flow::{Direction, FlowId};
use tcpexp_pair::path::{PathFlow, PathPacket, PathSummary};
use tcpexp_pair::spp::{DirectionCounts, Fate, PairedFlow, PathDirection};
use tcpexp_units::TimeDelta;

/// All results of a path measurement.
pub(crate) struct Measurement {
    pub(crate) flows: Vec<PairedFlow>,
    pub(crate) packets: Vec<PathPacket>,
    pub(crate) ended: Vec<PathFlow>,
    pub(crate) report: PathReport,
}

impl Measurement {
    pub(crate) fn of(src: &Recording, dst: &Recording) -> Self {
        let (mut flows, mut packets, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        let report = path(src, dst, &PathOptions::default(), |batch| {
            flows.extend(batch.flows);
            packets.extend(batch.packets);
            ended.extend(batch.ended);
            Ok::<(), Error>(())
        });
        let measurement = Self {
            flows,
            packets,
            ended,
            report: report.unwrap(),
        };
        measurement.assert_balanced();
        measurement
    }

    pub(crate) fn of_files(src: &Path, dst: &Path) -> Self {
        Self::of(
            &Recording::open(src).unwrap(),
            &Recording::open(dst).unwrap(),
        )
    }

    /// Ports of sender and receiver.
    pub(crate) fn ports(&self, row: &PathPacket) -> [u16; 2] {
        let flow = &self.flows[row.flow.0 as usize];
        let (initiator, responder) = (flow.initiator.port(), flow.responder.port());
        match row.direction {
            Direction::Forward => [initiator, responder],
            Direction::Reverse => [responder, initiator],
        }
    }

    pub(crate) fn path_direction(&self, path_direction: PathDirection) -> &PathSummary {
        &self.report.totals.path_directions[path_direction.index()]
    }

    pub(crate) fn delivered(
        &self,
        path_direction: PathDirection,
    ) -> impl Iterator<Item = &PathPacket> {
        let is_delivered =
            move |p: &&PathPacket| p.fate == Fate::Delivered && p.path_direction == path_direction;
        self.packets.iter().filter(is_delivered)
    }

    /// Checks the invariants of any measurement.
    fn assert_balanced(&self) {
        let mut counts = DirectionCounts::default();
        let mut rows: HashMap<(FlowId, Direction), Vec<&PathPacket>> = HashMap::new();
        for packet in &self.packets {
            let key = (packet.flow, packet.direction);
            rows.entry(key).or_default().push(packet);
        }
        for flow in &self.ended {
            for (direction, sums) in Direction::BOTH.into_iter().zip(&flow.directions) {
                let rows = rows.remove(&(flow.summary.flow.flow, direction));
                assert_sums_are_of(&rows.unwrap_or_default(), sums);
                counts += sums.counts;
            }
        }
        assert!(rows.is_empty(), "each flow ends");
        let path_directions =
            PathDirection::BOTH.map(|path_direction| self.path_direction(path_direction));
        for sums in path_directions {
            assert_eq!(
                sums.sent(),
                sums.delivered() + sums.missed() + sums.lost() + sums.unknown()
            );
        }
        let mut both = path_directions[0].counts;
        both += path_directions[1].counts;
        assert_eq!(both, counts);
        for path_direction in PathDirection::BOTH {
            let least = self
                .delivered(path_direction)
                .filter_map(|p| p.one_way_delay)
                .min();
            let sums = self.path_direction(path_direction);
            assert_eq!(sums.one_way_delay.map(|delay| delay.min), least);
            let queued = sums.queueing_delay.map(|delay| delay.min);
            assert_eq!(queued, least.map(|_| TimeDelta::ZERO));
        }
    }
}

/// Checks sums against the rows that they summarise.
fn assert_sums_are_of(rows: &[&PathPacket], sums: &PathSummary) {
    assert_eq!(
        sums.sent(),
        sums.delivered() + sums.missed() + sums.lost() + sums.unknown()
    );
    assert_eq!(sums.losses.packets, sums.lost());
    let packets = |is: &dyn Fn(&PathPacket) -> bool| -> u64 {
        let rows = rows.iter().filter(|row| is(row));
        rows.map(|row| row.packets).sum()
    };
    assert_eq!(packets(&|row| row.fate == Fate::Lost), sums.lost());
    assert_eq!(packets(&PathPacket::is_duplicate), sums.duplicated());
    let is_reordered = |row: &PathPacket| row.reordered == Some(true);
    assert_eq!(packets(&is_reordered), sums.reordered);
    let reordered = rows.iter().filter(|row| is_reordered(row));
    let extents = reordered.map(|row| row.reordering_extent_packets.unwrap());
    assert_eq!(extents.max(), sums.largest_extent_packets);
    let is_marked = |row: &PathPacket| row.ce_marked == Some(true);
    assert_eq!(packets(&is_marked), sums.ce_marked);
    let delays: Vec<TimeDelta> = rows.iter().filter_map(|row| row.queueing_delay).collect();
    let largest = sums.queueing_delay.map(|delay| delay.max);
    assert_eq!(delays.iter().max().copied(), largest);
    assert_eq!(
        delays.len() as u64,
        sums.queueing_delay.map_or(0, |delay| delay.samples)
    );
    for row in rows {
        let passed = row.sent_at.zip(row.received_at);
        let elapsed = passed.map(|(sent, received)| received - sent);
        assert!(row.one_way_delay.is_none() || row.one_way_delay == elapsed);
        assert_eq!(row.sent_at.is_some(), row.sent_record.is_some());
        assert_eq!(row.received_at.is_some(), row.received_record.is_some());
        assert_eq!(row.fate == Fate::Delivered, passed.is_some());
    }
}
