//! Properties of the round-trip times of any trace.

use std::collections::HashSet;
use std::fmt::Write;

use proptest::prelude::*;
use tcpexp_units::TimeDelta;

use super::tests::rows;
use super::*;

/// Random segments: direction, start, length, ACK, SACK block, timestamps, flags.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let numbers = (
        0_u32..40,
        0_u32..4,
        0_u32..40,
        prop::option::of((0_u32..40, 1_u32..6)),
    );
    let stamps = prop::option::of((0_u32..20, 0_u32..20));
    let line = (any::<bool>(), numbers, stamps, 0_u8..12).prop_map(
        |(forward, (start, length, ack, sack), stamps, kind)| {
            let arrow = if forward { '>' } else { '<' };
            let kind = match kind {
                0 => "S.",
                1 => "F",
                2 => "R",
                _ => "",
            };
            let (start, bytes, ack) = (start * 10, length * 10, ack * 10);
            let mut line = format!(
                "{arrow} {kind} {start}:{}({bytes}) ack {ack}",
                start + bytes
            );
            if let Some((left, right)) = sack {
                write!(line, " sack {}:{}", left * 10, (left + right) * 10).unwrap();
            }
            if let Some((value, echo)) = stamps {
                write!(line, " ts {value} {echo}").unwrap();
            }
            line
        },
    );
    prop::collection::vec(line, 1..80)
}

proptest! {
    #[test]
    fn each_packet_yields_at_most_one_sample_per_method(lines in lines()) {
        let numbered = (0..).zip(&lines).map(|(number, line)| format!("{number} {line}\n"));
        let mut seen = HashSet::new();
        for row in rows(&numbered.collect::<String>()) {
            if let SingleRttRow::Sample(sample) = row {
                prop_assert!(sample.rtt > TimeDelta::ZERO, "time runs forwards");
                prop_assert!(seen.insert((sample.at, sample.method)), "{sample:?}");
            }
        }
    }

    #[test]
    fn each_byte_yields_at_most_one_sequence_sample(lines in lines()) {
        let numbered = (0..).zip(&lines).map(|(number, line)| format!("{number} {line}\n"));
        let mut seen = HashSet::new();
        for row in rows(&numbered.collect::<String>()) {
            if let SingleRttRow::Sample(sample) = row && sample.method == RttMethod::SequenceAck {
                prop_assert!(seen.insert((sample.flow, sample.direction, sample.offset)), "{sample:?}");
            }
        }
    }
}
