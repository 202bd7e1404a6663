//! The flows of a run: waiting, live and finished.

use super::link::nanos;
use super::load::{TcpLoad, UdpLoad};
use super::merge::Merge;
use super::network::Direction;
use super::packet::{Identity, Protocol};
use super::scenario::{IpId, Scenario};
use super::sender::NEVER;
use super::tcp::TcpFlow;
use super::truth::{FlowTruth, Summary};
use crate::Prng;

/// A slot for one live flow; a later flow reuses it once no packet of this flow is in flight.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) generation: u32,
    pub(crate) identity: Identity,
    pub(crate) state: State,
    pub(crate) ip_id: [u16; 2],
    /// Packets in flight.
    pub(crate) in_flight: u32,
    /// Time of the earliest wake event.
    pub(crate) wake_at: u64,
    pub(crate) merge: Option<Merge>,
    /// The load of the flow; `None` once the end of the flow is recorded.
    load: Option<usize>,
}

#[derive(Debug)]
pub(crate) enum State {
    Tcp(Box<TcpFlow>),
    Udp(UdpStream),
}

/// Both senders of one UDP stream; by direction.
#[derive(Debug)]
pub(crate) struct UdpStream {
    interval: u64,
    /// Maximum of the additional time between datagrams, and where it is drawn from; `None` at a
    /// constant rate.
    jitter: Option<(u64, Prng)>,
    left: [u64; 2],
    sent: [u64; 2],
    next_at: [u64; 2],
}

impl UdpStream {
    fn new(load: &UdpLoad, prng: &mut Prng) -> Self {
        let interval = nanos(load.interval);
        let jitter = nanos(load.interval_jitter);
        let wanted = [load.forward, load.reverse];
        Self {
            interval,
            // A generator of its own, so that draws of a stream do not depend on other events of
            // the run.
            jitter: (jitter > 0).then(|| (jitter, Prng::new(prng.bits()))),
            left: wanted.map(|sends| if sends { load.datagrams } else { 0 }),
            sent: [0; 2],
            next_at: wanted.map(|_| prng.below(interval)),
        }
    }

    /// Returns the number of the datagram that is due, if any.
    pub(crate) fn send(&mut self, now: u64, direction: Direction) -> Option<u64> {
        let way = direction.index();
        if self.left[way] == 0 || self.next_at[way] > now {
            return None;
        }
        self.left[way] -= 1;
        self.sent[way] += 1;
        let jitter = self.jitter.as_mut();
        let more = jitter.map_or(0, |(longest, prng)| prng.below(*longest));
        self.next_at[way] += self.interval + more;
        Some(self.sent[way] - 1)
    }

    fn deadline(&self) -> u64 {
        (0..2)
            .filter(|way| self.left[*way] > 0)
            .map(|way| self.next_at[way])
            .min()
            .unwrap_or(NEVER)
    }
}

impl Slot {
    /// Time of the flow's next action.
    pub(crate) fn deadline(&self) -> u64 {
        let own = match &self.state {
            State::Tcp(flow) => flow.deadline(),
            State::Udp(stream) => stream.deadline(),
        };
        own.min(self.merge.as_ref().map_or(NEVER, |merge| merge.flush_at))
    }

    /// Reserves `count` Identification numbers and returns the first.
    pub(crate) fn next_ip_id(
        &mut self,
        mode: IpId,
        direction: Direction,
        count: u32,
        prng: &mut Prng,
    ) -> u16 {
        let counter = &mut self.ip_id[direction.index()];
        let first = *counter;
        *counter = counter.wrapping_add(count as u16);
        match mode {
            IpId::Counter => first,
            IpId::Zero => 0,
            IpId::Random => prng.bits() as u16,
            IpId::Wrapping(after) => {
                *counter %= after;
                first % after
            }
        }
    }
}

/// All flows of a run.
#[derive(Debug)]
pub(crate) struct Flows {
    pub(crate) slots: Vec<Slot>,
    free: Vec<u32>,
    /// Number of flows of each TCP load that have not begun.
    waiting: Vec<u32>,
}

impl Flows {
    /// Begins the initial flows.
    pub(crate) fn new(scenario: &Scenario, prng: &mut Prng, summary: &mut Summary) -> Self {
        let mut flows = Self {
            slots: Vec::new(),
            free: Vec::new(),
            waiting: scenario.tcp.iter().map(|load| load.flows).collect(),
        };
        for (index, load) in scenario.tcp.iter().enumerate() {
            for _ in 0..load.parallel.min(load.flows) {
                let start_at = prng.below(nanos(load.stagger) + 1);
                flows.begin_tcp(scenario, index, start_at, prng, summary);
            }
        }
        for load in &scenario.udp {
            for _ in 0..load.flows {
                let state = State::Udp(UdpStream::new(load, prng));
                let number = summary.flows.len() as u32;
                let identity = Identity::new(number, load.ip, scenario.nat, Protocol::Udp(*load));
                flows.place(identity, state, None, prng, summary);
            }
        }
        flows
    }

    /// Stops new flows from replacing finished flows.
    pub(crate) fn begin_no_more(&mut self) {
        self.waiting.fill(0);
    }

    /// Records a flow's end. Frees its slot once no packet is in flight, and begins the next flow
    /// of the same load. Returns the slot of the new flow.
    pub(crate) fn settle(
        &mut self,
        scenario: &Scenario,
        index: u32,
        now: u64,
        prng: &mut Prng,
        summary: &mut Summary,
    ) -> Option<u32> {
        let slot = &mut self.slots[index as usize];
        // No other flow waits for the end of a UDP stream, so a stream keeps its slot.
        let State::Tcp(flow) = &slot.state else {
            return None;
        };
        if !flow.finished {
            return None;
        }
        let ended = slot.load.take();
        if ended.is_some() {
            summary.flows[slot.identity.number as usize].completed = flow.completed;
        }
        // A free slot has an even generation, so it is not freed twice.
        if slot.in_flight == 0 && slot.merge.is_none() && slot.generation % 2 == 1 {
            slot.generation += 1;
            self.free.push(index);
        }
        let load = ended.filter(|load| self.waiting[*load] > 0)?;
        let start_at = now + prng.below(1_000_000);
        Some(self.begin_tcp(scenario, load, start_at, prng, summary))
    }

    fn begin_tcp(
        &mut self,
        scenario: &Scenario,
        index: usize,
        start_at: u64,
        prng: &mut Prng,
        summary: &mut Summary,
    ) -> u32 {
        let load = scenario.tcp[index];
        self.waiting[index] -= 1;
        let segments = load.segments();
        let sending = scenario.capture(load.direction.upstream());
        let tso = offload_segments(&load, sending.tso_segments);
        let ts_base = [prng.bits() as u32, prng.bits() as u32];
        let isn = [prng.bits() as u32, prng.bits() as u32];
        let protocol = Protocol::Tcp {
            load,
            segments,
            isn,
        };
        let flow = TcpFlow::new(load, segments, tso, ts_base, start_at);
        let number = summary.flows.len() as u32;
        let identity = Identity::new(number, load.ip, scenario.nat, protocol);
        self.place(
            identity,
            State::Tcp(Box::new(flow)),
            Some(index),
            prng,
            summary,
        )
    }

    fn place(
        &mut self,
        identity: Identity,
        state: State,
        load: Option<usize>,
        prng: &mut Prng,
        summary: &mut Summary,
    ) -> u32 {
        summary.flows.push(FlowTruth {
            protocol: if load.is_some() { 6 } else { 17 },
            client: identity.client[0],
            client_at_dst: identity.client[1],
            server: identity.server,
            sent: [0; 2],
            lost: [0; 2],
            retransmitted: [0; 2],
            payload_bytes: [0; 2],
            completed: false,
        });
        let mut slot = Slot {
            // Odd while the slot is in use.
            generation: 1,
            identity,
            state,
            ip_id: [prng.bits() as u16, prng.bits() as u16],
            in_flight: 0,
            wake_at: NEVER,
            merge: None,
            load,
        };
        if let Some(index) = self.free.pop() {
            let old = &mut self.slots[index as usize];
            slot.generation = old.generation + 1;
            *old = slot;
            index
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        }
    }
}

/// Returns the segments of a super-segment: `asked`, limited to the size of one IP packet.
pub(crate) fn offload_segments(load: &TcpLoad, asked: u32) -> u32 {
    asked.min(65_400 / u32::from(load.mss)).max(1)
}
