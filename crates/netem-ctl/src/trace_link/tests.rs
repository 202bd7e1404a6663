//! The program, run outside the kernel, against a link that is simulated step by step.

use std::cell::Cell;
use std::collections::VecDeque;

use proptest::prelude::*;

use super::assembler::{Memory, Program};
use super::program;
use crate::bottleneck::{FULL_FRAME, Opportunities};

thread_local! {
    static NOW_NS: Cell<u64> = const { Cell::new(0) };
}

fn now(_: u64, _: u64, _: u64, _: u64, _: u64) -> u64 {
    NOW_NS.get()
}

/// Runs the program on packets of `(time, bytes)`. Returns when each leaves, or `None` for a drop.
fn departures(program: &Program, packets: &[(u64, u32)]) -> Vec<Option<u64>> {
    let mut table = program.table.clone();
    let mut state = vec![0_u8; usize::try_from(program.state_bytes).unwrap()];
    let mut code = program.code.clone();
    // The loader's work: the addresses of the memories.
    for (offset, memory) in &program.addresses {
        let address = match memory {
            Memory::Table => table.as_mut_ptr() as u64,
            Memory::State => state.as_mut_ptr() as u64,
        };
        let at = usize::try_from(*offset).unwrap();
        let bytes = address.to_le_bytes();
        code[at + 4..at + 8].copy_from_slice(&bytes[..4]);
        code[at + 12..at + 16].copy_from_slice(&bytes[4..]);
    }
    let mut machine = rbpf::EbpfVmRaw::new(Some(&code)).unwrap();
    machine.register_helper(5, now).unwrap();
    for memory in [&table, &state] {
        let begin = memory.as_ptr() as u64;
        machine.register_allowed_memory(begin..begin + memory.len() as u64);
    }
    let mut packet = [0_u8; 160];
    packets
        .iter()
        .map(|(time, bytes)| {
            NOW_NS.set(*time);
            packet[..4].copy_from_slice(&bytes.to_le_bytes());
            match machine.execute_program(&mut packet).unwrap() {
                0 => Some(u64::from_le_bytes(packet[152..].try_into().unwrap())),
                2 => None,
                code => panic!("exit code {code}"),
            }
        })
        .collect()
}

/// A link that uses one opportunity after the other.
fn simulated(link: &Opportunities, limit: usize, packets: &[(u64, u32)]) -> Vec<Option<u64>> {
    let Some((origin, _)) = packets.first() else {
        return Vec::new();
    };
    let mut leaves = vec![None; packets.len()];
    let mut queue: VecDeque<(usize, u64)> = VecDeque::new();
    let mut next = 0;
    for pass in 0_u64.. {
        for at_us in &link.at_us {
            let at = origin + (pass * u64::from(link.period_us) + u64::from(*at_us)) * 1_000;
            // A packet that arrives at the time of an opportunity can use it.
            while let Some((_, bytes)) = packets.get(next).filter(|(time, _)| *time <= at) {
                if queue.len() < limit {
                    queue.push_back((next, u64::from(*bytes)));
                }
                next += 1;
            }
            let mut left = FULL_FRAME;
            while let Some((number, bytes)) = queue.front_mut() {
                let carried = left.min(*bytes);
                *bytes -= carried;
                left -= carried;
                if *bytes > 0 {
                    break;
                }
                leaves[*number] = Some(at);
                queue.pop_front();
            }
            if next == packets.len() && queue.is_empty() {
                return leaves;
            }
        }
    }
    leaves
}

fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![0_u64..3_000, 0_u64..2_000_000, 0_u64..60_000_000];
    let packet = (gap, prop_oneof![Just(1_514_u32), 54_u32..3_100]);
    prop::collection::vec(packet, 1..200).prop_map(|gaps| {
        let mut time = 77_000_000_001;
        gaps.into_iter()
            .map(|(gap, bytes)| {
                time += gap;
                (time, bytes)
            })
            .collect()
    })
}

fn links() -> impl Strategy<Value = Opportunities> {
    (prop::collection::vec(1_u32..20_000, 1..70), 0_u32..5_000).prop_map(|(mut at_us, pause)| {
        at_us.sort_unstable();
        let period_us = (at_us[at_us.len() - 1] + pause).max(1);
        Opportunities { at_us, period_us }
    })
}

proptest! {
    #[test]
    fn packets_leave_when_a_simulated_link_has_carried_them(
        link in links(),
        packets in packets(),
        limit in 1_u32..40,
    ) {
        let program = program::assemble(&link, limit);
        let expected = simulated(&link, limit as usize, &packets);
        prop_assert_eq!(departures(&program, &packets), expected);
    }
}
