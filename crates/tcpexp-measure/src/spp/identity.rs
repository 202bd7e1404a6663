//! What makes a packet itself: the header fields by which it is known again at the other point.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;

use tcpexp_units::TimeDelta;
use tcpexp_wire::{Packet, SeqNum, Transport};

use super::survey::{FieldValues, Sketched, sack_hash};

/// No sender comes back to the same IP ID before: at ten million packets a second 65 536 take 7 ms,
/// and copies follow each other closely.
const IP_ID_REUSED: TimeDelta = TimeDelta::from_millis(5);

/// A header field that may identify a packet, if the path leaves it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Source and destination address.
    Addresses,
    /// Source and destination port.
    Ports,
    /// IPv4 Identification.
    IpId,
    /// Length of the transport payload: not kept where segmentation offload cuts anew.
    Length,
    /// TCP control bits: PSH and FIN move where segmentation offload cuts anew.
    Flags,
    /// TCP window.
    Window,
    /// TCP timestamps (RFC 7323).
    Timestamps,
    /// TCP selective acknowledgments (RFC 2018).
    SackBlocks,
    /// UDP checksum, which stands for the whole payload.
    UdpChecksum,
}

impl Field {
    /// All of them.
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

    /// What it is called in reports.
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

    /// Whether the field is the same in both; `None` where the packet has none.
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
            Self::IpId => only_if(a.ip_id.or(b.ip_id).is_some(), a.ip_id == b.ip_id),
            Self::Length => Some(same_length),
            // Of a segment cut anew only the last piece has PSH and FIN.
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
            Self::UdpChecksum => only_if(!a.is_tcp && same_length, a.checksum == b.checksum),
        }
    }
}

/// How often a field came through unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldKept {
    /// Which field.
    pub field: Field,
    /// In how many packets of the sample it was compared.
    pub compared: u64,
    /// In how many it was the same at both points.
    pub kept: u64,
}

impl FieldKept {
    /// Whether it can be used. One packet in a thousand and two more may differ: the sample pairs
    /// a few packets wrongly where a capture has gaps.
    pub fn is_used(&self) -> bool {
        let differing = self.compared - self.kept;
        self.kept > 0 && differing * 20 <= self.compared && differing <= self.compared / 1000 + 2
    }
}

/// By what packets are known again, as found from the captures themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identification {
    /// Each field with how often it came through, in the order of [`Field::ALL`].
    pub fields: Vec<FieldKept>,
    /// Whether segments are cut anew between the points (TSO, GSO, GRO or LRO at one of them):
    /// data is then matched by its place in the stream.
    pub recut: bool,
    /// Whether addresses or ports of at least one flow are translated on the way.
    pub translated: bool,
}

impl Identification {
    /// Compares packets that the two samples share. `recut` is what else is known of cutting. Where
    /// a capture cuts options off, SACK blocks that are not seen tell nothing.
    pub(super) fn learn(common: &[(Sketched, Sketched)], recut: bool, cuts_options: bool) -> Self {
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
        let tcp_recut = common
            .iter()
            .any(|(a, b)| a.fields.is_tcp && a.fields.payload_bytes != b.fields.payload_bytes);
        Self {
            recut: recut || tcp_recut,
            translated: differs(Field::Addresses) || differs(Field::Ports),
            fields,
        }
    }

    /// Leaves out those of `common` whose timestamps differ in a flow that keeps those of others.
    ///
    /// What rewrites a host's timestamps must do so in all packets of a connection, or the host would
    /// not know its echoes: so these are a packet and its retransmission.
    pub(super) fn without_sent_again(
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

    /// Leaves out those of `common` that are likely to be a packet and its retransmission: they
    /// differ in a `field` that three quarters and more keep.
    pub(super) fn without_mistaken(
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

    /// Whether packets are told apart by `field`.
    pub fn uses(&self, field: Field) -> bool {
        self.fields.iter().any(|f| f.field == field && f.is_used())
    }
}

/// Prints the fields in use and those that the path changed.
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

/// The fields in use, ready for the hot path: each a mask that keeps a field or blanks it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marker {
    ip_id: u16,
    flags: u16,
    window: u16,
    udp_checksum: u16,
    timestamps: u32,
    sack_blocks: bool,
    recut: bool,
}

impl Marker {
    pub(super) fn new(identification: &Identification) -> Self {
        let mask = |field| {
            if identification.uses(field) {
                u16::MAX
            } else {
                0
            }
        };
        Self {
            ip_id: mask(Field::IpId),
            flags: mask(Field::Flags),
            window: mask(Field::Window),
            udp_checksum: mask(Field::UdpChecksum),
            timestamps: if identification.uses(Field::Timestamps) {
                u32::MAX
            } else {
                0
            },
            sack_blocks: identification.uses(Field::SackBlocks),
            recut: identification.recut,
        }
    }

    /// The mark of `packet`: equal at both points for the same packet.
    #[inline]
    pub(super) fn mark(&self, packet: &Packet<'_>) -> Mark {
        let ip_id = packet.ip_id.unwrap_or(0) & self.ip_id;
        let length = packet.payload_bytes;
        match &packet.transport {
            Transport::Tcp(tcp) => {
                let (tsval, tsecr) = tcp.options.timestamps().unwrap_or((0, 0));
                let (tsval, tsecr) = (tsval & self.timestamps, tsecr & self.timestamps);
                let sack_blocks = if self.sack_blocks { sack_hash(tcp) } else { 0 };
                let flags = u64::from(tcp.flags.bits() & self.flags);
                let rest = [
                    flags << 16 | u64::from(tcp.window & self.window),
                    sack_blocks,
                ];
                Mark {
                    by_range: self.recut && length > 0 && !tcp.flags.syn(),
                    is_tcp: true,
                    ..Mark::new([tcp.seq.0, tcp.ack.0, tsval, tsecr], length, ip_id, rest)
                }
            }
            Transport::Udp(udp) => {
                let mut prefix = [0; 16];
                let captured = packet.payload.len().min(prefix.len());
                // Both captures must hold the prefix whole, or it says less than it seems to.
                if captured == prefix.len().min(length as usize) {
                    prefix[..captured].copy_from_slice(&packet.payload[..captured]);
                }
                let words = [0, 4, 8, 12].map(|from| word_at(&prefix, from));
                let checksum = u64::from(udp.checksum & self.udp_checksum);
                Mark::new(words, length, ip_id, [checksum, 0])
            }
        }
    }
}

fn word_at(prefix: &[u8; 16], from: usize) -> u32 {
    let word = prefix[from..].first_chunk();
    word.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// All that identifies a packet within its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// TCP: sequence and acknowledgment number, `TSval`, `TSecr`. UDP: the payload's first bytes.
    pub(super) words: [u32; 4],
    /// Payload bytes.
    pub(super) length: u32,
    pub(super) ip_id: u16,
    /// Whether the packet is data that may be cut anew, to be matched by its range.
    pub(super) by_range: bool,
    is_tcp: bool,
    /// Hash of these and of the fields that are compared and no more: flags, window, SACK blocks
    /// or UDP checksum.
    pub(super) digest: [u64; 2],
}

impl Mark {
    /// The hash is made here, where the fields are at hand; later they may not be.
    #[inline]
    fn new(words: [u32; 4], length: u32, ip_id: u16, rest: [u64; 2]) -> Self {
        let [a, b, c, d] = words.map(u64::from);
        let hashed = [
            a << 32 | b,
            c << 32 | d,
            u64::from(length) << 32 | rest[0],
            rest[1] ^ u64::from(ip_id),
        ];
        let digest = [1, 2].map(|seed| {
            let mut state = FixedState::with_seed(seed).build_hasher();
            for word in hashed {
                state.write_u64(word);
            }
            state.finish()
        });
        Self {
            words,
            length,
            ip_id,
            by_range: false,
            is_tcp: false,
            digest,
        }
    }

    /// Sequence number of the first byte of a TCP segment.
    pub(super) fn seq(&self) -> SeqNum {
        SeqNum(self.words[0])
    }

    /// Whether no other packet of its flow has this mark, but for copies.
    pub(super) fn is_one_of_a_kind(&self) -> bool {
        let has_timestamp = self.is_tcp && self.words[2] != 0;
        // Each piece of a segment that is cut anew has another IP ID.
        let has_own_id = self.ip_id != 0 && !self.by_range;
        has_own_id || (has_timestamp && self.length > 0)
    }

    /// Whether no other flow has a packet with this mark: sequence and acknowledgment numbers start
    /// at random. Datagrams that say nothing are alike in all flows and both directions.
    pub(super) fn is_of_one_flow(&self) -> bool {
        self.is_tcp && self.words[1] != 0
    }

    /// Whether a packet with this mark that follows another with the same one after `gap` is a
    /// second capture of it, or a copy that the network made, and not sent again.
    ///
    /// A sender gives each packet its own IP ID until those run out; with a TCP timestamp beside it
    /// none comes again. Without an IP ID nothing tells: a sender that learns of a loss sends again
    /// what left only just before, and the clock of the timestamps may not have ticked since.
    pub(super) fn is_copy_after(&self, gap: TimeDelta) -> bool {
        let has_timestamp = self.is_tcp && self.words[2] != 0;
        self.ip_id != 0 && (has_timestamp || gap < IP_ID_REUSED)
    }
}

impl Hash for Mark {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.digest[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: TimeDelta = TimeDelta::from_seconds(1);
    const MILLISECOND: TimeDelta = TimeDelta::from_millis(1);
    const DATAGRAM: Mark = Mark {
        words: [0; 4],
        length: 100,
        ip_id: 7,
        by_range: false,
        is_tcp: false,
        digest: [0; 2],
    };

    #[test]
    fn like_datagram_is_no_copy_once_ip_ids_may_have_run_out() {
        assert!(DATAGRAM.is_copy_after(MILLISECOND));
        assert!(!DATAGRAM.is_copy_after(SECOND));
        let without_id = Mark {
            ip_id: 0,
            ..DATAGRAM
        };
        assert!(!without_id.is_copy_after(TimeDelta::ZERO));
    }

    #[test]
    fn like_segment_is_a_copy_where_no_retransmission_can_look_like_it() {
        let segment = Mark {
            is_tcp: true,
            ..DATAGRAM
        };
        assert!(!segment.is_copy_after(SECOND));
        let with_timestamp = Mark {
            words: [1, 2, 3, 4],
            ..segment
        };
        assert!(with_timestamp.is_copy_after(SECOND));
        let without_id = Mark {
            ip_id: 0,
            ..with_timestamp
        };
        assert!(!without_id.is_copy_after(TimeDelta::from_micros(1)));
    }
}
