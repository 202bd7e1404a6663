//! A measurement along several points, beside the simulator's records.

use std::collections::{BTreeMap, HashMap};

use crate::common::spooled;
use tcpexp::{Error, PathOptions, PathSegment, PointsReport, path_along};
use tcpexp_pair::path::{PathFlow, PathPacket, PathSummary};
use tcpexp_pair::spp::{Fate, PathDirection};
use tcpexp_testkit::{Direction, PacketTruth, Scenario, Sightings, Truth, simulate};
use tcpexp_units::{TimeDelta, Timestamp};

/// Results of a measurement along several points.
pub(super) struct Along {
    pub(super) truth: Truth,
    pub(super) points: usize,
    pub(super) rows: BTreeMap<PathSegment, Vec<PathPacket>>,
    pub(super) flows: BTreeMap<PathSegment, Vec<PathFlow>>,
    pub(super) report: PointsReport,
}

/// Simulates a scenario and measures it at all points.
pub(super) fn along(scenario: &Scenario) -> Along {
    let captures = simulate(scenario);
    let middles = captures.middles.iter();
    let files = std::iter::once(&captures.src)
        .chain(middles)
        .chain([&captures.dst]);
    let points: Vec<_> = files.map(|file| spooled("point", file)).collect();
    let (mut rows, mut flows) = (BTreeMap::new(), BTreeMap::new());
    let report = path_along(&points, &PathOptions::default(), |segment, batch| {
        let rows: &mut Vec<_> = rows.entry(segment).or_default();
        rows.extend(batch.packets);
        let flows: &mut Vec<_> = flows.entry(segment).or_default();
        flows.extend(batch.ended);
        Ok::<(), Error>(())
    });
    Along {
        truth: captures.truth,
        points: points.len(),
        rows,
        flows,
        report: report.unwrap(),
    }
}

impl Along {
    pub(super) fn whole(&self) -> PathSegment {
        PathSegment {
            from: 0,
            to: self.points - 1,
        }
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = PathSegment> {
        (0..self.points - 1).map(|from| PathSegment { from, to: from + 1 })
    }

    pub(super) fn totals(&self, segment: PathSegment, way: PathDirection) -> &PathSummary {
        let near = self.report.segments.iter();
        let mut all = near.chain(&self.report.whole);
        let found = all.find(|report| report.segment == segment).unwrap();
        &found.report.totals.path_directions[way.index()]
    }

    pub(super) fn sightings(&self, point: usize) -> &Sightings {
        match point {
            0 => &self.truth.src,
            last if last == self.points - 1 => &self.truth.dst,
            middle => &self.truth.middles[middle - 1],
        }
    }

    /// The packet of a record.
    pub(super) fn packet(&self, point: usize, record: u64) -> u64 {
        self.sightings(point)
            .packets(usize::try_from(record).unwrap())[0]
    }

    /// True number of packets lost between two points.
    pub(super) fn lost(&self, segment: PathSegment, way: PathDirection) -> u64 {
        let direction = direction(way);
        let on = |packet: &&PacketTruth| {
            packet.direction == direction
                && packet
                    .lost_on
                    .is_some_and(|on| (segment.from..segment.to).contains(&on))
        };
        self.truth.packets.iter().filter(on).count() as u64
    }

    /// The true time of each packet at a point.
    pub(super) fn times(&self, point: usize) -> HashMap<u64, Timestamp> {
        let sightings = self.sightings(point);
        let records = sightings.records().iter().enumerate();
        records
            .map(|(record, seen)| (sightings.packets(record)[0], seen.at))
            .collect()
    }

    /// The measured delay of each packet of a segment.
    pub(super) fn delays(&self, segment: PathSegment) -> HashMap<u64, TimeDelta> {
        let delivered = |row: &PathPacket| {
            let upstream = match row.path_direction {
                PathDirection::Out => segment.from,
                PathDirection::Back => segment.to,
            };
            Some((self.packet(upstream, row.sent_record?), row.one_way_delay?))
        };
        let rows = self.rows[&segment].iter();
        rows.filter(|row| row.fate == Fate::Delivered)
            .filter_map(delivered)
            .collect()
    }

    /// Checks that the loss of each segment is the true one, up to packets at the ends of captures.
    pub(super) fn assert_losses_are_true(&self) {
        for way in PathDirection::BOTH {
            for segment in self.segments().chain([self.whole()]) {
                let (found, lost) = (self.totals(segment, way), self.lost(segment, way));
                assert!(found.counts.outside < 4, "{segment} {way:?} {found:?}");
                let most = found.lost() + found.counts.outside;
                assert!(
                    (found.lost()..=most).contains(&lost),
                    "{segment} {way:?} {lost} {found:?}"
                );
            }
        }
    }

    /// Checks that the delays of each packet that all captures show sum to that of the whole path,
    /// and that each is within its bound of the true one. Returns the number of packets.
    pub(super) fn assert_delays_sum(&self) -> usize {
        let parts: Vec<_> = self
            .segments()
            .map(|segment| self.delays(segment))
            .collect();
        let mut everywhere = 0;
        for (packet, whole) in self.delays(self.whole()) {
            let delays: Option<Vec<_>> = parts
                .iter()
                .map(|part| part.get(&packet).copied())
                .collect();
            if let Some(delays) = delays {
                everywhere += 1;
                assert_eq!(delays.into_iter().sum::<TimeDelta>(), whole);
            }
        }
        everywhere
    }

    pub(super) fn assert_delays_are_true(&self) {
        let all = self.report.segments.iter().chain(&self.report.whole);
        for measured in all {
            let PathSegment { from, to } = measured.segment;
            assert_eq!(measured.contradiction, None);
            let error = measured.report.clock.offset().error().unwrap();
            // Residual skew, which the error of the offset does not cover.
            let error = error + TimeDelta::from_micros(50);
            let (near, far) = (self.times(from), self.times(to));
            for (packet, delay) in self.delays(measured.segment) {
                let truth = (far[&packet] - near[&packet]).abs();
                assert!((delay - truth).abs() <= error, "{delay} {truth} {error}");
            }
        }
    }
}

pub(super) fn direction(way: PathDirection) -> Direction {
    match way {
        PathDirection::Out => Direction::Forward,
        PathDirection::Back => Direction::Reverse,
    }
}
