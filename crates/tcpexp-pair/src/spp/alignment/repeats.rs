//! Flows with recurring datagrams.
//!
//! A datagram has no sequence number. Where payloads of a flow are identical, only the IP ID
//! distinguishes its datagrams, and the IP ID wraps: after at most 65,536 packets, or much sooner
//! where the sender uses only part of its range. A datagram may then be mistaken for another one a
//! whole period earlier or later. This module detects whether payloads of a flow recur, and how
//! soon a complete datagram recurs.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use foldhash::quality::FixedState;
use serde::{Deserialize, Serialize};
use tcpexp_flow::Sighted;
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::{Other, Transport, Udp};

use super::fields::{Ends, FieldValues, PREFIX_BYTES, address_number};
use super::sketch::{COPY_GAP, Sketched};
use super::spacing::Departures;

/// Number of recent datagrams remembered to detect recurrence, indexed by part of their hash.
/// Recurrence with a longer period is still detected in part, since later datagrams overwrite
/// random entries.
const REMEMBERED: usize = 1 << 15;
/// Number of flows remembered; once it is reached, every other flow counts as recurring.
const FLOWS: usize = 65_536;
/// Longest gap between two copies of one datagram; after it, the same IP ID marks another datagram.
/// Longer than networks delay duplicates, shorter than an IP ID takes to wrap at 100,000 packets
/// per second.
const LATEST_COPY: TimeDelta = TimeDelta::from_millis(100);

/// How datagrams of one direction of a flow recur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::spp) struct Recurrence {
    /// True if the first payload bytes recur.
    pub(in crate::spp) prefixes: bool,
    /// True if the first bytes recur with the same checksum, which covers the whole payload.
    pub(in crate::spp) payloads: bool,
    /// Shortest time until a datagram recurs with the same IP ID; `None` if none does.
    pub(in crate::spp) period: Option<TimeDelta>,
    /// Number of recurring datagrams.
    pub(in crate::spp) datagrams: u64,
}

/// Flows of one capture with recurring datagrams, each direction separately.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::spp) struct Recurrences(
    #[serde(with = "super::sorted")] HashMap<Ends, Recurrence, foldhash::fast::FixedState>,
);

/// Finds the flows of one capture with recurring datagrams.
#[derive(Debug, Default)]
pub(in crate::spp) struct Repeats {
    pub(super) found: Recurrences,
    /// Times of the recurring datagrams.
    pub(super) spaced: Departures,
    /// Indexed by what is compared: first bytes, payload, complete datagram. Empty until the first
    /// datagram.
    seen: [Vec<Seen>; 3],
}

/// A remembered datagram.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    hash: u64,
    at: Timestamp,
    ip_id: u16,
}

impl Repeats {
    /// Adds the next packet of the capture.
    #[inline]
    pub(super) fn observe(&mut self, sighted: &Sighted<'_>) {
        match sighted.packet.transport {
            Transport::Tcp(_) => {}
            Transport::Udp(Udp { checksum }) | Transport::Other(Other { checksum, .. }) => {
                self.compare(sighted, checksum);
            }
        }
    }

    fn compare(&mut self, sighted: &Sighted<'_>, checksum: u16) {
        let (packet, at) = (sighted.packet, sighted.at);
        let ends = [
            (
                address_number(packet.addresses.source()),
                packet.ports.source,
            ),
            (
                address_number(packet.addresses.destination()),
                packet.ports.destination,
            ),
        ];
        let ip_id = packet.ip_id.unwrap_or(0);
        let mut hasher = FixedState::default().build_hasher();
        for (address, port) in ends {
            hasher.write_u64(address);
            hasher.write_u16(port);
        }
        let expected = PREFIX_BYTES.min(packet.payload_bytes as usize);
        hasher.write_u32(packet.payload_bytes);
        // A prefix that the capture cuts hashes as empty: such datagrams of one length look equal.
        hasher.write(packet.payload.get(..expected).unwrap_or_default());
        let prefix = hasher.finish();
        let alike = prefix ^ u64::from(ip_id);
        hasher.write_u16(checksum);
        let payload = hasher.finish();
        hasher.write_u16(ip_id);
        let whole = hasher.finish();
        let seen = Seen { hash: 0, at, ip_id };
        let [prefix, payload, whole] = [prefix, payload, whole].map(|hash| Seen { hash, ..seen });
        let recurs = |before: Seen| {
            let gap = at - before.at;
            // A network duplicate has the IP ID of its original. Without an ID only a short gap
            // shows a copy.
            before.ip_id != ip_id || gap >= LATEST_COPY || (ip_id == 0 && gap >= COPY_GAP)
        };
        let prefixes = self.swap(0, prefix).is_some_and(recurs);
        let payloads = self.swap(1, payload).is_some_and(recurs);
        let gap = self.swap(2, whole).map(|before| at - before.at);
        let period = gap.filter(|&gap| gap >= COPY_GAP);
        if prefixes || period.is_some() {
            self.found.note(
                ends,
                Recurrence {
                    prefixes,
                    payloads,
                    period,
                    datagrams: 1,
                },
            );
            self.spaced.keep(ends, Sketched::new(alike, sighted));
        }
    }

    /// Remembers a datagram; returns the previous datagram with the same hash if it is still
    /// remembered.
    fn swap(&mut self, compared: usize, seen: Seen) -> Option<Seen> {
        let places = &mut self.seen[compared];
        if places.is_empty() {
            places.resize(REMEMBERED, Seen::default());
        }
        let place = usize::try_from(seen.hash >> 40).unwrap_or(0) % REMEMBERED;
        let before = std::mem::replace(&mut places[place], seen);
        (before.hash == seen.hash).then_some(before)
    }
}

impl Recurrences {
    fn note(&mut self, ends: Ends, found: Recurrence) {
        if self.0.len() >= FLOWS && !self.0.contains_key(&ends) {
            return;
        }
        let Some(known) = self.0.get_mut(&ends) else {
            self.0.insert(ends, found);
            return;
        };
        known.datagrams += 1;
        known.prefixes |= found.prefixes;
        known.payloads |= found.payloads;
        // `Option::min` would prefer `None`.
        known.period = known.period.iter().chain(&found.period).min().copied();
    }

    /// How datagrams from the first to the second of `ends` recur; `None` if they do not recur.
    pub(in crate::spp) fn of(&self, ends: Ends) -> Option<Recurrence> {
        let unknown = Recurrence {
            prefixes: true,
            payloads: true,
            period: Some(TimeDelta::ZERO),
            datagrams: 0,
        };
        let known = self.0.get(&ends).copied();
        known.or((self.0.len() >= FLOWS).then_some(unknown))
    }

    /// Shortest time until a datagram recurs, for a flow with these `ends` in the two captures;
    /// `None` if none recurs, or if the IP ID cannot have wrapped. `same_payload` is true if the
    /// path preserves the checksums of datagrams.
    pub(in crate::spp) fn period_between(
        captures: [&Self; 2],
        ends: [Ends; 2],
        same_payload: bool,
    ) -> Option<TimeDelta> {
        let [src, dst] = [captures[0].of(ends[0]), captures[1].of(ends[1])];
        let found = [src, dst].into_iter().flatten();
        let alike = found.clone().any(|recurrence| {
            // Network duplicates also recur, but they alone repeat no payload.
            recurrence.prefixes && (recurrence.payloads || !same_payload)
        });
        // A 16-bit counter has not wrapped if both captures together hold fewer datagrams.
        let datagrams: u64 = found.clone().map(|recurrence| recurrence.datagrams).sum();
        let period = found.filter_map(|recurrence| recurrence.period).min();
        let wraps = period.is_some() || datagrams > u64::from(u16::MAX);
        // A zero period makes every delay ambiguous where the IP ID wraps at an unknown time.
        (alike && wraps).then(|| period.unwrap_or_default())
    }

    /// True if a datagram in both captures is distinguishable from all others of its flow.
    pub(super) fn is_distinguishable(captures: [&Self; 2], [a, b]: [&FieldValues; 2]) -> bool {
        // Zero means no checksum (RFC 768).
        let same_payload = a.checksum == b.checksum && a.checksum != 0;
        Self::period_between(captures, [a.ends(), b.ends()], same_payload).is_none()
    }
}

impl FieldValues {
    /// Sender and receiver.
    pub(in crate::spp) fn ends(&self) -> Ends {
        [
            (self.source_address, self.source_port),
            (self.destination_address, self.destination_port),
        ]
    }
}
