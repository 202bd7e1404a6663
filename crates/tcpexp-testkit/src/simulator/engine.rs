//! The event loop of the simulator.

use std::io::{self, Write};

use tcpexp_units::{TimeDelta, Timestamp};

use super::events::{Events, What};
use super::flows::{Flows, State, offload_segments};
use super::ledger::Ledger;
use super::link::{Link, Verdict, nanos, transfer_nanos};
use super::merge::Merge;
use super::network::{Direction, Point};
use super::packet::{Body, Packet, Protocol};
use super::places::Packets;
use super::scenario::Scenario;
use super::tap::{Place, Tap};
use super::tcp::Outgoing;
use super::truth::{PacketId, Truth};
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

    /// A frame passes the first point and enters the network; a super-segment enters in pieces.
    fn upstream(&mut self, place: u32) -> io::Result<()> {
        let packet = self.packets.take(place);
        let point = packet.direction.upstream();
        let pieces = packet.pieces();
        let ids = packet.id..packet.id + u64::from(pieces);
        let wire_len = self.capture(&packet, point, &ids)?;
        self.flows.slots[packet.slot as usize].in_flight -= 1;
        for number in 0..pieces {
            let piece = packet.piece(number, self.scenario.ip_id);
            // Each piece has its own headers, and the last piece may be shorter.
            let bytes = if pieces == 1 {
                wire_len
            } else {
                let slot = &self.flows.slots[packet.slot as usize];
                let framing = self.scenario.capture(point).framing;
                slot.identity.frame(&piece, point, framing).wire_len()
            };
            self.enter(piece, bytes, 0);
        }
        // Only after the pieces entered: a slot without a packet in flight may pass to another
        // flow.
        self.settle(packet.slot);
        Ok(())
    }

    /// One packet enters the queue of the next segment; it has passed this many middle points.
    fn enter(&mut self, packet: Packet, bytes: u32, passed: usize) {
        let way = packet.direction.index();
        let segment = match packet.direction {
            Direction::Forward => passed,
            Direction::Reverse => self.middle_taps.len() - passed,
        };
        let verdict = self.links[way][segment].enter(self.now, bytes, &mut self.prng);
        let flow = self.flows.slots[packet.slot as usize].identity.number;
        let copy_id = self.ledger.decided(flow, &packet, segment, verdict);
        if let Verdict::Arrives(at, copy_at) = verdict {
            self.arrive_at(at, packet, passed);
            if let Some(copy_at) = copy_at {
                let copy = Packet {
                    id: copy_id,
                    ..packet
                };
                self.arrive_at(copy_at, copy, passed);
            }
        }
    }

    fn arrive_at(&mut self, at: u64, packet: Packet, passed: usize) {
        self.flows.slots[packet.slot as usize].in_flight += 1;
        let place = self.packets.put(packet);
        let what = if passed < self.middle_taps.len() {
            What::Middle(place, passed as u32)
        } else {
            What::Downstream(place)
        };
        self.events.at(at, what);
    }

    /// A packet passes a middle point and enters the next segment.
    fn middle(&mut self, place: u32, passed: u32) -> io::Result<()> {
        let packet = self.packets.take(place);
        let passed = passed as usize;
        let number = match packet.direction {
            Direction::Forward => passed,
            Direction::Reverse => self.middle_taps.len() - 1 - passed,
        };
        let at = self.time(self.now);
        let slot = &mut self.flows.slots[packet.slot as usize];
        slot.in_flight -= 1;
        // Addresses are translated on the last segment only.
        let framing = self.scenario.middles[number].capture.framing;
        let frame = slot.identity.frame(&packet, Point::Src, framing);
        let id = std::iter::once(packet.id);
        self.middle_taps[number].record(self.scenario, at, &frame, &id)?;
        let bytes = frame.wire_len();
        self.enter(packet, bytes, passed + 1);
        self.settle(packet.slot);
        Ok(())
    }

    /// A packet passes the second point.
    fn downstream(&mut self, place: u32) -> io::Result<()> {
        let packet = self.packets.take(place);
        self.ledger.arrived(&packet, self.time(self.now));
        let slot = &mut self.flows.slots[packet.slot as usize];
        slot.in_flight -= 1;
        let offload = self
            .scenario
            .capture(packet.direction.downstream())
            .gro_segments;
        let most = match &slot.identity.protocol {
            Protocol::Tcp { load, .. } => offload_segments(load, offload),
            Protocol::Udp(_) => 1,
        };
        if let Some(merge) = &mut slot.merge
            && merge.take(&packet)
        {
            if merge.full(most) {
                self.flush_merge(packet.slot)?;
            }
        } else {
            // Offload keeps the order: a frame that does not continue the merged frame delivers it
            // first.
            self.flush_merge(packet.slot)?;
            let slot = &mut self.flows.slots[packet.slot as usize];
            slot.merge = if most > 1 {
                Merge::start(self.now, &packet)
            } else {
                None
            };
            if slot.merge.is_none() {
                self.arrived(&packet, &[packet.id])?;
            }
        }
        self.settle(packet.slot);
        Ok(())
    }

    fn flush_merge(&mut self, index: u32) -> io::Result<()> {
        match self.flows.slots[index as usize].merge.take() {
            Some(merge) => self.arrived(&merge.packet, &merge.ids),
            None => Ok(()),
        }
    }

    /// Captures a frame, merged or single, and delivers it to its host.
    fn arrived(&mut self, packet: &Packet, ids: &[PacketId]) -> io::Result<()> {
        let point = packet.direction.downstream();
        self.capture(packet, point, &ids.iter().copied())?;
        let slot = &mut self.flows.slots[packet.slot as usize];
        if let (State::Tcp(flow), Body::Tcp(segment)) = (&mut slot.state, &packet.body) {
            flow.receive(self.now, packet.direction, segment, &mut self.outgoing);
            self.send_outgoing(packet.slot);
        }
        Ok(())
    }

    /// Records a frame at a point; returns its length on the wire in bytes.
    fn capture(
        &mut self,
        packet: &Packet,
        point: Point,
        ids: &(impl Iterator<Item = PacketId> + Clone),
    ) -> io::Result<u32> {
        let at = self.time(self.now);
        let spec = self.scenario.capture(point);
        let slot = &self.flows.slots[packet.slot as usize];
        let mut frame = slot.identity.frame(packet, point, spec.framing);
        // Only received frames are padded: a capture at the sender sees the frame before its
        // network card.
        if point == packet.direction.downstream() {
            frame.min_frame_bytes = spec.min_frame_bytes;
        }
        self.taps[point as usize].record(self.scenario, at, &frame, ids)?;
        Ok(frame.wire_len())
    }
}
