//! The header fields that identify a packet at both points.

use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use tcpexp_units::TimeDelta;
use tcpexp_wire::{Other, Packet, SeqNum, Transport, Udp};

use crate::spp::alignment::{COPY_GAP, Field, Identification, sack_hash};

/// No sender reuses an IP ID within this time: at ten million packets per second 65,536 packets
/// take 7 ms. Copies follow each other more closely.
const IP_ID_REUSED: TimeDelta = TimeDelta::from_millis(5);

/// The compared fields as masks, ready for the hot path: a mask keeps or clears its field.
#[derive(Clone, Copy, Debug)]
pub(in crate::spp) struct Marker {
    ip_id: u16,
    flags: u16,
    window: u16,
    udp_checksum: u16,
    timestamps: u32,
    sack_blocks: bool,
    recut: bool,
}

impl Marker {
    pub(in crate::spp) fn new(identification: &Identification) -> Self {
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

    /// Returns the mark of `packet`, which is the same at both points once the shifts of its
    /// sequence and its acknowledgment number at this point are undone.
    #[inline]
    pub(in crate::spp) fn mark(&self, packet: &Packet<'_>, [by_seq, by_ack]: [u32; 2]) -> Mark {
        let ip_id = packet.ip_id.unwrap_or(0) & self.ip_id;
        let length = packet.payload_bytes;
        match &packet.transport {
            Transport::Tcp(tcp) => {
                let mut timestamps = tcp.options.timestamps();
                // The options of a SYN are the longest, so a capture that cuts off SACK blocks may
                // also cut off the timestamps of a SYN.
                if tcp.flags.syn() && !self.sack_blocks {
                    timestamps = None;
                }
                let (tsval, tsecr) = timestamps.unwrap_or((0, 0));
                let seq = tcp.seq.0.wrapping_sub(by_seq);
                // Without ACK the field has no meaning (RFC 9293, section 3.1).
                let by_ack = if tcp.flags.ack() { by_ack } else { 0 };
                let ack = tcp.ack.0.wrapping_sub(by_ack);
                let (tsval, tsecr) = (tsval & self.timestamps, tsecr & self.timestamps);
                let sack_blocks = if self.sack_blocks { sack_hash(tcp) } else { 0 };
                let flags = u64::from(tcp.flags.bits() & self.flags);
                let rest = [
                    flags << 16 | u64::from(tcp.window & self.window),
                    sack_blocks,
                ];
                Mark {
                    // SYN takes a sequence number (RFC 9293, section 3.4), so data in it does not
                    // start at `seq`.
                    by_range: self.recut && length > 0 && !tcp.flags.syn() && !packet.is_fragment,
                    kind: match (tcp.flags.ack(), tcp.flags.syn(), tcp.flags.fin()) {
                        (false, true, _) => Kind::Syn,
                        (true, true, _) => Kind::SynAck,
                        (true, false, _) if packet.is_fragment => Kind::FragmentedSegment,
                        (true, false, true) => Kind::Fin,
                        (true, false, false) => Kind::Segment,
                        (false, false, _) => Kind::WithoutAck,
                    },
                    ..Mark::new([seq, ack, tsval, tsecr], length, ip_id, rest)
                }
            }
            Transport::Udp(Udp { checksum }) | Transport::Other(Other { checksum, .. }) => {
                let mut prefix = [0; 16];
                let captured = packet.payload.len().min(prefix.len());
                // Compare the prefix only if it is captured whole: a cut prefix does not identify
                // the packet.
                if captured == prefix.len().min(length as usize) {
                    prefix[..captured].copy_from_slice(&packet.payload[..captured]);
                }
                let words = [0, 4, 8, 12].map(|from| word_at(&prefix, from));
                let checksum = u64::from(checksum & self.udp_checksum);
                Mark {
                    kind: if packet.is_fragment {
                        Kind::FragmentedDatagram
                    } else {
                        Kind::Datagram
                    },
                    ..Mark::new(words, length, ip_id, [checksum, 0])
                }
            }
        }
    }
}

fn word_at(prefix: &[u8; 16], from: usize) -> u32 {
    let word = prefix[from..].first_chunk();
    word.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// What a mark is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Datagram,
    /// The first fragment of a datagram, or of a packet of a protocol without segments.
    FragmentedDatagram,
    /// The first fragment of a TCP segment with ACK, without SYN.
    FragmentedSegment,
    /// A TCP segment with ACK, with neither SYN nor FIN.
    Segment,
    /// A TCP segment with SYN, without ACK.
    Syn,
    /// A TCP segment with SYN and ACK.
    SynAck,
    /// A TCP segment with FIN and ACK, without SYN.
    Fin,
    /// A TCP segment with neither SYN nor ACK. The receiver drops it, unless it is a reset (RFC 9293, section
    /// 3.10.7.4).
    WithoutAck,
}

/// The values that identify a packet within its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spp) struct Mark {
    /// TCP: sequence and acknowledgment number, `TSval`, `TSecr`. Others: first bytes of the payload.
    pub(in crate::spp) words: [u32; 4],
    /// Payload length in bytes.
    pub(in crate::spp) length: u32,
    pub(in crate::spp) ip_id: u16,
    /// True for data that may be recut; it is matched by its stream range.
    pub(in crate::spp) by_range: bool,
    kind: Kind,
    /// Hash of these values and of fields needed only for comparison: flags, window, SACK blocks,
    /// checksum of a datagram.
    pub(in crate::spp) digest: [u64; 2],
}

impl Mark {
    /// Hashes here, while the fields are in the cache.
    #[inline]
    fn new(words: [u32; 4], length: u32, ip_id: u16, rest: [u64; 2]) -> Self {
        // Without `map` of arrays, which the compiler does not always inline: calls for each element.
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let hashed = [
            pair(words[0], words[1]),
            pair(words[2], words[3]),
            u64::from(length) << 32 | rest[0],
            rest[1] ^ u64::from(ip_id),
        ];
        let hash = |seed| {
            let mut state = FixedState::with_seed(seed).build_hasher();
            for word in hashed {
                state.write_u64(word);
            }
            state.finish()
        };
        let digest = [hash(1), hash(2)];
        Self {
            words,
            length,
            ip_id,
            by_range: false,
            kind: Kind::Datagram,
            digest,
        }
    }

    fn is_tcp(&self) -> bool {
        !matches!(self.kind, Kind::Datagram | Kind::FragmentedDatagram)
    }

    /// True for the first fragment of a packet. If the packet was fragmented between the points, its length
    /// and the checksum that stands for its payload differ from those of its departure.
    pub(in crate::spp) fn is_fragment(&self) -> bool {
        matches!(
            self.kind,
            Kind::FragmentedDatagram | Kind::FragmentedSegment
        )
    }

    /// Number of sequence numbers that a TCP segment takes: one per byte of data, and one for a SYN or
    /// FIN (RFC 9293, section 3.4).
    pub(in crate::spp) fn sequence_bytes(&self) -> u32 {
        let takes_one = matches!(self.kind, Kind::Syn | Kind::SynAck | Kind::Fin);
        self.length.saturating_add(u32::from(takes_one))
    }

    /// True for a TCP segment with SYN.
    pub(in crate::spp) fn is_syn(&self) -> bool {
        matches!(self.kind, Kind::Syn | Kind::SynAck)
    }

    /// Sequence number of the first byte of a TCP segment.
    pub(in crate::spp) fn seq(&self) -> SeqNum {
        SeqNum(self.words[0])
    }

    /// Acknowledgment number of a TCP segment; `None` without ACK.
    pub(in crate::spp) fn ack(&self) -> Option<SeqNum> {
        let has_ack = matches!(
            self.kind,
            Kind::SynAck | Kind::Fin | Kind::Segment | Kind::FragmentedSegment
        );
        has_ack.then_some(SeqNum(self.words[1]))
    }

    /// `TSval` and `TSecr` of a TCP segment; `None` without an echo.
    pub(in crate::spp) fn timestamps(&self) -> Option<(u32, u32)> {
        // An echo of zero is none (RFC 7323, section 3.2).
        (self.is_tcp() && self.words[3] != 0).then_some((self.words[2], self.words[3]))
    }

    /// True if no other packet of its flow has this mark, except copies.
    pub(in crate::spp) fn is_one_of_a_kind(&self) -> bool {
        let has_timestamp = self.is_tcp() && self.words[2] != 0;
        // Each piece of a recut segment has another IP ID.
        let has_own_id = self.ip_id != 0 && !self.by_range;
        has_own_id || (has_timestamp && self.length > 0)
    }

    /// True if an arrival with this mark that follows another after `gap` may be another packet, whose
    /// departure was not captured: without a number of its own, a retransmission or a repeated
    /// acknowledgment equals the first packet. A sender that repeats a packet within [`COPY_GAP`] is not
    /// considered.
    pub(in crate::spp) fn may_be_sent_again_after(&self, gap: TimeDelta) -> bool {
        self.is_tcp() && !self.is_one_of_a_kind() && gap >= COPY_GAP
    }

    /// True for an acknowledgment without data that only its order distinguishes from duplicates.
    #[inline]
    pub(in crate::spp) fn may_have_twin(&self) -> bool {
        self.is_tcp() && self.length == 0 && self.ip_id == 0
    }

    /// True if no other flow has a packet with this mark: initial sequence numbers are random.
    /// Datagrams with little content are identical in all flows and both directions.
    pub(in crate::spp) fn is_of_one_flow(&self) -> bool {
        self.is_tcp() && self.words[1] != 0
    }

    /// True if a packet that follows another with the same mark after `gap` is a second capture of
    /// it or a network duplicate, and not a retransmission.
    ///
    /// A sender does not reuse an IP ID before all others are used, and never together with the
    /// same TCP timestamp. Without an IP ID the two cannot be distinguished: a sender that detects
    /// a loss may retransmit a segment it sent just before, within one tick of the timestamp clock.
    pub(in crate::spp) fn is_copy_after(&self, gap: TimeDelta) -> bool {
        let has_timestamp = self.is_tcp() && self.words[2] != 0;
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
        kind: Kind::Datagram,
        digest: [0; 2],
    };

    #[test]
    fn identical_datagram_is_no_duplicate_once_ip_ids_may_have_wrapped() {
        assert!(DATAGRAM.is_copy_after(MILLISECOND));
        assert!(!DATAGRAM.is_copy_after(SECOND));
        let without_id = Mark {
            ip_id: 0,
            ..DATAGRAM
        };
        assert!(!without_id.is_copy_after(TimeDelta::ZERO));
    }

    #[test]
    fn identical_segment_is_a_duplicate_if_it_cannot_be_a_retransmission() {
        let segment = Mark {
            kind: Kind::Segment,
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
