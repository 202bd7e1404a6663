//! `tcpexp info`.

use insta::assert_snapshot;
use tcpexp_testkit::{CaptureSpec, Container, Endian, Framing, Resolution, Scenario, simulate};

use crate::desk::{Desk, ordinary, reason, text};

fn kinds() -> Vec<(CaptureSpec, &'static str)> {
    use Container::{Pcap, Pcapng};
    use Endian::{Big, Little};
    use Resolution::{Binary, Micros, Nanos};
    let of = |container, endian, resolution, framing| CaptureSpec {
        container,
        endian,
        resolution,
        framing,
        ..CaptureSpec::default()
    };
    vec![
        (
            of(Pcap, Little, Micros, Framing::Ethernet),
            "pcap, microseconds, little-endian",
        ),
        (
            of(Pcap, Big, Nanos, Framing::RawIp),
            "pcap, nanoseconds, big-endian",
        ),
        (of(Pcapng, Little, Nanos, Framing::Sll), "pcapng"),
        (of(Pcapng, Big, Binary(20), Framing::Ethernet), "pcapng"),
    ]
}

#[test]
fn a_capture_is_described() {
    let desk = Desk::new();
    assert_snapshot!(desk.text("info src.pcap dst.pcap"));
    assert_snapshot!(desk.text("info src.pcap --format json"));
    assert_eq!(desk.text("info -q src.pcap"), desk.text("info src.pcap"));
}

#[test]
fn every_record_is_used_or_skipped_in_every_file_format() {
    for (spec, format) in kinds() {
        let captures = simulate(&Scenario {
            src: spec,
            dst: spec,
            ..ordinary()
        });
        let desk = Desk::with(&captures);
        let lines = desk.text("info src.pcap dst.pcap --format json");
        assert_eq!(lines.lines().count(), 2);
        for (line, records) in lines.lines().zip([
            captures.truth.summary.src_records,
            captures.truth.summary.dst_records,
        ]) {
            let info: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(
                info["format"].as_str().unwrap().starts_with(format),
                "{line}"
            );
            assert_eq!(info["records"], records);
            assert_balanced(&info);
        }
    }
}

/// Checks that each record is used, or skipped with a reason.
pub(crate) fn assert_balanced(info: &serde_json::Value) {
    let skipped = info["skipped"].as_object().unwrap();
    let skipped: u64 = skipped.values().map(|count| count.as_u64().unwrap()).sum();
    let used = info["used"].as_u64().unwrap();
    assert_eq!(info["records"], used + skipped, "{info}");
}

#[test]
fn a_bad_file_does_not_hide_the_others() {
    let desk = Desk::new();
    desk.put("notes.txt", b"not a capture");
    let output = desk.run("info notes.txt src.pcap missing.pcap dst.pcap");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), desk.text("info src.pcap dst.pcap"));
    assert_snapshot!(text(&output.stderr), @r#"
    tcpexp: cannot read notes.txt: not a capture: it starts with 6e 6f 74 20 61 20 63 61 ("not a ca")
    tcpexp: cannot open missing.pcap: No such file or directory (os error 2)
    "#);
}

#[test]
fn damage_is_part_of_the_description() {
    let desk = Desk::new();
    let cut = desk.get("src.pcap");
    desk.put("cut.pcap", &cut[..cut.len() - 3]);
    let info = desk.text("info cut.pcap");
    let damage = info.lines().last().unwrap();
    assert!(damage.starts_with("  damage       "), "{damage}");
    assert!(damage.contains("byte "), "{damage}");
}

/// A pcap file whose clock is set back by 100 s at record 900.
fn set_back(mut pcap: Vec<u8>) -> Vec<u8> {
    let mut place = 24;
    for number in 0.. {
        let Some(header) = pcap.get_mut(place..place + 16) else {
            break;
        };
        let field = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap());
        let (seconds, length) = (field(0), field(8) as usize);
        if number >= 900 {
            header[..4].copy_from_slice(&(seconds - 100).to_le_bytes());
        }
        place += 16 + length;
    }
    pcap
}

#[test]
fn causes_of_uncertain_numbers_of_a_capture_are_described() {
    let of = |spec| {
        let scenario = Scenario {
            src: spec,
            ..ordinary()
        };
        simulate(&scenario).src
    };
    let usual = CaptureSpec::default();
    let captures = [
        of(CaptureSpec {
            twice: true,
            ..usual
        }),
        // 2⁻⁷ s is 7.8 ms.
        of(CaptureSpec {
            container: Container::Pcapng,
            resolution: Resolution::Binary(7),
            ..usual
        }),
        // The headers of Ethernet, IPv4 and TCP, and the first of the options.
        of(CaptureSpec {
            snaplen: 14 + 20 + 20 + 4,
            ..usual
        }),
        set_back(of(usual)),
    ];
    let desk = Desk::empty();
    let described = captures.map(|capture| {
        desk.put("capture", &capture);
        let text = desk.text("info capture");
        let (_, after_bytes) = text.split_once(" on the wire\n").unwrap();
        after_bytes.to_owned()
    });
    assert_snapshot!(described.concat(), @"
      duplicates   nearly each packet was captured twice
      clock        advances in steps of 7.812 ms
      cut          TCP options of 1704 packets
      clock        set back by at least 100.000 s at record 900
    ");
}

#[test]
fn an_empty_capture_is_described_and_an_empty_file_is_refused() {
    let desk = Desk::new();
    desk.put("header.pcap", &desk.get("src.pcap")[..24]);
    assert!(desk.text("info header.pcap").contains("records      0\n"));
    desk.put("empty.pcap", b"");
    let output = desk.run("info empty.pcap");
    assert_snapshot!(reason(&output), @"cannot read empty.pcap: the file is empty");
}
