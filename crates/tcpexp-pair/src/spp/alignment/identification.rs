//! Which header fields the path preserves.

use std::collections::HashSet;
use std::fmt;

use foldhash::fast::FixedState;

use super::fields::FieldValues;
use super::shift::SequenceShift;
use super::sketch::Sketched;
use serde::{Deserialize, Serialize};

/// A header field that may identify a packet if the path preserves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Field {
    /// Source and destination address.
    Addresses,
    /// Source and destination port.
    Ports,
    /// IPv4 Identification.
    IpId,
    /// Length of the transport payload: differs where segmentation offload recuts segments.
    Length,
    /// TCP control bits: PSH and FIN move where segmentation offload recuts segments.
    Flags,
    /// TCP window.
    Window,
    /// TCP timestamps (RFC 7323).
    Timestamps,
    /// TCP selective acknowledgments (RFC 2018).
    SackBlocks,
    /// Checksum of UDP, ICMP or SCTP; covers the whole payload.
    UdpChecksum,
}

impl Field {
    /// All fields.
    pub const ALL: [Self; 9] = [
        Self::Addresses,
        Self::Ports,
        Self::IpId,
        Self::Length,
        Self::Flags,
        Self::Window,
        Self::Timestamps,
        Self::SackBlocks,
        Self::UdpChecksum,
    ];

    /// Name of the field in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Addresses => "addresses",
            Self::Ports => "ports",
            Self::IpId => "IP ID",
            Self::Length => "length",
            Self::Flags => "flags",
            Self::Window => "window",
            Self::Timestamps => "timestamps",
            Self::SackBlocks => "SACK blocks",
            Self::UdpChecksum => "UDP checksum",
        }
    }

    /// True if both packets have the same value; `None` if the packets lack the field.
    fn kept(self, a: &FieldValues, b: &FieldValues) -> Option<bool> {
        let only_if = |has_it: bool, same: bool| has_it.then_some(same);
        let same_length = a.payload_bytes == b.payload_bytes;
        match self {
            Self::Addresses => Some(
                a.source_address == b.source_address
                    && a.destination_address == b.destination_address,
            ),
            Self::Ports => {
                Some(a.source_port == b.source_port && a.destination_port == b.destination_port)
            }
            // A value at one point only was added or removed on the path, so it counts as changed.
            Self::IpId => only_if(a.ip_id.or(b.ip_id).is_some(), a.ip_id == b.ip_id),
            Self::Length => Some(same_length),
            // Only the last piece of a recut segment has PSH and FIN.
            Self::Flags => only_if(a.is_tcp && same_length, a.flags == b.flags),
            Self::Window => only_if(a.is_tcp, a.window == b.window),
            Self::Timestamps => only_if(
                a.timestamps.or(b.timestamps).is_some(),
                a.timestamps == b.timestamps,
            ),
            Self::SackBlocks => only_if(
                a.sack_blocks | b.sack_blocks != 0,
                a.sack_blocks == b.sack_blocks,
            ),
            // The checksum covers length and payload (RFC 768), so only packets of equal length
            // compare.
            Self::UdpChecksum => only_if(!a.is_tcp && same_length, a.checksum == b.checksum),
        }
    }
}

/// How often the path preserves a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldKept {
    /// The field.
    pub field: Field,
    /// Number of sampled packets with this field.
    pub compared: u64,
    /// Number of sampled packets with the same value at both points.
    pub kept: u64,
}

impl FieldKept {
    /// True if the field is usable: at most one packet in a thousand plus two differ, and at most
    /// one in twenty. The sample matches a few packets wrongly where a capture has gaps.
    pub fn is_used(&self) -> bool {
        let differing = self.compared - self.kept;
        self.kept > 0 && differing * 20 <= self.compared && differing <= self.compared / 1000 + 2
    }
}

/// The fields that identify a packet, learned from the captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identification {
    /// Counts of each field, in the order of [`Field::ALL`].
    pub fields: Vec<FieldKept>,
    /// True if segments are recut between the points (TSO, GSO, GRO or LRO at one of them): data is
    /// then matched by stream range.
    pub recut: bool,
    /// True if addresses or ports of at least one flow are translated.
    pub translated: bool,
    /// Constants that a middlebox adds to sequence numbers; matching undoes them.
    pub shifted: Vec<SequenceShift>,
}

impl Identification {
    /// Compares the packets that the two samples share. `recut` is true if other evidence shows
    /// that segments are recut. SACK blocks are not compared if a capture cuts options off.
    pub(in crate::spp) fn learn(
        common: &[(Sketched, Sketched)],
        recut: bool,
        cuts_options: bool,
    ) -> Self {
        let fields: Vec<FieldKept> = Field::ALL
            .into_iter()
            .map(|field| {
                let is_seen = field != Field::SackBlocks || !cuts_options;
                let outcomes = common
                    .iter()
                    .filter(|_| is_seen)
                    .filter_map(|(a, b)| field.kept(&a.fields, &b.fields));
                let (compared, kept) = outcomes.fold((0, 0), |(compared, kept), same| {
                    (compared + 1, kept + u64::from(same))
                });
                FieldKept {
                    field,
                    compared,
                    kept,
                }
            })
            .collect();
        let differs = |wanted: Field| {
            fields
                .iter()
                .any(|f| f.field == wanted && f.kept < f.compared)
        };
        // With offload at both hosts the largest segments may be equal and their cuts different.
        let tcp_recut = common
            .iter()
            .any(|(a, b)| a.fields.is_tcp && a.fields.payload_bytes != b.fields.payload_bytes);
        Self {
            recut: recut || tcp_recut,
            translated: differs(Field::Addresses) || differs(Field::Ports),
            shifted: Vec::new(),
            fields,
        }
    }

    /// Removes packets whose timestamps differ in a flow that preserves other timestamps.
    ///
    /// A middlebox must rewrite the timestamps of all packets of a connection, or the host would
    /// not recognise the echoes. So these packets are an original and its retransmission.
    pub(in crate::spp) fn without_sent_again(
        mut common: Vec<(Sketched, Sketched)>,
    ) -> Vec<(Sketched, Sketched)> {
        let flow = |fields: &FieldValues| {
            let source = (fields.source_address, fields.source_port);
            let destination = (fields.destination_address, fields.destination_port);
            (source.min(destination), source.max(destination))
        };
        let timestamps = |(a, b): &(Sketched, Sketched)| {
            let both = a.fields.timestamps.zip(b.fields.timestamps);
            both.map(|(ours, theirs)| ours == theirs)
        };
        let keeping: HashSet<_, FixedState> = common
            .iter()
            .filter(|pair| timestamps(pair) == Some(true))
            .map(|(a, _)| flow(&a.fields))
            .collect();
        common.retain(|pair| {
            timestamps(pair) != Some(false) || !keeping.contains(&flow(&pair.0.fields))
        });
        common
    }

    /// Removes packets that are probably an original and its retransmission: they differ in a
    /// `field` that at least three quarters of the packets preserve.
    pub(in crate::spp) fn without_mistaken(
        mut common: Vec<(Sketched, Sketched)>,
        field: Field,
    ) -> Vec<(Sketched, Sketched)> {
        let kept = |(a, b): &(Sketched, Sketched)| field.kept(&a.fields, &b.fields);
        let compared = common.iter().filter_map(kept).count();
        let differing = common.iter().filter_map(kept).filter(|same| !same).count();
        if differing * 4 <= compared {
            common.retain(|pair| kept(pair) != Some(false));
        }
        common
    }

    /// True if `field` distinguishes packets.
    pub fn uses(&self, field: Field) -> bool {
        self.fields.iter().any(|f| f.field == field && f.is_used())
    }
}

/// Prints the fields in use.
impl fmt::Display for Identification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.recut {
            "stream range"
        } else {
            "sequence number"
        };
        write!(f, "{place}, acknowledgment")?;
        for field in self.fields.iter().filter(|kept| kept.is_used()) {
            write!(f, ", {}", field.field.name())?;
        }
        Ok(())
    }
}
