//! A first look at one capture.

use tcpexp_units::Timestamp;
use tcpexp_wire::Transport;

use super::begins::Begins;
use super::fields::{FieldValues, content_hash, with_endpoints};
use super::sketch::Sketch;
use super::twins::Twins;
use crate::Sighted;
use crate::spp::clock::TickMeter;

/// How many packets are kept that are known by their addresses, ports and content: enough that
/// the clocks are told to a microsecond.
const KEPT_BY_ENDPOINTS: usize = 16_384;

/// How many that are known by content alone: enough to see that addresses are translated.
const KEPT_BY_CONTENT: usize = 4_096;

/// What a first pass over one capture found.
#[derive(Debug, Default)]
pub struct Survey {
    /// Usable packets.
    pub(in crate::spp) packets: u64,
    /// Record number and time of the first packet.
    pub(in crate::spp) first: Option<(u64, Timestamp)>,
    /// Record number and time of the last packet.
    pub(in crate::spp) last: Option<(u64, Timestamp)>,
    /// The largest TCP payload, in bytes.
    pub(in crate::spp) largest_segment_bytes: u32,
    /// Whether TCP options were cut off: a packet may then have had SACK blocks that are not seen.
    pub(in crate::spp) cuts_options: bool,
    twins: Twins,
    /// The resolution of the capture's clock.
    pub(in crate::spp) tick: TickMeter,
    /// Connections of which the SYN was seen.
    pub(in crate::spp) begins: Begins,
    /// Packets identified with their addresses and ports.
    pub(in crate::spp) by_endpoints: Sketch<KEPT_BY_ENDPOINTS>,
    /// Packets identified by what address translation leaves alone.
    pub(in crate::spp) by_content: Sketch<KEPT_BY_CONTENT>,
}

impl Survey {
    /// Takes in the capture's next packet.
    #[inline]
    pub fn observe(&mut self, sighted: &Sighted<'_>) {
        self.packets += 1;
        let place = (sighted.record, sighted.at);
        self.first.get_or_insert(place);
        self.last = Some(place);
        self.tick.observe(sighted.at);
        let content = content_hash(sighted.packet);
        let endpoints = with_endpoints(content, sighted.packet);
        if let Transport::Tcp(tcp) = &sighted.packet.transport {
            self.cuts_options |= tcp.options.is_cut();
            if tcp.flags.syn() {
                self.begins.add(&FieldValues::of(sighted.packet));
            }
        }
        if let Transport::Tcp(_) = sighted.packet.transport
            && sighted.packet.payload_bytes > 0
        {
            let bytes = sighted.packet.payload_bytes;
            self.largest_segment_bytes = self.largest_segment_bytes.max(bytes);
            let ip_id = sighted.packet.ip_id.unwrap_or(0);
            let identity = endpoints ^ (u64::from(bytes) << 16 | u64::from(ip_id));
            self.twins.observe(identity, sighted.at);
        }
        self.by_endpoints.offer(endpoints, sighted);
        self.by_content.offer(content, sighted);
    }

    /// Whether the capture holds each packet twice, as those of mirror ports may.
    pub(in crate::spp) fn doubles(&self) -> bool {
        self.twins.are_the_rule()
    }
}
