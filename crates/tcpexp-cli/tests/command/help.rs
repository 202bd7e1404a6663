//! Help texts of the command.

use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::desk::Desk;

#[test]
fn help_fits_a_terminal() {
    assert_snapshot!(Desk::new().text("rtt -h"));
}

#[test]
fn completions_exist_for_each_shell() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = desk.text(&format!("completions {shell}"));
        assert!(
            script.contains("tcpexp") && script.contains("max-owd"),
            "{shell}"
        );
    }
    // Tables and columns come from the schema.
    let bash = desk.text("completions bash");
    let y = bash
        .split("tcpexp__subcmd__plot__subcmd__bar)")
        .nth(1)
        .unwrap_or(&bash);
    for name in ["command:rtt", "goodput_bps", "rtt_median_ns"] {
        assert!(y.contains(name), "{name}");
    }
    if tcpexp_testkit::has_programs(&["bash"]) {
        let mut bash = Command::new("bash");
        let mut bash = bash.arg("-n").stdin(Stdio::piped()).spawn().unwrap();
        let script = desk.bytes("completions bash");
        std::io::Write::write_all(&mut bash.stdin.take().unwrap(), &script).unwrap();
        assert!(bash.wait().unwrap().success());
    }
}

#[test]
fn manual_pages_describe_the_program_or_a_command() {
    let desk = Desk::new();
    let page = desk.text("man");
    assert!(page.contains(".TH tcpexp 1"), "{page}");
    let page = desk.text("man rtt");
    assert!(
        page.contains(".TH tcpexp-rtt 1") && page.contains("max\\-owd"),
        "{page}"
    );
}

#[test]
fn invalid_arguments_exit_with_2_and_a_reason() {
    let desk = Desk::new();
    for line in [
        "",
        "frobnicate",
        "rtt",
        "rtt src.pcap --flows flows.csv",
        "rtt src.pcap --compat spp-0.4.2",
        "rtt src.pcap --live -o rtt.csv",
        "rtt src.pcap --live --limit 3",
        "flows",
        "rtt src.pcap dst.pcap third.pcap",
        "rtt src.pcap dst.pcap --format xlsx",
        "rtt src.pcap dst.pcap --max-owd 5",
        "rtt src.pcap dst.pcap --limit many",
        "rtt src.pcap dst.pcap --mask 63",
        "rtt src.pcap dst.pcap --compat spp-9",
        "rtt src.pcap dst.pcap --compat spp-0.4.2 --flow 1",
        "rtt src.pcap dst.pcap --compat spp-0.4.2 --src-host 10.0.0.1",
        "info",
        "completions tcsh",
    ] {
        let output = desk.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(
            output.stdout.is_empty() && !output.stderr.is_empty(),
            "{line}"
        );
    }
    assert_snapshot!(
        [
            "rtt - -",
            "rtt src.pcap dst.pcap -o rtt.xlsx",
            "rtt src.pcap dst.pcap -o rtt",
            "rtt src.pcap dst.pcap --plot rtt.gif",
            "rtt src.pcap dst.pcap --compat spp-0.4.2 -o rtt.csv",
            "rtt src.pcap dst.pcap --compat spp-0.4.2 --format json",
            "man frobnicate",
        ]
        .map(|line| desk.misuse(line))
        .join("\n")
    );
    assert_eq!(desk.written(), [""; 0]);
}
