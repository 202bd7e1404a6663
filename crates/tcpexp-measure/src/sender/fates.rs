//! What became of a sender's packets on their way, as a second capture shows.

use std::collections::{HashMap, HashSet};

use foldhash::fast::FixedState;
use tcpexp_flow::FlowId;

use crate::path::PathPacket;
use crate::spp::Fate;

/// What a capture at the other end shows of the data packets of one capture.
///
/// Its size follows the number of packets that did not arrive as they left, not that of packets.
#[derive(Clone, Debug, Default)]
pub struct DataFates {
    packets: HashMap<u64, Told, FixedState>,
    flows: HashSet<FlowId, FixedState>,
}

/// What is told of one record that did not arrive as it left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// Packets of the path that were lost, and their bytes of data.
    pub(super) lost_packets: u64,
    pub(super) lost_bytes: u64,
    /// What became of it is not known.
    pub(super) is_unknown: bool,
    /// It arrived, behind what left later.
    pub(super) was_overtaken: bool,
}

impl DataFates {
    /// A flow was found in both captures; this one numbers it so.
    pub fn add_flow(&mut self, flow: FlowId) {
        self.flows.insert(flow);
    }

    /// What became of a packet that passed this capture first.
    pub fn add(&mut self, packet: &PathPacket) {
        let Some(record) = packet.sent_record else {
            return;
        };
        let was_overtaken = packet.reordered == Some(true);
        let arrived = packet.fate == Fate::Delivered && !was_overtaken;
        if packet.payload_bytes == 0 || arrived || packet.fate == Fate::Copy {
            return;
        }
        let told = self.packets.entry(record).or_default();
        told.was_overtaken |= was_overtaken;
        match packet.fate {
            Fate::Lost => {
                told.lost_packets += packet.packets;
                told.lost_bytes += packet.payload_bytes;
            }
            Fate::LostOrMissed | Fate::Ambiguous | Fate::Outside => told.is_unknown = true,
            Fate::Delivered | Fate::Missed | Fate::Copy | Fate::Duplicate | Fate::Unseen => {}
        }
    }

    /// Whether anything is known of a flow's packets.
    pub(super) fn tells_of(&self, flow: FlowId) -> bool {
        self.flows.contains(&flow)
    }

    /// What is told of a record; nothing special if it arrived as it left.
    pub(super) fn of(&self, record: u64) -> Told {
        self.packets.get(&record).copied().unwrap_or_default()
    }
}
