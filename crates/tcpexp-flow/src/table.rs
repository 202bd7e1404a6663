//! Which flow a packet belongs to.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{Packet, Transport};

use crate::flow::Stream;
use crate::{Direction, End, Flow, FlowId, FlowKey, InitiatorKnown, Protocol, StreamOffset};

/// When a flow that nothing is heard of is over, by capture time.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// A TCP connection that is open. RFC 5382, section 5, has middleboxes keep one for two hours
    /// and four minutes; a flow table that does the same never splits what still works.
    pub open: TimeDelta,
    /// A TCP connection of which only one end has been heard (RFC 5382: four minutes).
    pub opening: TimeDelta,
    /// A TCP connection that was closed or reset: late retransmissions still belong to it.
    pub closed: TimeDelta,
    /// A UDP flow (RFC 4787, section 4.3, recommends five minutes).
    pub udp: TimeDelta,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            open: TimeDelta::from_seconds(7440),
            opening: TimeDelta::from_seconds(240),
            closed: TimeDelta::from_seconds(60),
            udp: TimeDelta::from_seconds(300),
        }
    }
}

/// Where a flow is kept in its [`FlowTable`]; used again once the flow has been drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u32);

impl Slot {
    /// For arrays with one place per slot.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What the table says of one packet.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// The packet's flow.
    pub flow: FlowId,
    /// Where the table keeps it.
    pub slot: Slot,
    /// Which way the packet goes.
    pub direction: Direction,
    /// Whether it is the flow's first.
    pub is_first: bool,
    /// Offset of its first sequence number; `None` for UDP.
    pub start: Option<StreamOffset>,
}

/// A packet that seems to come so long after the one before it has a nonsense time, unless the next
/// packet has one like it. Captures are silent for minutes or hours; a header that was overwritten
/// or a clock that was never set is off by years.
const INCREDIBLE_SILENCE: TimeDelta = TimeDelta::from_seconds(86_400);

/// The flows that are alive at one point of one capture.
///
/// Memory follows the live flows: what is closed or idle leaves by capture time. Packets may be
/// slightly out of order; time that goes backwards ends nothing, and neither does one packet with a
/// nonsense time. It may still cut its own flow in two if it is less than a day ahead, where it
/// looks like the end of a silence.
#[derive(Debug)]
pub struct FlowTable {
    timeouts: Timeouts,
    // The state is fixed, so that the same capture is walked the same way every time.
    slots_by_key: HashMap<FlowKey, Slot, FixedState>,
    flows: Vec<Flow>,
    free: Vec<Slot>,
    ended: Vec<Slot>,
    latest: Option<(FlowKey, Slot)>,
    next_id: FlowId,
    previous: Timestamp,
    swept: Timestamp,
    sweep_interval: TimeDelta,
    tracked_since_sweep: usize,
}

impl Default for FlowTable {
    fn default() -> Self {
        Self::new(Timeouts::default())
    }
}

impl FlowTable {
    /// An empty table.
    pub fn new(timeouts: Timeouts) -> Self {
        let Timeouts {
            open,
            opening,
            closed,
            udp,
        } = timeouts;
        let shortest = open.min(opening).min(closed).min(udp);
        Self {
            timeouts,
            slots_by_key: HashMap::default(),
            flows: Vec::new(),
            free: Vec::new(),
            ended: Vec::new(),
            latest: None,
            next_id: FlowId(0),
            previous: Timestamp::MIN,
            swept: Timestamp::MIN,
            // A flow stays that much too long at the most.
            sweep_interval: TimeDelta::from_nanos(shortest.as_nanos() / 4),
            tracked_since_sweep: 0,
        }
    }

    /// Takes in the capture's next packet and tells its flow.
    #[inline]
    pub fn track(&mut self, at: Timestamp, packet: &Packet<'_>) -> Tracked {
        let now = self.pass(at);
        let (key, sender) = FlowKey::of(packet);
        let (slot, is_first) = match self.find(&key) {
            Some(slot) if !self.is_over(slot, now, sender, packet) => (slot, false),
            Some(slot) => {
                self.end(slot);
                (self.open(at, key, sender, packet), true)
            }
            None => (self.open(at, key, sender, packet), true),
        };
        self.latest = Some((key, slot));
        let flow = &mut self.flows[slot.index()];
        flow.last_seen = flow.last_seen.max(at);
        let start = match &packet.transport {
            Transport::Tcp(tcp) => {
                flow.reset |= tcp.flags.rst();
                Some(flow.streams[sender as usize].advance(tcp, packet.payload_bytes))
            }
            Transport::Udp(_) => None,
        };
        Tracked {
            flow: flow.id,
            slot,
            direction: flow.direction(sender),
            is_first,
            start,
        }
    }

    /// The flow kept in `slot`.
    ///
    /// # Panics
    ///
    /// If `slot` is not one that this table gave out.
    pub fn flow(&self, slot: Slot) -> &Flow {
        &self.flows[slot.index()]
    }

    /// How many flows are alive.
    pub fn len(&self) -> usize {
        self.slots_by_key.len()
    }

    /// Whether no flow is alive.
    pub fn is_empty(&self) -> bool {
        self.slots_by_key.is_empty()
    }

    /// How many flows there have been.
    pub fn flows_seen(&self) -> u32 {
        self.next_id.0
    }

    /// Hands out the flows that ended since the last call; their slots may be used again after it.
    pub fn drain_ended(&mut self, mut each: impl FnMut(Slot, &Flow)) {
        for slot in self.ended.drain(..) {
            each(slot, &self.flows[slot.index()]);
            self.free.push(slot);
        }
    }

    /// Ends all flows, for the end of the capture.
    pub fn end_all(&mut self) {
        let mut slots: Vec<Slot> = self.slots_by_key.drain().map(|(_, slot)| slot).collect();
        slots.sort_unstable();
        self.ended.append(&mut slots);
        self.latest = None;
    }

    #[inline]
    fn find(&self, key: &FlowKey) -> Option<Slot> {
        match self.latest {
            Some((latest, slot)) if latest == *key => Some(slot),
            _ => self.slots_by_key.get(key).copied(),
        }
    }

    fn is_over(&self, slot: Slot, now: Timestamp, sender: End, packet: &Packet<'_>) -> bool {
        let flow = &self.flows[slot.index()];
        match &packet.transport {
            Transport::Tcp(tcp) if flow.is_reused_by(sender, tcp) => true,
            _ => self.is_idle(flow, now),
        }
    }

    fn is_idle(&self, flow: &Flow, now: Timestamp) -> bool {
        let timeout = match flow.key.protocol() {
            Protocol::Udp => self.timeouts.udp,
            Protocol::Tcp if flow.is_closed() => self.timeouts.closed,
            Protocol::Tcp if flow.is_opening() => self.timeouts.opening,
            Protocol::Tcp => self.timeouts.open,
        };
        now - flow.last_seen > timeout
    }

    fn open(&mut self, at: Timestamp, key: FlowKey, sender: End, packet: &Packet<'_>) -> Slot {
        let (initiator, initiator_known) = match &packet.transport {
            Transport::Tcp(tcp) if tcp.flags.syn() && tcp.flags.ack() => {
                (sender.opposite(), InitiatorKnown::SynAck)
            }
            Transport::Tcp(tcp) if tcp.flags.syn() => (sender, InitiatorKnown::Syn),
            _ => (sender, InitiatorKnown::FirstPacket),
        };
        let flow = Flow {
            id: self.next_id,
            key,
            initiator,
            initiator_known,
            first_seen: at,
            last_seen: at,
            streams: [Stream::default(); 2],
            reset: false,
        };
        self.next_id = FlowId(self.next_id.0.wrapping_add(1));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.flows[slot.index()] = flow;
                slot
            }
            None => {
                self.flows.push(flow);
                Slot(self.flows.len() as u32 - 1)
            }
        };
        self.slots_by_key.insert(key, slot);
        slot
    }

    fn end(&mut self, slot: Slot) {
        self.slots_by_key.remove(&self.flows[slot.index()].key);
        self.ended.push(slot);
    }

    /// Lets time pass up to a packet captured at `at`; returns the time by which its own flow is to
    /// be judged.
    #[inline]
    fn pass(&mut self, at: Timestamp) -> Timestamp {
        let before = std::mem::replace(&mut self.previous, at);
        // Other flows are judged by the earlier of two packets, so that one of them may be wrong.
        let certain = at.min(before);
        self.swept = self.swept.min(certain);
        self.tracked_since_sweep += 1;
        // The whole table is walked, so as many packets must have come since the last time: else a
        // file whose times jump to and fro would take for ever.
        if certain - self.swept > self.sweep_interval && self.tracked_since_sweep > self.len() {
            self.sweep(certain);
        }
        if at - before > INCREDIBLE_SILENCE {
            before
        } else {
            at
        }
    }

    #[cold]
    fn sweep(&mut self, now: Timestamp) {
        self.swept = now;
        self.tracked_since_sweep = 0;
        let mut over: Vec<Slot> = self
            .slots_by_key
            .values()
            .copied()
            .filter(|slot| self.is_idle(&self.flows[slot.index()], now))
            .collect();
        over.sort_unstable();
        for slot in over {
            self.end(slot);
        }
        self.latest = None;
    }
}
