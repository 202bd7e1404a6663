//! The bottleneck's queue from the delays of packets.

use std::collections::VecDeque;

use tcpexp_measure::throughput::BinWidth;
use tcpexp_pair::path::PathPacket;
use tcpexp_pair::spp::PathDirection;
use tcpexp_table::dataset::{QueueRow, QueueSource};
use tcpexp_units::{TimeDelta, Timestamp};

use super::tables::Table;
use crate::Error;

/// Queueing delays in bins of departure time.
///
/// A bin is written once none of its packets can still be in flight, so memory does not grow with
/// the length of the captures.
pub(super) struct QueueBins {
    origin: Timestamp,
    width: TimeDelta,
    /// Time in flight after which a packet counts as lost.
    longest: TimeDelta,
    /// Open bins in order of their keys.
    open: VecDeque<(Key, Bin)>,
    /// Where the last packet's bin was, by [`PathDirection::index`]: mostly that of the next packet.
    latest: [usize; 2],
}

/// Bin number and [`PathDirection::index`].
type Key = (i64, usize);

struct Bin {
    packets: u64,
    sum: i128,
    min: TimeDelta,
    max: TimeDelta,
}

impl QueueBins {
    pub(super) fn new(origin: Timestamp, width: BinWidth, longest: TimeDelta) -> Self {
        Self {
            origin,
            width: width.get(),
            longest,
            open: VecDeque::new(),
            latest: [0; 2],
        }
    }

    /// Adds a packet that arrived. Writes the bins that are complete.
    pub(super) fn add(
        &mut self,
        packet: &PathPacket,
        queue: &mut Table<QueueRow>,
    ) -> Result<(), Error> {
        // No delay is known across a clock step.
        let (Some(at), Some(delay)) = (packet.sent_at, packet.queueing_delay) else {
            return Ok(());
        };
        let key = (self.number(at), packet.path_direction.index());
        let latest = &mut self.latest[packet.path_direction.index()];
        if let Some((open, bin)) = self.open.get_mut(*latest)
            && *open == key
        {
            bin.add(delay);
            return Ok(());
        }
        match self.open.binary_search_by_key(&key, |(open, _)| *open) {
            Ok(place) => {
                *latest = place;
                self.open[place].1.add(delay);
                return Ok(());
            }
            Err(place) => self.open.insert(place, (key, Bin::of(delay))),
        }
        // A packet that left before this limit and arrives later counts as lost and enters no bin.
        let over = self.number(at - self.longest);
        while self.open.front().is_some_and(|(key, _)| key.0 < over)
            && let Some((key, bin)) = self.open.pop_front()
        {
            queue.add(self.row(key, &bin))?;
        }
        Ok(())
    }

    /// Writes the open bins.
    pub(super) fn finish(mut self, queue: &mut Table<QueueRow>) -> Result<(), Error> {
        let open = std::mem::take(&mut self.open);
        open.into_iter()
            .try_for_each(|(key, bin)| queue.add(self.row(key, &bin)))
    }

    fn number(&self, at: Timestamp) -> i64 {
        // Euclidean division gives packets before the origin negative numbers instead of bin 0.
        (at - self.origin)
            .as_nanos()
            .div_euclid(self.width.as_nanos())
    }

    fn row(&self, (number, path_direction): (i64, usize), bin: &Bin) -> QueueRow {
        let mean = bin.sum / i128::from(bin.packets);
        QueueRow {
            at: self.origin + TimeDelta::from_nanos(number.saturating_mul(self.width.as_nanos())),
            source: QueueSource::Packets {
                path_direction: PathDirection::BOTH[path_direction],
                width: self.width,
                packets: bin.packets,
                min: bin.min,
                // The mean lies between two delays of 64 bits, so the conversion does not fail.
                mean: TimeDelta::from_nanos(i64::try_from(mean).unwrap_or(i64::MAX)),
                max: bin.max,
            },
        }
    }
}

impl Bin {
    fn of(delay: TimeDelta) -> Self {
        Self {
            packets: 1,
            sum: delay.as_nanos().into(),
            min: delay,
            max: delay,
        }
    }

    fn add(&mut self, delay: TimeDelta) {
        self.packets += 1;
        self.sum += i128::from(delay.as_nanos());
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
    }
}
