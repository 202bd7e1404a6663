//! Identical packets in two captures, matched independently of the code under test.

use std::collections::HashMap;
use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;

use tcpexp_capture::Capture;
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Transport, Tunnels, decode};

/// Addresses of sender and receiver.
pub(crate) type Ends = (SocketAddr, SocketAddr);

/// One packet at one point.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Record number in the capture, from 0.
    pub(crate) record: u64,
    pub(crate) at: Timestamp,
    pub(crate) ends: Ends,
    pub(crate) is_tcp: bool,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) flags: u16,
    pub(crate) ip_id: Option<u16>,
    pub(crate) payload_bytes: u32,
    /// The first bytes of a datagram.
    pub(crate) prefix: Vec<u8>,
}

/// A packet that is certainly in both captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Same {
    pub(crate) ends: Ends,
    pub(crate) departed: Timestamp,
    pub(crate) arrived: Timestamp,
}

/// The TCP and UDP packets of a capture.
pub(crate) fn read(path: &Path) -> Vec<Seen> {
    let mut capture = Capture::from_file(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    let mut records = 0..;
    while let Some(record) = capture.next_record() {
        let number = records.next().unwrap();
        let link = LinkType(record.link_type);
        let Ok(packet) = decode(link, record.captured, record.wire_bytes, Tunnels::default())
        else {
            continue;
        };
        let end = |address, port| SocketAddr::new(address, port);
        let mut seen = Seen {
            record: number,
            at: record.at.unwrap(),
            ends: (
                end(packet.addresses.source(), packet.ports.source),
                end(packet.addresses.destination(), packet.ports.destination),
            ),
            is_tcp: false,
            seq: 0,
            ack: 0,
            timestamps: None,
            flags: 0,
            ip_id: packet.ip_id,
            payload_bytes: packet.payload_bytes,
            prefix: Vec::new(),
        };
        match &packet.transport {
            Transport::Tcp(tcp) => {
                seen.is_tcp = true;
                (seen.seq, seen.ack) = (tcp.seq.0, tcp.ack.0);
                seen.timestamps = tcp.options.timestamps();
                seen.flags = tcp.flags.bits();
            }
            Transport::Udp(_) | Transport::Other(_) => {
                seen.prefix = packet.payload[..packet.payload.len().min(16)].to_vec();
            }
        }
        packets.push(seen);
    }
    packets
}

/// Returns the packets that occur once in each capture, matched by all fields that the path leaves
/// unchanged.
pub(crate) fn same(departed: &[Seen], arrived: &[Seen]) -> Vec<Same> {
    let (ours, theirs) = (by_content(departed), by_content(arrived));
    let alone = ours.into_iter().filter_map(|(key, places)| {
        let ([departure], [arrival]) = (&places[..], &theirs.get(&key)?[..]) else {
            return None;
        };
        Some(Same {
            ends: departed[*departure].ends,
            departed: departed[*departure].at,
            arrived: arrived[*arrival].at,
        })
    });
    alone.collect()
}

type Content<'a> = (
    Ends,
    [u32; 2],
    Option<(u32, u32)>,
    u16,
    Option<u16>,
    u32,
    &'a [u8],
);

fn by_content(packets: &[Seen]) -> HashMap<Content<'_>, Vec<usize>> {
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, p) in packets.iter().enumerate() {
        let key = (
            p.ends,
            [p.seq, p.ack],
            p.timestamps,
            p.flags,
            p.ip_id,
            p.payload_bytes,
            &p.prefix[..],
        );
        places.entry(key).or_default().push(place);
    }
    places
}

/// Like [`same`], for re-segmented data: matches an arrival to the packet that carried its last
/// byte.
pub(crate) fn same_bytes(departed: &[Seen], arrived: &[Seen]) -> Vec<Same> {
    let is_data = |p: &&Seen| p.payload_bytes > 0;
    let stream = |p: &Seen| (p.ends, p.ack, p.timestamps);
    let mut departures: HashMap<_, Vec<&Seen>> = HashMap::new();
    for packet in departed.iter().filter(is_data) {
        departures.entry(stream(packet)).or_default().push(packet);
    }
    let without_data = |packets: &[Seen]| -> Vec<Seen> {
        packets
            .iter()
            .filter(|p| p.payload_bytes == 0)
            .cloned()
            .collect()
    };
    let mut all = same(&without_data(departed), &without_data(arrived));
    for arrival in arrived.iter().filter(is_data) {
        let last = arrival.seq.wrapping_add(arrival.payload_bytes - 1);
        let carriers: Vec<_> = departures
            .get(&stream(arrival))
            .into_iter()
            .flatten()
            .filter(|departure| last.wrapping_sub(departure.seq) < departure.payload_bytes)
            .collect();
        if let [carrier] = carriers[..] {
            all.push(Same {
                ends: arrival.ends,
                departed: carrier.at,
                arrived: arrival.at,
            });
        }
    }
    all
}
