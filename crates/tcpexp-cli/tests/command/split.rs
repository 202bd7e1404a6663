//! `tcpexp split`: parts of captures as files.

use std::process::Command;

use insta::assert_snapshot;
use tcpexp_capture::{Capture, PcapngWriter};
use tcpexp_testkit::{has_programs, simulate};

use crate::desk::{Desk, ORDINARY, fixtures};
use crate::pairs::rotated;
use crate::shards::{many_flows, rows_of, shared_captures, sorted};

/// Commands that measure a part, and the files that they write besides `rows.csv`.
const COMMANDS: [(&str, &[&str]); 3] = [("flows", &[]), ("rtt", &[]), ("cwnd", &["more.csv"])];

/// Checks that each part of a capture gives the rows of the same shard of the whole.
fn assert_parts(desk: &Desk, capture: &str, name: &str, count: u32) {
    desk.bytes(&format!("split {capture} --parts {count} -o parts -q"));
    for part in 1..=count {
        for (command, others) in COMMANDS {
            let events = if others.is_empty() {
                ""
            } else {
                "--events more.csv"
            };
            let rows = |capture: &str, shard: &str| {
                let line = format!("{command} {capture} {events}");
                rows_of(desk, &line, others, shard)
            };
            let whole = rows(capture, &format!("--shard {part}/{count}"));
            let file = format!("parts/{name}.{part}-of-{count}.pcapng");
            let of_part = rows(&file, "");
            assert_eq!(whole.len(), of_part.len());
            for (key, rows) in whole {
                // Rows of flows that end together may have another order.
                let (rows, of_part) = (sorted(rows), sorted(of_part[&key].clone()));
                assert!(rows == of_part, "{command} {file}: {key:?}");
            }
        }
    }
}

#[test]
fn parts_have_the_rows_of_their_shards() {
    for nat in [false, true] {
        let desk = Desk::with(&simulate(&many_flows(nat)));
        assert_parts(&desk, "src.pcap", "src", 1);
        assert_parts(&desk, "src.pcap", "src", 5);
        assert_parts(&desk, "dst.pcap", "dst", 5);
    }
}

/// The records of a pcap file, and again a day later, with an ARP request after each.
fn with_arp(pcap: &[u8]) -> Vec<u8> {
    let (head, records) = pcap.split_at(24);
    let mut with_arp = head.to_vec();
    let mut arp = vec![0xff; 12];
    arp.extend([0x08, 0x06]);
    arp.resize(60, 0);
    for days in 0..2 {
        let mut rest = records;
        while let Some(header) = rest.first_chunk::<16>() {
            let word = |at: usize| u32::from_le_bytes(*header[at..].first_chunk().unwrap());
            let time = [word(0) + days * 86_400, word(4)];
            let (bytes, after) = rest[16..].split_at(word(8) as usize);
            for (bytes, wire_bytes) in [(bytes, word(12)), (&arp, 60)] {
                let length = u32::try_from(bytes.len()).unwrap();
                let header = [time[0], time[1], length, wire_bytes].map(u32::to_le_bytes);
                with_arp.extend(header.as_flattened());
                with_arp.extend(bytes);
            }
            rest = after;
        }
    }
    with_arp
}

#[test]
fn records_without_a_packet_leave_the_flows_of_parts_as_they_are() {
    let captures = simulate(&many_flows(false));
    let desk = Desk::empty();
    desk.put("src.pcap", &with_arp(&captures.src));
    for count in 2..=9 {
        assert_parts(&desk, "src.pcap", "src", count);
    }
}

#[test]
fn parts_of_a_capture_with_each_packet_twice_are_marked_as_such() {
    let mut scenario = many_flows(false);
    scenario.src.twice = true;
    let desk = Desk::with(&simulate(&scenario));
    assert_parts(&desk, "src.pcap", "src", 3);
    for part in 1..=3 {
        let info = desk.text(&format!("info parts/src.{part}-of-3.pcapng"));
        assert!(
            info.contains("nearly each packet was captured twice"),
            "{info}"
        );
    }
}

#[test]
fn rotated_files_are_split_as_one_capture() {
    let captures = simulate(&many_flows(false));
    let desk = Desk::empty();
    std::fs::create_dir(desk.path("files")).unwrap();
    for (number, file) in rotated(&captures.src, 500).iter().enumerate() {
        desk.put(&format!("files/eth0.pcap{number}"), file);
    }
    assert_parts(&desk, "files", "files", 3);
}

/// The records of a pcap file with microseconds, header first.
fn records(capture: &[u8]) -> Vec<&[u8]> {
    let mut records = vec![&capture[..24]];
    let mut at = 24;
    while let Some(length) = capture.get(at + 8..at + 12) {
        let bytes = 16 + u32::from_le_bytes(length.try_into().unwrap()) as usize;
        records.push(&capture[at..at + bytes]);
        at += bytes;
    }
    records
}

#[test]
fn records_out_of_order_have_the_order_of_a_pass() {
    let captures = simulate(&many_flows(false));
    let mut swapped = records(&captures.src);
    // Within the records that a pass probes before it begins.
    for place in (100..600).step_by(7) {
        swapped.swap(place, place + 5);
    }
    let desk = Desk::empty();
    desk.put("src.pcap", &swapped.concat());
    let warned = desk.run("split src.pcap --parts 3 -o parts -q");
    assert!(warned.status.success());
    assert_parts(&desk, "src.pcap", "src", 3);
}

#[test]
fn two_passes_over_records_that_are_out_of_order_late_need_the_whole() {
    let mut swapped = records(&ORDINARY.src);
    swapped.swap(1_500, 1_505);
    let desk = Desk::empty();
    desk.put("src.pcap", &swapped.concat());
    desk.bytes("split src.pcap --parts 2 -o parts -q");
    let part = "parts/src.2-of-2.pcapng";
    let refused = desk.failure(&format!("cwnd {part}"));
    assert!(
        refused.contains("out of order only after its start"),
        "{refused}"
    );
    for command in ["flows", "rtt"] {
        let whole = rows_of(&desk, &format!("{command} src.pcap"), &[], "--shard 2/2");
        let part = rows_of(&desk, &format!("{command} {part}"), &[], "");
        for (key, rows) in whole {
            assert!(sorted(rows) == sorted(part[&key].clone()), "{command}");
        }
    }
}

#[test]
fn comments_and_lengths_are_kept() {
    let captures = simulate(&many_flows(false));
    let mut capture = Capture::from_bytes(&captures.src).unwrap();
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let mut number = 0;
    while let Some(record) = capture.next_record() {
        let comment = format!("record {number}");
        let cut = &record.captured[..record.captured.len().min(60)];
        writer
            .packet_with_comment(record.at.unwrap(), 1, record.wire_bytes, cut, &comment)
            .unwrap();
        number += 1;
    }
    let desk = Desk::empty();
    desk.put("src.pcapng", &writer.into_inner());
    let whole = desk.get("src.pcapng");
    desk.bytes("split src.pcapng --parts 3 -o parts -q");
    let mut all = Vec::new();
    for part in 1..=3 {
        let part = desk.get(&format!("parts/src.{part}-of-3.pcapng"));
        all.extend(commented(&part));
    }
    all.sort();
    let mut expected = commented(&whole);
    expected.sort();
    assert!(all == expected);
}

/// Time, length on the wire, bytes and comments of each record.
type Commented = (i64, u32, Vec<u8>, Vec<Vec<u8>>);

fn commented(file: &[u8]) -> Vec<Commented> {
    let mut capture = Capture::from_bytes(file).unwrap();
    let mut records = Vec::new();
    while let Some(record) = capture.next_record() {
        let comments = record.options.comments().map(<[u8]>::to_vec).collect();
        records.push((
            record.at.unwrap().as_nanos(),
            record.wire_bytes,
            record.captured.to_vec(),
            comments,
        ));
    }
    assert!(capture.damage().is_none());
    records
}

#[test]
fn other_programs_read_the_parts() {
    const FIELDS: &str =
        "-T fields -e frame.time_epoch -e frame.len -e frame.cap_len -e ip.id -e tcp.seq_raw";
    if !has_programs(&["tshark", "capinfos"]) {
        return;
    }
    let desk = Desk::with(&simulate(&many_flows(true)));
    desk.bytes("split dst.pcap --parts 4 -o parts -q");
    let read = |program: &str, arguments: &str| {
        let mut command = Command::new(program);
        let arguments = arguments.split_whitespace();
        let output = command.args(arguments).current_dir(desk.path("")).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let counted = |file: &str| -> u64 {
        let table = read("capinfos", &format!("-c -M -T -r -b {file}"));
        table.split_whitespace().last().unwrap().parse().unwrap()
    };
    let (mut count, mut frames) = (0, Vec::new());
    for part in 1..=4 {
        let file = format!("parts/dst.{part}-of-4.pcapng");
        count += counted(&file);
        frames.extend(
            read("tshark", &format!("-n -r {file} {FIELDS}"))
                .lines()
                .map(str::to_owned),
        );
    }
    assert_eq!(count, counted("dst.pcap"));
    let whole = read("tshark", &format!("-n -r dst.pcap {FIELDS}"));
    let whole: Vec<_> = whole.lines().map(str::to_owned).collect();
    assert!(sorted(frames) == sorted(whole));
}

#[test]
fn a_part_is_refused_where_it_would_give_other_rows() {
    let desk = Desk::with(&simulate(&many_flows(false)));
    let part = "parts/src.2-of-3.pcapng";
    desk.bytes("split src.pcap dst.pcap --parts 3 -o parts -q");
    // Its own shard is no other selection.
    desk.bytes(&format!("flows {part} --shard 2/3 -q -o own.csv"));
    assert_snapshot!(desk.failure(&format!("flows {part} --shard 1/3")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture and has no flow of part 1/3");
    assert_snapshot!(desk.failure(&format!("rtt {part} --filter tcp")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture, and --filter would change the numbers of its flows: use --flow, or the whole capture");
    assert_snapshot!(desk.failure(&format!("cwnd {part} --from 1s")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture, and --from would change the numbers of its flows: use --flow, or the whole capture");
    assert_snapshot!(desk.failure(&format!("flows {part} --max-flows 7")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture that was split with a different --max-flows");
    assert_snapshot!(desk.failure(&format!("flows {part} --inner")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture that was split with a different --inner");
    assert_snapshot!(desk.failure(&format!("throughput {part}")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture, and bins and totals depend on packets of all flows: use --shard 2/3 with the whole capture");
    assert_snapshot!(desk.failure(&format!("rtt {part} parts/dst.2-of-3.pcapng")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture, and delays and losses between two captures depend on packets of all flows: use --shard 2/3 with the whole capture");
    assert_snapshot!(desk.failure(&format!("survey {part} parts/dst.2-of-3.pcapng -o s.json")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture, and delays and losses between two captures depend on packets of all flows: use --shard 2/3 with the whole capture");
    assert_snapshot!(desk.failure(&format!("analyze {part} -o data")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture, and the table of throughput depends on packets of all flows: use --shard 2/3 with the whole capture");
    assert_snapshot!(desk.failure("flows parts"), @r"cannot measure parts/dst.1-of-3.pcapng: it is part 1/3 of a capture: measure one part at a time, or the whole capture");
    assert_snapshot!(desk.failure(&format!("split {part} --parts 2 -o more")), @r"cannot measure parts/src.2-of-3.pcapng: it is part 2/3 of a capture: measure one part at a time, or the whole capture");
    // A capture like any other for what does not depend on other packets.
    let info = desk.text(&format!("info {part}"));
    assert!(info.contains("records      241"), "{info}");
    let mut cut = desk.get(part);
    cut.truncate(cut.len() - 100);
    desk.put("cut.pcapng", &cut);
    let failed = desk.run("cwnd cut.pcapng");
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn names_of_parts_are_checked_before_anything_is_written() {
    let desk = Desk::new();
    assert_snapshot!(desk.misuse("split src.pcap src.pcap --parts 2 -o parts"), @r"error: the parts of two captures would have the name src: split them to different directories");
    assert_snapshot!(desk.misuse("split src.pcap --parts 0 -o parts"), @r"error: invalid value '0' for '--parts <N>': number would be zero for non-zero type");
    assert_snapshot!(desk.failure("split none.pcap --parts 2 -o parts"), @r"cannot open none.pcap: No such file or directory (os error 2)");
    assert_snapshot!(desk.failure("split src.pcap --parts 2 -o none/parts"), @r"cannot create the directory none/parts: No such file or directory (os error 2)");
    assert_eq!(desk.written(), [""; 0]);
    assert_snapshot!(desk.text("split src.pcap dst.pcap --parts 2 -o parts"), @r"
    part  flows  records  file
     1/2      0        0  parts/src.1-of-2.pcapng
     2/2      2     1803  parts/src.2-of-2.pcapng
     1/2      0        0  parts/dst.1-of-2.pcapng
     2/2      2     1798  parts/dst.2-of-2.pcapng
    ");
}

/// All pairs of real captures, with those beside the repository where they are.
#[test]
#[ignore = "takes minutes"]
fn parts_of_real_captures_have_the_rows_of_their_shards() {
    for capture in fixtures().into_iter().chain(shared_captures()).flatten() {
        for count in [1, 2, 7, 64] {
            let desk = Desk::empty();
            let split = desk.run(&format!("split {capture} --parts {count} -o parts -q"));
            assert!(split.status.success());
            assert_parts(&desk, &capture, name_of(&capture), count);
        }
    }
}

/// Name of a capture in those of its parts.
fn name_of(capture: &str) -> &str {
    let name = capture.rsplit('/').next().unwrap();
    name.split('.').next().unwrap()
}
