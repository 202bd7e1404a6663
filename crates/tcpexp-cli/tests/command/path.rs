//! `tcpexp path SRC DST`.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use tcpexp_testkit::{Scenario, UdpLoad, simulate};
use tcpexp_units::TimeDelta;

use crate::desk::{Desk, fixture, ordinary, reason, text, time};

type Row = BTreeMap<String, serde_json::Value>;

fn rows(json: &[u8]) -> Vec<Row> {
    let lines = text(json);
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Counts the packets of each fate, by direction.
fn fates(rows: &[Row]) -> BTreeMap<(String, String), u64> {
    let mut fates = BTreeMap::new();
    for row in rows {
        let cell = |name: &str| row[name].as_str().unwrap().to_owned();
        let packets = row["packets"].as_u64().unwrap();
        *fates.entry((cell("way"), cell("fate"))).or_default() += packets;
    }
    fates
}

/// Datagrams in one direction.
fn one_way() -> Scenario {
    Scenario {
        tcp: vec![],
        udp: vec![UdpLoad {
            reverse: false,
            ..UdpLoad::default()
        }],
        ..ordinary()
    }
}

/// Gives the packets of a pcap file the TTL that they left with, as if no router were on the path.
fn as_sent(mut pcap: Vec<u8>) -> Vec<u8> {
    let mut place = 24;
    while let Some(length) = pcap.get(place + 8..place + 12) {
        let length = u32::from_le_bytes(length.try_into().unwrap());
        // The IPv4 header follows those of the record and of Ethernet.
        let header = &mut pcap[place + 16 + 14..][..20];
        header[8] = 64;
        header[10..12].fill(0);
        let (words, _) = header.as_chunks::<2>();
        let sum: u32 = words
            .iter()
            .map(|word| u32::from(u16::from_be_bytes(*word)))
            .sum();
        let folded = u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
        header[10..12].copy_from_slice(&(!folded).to_be_bytes());
        place += 16 + length as usize;
    }
    pcap
}

#[test]
fn one_way_traffic_goes_from_src_to_dst_whatever_the_clocks() {
    let [ahead, behind] = [3, -3].map(|seconds| {
        let captures = simulate(&Scenario {
            offset: TimeDelta::from_seconds(seconds),
            loss_ppm: 50_000,
            ..one_way()
        });
        let desk = Desk::with(&captures);
        desk.put("dst.pcap", &as_sent(captures.dst));
        let output = desk.run("path src.pcap dst.pcap -o rows.json");
        assert_eq!(output.status.code(), Some(0));
        let rows = rows(&desk.get("rows.json"));
        assert!(rows.iter().all(|row| row["way"] == "out"));
        (
            fates(&rows),
            text(&output.stderr).contains("swap the captures"),
        )
    });
    assert!(ahead.0.keys().any(|(_, fate)| fate == "lost"));
    assert_eq!(ahead.0, behind.0);
    assert_eq!([ahead.1, behind.1], [false, true]);
}

#[test]
fn tables_show_packets_and_delays_per_flow_and_direction() {
    let [src, dst] =
        ["src", "dst"].map(|point| fixture(&format!("adsl-udp-upload/{point}.pcap.gz")));
    let table = Desk::new().text(&format!("path {src} {dst}"));
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert_snapshot!(table);
}

#[test]
fn reordered_packets_are_counted() {
    let [src, dst] =
        ["snd", "rcv"].map(|point| fixture(&format!("short-cubic-reordering/{point}.pcap.gz")));
    assert_snapshot!(Desk::new().text(&format!("path {src} {dst} --quiet")));
}

#[test]
fn rows_of_packets_add_up_to_the_table_of_flows() {
    let desk = Desk::new();
    desk.text("path src.pcap dst.pcap -q -o packets.json --flows flows.json");
    let found = fates(&rows(&desk.get("packets.json")));
    let mut expected = BTreeMap::new();
    for flow in rows(&desk.get("flows.json")) {
        let way = flow["way"].as_str().unwrap().to_owned();
        for (fate, column) in [
            ("delivered", "delivered_packets"),
            ("lost", "lost_packets"),
            ("ambiguous", "ambiguous_packets"),
            ("outside", "outside_packets"),
        ] {
            let packets = flow[column].as_u64().unwrap();
            *expected.entry((way.clone(), fate.to_owned())).or_default() += packets;
        }
    }
    expected.retain(|_, packets| *packets > 0);
    assert!(expected[&("out".to_owned(), "lost".to_owned())] > 0);
    let left = |fates: &BTreeMap<(String, String), u64>| {
        let mut left = fates.clone();
        left.retain(|(_, fate), _| fate != "duplicate" && fate != "unseen");
        left
    };
    assert_eq!(left(&found), expected);
}

#[test]
fn a_packet_row_has_its_times_and_delays() {
    let desk = Desk::new();
    let rows = rows(&desk.bytes("path src.pcap dst.pcap --format json"));
    let of = |fate: &str| {
        rows.iter()
            .filter(|row| row["fate"] == fate)
            .collect::<Vec<_>>()
    };
    let nanos = |row: &Row, name: &str| row[name].as_i64().unwrap();
    for row in of("delivered") {
        let delay = time(&row["received_time"]) - time(&row["sent_time"]);
        assert_eq!(nanos(row, "one_way_delay_ns"), delay);
        assert!((0..=delay).contains(&nanos(row, "queueing_delay_ns")));
    }
    for row in of("lost") {
        assert!(time(&row["sent_time"]) > 0);
        for unknown in [
            "received_time",
            "received_record",
            "one_way_delay_ns",
            "queueing_delay_ns",
            "reordered",
        ] {
            assert!(row[unknown].is_null(), "{unknown}");
        }
    }
    assert!(of("delivered").len() > 1000 && !of("lost").is_empty());
}

#[test]
fn every_format_holds_the_same_rows() {
    let desk = Desk::new();
    let table = desk.text("path src.pcap dst.pcap");
    for name in ["path.csv", "path.parquet", "path.arrow", "path.json"] {
        let line = format!("path src.pcap dst.pcap -o {name}");
        assert_eq!(desk.text(&line), table, "the table is there as well");
        assert_eq!(desk.text(&format!("{line} -q")), "");
    }
    let lines = |name| text(&desk.get(name)).lines().count();
    assert_eq!(lines("path.csv"), lines("path.json") + 1);
    assert!(desk.get("path.parquet").starts_with(b"PAR1"));
    assert!(desk.get("path.arrow").starts_with(b"ARROW1"));
}

#[test]
fn captures_in_reverse_order_yield_the_same_with_directions_exchanged() {
    let desk = Desk::new();
    let fates_of = |order| fates(&rows(&desk.bytes(&format!("path {order} --format json"))));
    let exchanged = |way: &str| if way == "out" { "back" } else { "out" }.to_owned();
    let wrong = fates_of("dst.pcap src.pcap");
    let right: BTreeMap<_, _> = fates_of("src.pcap dst.pcap")
        .into_iter()
        .map(|((way, fate), packets)| ((exchanged(&way), fate), packets))
        .collect();
    assert_eq!(wrong, right);
}

#[test]
fn a_clock_offset_does_not_change_queueing_delays() {
    let queueing = |offset| {
        let captures = simulate(&Scenario {
            offset,
            ..ordinary()
        });
        let rows = rows(&Desk::with(&captures).bytes("path src.pcap dst.pcap --format json"));
        rows.iter()
            .map(|row| row["queueing_delay_ns"].as_i64())
            .collect::<Vec<_>>()
    };
    let one_clock = queueing(TimeDelta::ZERO);
    assert_eq!(queueing(TimeDelta::from_seconds(-7_000)), one_clock);
}

#[test]
fn one_way_traffic_has_queueing_delays_and_no_one_way_delays() {
    assert_snapshot!(Desk::with(&simulate(&one_way())).text("path src.pcap dst.pcap"));
}

#[test]
fn selecting_a_flow_keeps_the_total() {
    let desk = Desk::new();
    desk.text("path src.pcap dst.pcap -q --flow 1 -o packets.json --flows flows.json");
    for name in ["packets.json", "flows.json"] {
        let rows = rows(&desk.get(name));
        assert!(
            !rows.is_empty() && rows.iter().all(|row| row["flow_id"] == 1),
            "{name}"
        );
    }
    let totals = |options: &str| {
        let table = desk.text(&format!("path src.pcap dst.pcap -q {options}"));
        let totals = table.lines().filter(|line| line.contains(" > dst  "));
        totals.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(totals("--flow 1"), totals(""));
    assert_snapshot!(
        desk.failure("path src.pcap dst.pcap --flow 77"),
        @"no packet measured between src.pcap and dst.pcap: no flow matches 77"
    );
}

#[test]
fn charts_are_reproducible_in_both_formats() {
    let desk = Desk::new();
    let table = desk.text("path src.pcap dst.pcap");
    for round in ["1", "2"] {
        for ending in ["svg", "png"] {
            let line = format!("path src.pcap dst.pcap --plot {round}.{ending}");
            assert_eq!(desk.text(&line), table);
        }
    }
    assert!(desk.get("1.png").starts_with(b"\x89PNG\r\n"));
    for ending in ["svg", "png"] {
        assert_eq!(
            desk.get(&format!("1.{ending}")),
            desk.get(&format!("2.{ending}"))
        );
    }
    let drawn = text(&desk.get("1.svg"));
    for label in [
        "queueing delay (ms)",
        "time (s)",
        "fraction of packets",
        " lost",
        "(reverse)",
    ] {
        assert!(drawn.contains(label), "{label}");
    }
}

#[test]
fn a_file_that_is_not_a_capture_is_refused_by_name() {
    let desk = Desk::new();
    desk.put("empty", b"");
    desk.put("garbage", &[0xFE, 0xDC, 0xBA, 0x98].repeat(500));
    desk.put("header.pcap", &desk.get("src.pcap")[..24]);
    let outputs = "-o path.csv --flows flows.csv --plot path.svg";
    let reasons = ["missing", "empty", "garbage", "header.pcap"].map(|name| {
        let reason = desk.failure(&format!("path {name} dst.pcap {outputs}"));
        assert_eq!(desk.failure(&format!("path src.pcap {name}")), reason);
        reason
    });
    assert_snapshot!(reasons.join("\n"));
    assert_eq!(desk.written(), ["empty", "garbage", "header.pcap"]);
}

#[test]
fn captures_of_different_traffic_are_refused_with_the_reason() {
    let desk = Desk::new();
    let other = simulate(&Scenario {
        seed: 99,
        ..ordinary()
    });
    desk.put("other.pcap", &other.dst);
    assert_snapshot!(desk.failure("path src.pcap other.pcap -o path.csv"));
    assert_eq!(desk.written(), ["other.pcap"]);
}

#[test]
fn a_capture_with_itself_is_measured_with_a_warning() {
    let output = Desk::new().run("path src.pcap src.pcap");
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(
        reason(&output),
        @"warning: every round-trip time is 0: one capture may be a copy of the other"
    );
}

#[test]
fn a_truncated_capture_yields_no_losses_for_its_missing_part() {
    let desk = Desk::new();
    let dst = desk.get("dst.pcap");
    desk.put("cut.pcap", &dst[..dst.len() / 2]);
    let lost = |rows: Vec<Row>| fates(&rows)[&("out".to_owned(), "lost".to_owned())];
    let whole = lost(rows(&desk.bytes("path src.pcap dst.pcap --format json")));
    let output = desk.run("path src.pcap cut.pcap --format json");
    assert_eq!(output.status.code(), Some(0));
    let rows = rows(&output.stdout);
    let outside = fates(&rows)[&("out".to_owned(), "outside".to_owned())];
    assert!(outside > 100 && lost(rows) <= whole, "{outside}");
    let warning = reason(&output);
    assert!(warning.starts_with("warning: cut.pcap: "), "{warning}");
    assert!(warning.contains("at byte "), "{warning}");
}

#[test]
fn invalid_arguments_exit_with_2_and_a_reason() {
    let desk = Desk::new();
    assert_snapshot!(
        [
            "path",
            "path src.pcap",
            "path - -",
            "path src.pcap dst.pcap --max-owd 0s",
            "path src.pcap dst.pcap -o path.xlsx",
            "path src.pcap dst.pcap --flows flows",
            "path src.pcap dst.pcap --format spp",
            "path src.pcap dst.pcap --plot path.gif",
        ]
        .map(|line| desk.misuse(line))
        .join("\n")
    );
    assert_eq!(desk.written(), [""; 0]);
}

#[test]
fn standard_input_is_read_like_a_file() {
    let desk = Desk::new();
    let named = desk.text("path src.pcap dst.pcap");
    for (line, file) in [
        ("path - dst.pcap", "src.pcap"),
        ("path src.pcap -", "dst.pcap"),
    ] {
        let piped = desk.command(line).write_stdin(desk.get(file)).unwrap();
        assert_eq!(text(&piped.stdout), named);
    }
}

#[test]
fn help_fits_a_terminal() {
    assert_snapshot!(Desk::new().text("path -h"));
}

#[test]
fn captures_with_one_clock_need_no_offset() {
    let desk = Desk::empty();
    let [src, dst] =
        ["src", "dst"].map(|end| fixture(&format!("reno-2mbit-40ms-50p/{end}.pcap.gz")));
    for command in ["rtt", "path"] {
        let text = desk.text(&format!("{command} {src} {dst} --one-clock"));
        assert!(text.contains("one clock for the captures"), "{text}");
        assert!(!text.contains("skew"), "{text}");
        let both = desk.misuse(&format!("{command} {src} {dst} --one-clock --symmetric"));
        assert!(both.contains("cannot be used with"), "{both}");
    }
    let alone = desk.misuse(&format!("analyze {src} --one-clock -o data"));
    assert_eq!(alone, "error: --one-clock requires two captures");
}

#[test]
fn a_limit_below_the_delays_of_the_path_is_a_warning() {
    let desk = Desk::empty();
    let [src, dst] =
        ["src", "dst"].map(|end| fixture(&format!("reno-2mbit-40ms-50p/{end}.pcap.gz")));
    for command in ["rtt", "path"] {
        let output = desk.run(&format!("{command} {src} {dst} --max-owd 250ms"));
        let warnings = text(&output.stderr);
        assert!(
            warnings.contains("longer than the 250 ms of --max-owd"),
            "{warnings}"
        );
        let output = desk.run(&format!("{command} {src} {dst}"));
        assert!(!text(&output.stderr).contains("--max-owd"));
    }
}
