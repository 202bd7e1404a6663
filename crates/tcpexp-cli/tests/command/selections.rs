//! Selection of packets and flows, and captures in several files.

use std::fs;

use insta::assert_snapshot;
use tcpexp_testkit::script;

use crate::desk::{Desk, reason, text};
use crate::pairs::rotated;

const TWO_PORTS: &str = "1.0 > udp 100\n1.1 < udp 100\n1.2 > udp 900 flow 1\n1.9 > udp 900 flow 1";

#[test]
fn an_error_in_a_filter_names_its_place() {
    let desk = Desk::empty();
    desk.put("a.pcap", &script::capture(TWO_PORTS));
    let output = desk
        .command("info a.pcap --filter")
        .arg("udp prot 80")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("at column 5, `prot`: expected and, or, or the end"),
        "{stderr}"
    );
}

#[test]
fn a_port_selects_flows_with_and_without_its_colon() {
    let desk = Desk::empty();
    desk.put("a.pcap", &script::capture(TWO_PORTS));
    let all = desk.run("flows a.pcap --format csv");
    let rows = text(&all.stdout);
    let port = |row: &str| {
        let mut cells = row.split(',').map(|cell| cell.rsplit_once(':'));
        let (_, port) = cells.find_map(|end| end)?;
        Some(port.trim_matches('"').to_owned())
    };
    let port = port(rows.lines().nth(1).unwrap()).unwrap();
    let selected = |flow: &str| desk.run(&format!("flows a.pcap --flow {flow}")).stdout;
    assert!(!selected(&port).is_empty());
    assert_eq!(selected(&port), selected(&format!(":{port}")));
    for command in ["flows", "rtt", "throughput", "cwnd"] {
        let bin = if command == "throughput" {
            " --bin 1s"
        } else {
            ""
        };
        let none = desk.run(&format!("{command} a.pcap --flow :9{bin}"));
        assert_eq!(none.status.code(), Some(1), "{command}");
        // The packets of the script are 100 ms apart, so a warning of a coarse clock comes first.
        let messages = text(&none.stderr);
        assert!(messages.contains("matches :9"), "{command}: {messages}");
    }
}

#[test]
fn flows_are_sorted_by_a_key() {
    let desk = Desk::empty();
    desk.put("a.pcap", &script::capture(TWO_PORTS));
    let first = |sort: &str| {
        let output = desk.run(&format!("flows a.pcap --sort {sort} --top 1"));
        let table = text(&output.stdout);
        table.lines().nth(1).unwrap()[..2].trim().to_owned()
    };
    assert_eq!(first("payload"), "1");
    assert_eq!(first("duration"), "1");
    assert_eq!(first("start"), "0");
}

#[test]
fn missing_files_of_a_directory_are_a_warning() {
    let desk = Desk::empty();
    fs::create_dir(desk.path("set")).unwrap();
    for part in [1, 2, 3, 5, 6] {
        let lines: Vec<String> = (0..10)
            .map(|packet| format!("{part}.{packet} > udp {}", 10 * part + packet))
            .collect();
        let capture = script::capture(&lines.join("\n"));
        desk.put(&format!("set/cap{part}"), &capture);
    }
    let output = desk.run("flows set");
    assert_eq!(output.status.code(), Some(0));
    assert!(
        reason(&output).contains("between cap3 and cap5: a file of the series is missing"),
        "{}",
        reason(&output)
    );
    let info = desk.run("info set");
    assert!(text(&info.stdout).contains("set          5 files"));
    let dataset = desk.run("analyze set -o data");
    assert_eq!(dataset.status.code(), Some(0), "{}", reason(&dataset));
    let manifest = fs::read_to_string(desk.path("data/manifest.json")).unwrap();
    assert!(manifest.contains("\"files\"") && manifest.contains("cap5"));
}

#[test]
fn every_command_gives_the_same_bytes_for_a_capture_and_its_fifty_files() {
    let desk = Desk::new();
    for point in ["src", "dst"] {
        let whole = desk.get(&format!("{point}.pcap"));
        fs::create_dir(desk.path(point)).unwrap();
        let mut files = Vec::new();
        // Whole records, as many per file as make 50 files.
        let records = rotated(&whole, 1).len();
        for (number, file) in rotated(&whole, records.div_ceil(50)).iter().enumerate() {
            desk.put(&format!("{point}/cap{number:02}"), file);
            files.push(number);
        }
        assert!(files.len() > 40, "{} files", files.len());
    }
    for command in [
        "flows SRC",
        "rtt SRC",
        "cwnd SRC",
        "throughput SRC",
        "rtt SRC DST",
        "path SRC DST",
        "cwnd SRC DST",
    ] {
        let of = |src: &str, dst: &str| {
            let line = command.replace("SRC", src).replace("DST", dst);
            desk.bytes(&format!("{line} -o rows.parquet --quiet"));
            desk.get("rows.parquet")
        };
        assert!(of("src.pcap", "dst.pcap") == of("src", "dst"), "{command}");
    }
}

#[test]
fn a_missing_flow_is_an_error() {
    let desk = Desk::new();
    assert_snapshot!(
        desk.failure("flows src.pcap --flow 77 --flow 192.0.2.1"),
        @"no flow in src.pcap matches 77 or 192.0.2.1"
    );
    assert_snapshot!(
        desk.failure("rtt src.pcap --flow 77 --flow 192.0.2.1"),
        @"no round-trip time in src.pcap: no TCP flow and no QUIC connection with one matches 77 or 192.0.2.1"
    );
}

#[test]
fn a_flow_may_be_in_one_of_several_captures() {
    let desk = Desk::new();
    let call = script::capture("0.0 > udp 100 flow 9");
    desk.put("call.pcap", &call);
    let table = desk.text("flows src.pcap call.pcap --flow :40009");
    let (src, call) = table.split_once("\n\n").unwrap();
    assert_eq!(src, "src.pcap\nno flows");
    assert!(call.contains("10.0.0.1:40009 > 10.0.0.2:80"), "{call}");
    assert_snapshot!(
        desk.failure("flows src.pcap call.pcap --flow 77"),
        @"no flow in src.pcap or call.pcap matches 77"
    );
}
