//! The packets behind a number, with what was inferred from each.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use tcpexp_capture::{PartMark, Record};
use tcpexp_flow::{Datagram, Direction, Flow, FlowId, Protocol, Segment, StreamOffset};
use tcpexp_measure::packets::{ExplainedFlow, ExplainedPacket, FlowPacketRow, PacketMeter};
use tcpexp_measure::sender::{
    EventId, Hindsight, RecoveryEpoch, Retransmission, SenderRow, SenderSample, sender_state,
    sender_state_along_with,
};
use tcpexp_measure::{Either, Meter};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::selection::Moment;
use crate::view::View;
use crate::{CaptureInfo, CwndOptions, Error, Recording};

/// Time before and after a moment if the sender's round-trip time is unknown.
const UNKNOWN_ROUND: TimeDelta = TimeDelta::from_millis(100);
/// Greatest time before an event in which its cause is looked for, and greatest round-trip time
/// around a moment. A longer silence has its cause in what came right before it.
const MAX_REACH: TimeDelta = TimeDelta::from_seconds(10);

/// The packets to explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explained {
    /// All packets of the flow.
    Whole,
    /// The packets within one smoothed round-trip time of a moment.
    At(Moment),
    /// The packets of an event: of a recovery, those from one round-trip time before it to its end;
    /// of a retransmission, the copies of its bytes and the ACKs between them that report a loss.
    Event(EventId),
}

/// The packets of a flow, in the order of the capture.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The flows to which the packets belong.
    pub flows: Vec<ExplainedFlow>,
    /// The packets.
    pub packets: Vec<ExplainedPacket>,
    /// Description of the capture.
    pub info: CaptureInfo,
}

/// Lists the packets of the flows that `wants` selects, with what was inferred from each.
///
/// Reads the capture twice; for an event, three times. Memory grows with the number of packets
/// listed. An event that the flow does not have gives no packets.
pub fn explain(
    recording: &Recording,
    options: &CwndOptions,
    explained: Explained,
    wants: impl Fn(&ExplainedFlow) -> bool + Sync,
) -> Result<Explanation, Error> {
    let view = View::of(recording, &options.reading)?;
    let mut walk = view.walk_once()?;
    let (mut hindsight, metered) = Hindsight::of(&mut walk);
    recording.require_second_pass(&walk)?;
    let coarse_tick = recording.coarse_tick()?;
    hindsight.set_coarse_tick(coarse_tick);
    let info = CaptureInfo {
        flows_shed: metered.flows_shed,
        flows_left_out: hindsight.flows_left_out(),
        missed: hindsight.missed(),
        coarse_tick,
        ..CaptureInfo::of(&walk)
    };
    info.require_packets(recording)?;
    let pass = Pass {
        view,
        hindsight: &hindsight,
        options,
        wants: &wants,
    };
    let focus = match explained {
        Explained::Whole => Some(Focus::Whole),
        Explained::At(moment) => Some(Focus::At(moment.on(recording)?)),
        Explained::Event(id) => pass.find(id)?,
    };
    let Some(focus) = focus else {
        recording.require_whole_passes()?;
        return Ok(Explanation {
            flows: Vec::new(),
            packets: Vec::new(),
            info,
        });
    };
    let (flows, packets) = pass.collect(&focus)?.finish(&focus);
    recording.require_whole_passes()?;
    Ok(Explanation {
        flows,
        packets,
        info,
    })
}

/// Calls `each` with the records of these numbers, in the order of the file.
///
/// `records` are sorted record numbers. Reads the capture once.
pub fn records<E: From<Error>>(
    recording: &Recording,
    records: &[u64],
    mut each: impl FnMut(u64, &Record<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut place, mut wanted) = (0, records.iter().peekable());
    let mut outcome = Ok(());
    let is_part = recording.part()?.is_some();
    recording.each_record(|record| {
        let mark = is_part.then(|| PartMark::read(&record.options)).flatten();
        let number = mark.map_or(place, |mark| mark.record);
        place += 1;
        if outcome.is_ok() && wanted.next_if(|next| **next == number).is_some() {
            outcome = each(number, record);
        }
    })?;
    outcome
}

/// What is explained, on the clock of the capture.
#[derive(Clone, Copy, Debug)]
enum Focus {
    Whole,
    At(Timestamp),
    Recovery(RecoveryEpoch),
    Retransmission(Retransmission),
}

impl Focus {
    /// Times outside of which no packet belongs to it.
    fn reach(&self) -> RangeInclusive<Timestamp> {
        match self {
            Self::Whole => Timestamp::MIN..=Timestamp::MAX,
            Self::At(at) => *at - MAX_REACH..=*at + MAX_REACH,
            Self::Recovery(epoch) => {
                epoch.began - MAX_REACH..=epoch.ended.unwrap_or(Timestamp::MAX)
            }
            Self::Retransmission(again) => again.at - MAX_REACH..=again.at + MAX_REACH,
        }
    }
}

/// A pass over the capture.
struct Pass<'a, W> {
    view: View<'a>,
    hindsight: &'a Hindsight,
    options: &'a CwndOptions,
    wants: &'a W,
}

impl<W: Fn(&ExplainedFlow) -> bool + Sync> Pass<'_, W> {
    /// The selected flows that have a sender.
    fn senders(&self) -> HashSet<FlowId> {
        let flows = self
            .hindsight
            .flows()
            .map(|(flow, initiator, responder)| ExplainedFlow {
                flow,
                protocol: Protocol::Tcp,
                initiator,
                responder,
            });
        flows
            .filter(|flow| (self.wants)(flow))
            .map(|flow| flow.flow)
            .collect()
    }

    /// The event of this name, of the first selected flow that has it.
    fn find(&self, id: EventId) -> Result<Option<Focus>, Error> {
        let senders = self.senders();
        let mut found = None;
        let mut walk = self.view.walk_once()?;
        sender_state(&mut walk, self.hindsight, self.options.sender, |rows| {
            for row in rows {
                let (event, flow, focus) = match row {
                    SenderRow::Recovery(one) => (one.event_id(), one.flow, Focus::Recovery(one)),
                    SenderRow::Retransmission(one) => {
                        (one.event_id(), one.flow, Focus::Retransmission(one))
                    }
                    SenderRow::Sample(_) | SenderRow::Summary(_) => continue,
                };
                if event == id && senders.contains(&flow) {
                    found.get_or_insert(focus);
                }
            }
            Ok::<(), Error>(())
        })?;
        Ok(found)
    }

    /// The packets within reach of `focus`, with what was inferred from them.
    fn collect(&self, focus: &Focus) -> Result<Collected, Error> {
        let mut all = Collected::new(focus.reach(), self.senders());
        let begin = |flow: &Flow| {
            let position = |direction| self.hindsight.position(flow.id, direction);
            (self.wants)(&ExplainedFlow::of(flow))
                .then(|| Packets(PacketMeter::new(flow, position)))
        };
        let mut walk = self.view.walk_once()?;
        let options = self.options.sender;
        sender_state_along_with(
            &mut walk,
            self.hindsight,
            options,
            |_| (),
            begin,
            |rows| {
                for row in rows {
                    match row {
                        Either::First(row) => all.infer(&row),
                        Either::Second(Shown::Packet(packet)) => all.show(packet),
                        Either::Second(Shown::Flow(flow)) => all.flows.push(flow),
                    }
                }
                Ok::<(), Error>(())
            },
        )?;
        Ok(all)
    }
}

/// Shows the packets of a flow, and the flow at its end.
struct Packets(PacketMeter);

enum Shown {
    Packet(FlowPacketRow),
    Flow(ExplainedFlow),
}

impl Meter for Packets {
    type Row = Shown;

    fn segment(&mut self, segment: &Segment, rows: &mut impl Extend<Shown>) {
        rows.extend([Shown::Packet(self.0.of_segment(segment))]);
    }

    fn datagram(&mut self, datagram: &Datagram, rows: &mut impl Extend<Shown>) {
        rows.extend([Shown::Packet(self.0.of_datagram(datagram))]);
    }

    fn end(&mut self, flow: &Flow, rows: &mut impl Extend<Shown>) {
        rows.extend([Shown::Flow(ExplainedFlow::of(flow))]);
    }
}

/// Packets, and what was inferred from them by record number.
struct Collected {
    reach: RangeInclusive<Timestamp>,
    senders: HashSet<FlowId>,
    flows: Vec<ExplainedFlow>,
    packets: Vec<FlowPacketRow>,
    samples: HashMap<u64, SenderSample>,
    retransmissions: HashMap<u64, Retransmission>,
    recoveries: Vec<RecoveryEpoch>,
}

impl Collected {
    fn new(reach: RangeInclusive<Timestamp>, senders: HashSet<FlowId>) -> Self {
        Self {
            reach,
            senders,
            flows: Vec::new(),
            packets: Vec::new(),
            samples: HashMap::new(),
            retransmissions: HashMap::new(),
            recoveries: Vec::new(),
        }
    }

    fn show(&mut self, packet: FlowPacketRow) {
        if self.reach.contains(&packet.at) {
            self.packets.push(packet);
        }
    }

    fn infer(&mut self, row: &SenderRow) {
        match *row {
            SenderRow::Sample(sample)
                if self.reach.contains(&sample.at) && self.senders.contains(&sample.flow) =>
            {
                self.samples
                    .extend(sample.record.map(|record| (record, sample)));
            }
            SenderRow::Retransmission(again)
                if self.reach.contains(&again.at) && self.senders.contains(&again.flow) =>
            {
                self.retransmissions.insert(again.record, again);
            }
            SenderRow::Recovery(epoch) if self.senders.contains(&epoch.flow) => {
                self.recoveries.push(epoch);
            }
            _ => {}
        }
    }

    /// The packets that `focus` names, each with what was inferred from it.
    fn finish(mut self, focus: &Focus) -> (Vec<ExplainedFlow>, Vec<ExplainedPacket>) {
        let range = self.range(focus);
        let mut packets: Vec<ExplainedPacket> = self
            .packets
            .iter()
            .filter(|packet| range.contains(&packet.at) && is_about(packet, focus))
            .map(|packet| ExplainedPacket {
                packet: *packet,
                sender: self.samples.get(&packet.record).copied(),
                retransmission: self.retransmissions.get(&packet.record).copied(),
                recovery: None,
            })
            .collect();
        for epoch in self.recoveries {
            // In a capture at the receiver, the replayed time lies between the times of packets.
            let is_first = |one: &&mut ExplainedPacket| {
                one.packet.flow == epoch.flow && one.packet.at >= epoch.began
            };
            if range.contains(&epoch.began)
                && let Some(first) = packets.iter_mut().find(is_first)
            {
                first.recovery = Some(epoch);
            }
        }
        let shown: HashSet<FlowId> = packets.iter().map(|one| one.packet.flow).collect();
        self.flows.retain(|flow| shown.contains(&flow.flow));
        self.flows.sort_unstable_by_key(|flow| flow.flow);
        (self.flows, packets)
    }

    /// The times of the packets that `focus` names.
    fn range(&self, focus: &Focus) -> RangeInclusive<Timestamp> {
        match *focus {
            Focus::Whole => self.reach.clone(),
            Focus::At(at) => {
                let round = self.round_at(at, None);
                at - round..=at + round
            }
            Focus::Recovery(epoch) => {
                let sender = (epoch.flow, epoch.direction);
                let round = self.round_at(epoch.began, Some(sender));
                epoch.began - round..=*self.reach.end()
            }
            Focus::Retransmission(again) => self.copies(&again),
        }
    }

    /// The smoothed round-trip time of a sender at a moment, or of any sender.
    fn round_at(&self, at: Timestamp, sender: Option<(FlowId, Direction)>) -> TimeDelta {
        let samples = self.samples.values().filter(|sample| {
            sample.at <= at && sender.is_none_or(|one| one == (sample.flow, sample.direction))
        });
        let latest = samples
            .filter_map(|sample| Some((sample.at, sample.record, sample.srtt?)))
            .max();
        latest.map_or(UNKNOWN_ROUND, |(_, _, srtt)| srtt.min(MAX_REACH))
    }

    /// From the first copy of retransmitted bytes to the ACK that covers them.
    fn copies(&self, again: &Retransmission) -> RangeInclusive<Timestamp> {
        let of_flow = || {
            self.packets
                .iter()
                .filter(|packet| packet.flow == again.flow)
        };
        let mut copies = of_flow().filter(|packet| is_copy(packet, again));
        let from = copies.next().map_or(again.at, |first| first.at);
        let mut covering = of_flow().filter(|packet| {
            packet.at >= again.at
                && packet.direction != again.direction
                && acknowledged(packet).is_some_and(|ack| ack >= again.end)
        });
        let to = covering.next().map_or(*self.reach.end(), |last| last.at);
        from..=to
    }
}

/// True if the packet belongs to what is explained, at its time.
fn is_about(packet: &FlowPacketRow, focus: &Focus) -> bool {
    match focus {
        Focus::Whole | Focus::At(_) => true,
        Focus::Recovery(epoch) => packet.flow == epoch.flow,
        Focus::Retransmission(again) if packet.flow != again.flow => false,
        Focus::Retransmission(again) => {
            is_copy(packet, again)
                || packet.direction != again.direction
                    && packet.tcp.is_some_and(|tcp| {
                        tcp.is_duplicate_ack
                            || tcp.sack[0].is_some()
                            || tcp.ack.is_some_and(|ack| ack >= again.start)
                    })
        }
    }
}

/// True if the packet carries some of the retransmitted bytes.
fn is_copy(packet: &FlowPacketRow, again: &Retransmission) -> bool {
    packet.direction == again.direction
        && packet.payload_bytes > 0
        && packet.tcp.is_some_and(|tcp| {
            let start = tcp.start.plus(tcp.flags.syn().into());
            start < again.end && start.plus(packet.payload_bytes) > again.start
        })
}

fn acknowledged(packet: &FlowPacketRow) -> Option<StreamOffset> {
    packet.tcp?.ack
}
