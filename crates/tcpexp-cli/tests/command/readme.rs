//! The README shows what the command prints and draws today.

use std::path::Path;

use crate::desk::{Desk, fixture};

const PAIR: &str = "reno-2mbit-40ms-50p";

fn in_repository(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join(name)).unwrap()
}

fn measured(desk: &Desk, command: &str, options: &str) -> String {
    let [src, dst] = ["src", "dst"].map(|point| fixture(&format!("{PAIR}/{point}.pcap.gz")));
    desk.text(&format!("{command} {src} {dst} {options}"))
}

#[test]
fn the_tables_in_the_readme_are_what_the_commands_print() {
    let src = fixture(&format!("{PAIR}/src.pcap.gz"));
    let desk = Desk::new();
    for table in [
        measured(&desk, "rtt", ""),
        measured(&desk, "path", "--flow 1 --quiet"),
        desk.text(&format!("flows {src} --quiet")),
        desk.text(&format!("cwnd {src} --flow 1 --quiet")),
        measured(&desk, "analyze", "-o reno"),
    ] {
        assert!(
            in_repository("README.md").contains(&format!("```text\n{table}```\n")),
            "the README needs this table:\n{table}"
        );
    }
}

#[test]
fn the_pictures_in_the_readme_are_what_the_commands_draw() {
    let desk = Desk::new();
    measured(&desk, "rtt", "--quiet --flow 1 --plot rtt.svg");
    let [src, log] = ["src.pcap", "probe.csv"].map(|file| fixture(&format!("{PAIR}/{file}.gz")));
    desk.text(&format!(
        "cwnd {src} --flow 1 --truth {log} --plot cwnd.svg --quiet"
    ));
    measured(&desk, "analyze", "-o run --quiet");
    desk.text("plot timeseries run --flow 1 --width page -o flow.svg");
    desk.text(&format!(
        "plot sequence {src} --x-limits 0.4:1.8 --width page -o sequence.svg"
    ));
    for picture in ["rtt.svg", "cwnd.svg", "flow.svg", "sequence.svg"] {
        assert!(
            desk.get(picture) == in_repository(&format!(".readme/{picture}")).as_bytes(),
            "draw {picture} again with the command that the README names"
        );
    }
}
