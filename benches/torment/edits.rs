//! Edits packets and lists of records.

use std::collections::HashMap;

use tcpexp_testkit::Prng;
use tcpexp_units::{TimeDelta, Timestamp};

use crate::headers::Headers;
use crate::pair::{PacketId, Pair, Record, Side};

/// TCP option kinds: timestamps (RFC 7323) and selective acknowledgments (RFC 2018).
const TIMESTAMPS: u8 = 8;
const SACK: u8 = 5;

/// Calls `change` with each TCP or UDP packet and the index of its capture.
pub(crate) fn each_packet(pair: &mut Pair, change: impl Fn(usize, &mut Record, &Headers)) {
    for (number, side) in pair.sides.iter_mut().enumerate() {
        for record in &mut side.records {
            if let Some(headers) = Headers::find(side.link_type, &record.frame) {
                change(number, record, &headers);
            }
        }
    }
}

/// Makes all datagrams identical, with an Identification that repeats after `period` values.
pub(crate) fn repeat_datagrams(pair: &mut Pair, period: u16) {
    // Packets are numbered in the order in which they left, that is, by their earliest record.
    let mut order: Vec<(Timestamp, PacketId, u32)> = Vec::new();
    for side in &pair.sides {
        for record in &side.records {
            if let (Some(headers), Some(id)) = (
                Headers::find(side.link_type, &record.frame).filter(|headers| !headers.is_tcp),
                record.ids.first(),
            ) {
                let [source, _] = headers.ports();
                let port = u16::from_be_bytes([
                    record.frame[source.start],
                    record.frame[source.start + 1],
                ]);
                order.push((record.true_at, *id, port.into()));
            }
        }
    }
    order.sort_unstable();
    let mut next: HashMap<u32, u16> = HashMap::new();
    let mut numbers: HashMap<PacketId, u16> = HashMap::new();
    for (_, id, stream) in order {
        numbers.entry(id).or_insert_with(|| {
            let next = next.entry(stream).or_default();
            let number = *next;
            *next = next.wrapping_add(1);
            // A period of zero means the full range of the field.
            number.checked_rem(period).unwrap_or(number)
        });
    }
    each_packet(pair, |_, record, headers| {
        if headers.is_tcp {
            return;
        }
        record.frame[headers.datagram()..].fill(0);
        record.frame[headers.udp_checksum()].fill(0);
        if let (Some(field), Some(id)) = (headers.ip_id(), record.ids.first()) {
            headers.write(&mut record.frame, field.start, &numbers[id].to_be_bytes());
        }
    });
}

/// Overwrites the timestamps with padding (RFC 9293, section 3.1: kind 1).
pub(crate) fn without_timestamps(_: usize, record: &mut Record, headers: &Headers) {
    if !headers.is_tcp {
        return;
    }
    for (kind, range) in headers.options(&record.frame) {
        if kind == TIMESTAMPS {
            let padding = vec![1; range.len()];
            headers.write(&mut record.frame, range.start, &padding);
        }
    }
}

/// Translates addresses and ports of hosts in the second capture.
pub(crate) fn translate(side: usize, record: &mut Record, headers: &Headers) {
    if side == 0 {
        return;
    }
    for (address, port) in headers.addresses().into_iter().zip(headers.ports()) {
        let port_now = u16::from_be_bytes([record.frame[port.start], record.frame[port.start + 1]]);
        // Servers keep their port, as behind a home router.
        if port_now >= 10_000 {
            let last = address.end - 1;
            let moved = [record.frame[last - 1] ^ 0x40, record.frame[last] ^ 0x11];
            headers.write(&mut record.frame, last - 1, &moved);
            let moved = (port_now ^ 0x0A5A).to_be_bytes();
            headers.write(&mut record.frame, port.start, &moved);
        }
    }
}

/// Shifts the sequence numbers of each direction in the second capture.
pub(crate) fn shift_sequence(side: usize, record: &mut Record, headers: &Headers) {
    if side == 0 || !headers.is_tcp {
        return;
    }
    let [source, destination] = headers
        .ports()
        .map(|port| u16::from_be_bytes([record.frame[port.start], record.frame[port.start + 1]]));
    // Each direction has its own constant shift.
    let shift = |from: u16, to: u16| u32::from(from).wrapping_mul(2_654_435_761) ^ u32::from(to);
    let (ours, theirs) = (shift(source, destination), shift(destination, source));
    let [seq, ack] = headers.sequence_numbers();
    let mut fields = vec![(seq.start, ours)];
    if headers.acknowledges(&record.frame) {
        fields.push((ack.start, theirs));
    }
    for (kind, range) in headers.options(&record.frame) {
        if kind == SACK {
            fields.extend(
                (range.start + 2..range.end)
                    .step_by(4)
                    .map(|edge| (edge, theirs)),
            );
        }
    }
    for (at, shift) in fields {
        if let Some(field) = record.frame.get(at..).and_then(|rest| rest.first_chunk()) {
            let moved = u32::from_be_bytes(*field).wrapping_add(shift);
            headers.write(&mut record.frame, at, &moved.to_be_bytes());
        }
    }
}

/// Duplicates some records, one microsecond later.
pub(crate) fn duplicate(side: &mut Side, ppm: u32, dice: &mut Prng) {
    let mut records = Vec::with_capacity(side.records.len());
    for record in side.records.drain(..) {
        let again = dice.chance_ppm(ppm).then(|| Record {
            true_at: record.true_at + TimeDelta::from_micros(1),
            at: record.at + TimeDelta::from_micros(1),
            ..record.clone()
        });
        records.push(record);
        records.extend(again);
    }
    side.records = records;
}

/// Moves records by at most `places` places.
pub(crate) fn disorder(records: &mut Vec<Record>, places: u8, dice: &mut Prng) {
    let mut keyed: Vec<(u64, Record)> = (0..)
        .zip(records.drain(..))
        .map(|(place, record): (u64, Record)| (place + dice.below(u64::from(places) + 1), record))
        .collect();
    keyed.sort_by_key(|(place, _)| *place);
    records.extend(keyed.into_iter().map(|(_, record)| record));
}
