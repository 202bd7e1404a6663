//! The packets within reach of what is explained.

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_measure::packets::{ExplainedFlow, ExplainedPacket, FlowPacketRow};
use tcpexp_measure::sender::{RecoveryEpoch, Retransmission, SenderRow, SenderSample};
use tcpexp_units::{TimeDelta, Timestamp};

use super::focus::{Focus, MAX_REACH, is_about, is_copy};

/// Time before and after a moment if the sender's round-trip time is unknown.
const UNKNOWN_ROUND: TimeDelta = TimeDelta::from_millis(100);

/// Packets, and what was inferred from them by record number.
pub(super) struct Collected {
    reach: RangeInclusive<Timestamp>,
    senders: HashSet<FlowId>,
    pub(super) flows: Vec<ExplainedFlow>,
    packets: Vec<FlowPacketRow>,
    samples: HashMap<u64, SenderSample>,
    retransmissions: HashMap<u64, Retransmission>,
    recoveries: Vec<RecoveryEpoch>,
}

impl Collected {
    pub(super) fn new(reach: RangeInclusive<Timestamp>, senders: HashSet<FlowId>) -> Self {
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

    pub(super) fn show(&mut self, packet: FlowPacketRow) {
        if self.reach.contains(&packet.at) {
            self.packets.push(packet);
        }
    }

    pub(super) fn infer(&mut self, row: &SenderRow) {
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
    pub(super) fn finish(mut self, focus: &Focus) -> (Vec<ExplainedFlow>, Vec<ExplainedPacket>) {
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

fn acknowledged(packet: &FlowPacketRow) -> Option<StreamOffset> {
    packet.tcp?.ack
}
