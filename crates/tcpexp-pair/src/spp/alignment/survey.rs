//! First pass over one capture.

use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::Transport;

use super::begins::Begins;
use super::fields::{FieldValues, content_hash, own_fields, rest_hash, with_endpoints};
use super::repeats::Repeats;
use super::sketch::Sketch;
use super::twins::{Twins, identity};
use crate::spp::clock::TickMeter;
use tcpexp_flow::Sighted;

/// Sample size of packets identified by addresses, ports and content: enough to estimate the clocks
/// to one microsecond.
const KEPT_BY_ENDPOINTS: usize = 16_384;

/// Sample size of packets identified by content alone: enough to detect address translation.
const KEPT_BY_CONTENT: usize = 4_096;

/// Sample size of segments identified by other fields than their sequence numbers: enough to learn
/// the shift of a thousand connections.
const KEPT_BY_REST: usize = 8_192;
/// Sampling interval for the other fields, in segments: sampling all of them costs time.
const SAMPLING_INTERVAL: u32 = 16;

/// Result of the first pass over one capture.
#[derive(Debug, Default)]
pub struct Survey {
    /// Number of usable packets.
    pub(in crate::spp) packets: u64,
    /// Place and time of the first packet.
    pub(in crate::spp) first: Option<(u64, Timestamp)>,
    /// Place and time of the last packet.
    pub(in crate::spp) last: Option<(u64, Timestamp)>,
    /// The largest TCP payload, in bytes.
    pub(in crate::spp) largest_segment_bytes: u32,
    /// True if the capture cuts TCP options off: SACK blocks may then be missing.
    pub(in crate::spp) cuts_options: bool,
    twins: Twins,
    /// The resolution of the capture's clock.
    pub(in crate::spp) tick: TickMeter,
    /// Connections whose SYN was captured.
    pub(in crate::spp) begins: Begins,
    /// Flows with recurring datagrams.
    pub(super) repeats: Repeats,
    /// Sample of packets identified by addresses, ports and content.
    pub(in crate::spp) by_endpoints: Sketch<KEPT_BY_ENDPOINTS>,
    /// Sample of packets identified by the content that address translation preserves.
    pub(in crate::spp) by_content: Sketch<KEPT_BY_CONTENT>,
    /// Sample of TCP segments identified by all fields but sequence and acknowledgment numbers.
    pub(in crate::spp) by_rest: Sketch<KEPT_BY_REST>,
}

impl Survey {
    /// Adds the next packet of the capture.
    #[inline]
    pub fn observe(&mut self, sighted: &Sighted<'_>) {
        self.packets += 1;
        let seen = (sighted.place(), sighted.at);
        self.first.get_or_insert(seen);
        self.last = Some(seen);
        self.tick.observe(sighted.at);
        let content = content_hash(sighted.packet);
        let endpoints = with_endpoints(content, sighted.packet);
        if let Transport::Tcp(tcp) = &sighted.packet.transport {
            self.cuts_options |= tcp.options.is_cut();
            let own = own_fields(sighted.packet, tcp);
            // Both captures choose by the same number, so they sample the same segments.
            if own != 0 && own.is_multiple_of(SAMPLING_INTERVAL) {
                self.by_rest.offer(rest_hash(sighted.packet, tcp), sighted);
            }
            if tcp.flags.syn() {
                self.begins.add(&FieldValues::of(sighted.packet));
            }
        }
        if let Transport::Tcp(_) = sighted.packet.transport
            && sighted.packet.payload_bytes > 0
        {
            let bytes = sighted.packet.payload_bytes;
            self.largest_segment_bytes = self.largest_segment_bytes.max(bytes);
            let identity = identity(sighted.packet, endpoints);
            self.twins.observe(identity, sighted.packet.ttl, sighted.at);
        }
        self.repeats.observe(sighted);
        self.by_endpoints.offer(endpoints, sighted);
        self.by_content.offer(content, sighted);
    }

    /// Adds the unit in which the capture's file counts the times of an interface.
    pub fn count_in(&mut self, unit: TimeDelta) {
        self.tick.count_in(unit);
    }

    /// True if the capture records each packet twice, as mirror ports may.
    pub(in crate::spp) fn doubles(&self) -> bool {
        self.twins.records_per_packet() > 1
    }
}
