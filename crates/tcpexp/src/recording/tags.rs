//! Flows whose packets have different VLAN tags or MPLS labels.
//!
//! The flow key has no tags. Packets with equal addresses and ports in two networks are one flow, although they may
//! be packets of two connections, or records of one packet with and without a tag.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use tcpexp_capture::Record;
use tcpexp_wire::{Addresses, Filter, LinkType, Ports, Transport, Tunnels, decode, ip_bytes};

/// Bytes of the Ethernet addresses before the tags.
const ADDRESSES_BYTES: usize = 12;
/// Bytes of a frame that show if a filter selects it: Ethernet with four tags, an IP header with options and the
/// fixed part of a TCP header have 110.
const HEAD_BYTES: usize = 128;

/// Flows whose packets alternate between tags, by the first records.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// The tags of each flow and direction; empty before the first record with a tag.
    of_flows: HashMap<(Addresses, Ports, bool), OfFlow, FixedState>,
    has_tags: bool,
}

#[derive(Debug)]
struct OfFlow {
    /// Hash of the tags of the first packet.
    first: u64,
    state: State,
    /// The first packet of each set of tags, by the hash of the tags.
    heads: BTreeMap<u64, Head>,
}

/// The headers of a packet.
#[derive(Debug)]
struct Head {
    captured: Box<[u8]>,
    wire_bytes: u32,
}

/// The flows, by direction, whose packets alternate between tags, with one packet for each set of tags.
#[derive(Debug, Default)]
pub(super) struct Alternating(Vec<Vec<Head>>);

impl Alternating {
    /// Number of flows with packets of several tags that the filter selects.
    pub(super) fn flows(&self, filter: Option<&Filter>) -> u32 {
        let is_selected = |head: &&Head| {
            filter.is_none_or(|filter| {
                filter.matches(LinkType::ETHERNET, &head.captured, head.wire_bytes)
            })
        };
        let has_several = |heads: &&Vec<Head>| heads.iter().filter(is_selected).nth(1).is_some();
        u32::try_from(self.0.iter().filter(has_several).count()).unwrap_or(u32::MAX)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Equal,
    /// The latest packets have other tags. A later connection may use the ports again, or the route has changed.
    Changed,
    /// A packet with the first tags follows a packet with other tags: packets with both pass at the same time.
    Alternating,
}

impl Tags {
    /// True if a record had a tag.
    pub(super) fn has_any(&self) -> bool {
        self.has_tags
    }

    /// Adds the next record of the capture.
    pub(super) fn add(&mut self, record: &Record<'_>) {
        let link = LinkType(record.link_type);
        if link != LinkType::ETHERNET {
            return;
        }
        self.has_tags |= has_tag(record.captured);
        if self.has_tags {
            self.compare(link, record);
        }
    }

    #[cold]
    fn compare(&mut self, link: LinkType, record: &Record<'_>) {
        let captured = record.captured;
        let Ok(packet) = decode(link, captured, record.wire_bytes, Tunnels::Closed) else {
            return;
        };
        let is_tcp = matches!(packet.transport, Transport::Tcp(_));
        if !is_tcp && !matches!(packet.transport, Transport::Udp(_)) {
            return;
        }
        let Ok(datagram) = ip_bytes(link, captured) else {
            return;
        };
        let tags = hash(&captured[..captured.len() - datagram.len()]);
        let key = (packet.addresses, packet.ports, is_tcp);
        let flow = self.of_flows.entry(key).or_insert(OfFlow {
            first: tags,
            state: State::Equal,
            heads: BTreeMap::new(),
        });
        flow.heads.entry(tags).or_insert_with(|| Head {
            captured: captured[..captured.len().min(HEAD_BYTES)].into(),
            wire_bytes: record.wire_bytes,
        });
        flow.state = match (flow.state, tags == flow.first) {
            (State::Equal, true) => State::Equal,
            (State::Equal | State::Changed, false) => State::Changed,
            (State::Changed, true) | (State::Alternating, _) => State::Alternating,
        };
    }

    pub(super) fn alternating(self) -> Alternating {
        let flows = self.of_flows.into_values();
        let alternating = flows.filter(|flow| flow.state == State::Alternating);
        Alternating(
            alternating
                .map(|flow| flow.heads.into_values().collect())
                .collect(),
        )
    }
}

/// True if a frame has a VLAN tag (IEEE 802.1Q, 802.1ad) or an MPLS label (RFC 3032).
fn has_tag(frame: &[u8]) -> bool {
    let ether_type = frame.get(ADDRESSES_BYTES..ADDRESSES_BYTES + 2);
    ether_type.is_some_and(|one| {
        matches!(
            u16::from_be_bytes([one[0], one[1]]),
            0x8100 | 0x88a8 | 0x9100 | 0x8847 | 0x8848
        )
    })
}

/// Hash of the VLAN identifiers and MPLS labels of a link header, without the priorities and the TTL of a label, which
/// differ between packets of a flow. Identifier 0 has only a priority (IEEE 802.1Q, table 9-2).
fn hash(header: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    let mut rest = header.get(ADDRESSES_BYTES..).unwrap_or_default();
    while let [high, low, after @ ..] = rest {
        rest = match (u16::from_be_bytes([*high, *low]), after) {
            (0x8100 | 0x88a8 | 0x9100, [high, low, after @ ..]) => {
                let identifier = u16::from_be_bytes([*high, *low]) & 0x0fff;
                if identifier != 0 {
                    hasher.write_u16(identifier);
                }
                after
            }
            (0x8847 | 0x8848, labels) => {
                let labels = labels.chunks_exact(4);
                labels.for_each(|label| hasher.write(&[label[0], label[1], label[2] & 0xf0]));
                break;
            }
            _ => break,
        };
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use tcpexp_testkit::{CaptureWriter, Container, Endian, Interface, script};

    use super::*;
    use crate::{CaptureInfo, CaptureOptions, Recording};

    /// A VLAN tag with a priority.
    fn vlan(priority: u8, identifier: u8) -> Vec<u8> {
        vec![0x81, 0, priority << 5, identifier]
    }

    /// Number of flows with alternating tags, of datagrams with these tags.
    fn alternating(tags: &[Vec<u8>], num: impl Fn(usize) -> usize) -> u32 {
        alternating_of(tags, num, None)
    }

    fn alternating_of(tags: &[Vec<u8>], num: impl Fn(usize) -> usize, filter: Option<&str>) -> u32 {
        let interfaces = [Interface::default()];
        let mut writer =
            CaptureWriter::new(Vec::new(), Container::Pcap, Endian::Little, &interfaces).unwrap();
        for (place, tag) in tags.iter().enumerate() {
            let (second, tenth) = (place / 2, place % 2);
            let line = format!("{second}.000{tenth} > udp 100 num {}", num(place));
            let (at, frame) = script::packets(&line).remove(0);
            let (addresses, rest) = frame.split_at(ADDRESSES_BYTES);
            let frame = [addresses, tag, rest].concat();
            let bytes = u32::try_from(frame.len()).unwrap();
            writer.write(at, &frame, bytes).unwrap();
        }
        let file = writer.into_inner();
        let recording = Recording::spool("capture".into(), file.as_slice()).unwrap();
        let options = match filter {
            Some(filter) => CaptureOptions::default().filter(filter.parse().unwrap()),
            None => CaptureOptions::default(),
        };
        let info = CaptureInfo::read(&recording, &options).unwrap();
        info.flows_with_several_tags
    }

    #[test]
    fn a_flow_is_not_counted_if_a_filter_selects_one_of_its_vlans() {
        let of = |filter: &str| {
            let tags = [vlan(0, 1), vlan(0, 2), vlan(0, 3), vlan(0, 1)];
            alternating_of(&tags, |place| place, Some(filter))
        };
        assert_eq!(of("vlan 1"), 0);
        assert_eq!(of("not vlan 1"), 1);
        // The filter selects no network.
        assert_eq!(of("vlan"), 1);
        assert_eq!(of("vlan and udp"), 1);
    }

    #[test]
    fn a_flow_whose_packets_alternate_between_vlans_is_counted() {
        let of = |tags: &[Vec<u8>]| alternating(tags, |place| place);
        assert_eq!(of(&[vlan(0, 1), vlan(0, 2), vlan(0, 1)]), 1);
        // With and without a tag.
        assert_eq!(of(&[vlan(0, 1), vec![], vlan(0, 1)]), 1);
        // A priority is no other network, and a route may change once.
        assert_eq!(of(&[vlan(0, 1), vlan(3, 1), vlan(0, 1)]), 0);
        assert_eq!(of(&[vlan(0, 1), vlan(0, 2), vlan(0, 2)]), 0);
        assert_eq!(of(&[vec![], vlan(5, 0), vec![], vlan(5, 0)]), 0);
    }

    #[test]
    fn records_that_are_left_out_do_not_count_as_a_flow_in_two_vlans() {
        let tags: Vec<_> = (0..40).map(|place| vlan(0, place % 2)).collect();
        assert_eq!(alternating(&tags, |place| place), 1);
        assert_eq!(alternating(&tags, |place| place / 2), 0);
    }
}
