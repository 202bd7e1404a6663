//! Classes of the segments of short scripts.

mod acceptance;
mod causes;
mod copies;
mod opening;
mod order;
mod probes;

use std::fmt::Write;

use tcpexp_testkit::script;
use tcpexp_units::TimeDelta;
use tcpexp_wire::{LinkType, Tunnels, decode};

use super::*;
use crate::{Arrival, Direction, FlowPacket, FlowTable};

/// Formats the class of each numbered segment and each probe in a script; the round-trip time
/// is 40 ms.
fn classes(text: &str) -> String {
    let mut table = FlowTable::default();
    let mut classifiers = [(); 2].map(|()| Classifier::default());
    let mut lines = String::new();
    for (at, frame) in script::packets(text) {
        let wire_bytes = u32::try_from(frame.len()).unwrap();
        let packet = decode(LinkType::ETHERNET, &frame, wire_bytes, Tunnels::Closed).unwrap();
        let mut arrival = Arrival::new(0, at, wire_bytes, &packet);
        table.place(&mut arrival);
        let &FlowPacket::Tcp(segment) = arrival.packet() else {
            continue;
        };
        let direction = segment.seen.direction;
        let is_duplicate = classifiers[direction.opposite().index()].acknowledge(&segment);
        let classifier = &mut classifiers[direction.index()];
        let (class, _) = classifier.segment(&segment, || PathTimes {
            shortest_rtt: Some(TimeDelta::from_millis(40)),
            srtt: Some(TimeDelta::from_millis(40)),
            rto: TimeDelta::from_millis(240),
            ..PathTimes::default()
        });
        let way = if direction == Direction::Forward {
            '>'
        } else {
            '<'
        };
        let what = match class {
            Class::Empty if is_duplicate => "duplicate ACK".to_owned(),
            Class::Empty => continue,
            Class::Behind(behind) => {
                let spurious = if behind.is_acknowledged {
                    " spurious"
                } else {
                    ""
                };
                let Behind {
                    sent,
                    known_by,
                    cause,
                    ..
                } = behind;
                format!("sent {sent:?} by {known_by:?}, {cause:?}{spurious}")
            }
            other => format!("{other:?}"),
        };
        writeln!(lines, "{:.3} {way} {what}", at.as_nanos() as f64 / 1e9).unwrap();
    }
    lines
}
