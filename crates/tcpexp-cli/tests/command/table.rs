//! `tcpexp rtt` on a terminal: the table, the selection of flows, and the chart.

use insta::assert_snapshot;
use tcpexp_testkit::{
    CaptureSpec, ClockStep, IpVersion, Middle, Point, Scenario, TcpLoad, UdpLoad, simulate,
};
use tcpexp_units::{Skew, TimeDelta};

use crate::desk::{Desk, fixtures, ordinary, text};

#[test]
fn a_table_reports_measurements_and_their_basis() {
    assert_snapshot!(Desk::new().text("rtt src.pcap dst.pcap"));
}

#[test]
fn remarks_name_every_limitation_of_the_numbers() {
    let captures = simulate(&Scenario {
        tcp: vec![TcpLoad {
            bytes: 20_000_000,
            ip: IpVersion::V6,
            ..TcpLoad::default()
        }],
        udp: vec![UdpLoad::default()],
        offset: TimeDelta::from_seconds(-3600),
        skew: Skew::from_ppt(40_000_000),
        clock_step: Some(ClockStep {
            point: Point::Dst,
            at: TimeDelta::from_seconds(2),
            by: TimeDelta::from_millis(250),
        }),
        nat: true,
        src: CaptureSpec {
            tso_segments: 20,
            ..CaptureSpec::default()
        },
        dst: CaptureSpec {
            starts_after: TimeDelta::from_millis(300),
            twice: true,
            ..CaptureSpec::default()
        },
        ..Scenario::default()
    });
    let table = Desk::with(&captures).text("rtt src.pcap dst.pcap");
    assert_fits(&table);
    for remark in [
        " behind src;",
        " ppm, removed",
        "clock step at dst: forward by 2",
        "segmentation offload changes packet boundaries",
        "addresses or ports are translated between the points",
        "not used        ",
        " repeated records of packets",
        " packets outside the time of the other capture",
        " measurements across a clock step",
    ] {
        assert!(table.contains(remark), "{remark} is missing in\n{table}");
    }
}

#[test]
fn absent_packets_are_those_that_path_calls_lost_or_missed() {
    let captures = simulate(&Scenario {
        middles: vec![Middle {
            missed_ppm: 40_000,
            ..Middle::default()
        }],
        loss_ppm: 10_000,
        ..ordinary()
    });
    let desk = Desk::with(&captures);
    desk.put("mid.pcap", &captures.middles[0]);
    let sum = |table: &str, columns: &[&str]| -> u64 {
        let rows = serde_json::Deserializer::from_slice(&desk.get(table))
            .into_iter::<serde_json::Value>()
            .map(Result::unwrap)
            .collect::<Vec<_>>();
        let cells = rows
            .iter()
            .flat_map(|row| columns.iter().map(move |column| &row[*column]));
        cells.map(|cell| cell.as_u64().unwrap()).sum()
    };
    let warned = |line: &str| {
        let output = desk.run(line);
        assert!(output.status.success());
        let warning = "warning: the capture at dst missed at least";
        let stderr = text(&output.stderr);
        assert!(stderr.contains(warning), "{stderr}");
        text(&output.stdout)
    };
    let table = warned("rtt src.pcap mid.pcap --flows rtt.json");
    warned("path src.pcap mid.pcap -q --flows path.json --plot path.svg");
    let chart = text(&desk.get("path.svg"));
    assert!(chart.contains("marks show certain losses only"), "{chart}");
    let fates = ["lost_packets", "missed_packets", "lost_or_missed_packets"];
    let absent = sum("rtt.json", &["absent_packets"]);
    assert_eq!(absent, sum("path.json", &fates));
    assert!(sum("path.json", &["missed_packets"]) > 0 && absent > 0);
    let remark = "lost on the path or missed by the capture at dst;";
    assert!(table.contains(remark), "{table}");
    assert_fits(&table);
    let whole = desk.text("rtt src.pcap dst.pcap");
    assert!(!whole.contains("missed by the capture"), "{whole}");
}

fn assert_fits(table: &str) {
    for line in table.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
        assert_eq!(line.trim_end(), line, "blanks at the end");
    }
}

#[test]
fn every_line_fits_a_terminal_of_80_columns() {
    let desk = Desk::new();
    assert_fits(&desk.text("rtt src.pcap dst.pcap"));
    assert_fits(&desk.text("info src.pcap dst.pcap"));
    for [src, dst] in fixtures() {
        assert_fits(&desk.text(&format!("rtt {src} {dst}")));
    }
}

#[test]
fn quiet_prints_only_the_numbers() {
    let desk = Desk::new();
    let (loud, quiet) = (
        desk.text("rtt src.pcap dst.pcap"),
        desk.text("rtt src.pcap dst.pcap --quiet"),
    );
    assert!(!quiet.contains("clocks"));
    assert!(loud.starts_with(&quiet));
    assert_eq!(desk.text("rtt src.pcap dst.pcap -q -o rtt.csv"), "");
}

#[test]
fn the_order_of_the_captures_changes_no_measured_number() {
    let desk = Desk::new();
    let numbers = |line| {
        let table = desk.text(line);
        // The initiator of the telephone call depends on the capture point.
        let lines = table.lines().take(4);
        // A flow has its number of the first capture.
        let unnumbered = lines.map(|line| line.trim_start_matches(|c: char| c.is_ascii_digit()));
        unnumbered.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        numbers("rtt src.pcap dst.pcap -q"),
        numbers("rtt dst.pcap src.pcap -q")
    );
}

#[test]
fn a_flow_is_selected_by_number_or_part_of_an_address() {
    let desk = Desk::new();
    let all = desk.text("rtt src.pcap dst.pcap --format csv");
    let (header, rows) = all.split_once('\n').unwrap();
    let of = |protocol: &str| -> String {
        let rows = rows.lines().filter(|row| row.contains(protocol));
        std::iter::once(header)
            .chain(rows)
            .map(|row| row.to_owned() + "\n")
            .collect()
    };
    let chosen = |flow: &str| {
        let mut command = desk.command("rtt src.pcap dst.pcap --format csv --flow");
        String::from_utf8(command.arg(flow).output().unwrap().stdout).unwrap()
    };
    let udp = of(",udp,");
    let [number, _, initiator, responder] = udp
        .lines()
        .nth(1)
        .unwrap()
        .split(',')
        .take(4)
        .collect::<Vec<_>>()[..]
    else {
        panic!("a row has more columns");
    };
    assert_eq!(chosen(number), udp);
    assert_eq!(chosen(initiator), udp);
    assert_eq!(chosen(&format!("{initiator} > {responder}")), udp);
    let twice = desk.text("rtt src.pcap dst.pcap --format csv --flow 0 --flow 1");
    assert_eq!(twice, all);
    assert_snapshot!(desk.text(&format!("rtt src.pcap dst.pcap --quiet --flow {number}")));
}

#[test]
fn flows_beyond_the_limit_are_summarised_in_one_line() {
    let captures = simulate(&Scenario {
        udp: vec![UdpLoad {
            flows: 30,
            datagrams: 5,
            ..UdpLoad::default()
        }],
        ..ordinary()
    });
    let desk = Desk::with(&captures);
    let last = |line| {
        let table = desk.text(line);
        table.lines().last().unwrap().to_owned()
    };
    let table = last("rtt src.pcap dst.pcap -q");
    assert!(table.starts_with("and 11 more flows ("), "{table}");
    let table = last("rtt src.pcap dst.pcap -q --limit 30");
    assert!(table.starts_with("and 1 more flow ("), "{table}");
    let table = last("rtt src.pcap dst.pcap -q --limit 31");
    assert!(table.starts_with("  reverse "), "{table}");
}

#[test]
fn charts_are_reproducible_in_both_formats() {
    let desk = Desk::new();
    let table = desk.text("rtt src.pcap dst.pcap");
    for round in ["1", "2"] {
        for ending in ["svg", "png", "PNG"] {
            let line = format!("rtt src.pcap dst.pcap --plot {round}.{ending}");
            assert_eq!(desk.text(&line), table, "the table is there as well");
        }
    }
    assert!(desk.get("1.svg").starts_with(b"<svg "));
    assert!(desk.get("1.png").starts_with(b"\x89PNG\r\n"));
    for ending in ["svg", "png"] {
        assert_eq!(
            desk.get(&format!("1.{ending}")),
            desk.get(&format!("2.{ending}"))
        );
    }
    assert_eq!(desk.get("1.png"), desk.get("1.PNG"));
}

#[test]
fn a_streamed_capture_yields_the_same_result() {
    let desk = Desk::new();
    assert_eq!(
        desk.text("rtt src.pcap dst.pcap"),
        desk.text("rtt src.pcap dst.pcap --no-mmap")
    );
}

#[test]
fn one_of_the_captures_may_come_from_standard_input() {
    let desk = Desk::new();
    let table = desk.text("rtt src.pcap dst.pcap");
    for (line, file) in [
        ("rtt - dst.pcap", "src.pcap"),
        ("rtt src.pcap -", "dst.pcap"),
    ] {
        let piped = desk.command(line).write_stdin(desk.get(file)).unwrap();
        assert_eq!(String::from_utf8(piped.stdout).unwrap(), table);
    }
    let piped = desk
        .command("info -")
        .write_stdin(desk.get("src.pcap"))
        .unwrap();
    let named = desk.text("info src.pcap");
    let info = String::from_utf8(piped.stdout).unwrap();
    assert_eq!(info, named.replace("src.pcap", "standard input"));
}
