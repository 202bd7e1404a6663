//! One departure of data in flight, of which parts may arrive one by one.

use tcpexp_flow::StreamOffset;

use super::arrived::Arrived;
use super::departure::Departure;
use crate::spp::linking::Mark;

/// Maximum number of packets that one super-packet becomes: BIG TCP's 512 KB (RFC 2675) in
/// 1448-byte steps.
const PIECES: u16 = 364;

/// Longest IP packet that a sender hands to its network card uncut: the payload of an Ethernet frame
/// (RFC 894). Only longer departures are super-packets.
pub(super) const UNCUT_BYTES: u32 = 1_500;

/// Data of one departure.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) start: StreamOffset,
    pub(super) end: StreamOffset,
    pub(super) mark: Mark,
    pub(super) departure: Departure,
    pub(super) arrived: Arrived,
    /// Number of packets on the path that have arrived.
    pub(super) packets: u64,
    pub(super) ambiguous: bool,
}

impl Piece {
    pub(super) fn receive(&mut self, start: StreamOffset, end: StreamOffset) {
        self.arrived.add(start.max(self.start), end.min(self.end));
    }

    /// True if all its bytes from `start` to `end` have arrived.
    pub(super) fn has(&self, start: StreamOffset, end: StreamOffset) -> bool {
        self.arrived.has(start.max(self.start), end.min(self.end))
    }

    pub(super) fn is_whole(&self) -> bool {
        self.arrived.bytes() >= self.mark.length
    }

    /// True if the packets on the path may end at `end`, which is in this departure.
    pub(super) fn may_be_cut_at(&self, end: StreamOffset) -> bool {
        let ip_bytes = self.mark.length + u32::from(self.departure.header_bytes);
        end == self.end || ip_bytes > UNCUT_BYTES
    }

    /// True if an arrival may start at `start`, which is in this departure: the bytes before it have
    /// arrived, or `ip_id` counts the packets before it.
    pub(super) fn may_start_at(&self, start: StreamOffset, ip_id: u16) -> bool {
        let counts = ip_id != 0 && self.mark.ip_id != 0 && ip_id != self.mark.ip_id;
        start == self.start
            || self.may_be_cut_at(start) && (counts || self.arrived.has(start.moved(-1), start))
    }

    /// True if the IP ID of an arrival proves that it was cut from this departure, which
    /// [may show](Self::may_show_id) it: the IP IDs of the packets cut from the departure count up from its
    /// own, one for each `full_bytes` of payload. A retransmission has an IP ID of its own, which may be a
    /// little ahead too, but not by this number. An IP ID that all packets keep proves nothing: the sender
    /// may not number its packets.
    pub(super) fn is_shown_by_id(
        &self,
        start: StreamOffset,
        end: StreamOffset,
        ip_id: u16,
        full_bytes: u32,
    ) -> bool {
        let has_ids = ip_id != 0 && self.mark.ip_id != 0;
        // The IP ID of a merged arrival is that of its first packet.
        let is_within = self.start <= start && end <= self.end;
        let ahead = i64::from(ip_id.wrapping_sub(self.mark.ip_id));
        has_ids && is_within && start.since(self.start) == ahead * i64::from(full_bytes.max(1))
    }

    /// True if an arrival that starts at `start` and shows `ip_id` may hold bytes of this
    /// departure.
    ///
    /// The arrival shows the IP ID of its first packet. Packets cut from one departure count up
    /// from its IP ID, or all keep it, and all but the last carry the same number of bytes. If the
    /// first packet belongs to an earlier departure, its IP ID proves nothing about this one.
    pub(super) fn may_show_id(&self, start: StreamOffset, ip_id: u16) -> bool {
        // Zero stands for no usable ID: IPv6, a host that does not number atomic datagrams (RFC
        // 6864, section 4.1), or a path that changes the field.
        if ip_id == 0 || self.mark.ip_id == 0 || start < self.start {
            return true;
        }
        let ahead_bytes = start.since(self.start);
        match ip_id.wrapping_sub(self.mark.ip_id) {
            0 => true,
            ahead => ahead < PIECES && ahead_bytes > 0 && ahead_bytes % i64::from(ahead) == 0,
        }
    }
}
