//! The packets that the samples of two captures have in common.

use super::repeats::Recurrences;
use super::shift::{SequenceShift, Shifts};
use super::sketch::Sketched;
use super::spacing::Spaced;
use super::survey::Survey;

/// Below this many packets that occur once in both samples, packets that only their IP ID
/// distinguishes are used too.
const FEW_COMMON: usize = 16;

/// The packets that both samples contain, and what finding them shows of the path.
pub(super) struct CommonPackets {
    /// Each packet at the source and at the destination, in the order of the source.
    pub(super) packets: Vec<(Sketched, Sketched)>,
    /// Number of packets that both samples contain and that others resemble.
    pub(super) alike: u64,
    /// Streams of recurring datagrams whose spacing shows the delay.
    pub(super) spaced: Vec<Spaced>,
    /// Flows whose sequence numbers a middlebox shifts.
    pub(super) shifted: Vec<SequenceShift>,
    /// True if addresses or ports are translated.
    pub(super) translated: bool,
}

impl CommonPackets {
    /// Compares the samples.
    pub(super) fn of(src: &mut Survey, dst: &mut Survey) -> Self {
        // Addresses distinguish flows unless they are translated. Content alone also matches
        // translated flows, unless many flows have identical content.
        let by_endpoints = src.by_endpoints.common(&mut dst.by_endpoints);
        let by_content = src.by_content.common(&mut dst.by_content).once;
        let alike = by_endpoints.alike;
        let mut common = by_endpoints.once;
        if common.len() < FEW_COMMON {
            common.extend(by_endpoints.by_id);
            common.sort_unstable_by_key(|(packet, _)| packet.place);
        }
        let by_rest = src.by_rest.common(&mut dst.by_rest).once;
        let shifted = Shifts::learn(&by_rest);
        let translated = by_content.iter().any(|(a, b)| is_translated(a, b));
        if common.is_empty() || (translated && by_content.len() > common.len()) {
            common = by_content;
        }
        if !shifted.is_empty() {
            let shifts = Shifts::new(&shifted);
            common.extend(shifts.undone(&by_rest));
            common.extend(shifts.common(src.by_endpoints.kept(), dst.by_endpoints.kept()));
            in_order(&mut common);
        }
        let found = common.len() as u64;
        let recurrences = [&src.repeats.found, &dst.repeats.found];
        // A recurring datagram may match another one a period away and mislead the clocks.
        common.retain(|(a, b)| {
            a.fields.is_tcp || Recurrences::is_distinguishable(recurrences, [&a.fields, &b.fields])
        });
        let alike = alike + found - common.len() as u64;
        let spaced = src.repeats.spaced.spaced(&dst.repeats.spaced);
        if common.len() < FEW_COMMON {
            common.extend(spaced.iter().flat_map(|spaced| &spaced.common));
            in_order(&mut common);
        }
        Self {
            packets: common,
            alike,
            spaced,
            shifted,
            translated,
        }
    }
}

/// Sorts packets by their place at the source, and keeps each record once.
pub(super) fn in_order(packets: &mut Vec<(Sketched, Sketched)>) {
    packets.sort_unstable_by_key(|(packet, _)| packet.place);
    packets.dedup_by_key(|(packet, _)| packet.place);
}

fn is_translated(a: &Sketched, b: &Sketched) -> bool {
    let endpoints = |s: &Sketched| {
        let f = s.fields;
        (
            f.source_address,
            f.source_port,
            f.destination_address,
            f.destination_port,
        )
    };
    endpoints(a) != endpoints(b)
}
