//! Test helpers: a table's answers for the packets of a script.

use std::fmt::Write;

use tcpexp_testkit::script;
use tcpexp_units::Timestamp;
use tcpexp_wire::{LinkType, Packet, Tunnels, decode};

use crate::{Direction, FlowTable, StreamOffset, Tracked};

/// Passes the packets of a script to `each`.
pub(crate) fn packets(text: &str, mut each: impl FnMut(Timestamp, &Packet<'_>)) {
    for (at, frame) in script::packets(text) {
        let wire_bytes = u32::try_from(frame.len()).unwrap();
        let packet = decode(LinkType::ETHERNET, &frame, wire_bytes, Tunnels::Closed);
        each(at, &packet.unwrap());
    }
}

/// Returns the answer of `table` for each packet of a script.
pub(crate) fn track(table: &mut FlowTable, text: &str) -> Vec<Tracked> {
    let mut tracked = Vec::new();
    packets(text, |at, packet| tracked.push(table.track(at, packet)));
    tracked
}

/// Returns the flow number of each packet.
pub(crate) fn numbers(tracked: &[Tracked]) -> Vec<u32> {
    tracked.iter().map(|tracked| tracked.flow.0).collect()
}

/// Returns the flow number of each packet of a script.
pub(crate) fn flows(text: &str) -> Vec<u32> {
    numbers(&track(&mut FlowTable::default(), text))
}

/// Formats one line per packet: its flow, its direction, and the distance of its start from the
/// first packet of the same flow and direction.
pub(crate) fn table(text: &str) -> String {
    let mut firsts: Vec<(u32, Direction, StreamOffset)> = Vec::new();
    let mut lines = String::new();
    for tracked in track(&mut FlowTable::default(), text) {
        let Tracked {
            flow, direction, ..
        } = tracked;
        write!(lines, "flow {flow} {direction}").unwrap();
        if let Some(start) = tracked.start {
            let first = firsts
                .iter()
                .find(|first| (first.0, first.1) == (flow.0, direction));
            let first = first.map_or(start, |first| first.2);
            firsts.push((flow.0, direction, first));
            write!(lines, " {:+}", start.since(first)).unwrap();
        }
        lines.push('\n');
    }
    lines
}

/// Formats one line per flow: its initiator and the evidence for it.
pub(crate) fn initiators(text: &str) -> String {
    let mut flows = FlowTable::default();
    let mut lines = String::new();
    packets(text, |at, packet| {
        let tracked = flows.track(at, packet);
        if tracked.is_first {
            let flow = flows.flow(tracked.slot);
            let (from, to, known) = (flow.initiator(), flow.responder(), flow.initiator_known);
            writeln!(lines, "{}: {from} to {to} by {}", flow.id, known.name()).unwrap();
        }
    });
    lines
}
