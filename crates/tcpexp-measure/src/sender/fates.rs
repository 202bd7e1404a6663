//! The fates of a sender's packets on the path, from a second capture.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_flow::FlowId;

use super::lost::LostPackets;
use tcpexp_pair::path::PathPacket;
use tcpexp_pair::spp::{Fate, LocalFlow};

/// The fates of the data packets of one capture, from a capture at the other end.
///
/// Memory grows with the number of lost and reordered packets, not with the number of packets.
#[derive(Clone, Debug, Default)]
pub struct DataFates {
    packets: HashMap<u64, RecordFate, FixedState>,
    /// For each flow found in both captures, by [`FlowId`], its records with a fate. Flows are numbered
    /// from zero, so this is smaller than a map: there may be millions.
    flows: Vec<Option<Known>>,
    /// The flows in this capture, by their number in the pair.
    of_pair: Vec<Option<LocalFlow>>,
}

/// The records of a flow that have a fate: those that passed while both captures ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// The first one; the greatest number without any.
    pub(super) first: u64,
    /// The last one; 0 without any.
    pub(super) last: u64,
}

impl Known {
    const NOTHING: Self = Self {
        first: u64::MAX,
        last: 0,
    };
}

/// The fate of one record that was lost, reordered or ambiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordFate {
    /// Number of packets that were lost, or whose fate is unknown.
    pub(super) lost: LostPackets,
    /// Payload bytes of the lost packets.
    pub(super) lost_bytes: u64,
    /// The packet arrived after later packets.
    pub(super) was_overtaken: bool,
}

impl DataFates {
    /// Adds a flow found in both captures: its number in the pair, and what it is in this capture.
    pub fn add_flow(&mut self, of_pair: FlowId, local: LocalFlow) {
        set(&mut self.flows, local.flow, Some(Known::NOTHING));
        set(&mut self.of_pair, of_pair, Some(local));
    }

    /// The flows found in both captures, as they are in this capture and in the other one.
    pub fn partners<'a>(
        &'a self,
        other: &'a Self,
    ) -> impl Iterator<Item = (LocalFlow, LocalFlow)> + 'a {
        let pairs = self.of_pair.iter().zip(&other.of_pair);
        pairs.filter_map(|(own, other)| (*own).zip(*other))
    }

    /// Adds the fate of a packet that passed this capture first.
    pub fn add(&mut self, packet: &PathPacket) {
        let Some(record) = packet.sent_record else {
            return;
        };
        if let Some(Some(local)) = self.of_pair.get(packet.flow.0 as usize)
            && let Some(Some(known)) = self.flows.get_mut(local.flow.0 as usize)
            && packet.fate != Fate::Outside
        {
            known.first = record.min(known.first);
            known.last = record.max(known.last);
        }
        let was_overtaken = packet.reordered == Some(true);
        let arrived = packet.fate == Fate::Delivered && !was_overtaken;
        if packet.payload_bytes == 0 || arrived || packet.fate == Fate::Copy {
            return;
        }
        let fate = self.packets.entry(record).or_default();
        fate.was_overtaken |= was_overtaken;
        match packet.fate {
            Fate::Lost => {
                fate.lost.known += packet.packets;
                fate.lost_bytes += packet.payload_bytes;
            }
            Fate::LostOrMissed | Fate::Ambiguous | Fate::Outside => {
                fate.lost.unknown += packet.packets;
            }
            Fate::Delivered | Fate::Missed | Fate::Copy | Fate::Duplicate | Fate::Unseen => {}
        }
    }

    /// The records of a flow whose fate is known; `None` if the flow was not found in both captures.
    pub(super) fn known(&self, flow: FlowId) -> Option<Known> {
        *self.flows.get(flow.0 as usize)?
    }

    /// The fate of a record; the default if the record arrived in order.
    pub(super) fn of(&self, record: u64) -> RecordFate {
        self.packets.get(&record).copied().unwrap_or_default()
    }
}

impl RecordFate {
    /// The fate of a packet that the other capture cannot show.
    pub(super) const UNKNOWN: Self = Self {
        lost: LostPackets {
            known: 0,
            unknown: 1,
        },
        lost_bytes: 0,
        was_overtaken: false,
    };
}

/// Sets the element of a flow.
fn set<T: Copy>(all: &mut Vec<Option<T>>, flow: FlowId, value: Option<T>) {
    let place = flow.0 as usize;
    if all.len() <= place {
        all.resize(place + 1, None);
    }
    all[place] = value;
}
