//! The event loop of the simulator.

mod passage;

use std::io::{self, Write};

use tcpexp_units::{TimeDelta, Timestamp};

use super::events::{Events, What};
use super::flows::{Flows, State};
use super::ledger::Ledger;
use super::link::{Link, nanos, transfer_nanos};
use super::network::{Direction, Point};
use super::packet::{Body, Packet};
use super::places::Packets;
use super::scenario::Scenario;
use super::tap::{Place, Tap};
use super::tcp::Outgoing;
use super::truth::Truth;
use crate::Prng;

pub(crate) struct Engine<'a, W> {
    scenario: &'a Scenario,
    prng: Prng,
    now: u64,
    events: Events,
    flows: Flows,
    packets: Packets,
    /// The links of each direction, segment by segment from SRC to DST.
    links: [Vec<Link>; 2],
    /// Time at which each host's network card has sent its backlog.
    card_free_at: [u64; 2],
    taps: [Tap<W>; 2],
    /// In the order from SRC to DST.
    middle_taps: Vec<Tap<W>>,
    ledger: Ledger,
    silent: bool,
    outgoing: Vec<Outgoing>,
}

/// The files of a finished run, and the truth about it.
pub(crate) struct Finished<W> {
    pub(crate) ends: [W; 2],
    pub(crate) middles: Vec<W>,
    pub(crate) truth: Truth,
}

impl<'a, W: Write> Engine<'a, W> {
    /// `middles` holds the files of the middle points.
    pub(crate) fn new(
        scenario: &'a Scenario,
        [src, dst]: [W; 2],
        middles: Vec<W>,
        remember: bool,
    ) -> io::Result<Self> {
        let mut prng = Prng::new(scenario.seed);
        let mut ledger = Ledger::new(remember);
        let flows = Flows::new(scenario, &mut prng, &mut ledger.summary);
        let ways = [Direction::Forward, Direction::Reverse];
        let links = |way| {
            let segments = 0..=scenario.middles.len();
            segments
                .map(|segment| Link::new(scenario.segment(segment, way)))
                .collect()
        };
        let middle_taps = middles
            .into_iter()
            .enumerate()
            .map(|(place, out)| Tap::new(scenario, Place::Middle(place), out, remember));
        Ok(Self {
            scenario,
            prng,
            now: 0,
            events: Events::default(),
            flows,
            packets: Packets::default(),
            links: ways.map(links),
            card_free_at: [0; 2],
            taps: [
                Tap::new(scenario, Place::End(Point::Src), src, remember)?,
                Tap::new(scenario, Place::End(Point::Dst), dst, remember)?,
            ],
            middle_taps: middle_taps.collect::<io::Result<_>>()?,
            ledger,
            silent: false,
            outgoing: Vec::new(),
        })
    }

    /// Runs until no event is left.
    pub(crate) fn run(mut self) -> io::Result<Finished<W>> {
        for slot in 0..self.flows.slots.len() as u32 {
            self.schedule(slot);
        }
        while let Some((at, what)) = self.events.next() {
            self.now = at;
            match what {
                What::Upstream(place) => self.upstream(place)?,
                What::Middle(place, passed) => self.middle(place, passed)?,
                What::Downstream(place) => self.downstream(place)?,
                What::Wake(slot, generation) => self.wake(slot, generation)?,
            }
        }
        let [src, dst] = self.taps;
        let mut summary = self.ledger.summary;
        summary.src_records = src.records;
        summary.dst_records = dst.records;
        let (src, src_sightings) = src.finish()?;
        let (dst, dst_sightings) = dst.finish()?;
        let middles = self.middle_taps.into_iter().map(Tap::finish);
        let middles: Vec<_> = middles.collect::<io::Result<_>>()?;
        let (middles, middle_sightings): (_, Vec<_>) = middles.into_iter().unzip();
        let truth = Truth {
            summary,
            packets: self.ledger.packets.unwrap_or_default(),
            src: src_sightings.unwrap_or_default(),
            dst: dst_sightings.unwrap_or_default(),
            middles: middle_sightings.into_iter().flatten().collect(),
        };
        Ok(Finished {
            ends: [src, dst],
            middles,
            truth,
        })
    }

    fn time(&self, nanos: u64) -> Timestamp {
        self.scenario.start + TimeDelta::from_nanos(nanos.cast_signed())
    }

    /// Handles a flow's expired timers.
    fn wake(&mut self, index: u32, generation: u32) -> io::Result<()> {
        let slot = &mut self.flows.slots[index as usize];
        // The heap cannot drop events: an earlier deadline or a later flow in the slot made this
        // event obsolete.
        if slot.generation != generation || slot.wake_at != self.now {
            return Ok(());
        }
        slot.wake_at = u64::MAX;
        if slot
            .merge
            .as_ref()
            .is_some_and(|merge| merge.flush_at <= self.now)
        {
            self.flush_merge(index)?;
        }
        if self.silent {
            self.reschedule_merge(index);
            return Ok(());
        }
        match &mut self.flows.slots[index as usize].state {
            State::Tcp(flow) => flow.wake(self.now, &mut self.outgoing),
            State::Udp(stream) => {
                let now = self.now;
                let due = [Direction::Forward, Direction::Reverse]
                    .map(|direction| (direction, stream.send(now, direction)));
                for (direction, number) in due {
                    if let Some(number) = number {
                        self.send(index, direction, Body::Udp { number }, false);
                    }
                }
            }
        }
        self.send_outgoing(index);
        self.settle(index);
        Ok(())
    }

    /// Updates a flow's timers and handles its end, after any event of the flow.
    fn settle(&mut self, index: u32) {
        self.schedule(index);
        let next = self.flows.settle(
            self.scenario,
            index,
            self.now,
            &mut self.prng,
            &mut self.ledger.summary,
        );
        if let Some(next) = next {
            self.schedule(next);
        }
    }

    /// Schedules the next wake event of a flow.
    fn schedule(&mut self, index: u32) {
        if self.silent {
            self.reschedule_merge(index);
            return;
        }
        let at = self.flows.slots[index as usize].deadline();
        self.wake_at(index, at);
    }

    /// Once the hosts are silent no timer runs, but merged frames must still be delivered.
    fn reschedule_merge(&mut self, index: u32) {
        if let Some(merge) = &self.flows.slots[index as usize].merge {
            let at = merge.flush_at;
            self.wake_at(index, at);
        }
    }

    fn wake_at(&mut self, index: u32, at: u64) {
        let slot = &mut self.flows.slots[index as usize];
        if at < slot.wake_at {
            slot.wake_at = at;
            self.events.at(at, What::Wake(index, slot.generation));
        }
    }

    fn send_outgoing(&mut self, index: u32) {
        // Taken out, because `send` borrows the whole engine, and put back to keep its allocation.
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for sent in outgoing.drain(..) {
            self.send(
                index,
                sent.direction,
                Body::Tcp(sent.segment),
                sent.retransmission,
            );
        }
        self.outgoing = outgoing;
    }

    /// Queues a packet at the network card of its host.
    fn send(&mut self, index: u32, direction: Direction, body: Body, retransmission: bool) {
        let over = self
            .scenario
            .max_packets
            .is_some_and(|most| self.ledger.next_id >= most)
            || self
                .scenario
                .max_time
                .is_some_and(|most| self.now >= nanos(most));
        if over {
            // The hosts fall silent, but packets in flight still arrive, so each packet has a final
            // fate.
            self.silent = true;
            self.flows.begin_no_more();
        }
        if self.silent {
            return;
        }
        let slot = &mut self.flows.slots[index as usize];
        let mut packet = Packet {
            id: self.ledger.next_id,
            slot: index,
            direction,
            ip_id: 0,
            body,
            retransmission,
        };
        let pieces = packet.pieces();
        // A super-segment reserves a number for each piece, because each piece becomes an IP
        // packet.
        packet.ip_id = slot.next_ip_id(self.scenario.ip_id, direction, pieces, &mut self.prng);
        slot.in_flight += 1;
        let way = direction.index();
        let framing = self.scenario.capture(direction.upstream()).framing;
        let frame = slot.identity.frame(&packet, direction.upstream(), framing);
        let ready = self.now + nanos(self.scenario.host_delay);
        // The network card sends in order: a packet waits for the backlog and then takes its own
        // time.
        let at = ready.max(self.card_free_at[way])
            + transfer_nanos(frame.wire_len(), self.scenario.host_rate_bps);
        self.card_free_at[way] = at;
        let passes_at = self.scenario.start + TimeDelta::from_nanos(at.cast_signed());
        self.ledger
            .sent(&slot.identity, &packet, passes_at, self.scenario.ip_id);
        let place = self.packets.put(packet);
        self.events.at(at, What::Upstream(place));
    }
}
