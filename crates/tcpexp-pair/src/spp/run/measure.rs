//! The measurement loop: reads both captures side by side and spreads the flows over shards.

use super::batch::{Batch, Options, Totals};
use super::order::{in_order, times_in_order};
use super::pairs::SHARDS;
use super::reader::{CHUNK, Chunk, Reader};
use super::shard::Shard;
use super::yields::Yield;
use crate::spp::alignment::{Alignment, Shifts};
use crate::spp::clock::lesser;
use crate::spp::linking::{Event, Found, Linker, Listener, Marker, PairedFlow, Sighting};
use crate::spp::matching::{Setting, widen, widen_each};
use crate::spp::pairing::RttSample;
use crate::spp::point::Point;
use rayon::prelude::*;
use tcpexp_flow::FlowId;
use tcpexp_flow::Packets;
use tcpexp_units::Timestamp;

/// Measures round-trip times between two captures and passes them to `sink` in batches.
///
/// Memory use depends on the live flows and the packets in flight. The batches do not depend on the
/// number of threads.
pub fn measure<E: Send>(
    src: &mut impl Packets,
    dst: &mut impl Packets,
    alignment: Alignment,
    options: Options,
    mut sink: impl FnMut(Batch) -> Result<(), E> + Send,
) -> Result<Totals, E> {
    let max_flows = src.max_flows().max(dst.max_flows());
    let mut setting = Setting::new(&alignment, options.max_owd, max_flows);
    setting.misses = options.misses;
    setting.weighs = options.outcomes;
    let marker = Marker::new(&alignment.identification);
    let mut src = Reader::new(
        src,
        setting.clock.reader(Point::Src),
        marker,
        Shifts::default(),
    );
    // A shift is destination minus source, so only numbers at the destination are corrected.
    let shifts = Shifts::new(&alignment.identification.shifted);
    let mut dst = Reader::new(dst, setting.clock.reader(Point::Dst), marker, shifts);
    let translated = alignment.identification.translated;
    let mut run = Run {
        linker: Linker::new(alignment.sides, translated),
        shards: std::iter::repeat_with(|| Shard::new(options.outcomes, options.samples))
            .take(SHARDS)
            .collect(),
        setting,
        chunks: Default::default(),
        totals: Totals::default(),
    };
    let mut next = read(&mut src, &mut dst, [true; 2]);
    let mut before = None;
    // Stay in the thread pool: re-entering it for each round is slow.
    rayon::scope(|_| {
        loop {
            let wanted = run.take(&mut next);
            // The longest task comes first; the other threads help to finish it.
            let (batch, (upcoming, taken)) = rayon::join(
                || run.round(),
                || {
                    rayon::join(
                        || read(&mut src, &mut dst, wanted),
                        || before.take().map_or(Ok(()), &mut sink),
                    )
                },
            );
            taken?;
            before = Some(batch);
            for (place, chunk) in next.iter_mut().zip(upcoming) {
                *place = place.take().or(chunk);
            }
            if run.is_done() {
                break before.take().map_or(Ok(()), &mut sink);
            }
        }
    })?;
    run.finish(sink)?;
    run.forget_contradicted_misses();
    Ok(Totals {
        unpaired: run.linker.unpaired(),
        not_held: run.linker.not_held(),
        flows_shed: [src.flows_shed(), dst.flows_shed()],
        contradicted: run.setting.contradicted,
        ..run.totals
    })
}

/// Reads the next chunk of each wanted capture, both in parallel.
fn read(
    src: &mut Reader<'_, impl Packets>,
    dst: &mut Reader<'_, impl Packets>,
    wanted: [bool; 2],
) -> [Option<Chunk>; 2] {
    let (src, dst) = rayon::join(
        || (wanted[0] && !src.is_at_end).then(|| src.chunk()),
        || (wanted[1] && !dst.is_at_end).then(|| dst.chunk()),
    );
    [src, dst]
}

struct Run {
    linker: Linker,
    shards: Vec<Shard>,
    setting: Setting,
    chunks: [Option<Chunk>; 2],
    totals: Totals,
}

impl Run {
    /// Replaces chunks that are used up and returns which chunks must be read next.
    fn take(&mut self, next: &mut [Option<Chunk>; 2]) -> [bool; 2] {
        let latest_record = &mut self.setting.latest_record;
        Point::BOTH.map(|point| {
            let current = &mut self.chunks[point.index()];
            let is_used_up = current
                .as_ref()
                .is_none_or(|chunk| chunk.is_used_up() && !chunk.is_last);
            if is_used_up && let Some(chunk) = next[point.index()].take() {
                latest_record[point.index()] = latest_record[point.index()].max(chunk.last_record);
                *current = Some(chunk);
            }
            next[point.index()].is_none()
        })
    }

    fn is_done(&self) -> bool {
        self.chunks
            .iter()
            .flatten()
            .all(|chunk| chunk.is_last && chunk.is_used_up())
    }

    /// Processes both captures up to the same time.
    fn round(&mut self) -> Batch {
        let open = self.chunks.iter().flatten().filter(|chunk| !chunk.is_last);
        // Beyond the end of the shorter chunk, its capture may still have earlier packets.
        let until = open
            .map(|chunk| chunk.until)
            .min()
            .unwrap_or(Timestamp::MAX);
        let mut batch = Batch::default();
        self.link(until, &mut batch);
        let setting = &self.setting;
        // All shards give up packets at the same times.
        let shard = self.shards.first();
        let gives_up = shard.is_some_and(|shard| shard.gives_up_at(until, setting));
        // Each shard is a task of its own, so none waits for a neighbour with a busy flow.
        let shards = self.shards.par_iter_mut().with_max_len(1);
        let yields = if gives_up {
            shards.for_each(|shard| shard.advance(until, setting));
            self.learn_misses(until);
            let (shards, setting) = (self.shards.par_iter_mut(), &self.setting);
            shards
                .map(|shard| shard.end_round(until, setting))
                .collect()
        } else {
            let round = shards.map(|shard| {
                shard.advance(until, setting);
                shard.end_round(until, setting)
            });
            round.collect()
        };
        self.gather(yields, &mut batch);
        self.setting.forget_strays(until);
        batch
    }

    /// Finds captures that provably missed a packet, before packets that left up to then are given
    /// up: a packet of another flow may have been missed together with it.
    fn learn_misses(&mut self, now: Timestamp) {
        let setting = &self.setting;
        if !setting.weighs || setting.misses == [true; 2] {
            return;
        }
        let proven = self.shards.par_iter_mut();
        let misses = proven
            .map(|shard| shard.proven_misses(now, setting))
            .reduce(
                || setting.misses,
                |one, other| [one[0] | other[0], one[1] | other[1]],
            );
        self.setting.misses = misses;
    }

    /// Arrivals around an unknown clock step do not show that a capture misses packets.
    fn forget_contradicted_misses(&mut self) {
        let Self {
            setting, totals, ..
        } = self;
        setting.contradicted = totals.contradicted.or(setting.contradicted);
        for (unseen, between) in totals.unseen.iter_mut().zip(totals.unseen_between) {
            let is_contradicted =
                |(first, last)| setting.is_contradicted(first) && setting.is_contradicted(last);
            if between.is_some_and(is_contradicted) {
                *unseen = 0;
            }
        }
    }

    /// Summarises the remaining flows in batches of some thousand: there may be a million.
    fn finish<E>(&mut self, mut sink: impl FnMut(Batch) -> Result<(), E>) -> Result<(), E> {
        self.learn_misses(Timestamp::MAX);
        let setting = &self.setting;
        let yields = self
            .shards
            .par_iter_mut()
            .map(|shard| shard.finish(setting))
            .collect();
        let mut batch = Batch::default();
        self.gather(yields, &mut batch);
        if !batch.outcomes.is_empty() {
            sink(batch)?;
        }
        let mut flows = (0..self.linker.flows_found()).map(FlowId).peekable();
        while flows.peek().is_some() {
            let some = flows.by_ref().take(CHUNK);
            let ended = some.filter_map(|flow| self.shards[flow.0 as usize % SHARDS].close(flow));
            sink(Batch {
                ended: ended.collect(),
                ..Batch::default()
            })?;
        }
        Ok(())
    }

    /// Passes all sightings up to `until` to the shards, both points in order of time.
    fn link(&mut self, until: Timestamp, batch: &mut Batch) {
        let Self {
            linker,
            shards,
            setting,
            chunks,
            ..
        } = self;
        let [src, dst] = chunks;
        let mut dealer = Dealer {
            shards,
            setting,
            until,
            flows: &mut batch.flows,
            strays: Vec::new(),
            is_at_end: false,
        };
        loop {
            let src_at = src.as_ref().and_then(|chunk| chunk.next_at(until));
            let dst_at = dst.as_ref().and_then(|chunk| chunk.next_at(until));
            let (point, chunk, other_at) = match (src_at, dst_at) {
                (None, None) => break,
                (Some(s), Some(d)) if d < s => (Point::Dst, &mut *dst, src_at),
                (None, Some(_)) => (Point::Dst, &mut *dst, src_at),
                (Some(_), _) => (Point::Src, &mut *src, dst_at),
            };
            // Stay with this point while it is behind the other.
            let limit = other_at.unwrap_or(until).min(until);
            if let Some(chunk) = chunk {
                chunk.pass(point, limit, linker, &mut dealer);
            }
        }
        for (point, chunk) in [(Point::Src, src), (Point::Dst, dst)] {
            if let Some(chunk) = chunk
                && chunk.is_used_up()
            {
                // The flow table reports ends per chunk and not by packet, so they follow the whole
                // chunk.
                dealer.is_at_end = false;
                for (slot, was_shed) in chunk.ended.drain(..) {
                    if was_shed {
                        linker.shed(point, slot, &mut dealer);
                    }
                    linker.end(point, slot, &mut dealer);
                }
                dealer.is_at_end = true;
                for slot in chunk.remaining.drain(..) {
                    linker.end(point, slot, &mut dealer);
                }
            }
        }
        for (point, at, digest) in dealer.strays {
            setting.strays[point.index()].add(at, digest);
        }
    }

    fn gather(&mut self, mut yields: Vec<Yield>, batch: &mut Batch) {
        for yielded in &mut yields {
            batch.ended.append(&mut yielded.ended);
            self.totals.given_up_early += yielded.given_up_early;
            self.totals.across_steps += yielded.across_steps;
            self.totals.uncertain += yielded.uncertain;
            for (unseen, yielded) in self.totals.unseen.iter_mut().zip(yielded.unseen) {
                *unseen += yielded;
            }
            widen_each(&mut self.totals.unseen_between, yielded.unseen_between);
            for at in yielded.contradicted.into_iter().flat_map(<[_; 2]>::from) {
                widen(&mut self.totals.contradicted, at);
            }
            let least_delays = self.totals.least_delays.iter_mut();
            for (least, yielded) in least_delays.zip(yielded.least_delays) {
                *least = lesser(*least, yielded);
            }
            widen_each(&mut self.setting.proven, yielded.proven);
        }
        // Each shard's samples are in order, so the sort merges a few long runs. It moves places
        // instead of samples and outcomes, which are several times as large.
        let order = in_order(
            &yields,
            |yielded| &yielded.samples,
            || |(at, sample): &(Timestamp, RttSample)| (*at, sample.flow, sample.direction),
        );
        let sample = |[shard, place]: [u32; 2]| yields[shard as usize].samples[place as usize].1;
        batch.samples = order.map(sample).collect();
        let order = in_order(&yields, |yielded| &yielded.outcomes, times_in_order);
        let outcome = |[shard, place]: [u32; 2]| yields[shard as usize].outcomes[place as usize];
        batch.outcomes = order.map(outcome).collect();
    }
}

/// Distributes flows to shards.
struct Dealer<'a> {
    shards: &'a mut [Shard],
    setting: &'a Setting,
    /// End of the round on the timeline.
    until: Timestamp,
    /// Flows found in this round.
    flows: &'a mut Vec<PairedFlow>,
    /// Packets in flows of one point: the point, time and mark digest.
    strays: Vec<(Point, Timestamp, [u64; 2])>,
    /// True if the flows that end now end with their capture: `finish` closes them, some thousand
    /// at a time.
    is_at_end: bool,
}

impl Dealer<'_> {
    #[inline]
    fn shard(&mut self, flow: FlowId) -> &mut Shard {
        &mut self.shards[flow.0 as usize % SHARDS]
    }
}

impl Listener for Dealer<'_> {
    fn found(&mut self, found: Found) {
        self.flows.push(found.flow.clone());
        let setting = self.setting;
        self.shard(found.flow.flow).found(found, setting);
    }

    #[inline]
    fn seen(&mut self, point: Point, event: Event) {
        self.shard(event.flow).see(point, event);
    }

    fn strayed(&mut self, point: Point, sighting: &Sighting) {
        if self.setting.weighs {
            let stray = (point, sighting.at, sighting.mark.digest);
            self.strays.push(stray);
        }
    }

    fn broken(&mut self, flow: FlowId) {
        self.shard(flow).break_off(flow);
    }

    fn ended(&mut self, flow: FlowId) {
        if self.is_at_end {
            return;
        }
        let (until, setting) = (self.until, self.setting);
        self.shard(flow).end(flow, until, setting);
    }
}
