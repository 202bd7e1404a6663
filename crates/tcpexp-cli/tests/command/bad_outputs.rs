//! Outputs that cannot be written. No partial file may remain, and no old file may disappear.

use insta::assert_snapshot;

use crate::desk::Desk;
#[cfg(target_os = "linux")]
use crate::desk::reason;

#[test]
fn a_missing_output_folder_is_named_before_any_work() {
    let desk = Desk::new();
    assert_snapshot!(
        desk.failure("rtt src.pcap dst.pcap -o results/rtt.csv"),
        @"cannot write results/rtt.csv: directory results does not exist"
    );
    assert_snapshot!(
        desk.failure("rtt src.pcap dst.pcap --plot results/rtt.svg"),
        @"cannot write results/rtt.svg: directory results does not exist"
    );
    assert_snapshot!(
        desk.failure("rtt src.pcap dst.pcap --compat spp-0.4.2 -o results/rtt.spp"),
        @"cannot write results/rtt.spp: directory results does not exist"
    );
}

#[test]
fn an_output_file_never_replaces_a_folder() {
    let desk = Desk::new();
    std::fs::create_dir(desk.path("results.csv")).unwrap();
    assert_snapshot!(
        desk.failure("rtt src.pcap dst.pcap -o results.csv"),
        @"results.csv is a directory"
    );
}

#[test]
fn a_file_is_replaced_only_if_the_run_succeeds() {
    let desk = Desk::new();
    for (name, option) in [
        ("rtt.csv", "-o"),
        ("rtt.parquet", "-o"),
        ("rtt.txt", "-o"),
        ("rtt.svg", "--plot"),
    ] {
        desk.put(name, b"precious");
        desk.failure(&format!("rtt src.pcap missing.pcap {option} {name}"));
        desk.failure(&format!("rtt src.pcap dst.pcap --flow 99 {option} {name}"));
        assert_eq!(desk.get(name), b"precious");
        desk.text(&format!("rtt src.pcap dst.pcap {option} {name}"));
        assert_ne!(desk.get(name), b"precious");
    }
    assert_eq!(
        desk.written(),
        ["rtt.csv", "rtt.parquet", "rtt.svg", "rtt.txt"]
    );
}

#[test]
fn the_extension_of_an_output_file_names_a_format_that_the_command_writes() {
    let desk = Desk::new();
    desk.text("analyze src.pcap dst.pcap -o data --quiet");
    desk.put("precious.pdf", b"precious");
    let tables = [
        "rtt src.pcap dst.pcap",
        "path src.pcap dst.pcap",
        "flows src.pcap",
        "throughput src.pcap",
        "cwnd src.pcap",
        "why src.pcap",
        "explain src.pcap --flow 0",
        "compare data",
        "path src.pcap dst.pcap src.pcap",
        "import tcpinfo log",
        "import flent log",
    ];
    for line in tables {
        assert_eq!(
            desk.misuse(&format!("{line} -o precious.pdf")),
            "error: precious.pdf has an unknown extension: use .parquet, .csv, .json, .arrow, .spp \
             or .txt, or --format",
            "{line}"
        );
    }
    let others = [
        "report data",
        "survey src.pcap dst.pcap",
        "export flent data",
    ];
    assert_snapshot!(
        others.map(|line| desk.misuse(&format!("{line} -o precious.pdf"))).join("\n"),
        @r"
    error: precious.pdf has an unknown extension: use .html or .htm
    error: precious.pdf has an unknown extension: use .json
    error: precious.pdf has an unknown extension: use .flent.gz
    "
    );
    assert_snapshot!(
        desk.misuse("plot bar data --x run --y goodput_bps -o precious.txt"),
        @"error: invalid value 'precious.txt' for '--output <FILE>': the name must end in .svg, .pdf or .png"
    );
    assert_eq!(desk.get("precious.pdf"), b"precious");
}

#[cfg(unix)]
#[test]
fn a_device_needs_no_extension_for_the_only_format_of_a_command() {
    let desk = Desk::new();
    desk.text("analyze src.pcap dst.pcap -o data --quiet");
    desk.text("report data -o /dev/null");
    desk.text("survey src.pcap dst.pcap -o /dev/null");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_in_every_format() {
    let desk = Desk::new();
    for format in ["table", "csv", "json", "parquet", "arrow", "spp"] {
        assert_eq!(
            desk.failure(&format!(
                "rtt src.pcap dst.pcap -o /dev/full --format {format}"
            )),
            "cannot write /dev/full: No space left on device (os error 28)",
            "{format}"
        );
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tcpexp"))
            .args(["rtt", "src.pcap", "dst.pcap", "--format", format])
            .current_dir(desk.path("."))
            .stdout(full.unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            reason(&output),
            "cannot write standard output: No space left on device (os error 28)",
            "{format}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_a_full_disk_cannot_take_is_an_error() {
    for line in ["--version", "--help", "help", "rtt --help"] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tcpexp"))
            .args(line.split(' '))
            .stdout(full.unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert_eq!(
            reason(&output),
            "cannot write standard output: No space left on device (os error 28)",
            "{line}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error_changes_no_result() {
    let desk = Desk::new();
    let src = desk.get("src.pcap");
    desk.put("cut.pcap", &src[..src.len() - 1]);
    for (line, code) in [
        ("rtt cut.pcap dst.pcap", 0),
        ("rtt missing.pcap dst.pcap", 1),
        ("rtt - -", 2),
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tcpexp"))
            .args(line.split(' '))
            .current_dir(desk.path("."))
            .stderr(full.unwrap())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{line}");
    }
}

#[test]
fn a_file_is_no_directory_for_outputs() {
    let desk = Desk::new();
    desk.put("file", b"");
    assert_snapshot!(desk.failure("flows src.pcap -o file/flows.csv"), @"cannot write file/flows.csv: file is not a directory");
    assert_snapshot!(desk.failure("flows src.pcap -o file/a/flows.csv"), @"cannot write file/a/flows.csv: Not a directory (os error 20)");
    assert_snapshot!(desk.failure("analyze src.pcap -o file/data"), @"cannot write file/data: file is not a directory");
}

#[test]
fn a_directory_is_not_written_to_standard_output() {
    let desk = Desk::new();
    for line in ["analyze src.pcap -o -", "split src.pcap --parts 2 -o -"] {
        let refused = desk.misuse(line);
        assert!(
            refused.ends_with(
                "standard output is no directory; write ./- for a directory of this name"
            ),
            "{refused}"
        );
    }
    // A directory of this name does not take the place of standard input.
    std::fs::create_dir(desk.path("-")).unwrap();
    let output = desk
        .command("flows - -q")
        .write_stdin(desk.get("src.pcap"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}
