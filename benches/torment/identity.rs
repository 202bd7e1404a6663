//! Matches the packets of two clean captures without the code under test.

use std::collections::HashMap;
use std::net::SocketAddr;

use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{LinkType, Transport, Tunnels, decode};

use crate::pair::{PacketId, Passage, Side};

/// Upper limit of the one-way delay. A packet sent this close to the end of the other capture may
/// arrive after that end.
const LONGEST_DELAY: TimeDelta = TimeDelta::from_seconds(3);

/// All packet fields that a path leaves unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Content {
    stream: Stream,
    seq: u32,
    flags: u16,
    ip_id: Option<u16>,
    payload_bytes: u32,
    /// The first bytes of a datagram.
    prefix: Vec<u8>,
}

/// Fields that all pieces of one super-packet share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Stream {
    ends: (SocketAddr, SocketAddr),
    ack: u32,
    timestamps: Option<(u32, u32)>,
}

/// Numbers the packets of both captures and returns the passage of each packet.
///
/// Packets match if all fields that a path leaves unchanged are equal. Packets with equal fields
/// match in capture order if both captures hold the same number of them; otherwise they share one
/// id. A segment of a super-packet belongs to the super-packet that holds its last byte.
pub(crate) fn assign(sides: &mut [Side; 2]) -> Vec<Passage> {
    let contents = sides.each_ref().map(contents);
    let mut passages = Vec::new();
    let groups = contents.each_ref().map(|contents| grouped(contents));
    let spans = sides.each_ref().map(span);
    for (content, ours) in &groups[0] {
        let theirs = groups[1].get(content).map_or(&[][..], Vec::as_slice);
        if theirs.len() == ours.len() {
            for (one, other) in ours.iter().zip(theirs) {
                let id = number(&mut passages, Passage::Arrived);
                sides[0].records[*one].ids.push(id);
                sides[1].records[*other].ids.push(id);
            }
        } else if !theirs.is_empty() {
            let id = number(&mut passages, Passage::Unknown);
            for (side, places) in [(0, ours.as_slice()), (1, theirs)] {
                for place in places {
                    sides[side].records[*place].ids.push(id);
                }
            }
        }
    }
    for side in [0, 1] {
        let (upstream, downstream) = (side, 1 - side);
        carry(sides, &contents, [upstream, downstream], &mut passages);
    }
    for side in [0, 1] {
        for (place, content) in contents[side].iter().enumerate() {
            let record = &mut sides[side].records[place];
            if content.is_none() || !record.ids.is_empty() {
                continue;
            }
            let is_inside = record.true_at >= spans[1 - side].0
                && record.true_at + LONGEST_DELAY <= spans[1 - side].1;
            let passage = if is_inside {
                Passage::Lost
            } else {
                Passage::Unknown
            };
            record.ids.push(number(&mut passages, passage));
        }
    }
    passages
}

/// Matches segments of one capture with super-packets of the other.
fn carry(
    sides: &mut [Side; 2],
    contents: &[Vec<Option<Content>>; 2],
    [whole, pieces]: [usize; 2],
    passages: &mut Vec<Passage>,
) {
    let mut carriers: HashMap<Stream, Vec<usize>> = HashMap::new();
    for (place, content) in contents[whole].iter().enumerate() {
        if let Some(content) = content.as_ref().filter(|content| content.payload_bytes > 0) {
            carriers.entry(content.stream).or_default().push(place);
        }
    }
    for (place, piece) in contents[pieces].iter().enumerate() {
        let Some(piece) = piece.as_ref().filter(|piece| piece.payload_bytes > 0) else {
            continue;
        };
        if !sides[pieces].records[place].ids.is_empty() {
            continue;
        }
        let last = piece.seq.wrapping_add(piece.payload_bytes - 1);
        let holds = |place: &&usize| {
            contents[whole][**place]
                .as_ref()
                .is_some_and(|whole| last.wrapping_sub(whole.seq) < whole.payload_bytes)
        };
        let found: Vec<usize> = carriers
            .get(&piece.stream)
            .into_iter()
            .flatten()
            .filter(holds)
            .copied()
            .collect();
        if found.is_empty() {
            continue;
        }
        let id = number(passages, Passage::Unknown);
        sides[pieces].records[place].ids.push(id);
        for carrier in found {
            sides[whole].records[carrier].ids.push(id);
        }
    }
}

fn number(passages: &mut Vec<Passage>, passage: Passage) -> PacketId {
    passages.push(passage);
    PacketId::try_from(passages.len() - 1).expect("fewer than 2^32 packets")
}

fn span(side: &Side) -> (Timestamp, Timestamp) {
    let times = || side.records.iter().map(|record| record.true_at);
    let zero = Timestamp::from_nanos(0);
    (times().min().unwrap_or(zero), times().max().unwrap_or(zero))
}

fn grouped(contents: &[Option<Content>]) -> HashMap<&Content, Vec<usize>> {
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (place, content) in contents.iter().enumerate() {
        if let Some(content) = content {
            places.entry(content).or_default().push(place);
        }
    }
    places
}

/// Returns the content of each record; `None` if it holds no TCP or UDP packet.
fn contents(side: &Side) -> Vec<Option<Content>> {
    let link = LinkType(u16::try_from(side.link_type).expect("link types have 16 bits"));
    let of = |frame: &[u8], wire_bytes| {
        let packet = decode(link, frame, wire_bytes, Tunnels::default()).ok()?;
        let mut content = Content {
            stream: Stream {
                ends: (
                    SocketAddr::new(packet.addresses.source(), packet.ports.source),
                    SocketAddr::new(packet.addresses.destination(), packet.ports.destination),
                ),
                ack: 0,
                timestamps: None,
            },
            seq: 0,
            flags: 0,
            ip_id: packet.ip_id,
            payload_bytes: packet.payload_bytes,
            prefix: Vec::new(),
        };
        match &packet.transport {
            Transport::Tcp(tcp) => {
                content.stream.ack = tcp.ack.0;
                content.stream.timestamps = tcp.options.timestamps();
                content.seq = tcp.seq.0;
                content.flags = tcp.flags.bits();
            }
            Transport::Udp(_) | Transport::Other(_) => {
                content.prefix = packet.payload[..packet.payload.len().min(16)].to_vec();
            }
        }
        Some(content)
    };
    side.records
        .iter()
        .map(|record| of(&record.frame, record.wire_bytes))
        .collect()
}
