//! Records the truth during a run.

use tcpexp_units::Timestamp;

use super::link::Verdict;
use super::packet::{Identity, Packet};
use super::scenario::IpId;
use super::truth::{Fate, PacketId, PacketTruth, Summary};

#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) summary: Summary,
    /// `None` if the run keeps only totals.
    pub(crate) packets: Option<Vec<PacketTruth>>,
    /// Id of the next packet.
    pub(crate) next_id: PacketId,
}

impl Ledger {
    pub(crate) fn new(remember: bool) -> Self {
        Self {
            summary: Summary::default(),
            packets: remember.then(Vec::new),
            next_id: 0,
        }
    }

    /// Records that a host sends a packet, which passes the first point at `at`.
    pub(crate) fn sent(&mut self, identity: &Identity, packet: &Packet, at: Timestamp, mode: IpId) {
        let pieces = packet.pieces();
        let way = packet.direction.index();
        let flow = &mut self.summary.flows[identity.number as usize];
        flow.sent[way] += u64::from(pieces);
        flow.payload_bytes[way] += u64::from(identity.payload_bytes(packet));
        flow.retransmitted[way] += u64::from(packet.retransmission) * u64::from(pieces);
        self.summary.direction_mut(packet.direction).sent += u64::from(pieces);
        self.next_id += u64::from(pieces);
        if let Some(packets) = &mut self.packets {
            packets.extend((0..pieces).map(|piece| PacketTruth {
                flow: identity.number,
                direction: packet.direction,
                upstream_at: at,
                downstream_at: None,
                fate: Fate::OnTheWay,
                lost_on: None,
                copy_of: None,
                retransmission: packet.retransmission,
                payload_bytes: identity.payload_bytes(&packet.piece(piece, mode)),
            }));
        }
    }

    /// Records the verdict of a segment of the network on a packet. Returns the id of the duplicate,
    /// if the network makes one.
    pub(crate) fn decided(
        &mut self,
        flow: u32,
        packet: &Packet,
        segment: usize,
        verdict: Verdict,
    ) -> PacketId {
        let copy = self.next_id;
        let totals = self.summary.direction_mut(packet.direction);
        let fate = match verdict {
            // There is no duplicate, so the caller does not use the id.
            Verdict::Arrives(_, None) => return copy,
            Verdict::Arrives(_, Some(_)) => {
                totals.duplicated += 1;
                self.next_id += 1;
                if let Some(packets) = &mut self.packets {
                    let original = packets[packet.id as usize];
                    packets.push(PacketTruth {
                        copy_of: original.copy_of.or(Some(packet.id)),
                        ..original
                    });
                }
                return copy;
            }
            Verdict::Dropped => {
                totals.dropped += 1;
                Fate::Dropped
            }
            Verdict::Lost => {
                totals.lost += 1;
                Fate::Lost
            }
        };
        self.summary.flows[flow as usize].lost[packet.direction.index()] += 1;
        if let Some(packets) = &mut self.packets {
            let known = &mut packets[packet.id as usize];
            (known.fate, known.lost_on) = (fate, Some(segment));
        }
        copy
    }

    /// Records that a packet passes the second point.
    pub(crate) fn arrived(&mut self, packet: &Packet, at: Timestamp) {
        self.summary.direction_mut(packet.direction).arrived += 1;
        if let Some(packets) = &mut self.packets {
            let known = &mut packets[packet.id as usize];
            known.fate = Fate::Arrived;
            known.downstream_at = Some(at);
        }
    }
}
