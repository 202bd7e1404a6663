//! Tests of a path between two scripted captures.

use std::convert::Infallible;
use std::fmt::Write;

use tcpexp_flow::Packets;
use tcpexp_testkit::script;
use tcpexp_testkit::scripted::Scripted;
use tcpexp_units::Timestamp;

use super::*;
use crate::spp::{Alignment, Options, Survey};

/// Frames with their capture times.
type Frames = Vec<(Timestamp, Vec<u8>)>;

/// Totals of the paths between two captures.
fn totals_of(frames: &[Frames; 2]) -> PathTotals {
    let captures = || frames.each_ref().map(|frames| Scripted::of(frames.clone()));
    let [src, dst] = captures().map(|mut capture| {
        let mut survey = Survey::default();
        capture.show(usize::MAX, |sighted| survey.observe(sighted));
        survey
    });
    let alignment = Alignment::between(src, dst).unwrap();
    let options = Options::default();
    let [mut src, mut dst] = captures();
    let first = first_pass(&mut src, &mut dst, alignment.clone(), options, |_| ());
    let [mut src, mut dst] = captures();
    let sink = |_| Ok::<(), Infallible>(());
    let Ok(totals) = measure(&mut src, &mut dst, alignment, first, options, sink);
    totals
}

/// The path from the first capture to the second.
fn path_between(scripts: &[String; 2]) -> PathSummary {
    let totals = totals_of(&scripts.each_ref().map(|text| script::packets(text)));
    let [out, _] = totals.path_directions;
    out
}

/// Scripts of two captures of a transfer in groups of four packets. The path takes 10 ms, and 16 ms for
/// each tenth group, which the next group overtakes. The receiver may merge the packets of a group.
fn groups(is_merged: bool) -> [String; 2] {
    let mut lines: [Vec<(u32, String)>; 2] = Default::default();
    let both = |lines: &mut [Vec<(u32, String)>; 2], at: u32, is_out: bool, packet: &str| {
        let [src, dst] = if is_out {
            [at, at + 10_000]
        } else {
            [at + 10_000, at]
        };
        lines[0].push((src, packet.to_owned()));
        lines[1].push((dst, packet.to_owned()));
    };
    both(&mut lines, 0, true, "> S ts 1 0");
    both(&mut lines, 12_000, false, "< S. ts 1 1");
    both(&mut lines, 24_000, true, "> 1 ack 1 ts 2 1");
    for group in 0..100_u32 {
        let (at, start) = (30_000 + 5_000 * group, 1 + 4_000 * group);
        let delay = if group % 10 == 5 { 16_000 } else { 10_000 };
        let packet = |from: u32, bytes: u32| {
            let (end, id) = (from + bytes, 100 + from / 1_000);
            format!("> {from}:{end}({bytes}) ack 1 id {id} ts {} 1", 10 + group)
        };
        for place in 0..4 {
            let from = start + 1_000 * place;
            lines[0].push((at + 10 * place, packet(from, 1_000)));
            if !is_merged {
                lines[1].push((at + 10 * place + delay, packet(from, 1_000)));
            }
        }
        if is_merged {
            lines[1].push((at + 30 + delay, packet(start, 4_000)));
        }
        let acked = start + 4_000;
        let ack = format!("< 1 ack {acked} ts {} {}", 10 + group, 10 + group);
        both(&mut lines, at + delay + 1_000, false, &ack);
    }
    lines.map(text_of)
}

/// The script of these packets with their times in microseconds.
fn text_of(mut lines: Vec<(u32, String)>) -> String {
    lines.sort();
    let mut script = String::new();
    for (at, packet) in lines {
        writeln!(script, "{}.{:06} {packet}", at / 1_000_000, at % 1_000_000).unwrap();
    }
    script
}

#[test]
fn receiver_that_merges_packets_does_not_change_the_counts_of_the_path() {
    let counts = |is_merged| {
        let path = path_between(&groups(is_merged));
        let extent = path.largest_extent_packets;
        (path.sent(), path.delivered(), path.reordered, extent)
    };
    // Ten groups of four packets; of the last packet of each, three of its group and four others arrived since.
    assert_eq!(counts(false), (402, 402, 40, Some(7)));
    assert_eq!(counts(true), counts(false));
}

/// Scripts of two captures of a transfer of one packet per 10 ms, with an acknowledgment of each. The source's
/// capture does not show the packet `unseen`, the destination's capture not the packet `absent`.
fn transfer(unseen: Option<u32>, absent: u32) -> [String; 2] {
    let mut lines: [Vec<(u32, String)>; 2] = Default::default();
    for number in 0..200_u32 {
        let (at, start) = (10_000 * number, 1 + 100 * number.saturating_sub(1));
        let [end, tick, id] = [start + 100, 10 + number, 1 + number];
        let packet = match number {
            0 => format!("> S ts {tick} 0 id {id}"),
            _ => format!("> {start}:{end}(100) ack 1 ts {tick} {tick} id {id}"),
        };
        let answer = match number {
            0 => format!("< S. ts {tick} {tick} id {id}"),
            _ => format!("< 1 ack {end} ts {tick} {tick} id {id}"),
        };
        if unseen != Some(number) {
            lines[0].push((at, packet.clone()));
        }
        if number != absent {
            lines[1].push((at + 2_000, packet));
        }
        lines[1].push((at + 3_000, answer.clone()));
        lines[0].push((at + 5_000, answer));
    }
    lines.map(text_of)
}

#[test]
fn acknowledged_packet_was_missed_only_if_no_retransmission_can_have_left_unseen() {
    let fate = |unseen| {
        let path = path_between(&transfer(unseen, 100));
        (path.missed(), path.counts.lost_or_missed)
    };
    assert_eq!(fate(None), (1, 0));
    assert_eq!(fate(Some(50)), (0, 1));
}

/// The first fragment of an Ethernet frame with an IPv4 packet without options: 48 bytes of its payload (RFC
/// 791, section 3.2). Decoding skips the others, which have no transport header.
fn first_fragment(frame: &[u8]) -> Vec<u8> {
    const IP: usize = 14;
    const PAYLOAD: usize = IP + 20;
    const MORE_FRAGMENTS: u8 = 0x20;
    let mut bytes = frame[..PAYLOAD + 48].to_vec();
    let ip_bytes = u16::try_from(bytes.len() - IP).unwrap();
    bytes[IP + 2..IP + 4].copy_from_slice(&ip_bytes.to_be_bytes());
    bytes[IP + 6..IP + 8].copy_from_slice(&[MORE_FRAGMENTS, 0]);
    bytes[IP + 10..IP + 12].fill(0);
    let words = bytes[IP..PAYLOAD].chunks(2);
    let words = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum = words.sum::<u32>();
    let checksum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    bytes[IP + 10..IP + 12].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

#[test]
fn packets_that_the_path_fragments_are_neither_lost_nor_missed() {
    let datagrams = |delay: u32| {
        let packet = |number: u32| format!("> udp 100 num {number} id {}", 1 + number);
        let line = |number: u32| (10_000 * number + delay, packet(number));
        text_of((0..200).map(line).collect())
    };
    for scripts in [transfer(None, u32::MAX), [0, 2_000].map(datagrams)] {
        let [src, dst] = scripts.map(|text| script::packets(&text));
        let mut long = 0;
        let dst = dst.into_iter().map(|(at, frame)| {
            // Those with 100 bytes of payload.
            let is_long = frame.len() > 120;
            long += u32::from(is_long);
            let is_fragmented = is_long && long % 2 == 0;
            let frame = if is_fragmented {
                first_fragment(&frame)
            } else {
                frame
            };
            (at, frame)
        });
        let totals = totals_of(&[src, dst.collect()]);
        let [out, _] = &totals.path_directions;
        assert_eq!(totals.totals.unseen, [0, 0]);
        assert_eq!((out.lost(), out.missed()), (0, 0));
        assert_eq!(out.counts.arrivals_fragmented, out.counts.lost_or_missed);
        assert!(out.counts.arrivals_fragmented > 90, "{:?}", out.counts);
    }
}
