//! The fates of a sender's packets on the path, from a second capture.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use tcpexp_flow::FlowId;

use tcpexp_pair::path::PathPacket;
use tcpexp_pair::spp::Fate;

/// The fates of the data packets of one capture, from a capture at the other end.
///
/// Memory grows with the number of lost and reordered packets, not with the number of packets.
#[derive(Clone, Debug, Default)]
pub struct DataFates {
    packets: HashMap<u64, RecordFate, FixedState>,
    /// True for each flow found in both captures, by [`FlowId`]. Flows are numbered from zero, so this
    /// is smaller than a set: there may be millions.
    flows: Vec<bool>,
}

/// The fate of one record that was lost, reordered or ambiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordFate {
    /// Number of lost packets and their payload bytes.
    pub(super) lost_packets: u64,
    pub(super) lost_bytes: u64,
    /// The fate is unknown.
    pub(super) is_unknown: bool,
    /// The packet arrived after later packets.
    pub(super) was_overtaken: bool,
}

impl DataFates {
    /// Adds a flow found in both captures, by its number in this capture.
    pub fn add_flow(&mut self, flow: FlowId) {
        let place = flow.0 as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, false);
        }
        self.flows[place] = true;
    }

    /// Adds the fate of a packet that passed this capture first.
    pub fn add(&mut self, packet: &PathPacket) {
        let Some(record) = packet.sent_record else {
            return;
        };
        let was_overtaken = packet.reordered == Some(true);
        let arrived = packet.fate == Fate::Delivered && !was_overtaken;
        if packet.payload_bytes == 0 || arrived || packet.fate == Fate::Copy {
            return;
        }
        let fate = self.packets.entry(record).or_default();
        fate.was_overtaken |= was_overtaken;
        match packet.fate {
            Fate::Lost => {
                fate.lost_packets += packet.packets;
                fate.lost_bytes += packet.payload_bytes;
            }
            Fate::LostOrMissed | Fate::Ambiguous | Fate::Outside => fate.is_unknown = true,
            Fate::Delivered | Fate::Missed | Fate::Copy | Fate::Duplicate | Fate::Unseen => {}
        }
    }

    /// True if the flow was found in both captures.
    pub(super) fn covers(&self, flow: FlowId) -> bool {
        self.flows.get(flow.0 as usize) == Some(&true)
    }

    /// The fate of a record; the default if the record arrived in order.
    pub(super) fn of(&self, record: u64) -> RecordFate {
        self.packets.get(&record).copied().unwrap_or_default()
    }
}
