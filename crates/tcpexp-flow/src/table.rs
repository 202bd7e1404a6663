//! Assignment of packets to flows.

mod contest;
mod lifetime;
mod marked;

use std::num::NonZeroUsize;

use hashbrown::HashTable;
use tcpexp_units::{TimeDelta, Timestamp, prefetch};
use tcpexp_wire::{Packet, Quic, Transport};

use crate::connection_ids::ConnectionIds;
use crate::flow::Numbers;
use crate::key::hash;
use crate::recent::Recent;
use crate::slot::{Slot, Tracked};
use crate::{Arrival, End, Flow, FlowId, FlowKey, FlowPacket, Timeouts};
use contest::Contests;
use marked::Marked;

/// Default upper bound on live flows. Measured on captures of a million SYNs, a live flow takes up to
/// 2 kB in `flows`, 5 kB in `path` and 12 kB in `analyze` of two captures, so the bound keeps memory
/// below 2 GB.
pub const MAX_FLOWS: NonZeroUsize = NonZeroUsize::new(1 << 17).expect("2^17 is not 0");

/// The live flows at one point of a capture.
///
/// Memory grows with the number of live flows, which is limited ([`MAX_FLOWS`]). Beyond the limit,
/// the least active flows end early ([`flows_shed`](Self::flows_shed)). Closed and idle flows end by capture
/// time. Packets may be slightly out of order: a timestamp that goes backwards ends no flow, and
/// neither does a single packet with an invalid timestamp. A wrong timestamp less than a day ahead
/// may still split its own flow, because it looks like the end of a silence.
#[derive(Debug)]
pub struct FlowTable {
    timeouts: Timeouts,
    /// Slots of the live flows, hashed by key. The keys stay in `flows`: 100,000 slots fit into the
    /// cache; 100,000 keys do not.
    slots: HashTable<Slot>,
    flows: Vec<Flow>,
    free: Vec<Slot>,
    ended: Vec<Slot>,
    recent: Recent,
    contests: Contests,
    connection_ids: ConnectionIds,
    next_id: FlowId,
    previous: Timestamp,
    swept: Timestamp,
    sweep_interval: TimeDelta,
    shortest_timeout: TimeDelta,
    tracked_since_sweep: usize,
    most_flows: usize,
    flows_shed: u32,
    /// Where flows begin and end, for a part of a capture; `None` if the packets determine it.
    marked: Option<Box<Marked>>,
}

impl Default for FlowTable {
    fn default() -> Self {
        Self::new(Timeouts::default())
    }
}

impl FlowTable {
    /// Creates an empty table.
    pub fn new(timeouts: Timeouts) -> Self {
        let shortest = timeouts.shortest();
        Self {
            timeouts,
            slots: HashTable::new(),
            flows: Vec::new(),
            free: Vec::new(),
            ended: Vec::new(),
            recent: Recent::default(),
            contests: Contests::default(),
            connection_ids: ConnectionIds::default(),
            next_id: FlowId(0),
            previous: Timestamp::MIN,
            swept: Timestamp::MIN,
            // An idle flow stays in the table at most this long after its timeout.
            sweep_interval: TimeDelta::from_nanos(shortest.as_nanos() / 4),
            shortest_timeout: shortest,
            tracked_since_sweep: 0,
            most_flows: MAX_FLOWS.get(),
            flows_shed: 0,
            marked: None,
        }
    }

    /// Sets the upper bound on live flows. Default: [`MAX_FLOWS`].
    #[must_use]
    pub fn with_max_flows(mut self, max_flows: NonZeroUsize) -> Self {
        self.most_flows = max_flows.get();
        self
    }

    /// Assigns the capture's next packet to its flow and returns its place there.
    #[inline]
    pub fn track(&mut self, at: Timestamp, packet: &Packet<'_>) -> Tracked {
        let (key, sender) = FlowKey::of(packet);
        let numbers = match &packet.transport {
            Transport::Tcp(tcp) => Some(Numbers::of(tcp, packet)),
            Transport::Udp(_) | Transport::Other(_) => None,
        };
        self.admit(at, &key, hash(&key), sender, numbers)
    }

    /// Prefetches the flow that `arrival` probably belongs to, ahead of [`place`](Self::place).
    /// Returns its guessed slot, which is mostly right.
    #[inline]
    pub fn prefetch(&self, arrival: &Arrival) -> Option<Slot> {
        let slot = self.recent.slot(arrival.hash);
        prefetch(self.flows.get(slot.index())?);
        Some(slot)
    }

    /// Assigns the capture's next packet to its flow and fills in its direction and stream offsets.
    /// Another table may have assigned it to a flow before.
    #[inline]
    pub fn place(&mut self, arrival: &mut Arrival) -> Tracked {
        if self.marked.is_some() {
            return self.place_marked(arrival);
        }
        let Arrival {
            key,
            hash,
            sender,
            packet,
        } = arrival;
        match packet {
            FlowPacket::Tcp(segment) => {
                let numbers = Some(segment.numbers());
                let tracked = self.admit(segment.seen.at, key, *hash, *sender, numbers);
                let acked = &self.flows[tracked.slot.index()].streams[sender.opposite() as usize];
                segment.place(&tracked, |ack| acked.place(ack));
                tracked
            }
            FlowPacket::Datagram(datagram) => {
                let tracked = self.admit(datagram.seen.at, key, *hash, *sender, None);
                datagram.seen.direction = tracked.direction;
                if let Some(quic) = &datagram.quic {
                    self.identify(&tracked, quic);
                }
                tracked
            }
        }
    }

    /// Finds the connection of a new flow by the connection ID of its first packet, and stores the IDs
    /// that long headers announce.
    #[inline]
    fn identify(&mut self, tracked: &Tracked, quic: &Quic) {
        let flow = &mut self.flows[tracked.slot.index()];
        if tracked.is_first {
            flow.continues = self.connection_ids.find(quic);
        }
        if let Quic::Long(long) = quic {
            let first = flow.continues.unwrap_or(flow.id);
            self.connection_ids.announce(long, first);
        }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "to hand its answer over in memory takes as long as to find it"
    )]
    fn admit(
        &mut self,
        at: Timestamp,
        key: &FlowKey,
        hash: u64,
        sender: End,
        numbers: Option<Numbers>,
    ) -> Tracked {
        let now = self.pass(at);
        let found = self
            .find(key, hash, sender, numbers.as_ref())
            .filter(|slot| !self.is_over(*slot, now, sender, numbers));
        let (slot, is_first) = match found {
            Some(slot) => (slot, false),
            None => (self.open(at, *key, hash, sender, numbers), true),
        };
        self.advance(slot, is_first, at, sender, numbers)
    }

    /// Adds a packet to the flow in `slot`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `admit`")]
    fn advance(
        &mut self,
        slot: Slot,
        is_first: bool,
        at: Timestamp,
        sender: End,
        numbers: Option<Numbers>,
    ) -> Tracked {
        let flow = &mut self.flows[slot.index()];
        // Packets may be slightly out of order in the capture.
        flow.last_seen = flow.last_seen.max(at);
        let start = numbers.map(|tcp| {
            // A forged RST must not move the stream of the other end.
            if tcp.flags.ack() && !tcp.flags.rst() {
                flow.streams[sender.opposite() as usize].acknowledge(tcp.ack);
            }
            let start = flow.streams[sender as usize].advance(&tcp);
            if tcp.flags.rst() || flow.reset.is_some() {
                flow.after_reset(sender, &tcp, start);
            }
            start
        });
        Tracked {
            flow: flow.id,
            slot,
            direction: flow.direction(sender),
            is_first,
            start,
        }
    }

    /// Returns the flow in `slot`.
    ///
    /// # Panics
    ///
    /// If this table did not return `slot`.
    pub fn flow(&self, slot: Slot) -> &Flow {
        &self.flows[slot.index()]
    }

    /// Number of live flows.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if no flow is alive.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Number of flows so far, live or ended.
    pub fn flows_seen(&self) -> u32 {
        self.next_id.0
    }

    /// Number of flows that ended early because too many were alive. Later packets of a shed flow
    /// start a new flow.
    pub fn flows_shed(&self) -> u32 {
        self.flows_shed
    }

    #[inline]
    fn find(
        &mut self,
        key: &FlowKey,
        hash: u64,
        sender: End,
        numbers: Option<&Numbers>,
    ) -> Option<Slot> {
        let slot = self.recent.slot(hash);
        match self.flows.get(slot.index()) {
            // The cached slot may belong to another flow with the same low bits of its hash.
            Some(flow) if flow.key == *key => Some(slot),
            _ => self.look_up(key, hash, sender, numbers),
        }
    }

    #[inline(never)]
    fn look_up(
        &mut self,
        key: &FlowKey,
        hash: u64,
        sender: End,
        numbers: Option<&Numbers>,
    ) -> Option<Slot> {
        if let Some((contest, tcp)) = self.contests.of(key).zip(numbers) {
            return Some(self.judge(contest, sender, tcp));
        }
        let is_of = |slot: &Slot| self.flows[slot.index()].key == *key;
        let slot = *self.slots.find(hash, is_of)?;
        self.recent.add(hash, slot);
        Some(slot)
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::script;
    use tcpexp_wire::{LinkType, Tunnels, decode};

    use super::*;
    use crate::trace::{flows, numbers, packets, track};

    const SHAKE: &str = "
        0.0 > S 100
        0.1 < S. 200 ack 101
    ";

    /// Returns true if a client's segment starts a new flow when it comes `seconds` after the
    /// script's last line, at `last`. A packet of another flow each second makes time pass.
    fn is_over_after(before: &str, last: u32, seconds: u32, segment: &str) -> bool {
        let second = |second| format!("{}.0 > udp 1 flow 9\n", last + second);
        let silence: String = (1..=seconds).map(second).collect();
        let end = last + seconds;
        let swept = flows(&format!("{before}\n{silence}\n{end}.0 > {segment}"));
        let is_first = swept.last() != Some(&0);
        // A sweep and the check of this packet's own flow give the same answer.
        let direct = flows(&format!("{before}\n{end}.0 > {segment}"));
        assert_eq!(is_first, direct.last() != Some(&0));
        is_first
    }

    #[test]
    fn open_connection_times_out_after_two_hours() {
        assert!(!is_over_after(SHAKE, 0, 7440, "101:111(10)"));
        assert!(is_over_after(SHAKE, 0, 7442, "101:111(10)"));
    }

    #[test]
    fn connection_with_one_captured_end_times_out_after_four_minutes() {
        assert!(!is_over_after("0.0 > S 100", 0, 240, "S 100"));
        assert!(is_over_after("0.0 > S 100", 0, 241, "S 100"));
    }

    #[test]
    fn closed_connection_accepts_late_packets_for_a_minute() {
        let fins = format!("{SHAKE}\n1.0 > F 101 ack 201\n2.0 < F 201 ack 102");
        assert!(!is_over_after(&fins, 2, 60, ". 102 ack 202"));
        assert!(is_over_after(&fins, 2, 61, ". 102 ack 202"));
        let reset = format!("{SHAKE}\n2.0 < R. 201 ack 101");
        assert!(is_over_after(&reset, 2, 61, ". 102 ack 202"));
        let ignored = "\n2.1 > 101:111(10) ack 201\n2.2 < . 201 ack 111";
        assert!(!is_over_after(
            &format!("{reset}{ignored}"),
            2,
            3600,
            ". 111 ack 201"
        ));
        let half_closed = format!("{SHAKE}\n2.0 > F 101 ack 201");
        let forged = format!("{SHAKE}\n1.0 > F 90101 ack 201\n1.1 < F 201 ack 101");
        assert!(is_over_after(&forged, 2, 61, ". 102 ack 202"));
        let goes_on = format!("{forged}\n1.2 > 101:111(10) ack 202");
        assert!(!is_over_after(&goes_on, 2, 3600, ". 111 ack 202"));
        let reordered =
            format!("{SHAKE}\n1.0 > F 111 ack 201\n1.1 < F 201 ack 101\n1.2 > 101:111(10)");
        assert!(is_over_after(&reordered, 2, 62, ". 112 ack 202"));
        assert!(!is_over_after(&half_closed, 2, 3600, ". 102 ack 202"));
    }

    #[test]
    fn udp_flow_times_out_after_five_minutes() {
        assert!(!is_over_after("0.0 > udp 10", 0, 300, "udp 10"));
        assert!(is_over_after("0.0 > udp 10", 0, 301, "udp 10"));
    }

    #[test]
    fn timeouts_can_be_set() {
        let mut table = FlowTable::new(Timeouts {
            udp: TimeDelta::from_seconds(1),
            ..Timeouts::default()
        });
        let tracked = track(&mut table, "0 > udp 1\n1 > udp 1\n2.1 > udp 1");
        assert_eq!(numbers(&tracked), [0, 0, 1]);
    }

    #[test]
    fn time_that_runs_backwards_ends_no_flow() {
        let flows = flows(
            "
            50000 > udp 1
            50000 > S 100 flow 1
            40000 > udp 1 flow 2
            30000 > udp 1
            20000 < S. 200 ack 101 flow 1
            10000 < udp 1 flow 2
            10000 < udp 1
        ",
        );
        assert_eq!(flows, [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn one_packet_with_an_implausible_time_ends_no_flow() {
        for nonsense in ["0", "1000", "99000", "5000000", "9000000000"] {
            let flows = flows(&format!(
                "
                90000 > udp 1
                90001 > S 100 flow 1
                90002 > udp 1 flow 2
                {nonsense} > udp 1 flow 3
                90003 > udp 1
                90004 < S. 200 ack 101 flow 1
                90005 < udp 1 flow 2
            "
            ));
            assert_eq!(flows, [0, 1, 2, 3, 0, 1, 2], "{nonsense}");
        }
    }

    #[test]
    fn implausible_time_does_not_split_its_own_flow() {
        for nonsense in ["0", "1000", "5000000", "9000000000"] {
            let flows = flows(&format!(
                "90000 > udp 1\n{nonsense} > udp 1\n90001 > udp 1\n90002 > udp 1"
            ));
            assert_eq!(flows, [0; 4], "{nonsense}");
        }
    }

    #[test]
    fn slots_are_reused_only_after_draining() {
        let mut table = FlowTable::default();
        let slots = |table: &mut FlowTable, script: &str| -> Vec<u32> {
            let tracked = track(table, script);
            tracked.iter().map(|tracked| tracked.slot.0).collect()
        };
        assert_eq!(slots(&mut table, "0 > S 1\n1 > S 2\n2 > S 3"), [0, 1, 2]);
        // Ended flows are readable until they are drained.
        assert_eq!(table.flow(Slot(0)).id, FlowId(0));
        let mut drained = Vec::new();
        table.drain_ended(|slot, flow| drained.push((slot.0, flow.id.0)));
        assert_eq!(drained, [(0, 0), (1, 1)]);
        table.drain_ended(|_, _| panic!("nothing ended since"));
        assert_eq!(slots(&mut table, "3 > S 4\n4 > S 5\n5 > S 6"), [1, 0, 3]);
        assert_eq!((table.len(), table.flows_seen()), (1, 6));
    }

    #[test]
    fn all_open_flows_end_with_the_capture() {
        let mut table = FlowTable::default();
        track(&mut table, "0 > S 1\n1 > S 2 flow 1\n2 > udp 5");
        table.end_all();
        let mut ended = Vec::new();
        table.drain_ended(|_, flow| ended.push(flow.id.0));
        assert_eq!(ended, [0, 1, 2]);
        assert!(table.is_empty());
        let after = track(&mut table, "3 > S 1");
        assert_eq!(numbers(&after), [3]);
    }

    #[test]
    fn table_stays_small_for_any_number_of_flows() {
        let mut frames = script::packets("0 > S 100\n0 < R. 0 ack 101");
        let mut table = FlowTable::default();
        let mut ended = 0;
        for number in 0..1_000_000_u32 {
            let at = Timestamp::from_nanos(i64::from(number) * 1_000_000);
            // Each connection attempt has a new client address and is refused. After the 14 bytes
            // of Ethernet, the source address is at offset 12 and the destination address at 16.
            for ((_, frame), address) in frames.iter_mut().zip([14 + 12, 14 + 16]) {
                frame[address..address + 4].copy_from_slice(&number.to_be_bytes());
                let packet = decode(LinkType::ETHERNET, frame, 54, Tunnels::Closed).unwrap();
                table.track(at, &packet);
            }
            table.drain_ended(|_, _| ended += 1);
        }
        assert_eq!(ended + table.len(), 1_000_000);
        // One minute of timeout and a quarter of a minute until the next sweep, at 1000 flows per
        // second.
        assert!(table.flows.len() < 76_000, "{} places", table.flows.len());
    }

    #[test]
    fn times_that_jump_back_and_forth_take_bounded_work() {
        let mut table = FlowTable::default();
        let mut steps = 0;
        let line = |number| format!("{} > udp 1 flow {number}\n", 3600 * (number / 2 % 2));
        let script: String = (0..1000).map(line).collect();
        packets(&script, |at, packet| {
            let alive = table.len();
            table.track(at, packet);
            if table.tracked_since_sweep == 0 {
                steps += alive;
            }
        });
        assert!(steps < 4 * 1000, "{steps} steps for a thousand packets");
    }

    #[test]
    fn full_table_evicts_unanswered_flows() {
        let syn = |flow| format!("0.{} > S 100 flow {flow}", 100 + flow);
        let syns: Vec<String> = (0..20).map(syn).collect();
        let syns = syns.join("\n");
        let answered = "0.001 > S 100 flow 50\n0.002 < S. 200 ack 101 flow 50\n";
        let max_flows = NonZeroUsize::new(8).unwrap();
        let mut table = FlowTable::default().with_max_flows(max_flows);
        let script = format!("{answered}{syns}\n9.0 > 101:111(10) flow 50");
        let tracked = numbers(&track(&mut table, &script));
        assert_eq!(tracked.first(), tracked.last(), "the answered flow is kept");
        assert!(table.len() <= 8);
        assert_eq!(table.flows_shed() as usize + table.len(), 21);
    }
}
