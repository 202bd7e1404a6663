//! Runs that end early: a closed pipe, Ctrl-C, a file size limit.

use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::desk::{Desk, reason};

/// Starts a run with pipes as standard input and output.
fn piped(desk: &Desk, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcpexp"));
    command
        .args(line.split(' '))
        .current_dir(desk.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    heed_signals(&mut command);
    command.spawn().unwrap()
}

/// Gives the run the default actions of signals. Under `nohup`, the tests and their runs ignore SIGHUP.
fn heed_signals(command: &mut Command) {
    #[expect(unsafe_code, reason = "a C function after fork; see SAFETY")]
    // SAFETY: the function may be called between fork and exec (signal-safety(7)), and this process is not changed.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGXFSZ] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
}

#[test]
fn a_reader_that_stops_early_is_not_a_failure() {
    let desk = Desk::new();
    for format in ["table", "csv", "json", "parquet", "arrow", "spp"] {
        for bytes in [0, 1] {
            let mut run = piped(&desk, &format!("rtt src.pcap dst.pcap --format {format}"));
            let mut stdout = run.stdout.take().unwrap();
            stdout.read_exact(&mut vec![0; bytes]).unwrap();
            drop(stdout);
            assert_quiet_end(run, format);
        }
    }
    for command in ["path src.pcap dst.pcap", "throughput src.pcap --bin 1ms"] {
        for format in ["table", "csv"] {
            let mut run = piped(&desk, &format!("{command} --format {format}"));
            drop(run.stdout.take());
            assert_quiet_end(run, command);
        }
    }
    for line in ["info src.pcap dst.pcap", "man", "completions bash"] {
        let mut run = piped(&desk, line);
        drop(run.stdout.take());
        assert_quiet_end(run, line);
    }
    let line = "rtt src.pcap dst.pcap --compat spp-0.4.2";
    let mut run = piped(&desk, line);
    drop(run.stdout.take());
    assert_quiet_end(run, line);
}

#[test]
fn a_reader_that_stops_early_keeps_no_file_from_completion() {
    let desk = Desk::new();
    for (line, files) in [
        ("cwnd src.pcap -o c.csv --plot c.svg", 2),
        ("cwnd src.pcap --plot c.svg --events e.csv", 2),
        ("throughput src.pcap -o t.csv --plot t.svg", 2),
        ("throughput src.pcap --bin 1ms --format csv --plot t.svg", 1),
        ("rtt src.pcap -o r.csv --plot r.svg", 2),
        (
            "rtt src.pcap dst.pcap --format csv --plot r.svg --flows f.csv",
            2,
        ),
        ("path src.pcap dst.pcap -o p.csv --plot p.svg", 2),
        ("path src.pcap dst.pcap --format csv --flows f.csv", 1),
    ] {
        let mut run = piped(&desk, line);
        drop(run.stdout.take());
        assert_quiet_end(run, line);
        let written = desk.written();
        assert_eq!(written.len(), files, "{line}: {written:?}");
        for file in written {
            assert!(!file.starts_with('.'), "{line}: {file}");
            std::fs::remove_file(desk.path(&file)).unwrap();
        }
    }
}

#[test]
fn a_closed_pipe_other_than_standard_output_is_a_failure() {
    let desk = Desk::new();
    let script = format!(
        "mkfifo pipe; head -c 1 pipe >/dev/null & \
         exec '{}' rtt src.pcap dst.pcap --format csv -o pipe --plot r.svg",
        env!("CARGO_BIN_EXE_tcpexp")
    );
    let output = Command::new("sh")
        .args(["-c", &script])
        .current_dir(desk.path("."))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        reason(&output),
        "cannot write pipe: Broken pipe (os error 32)"
    );
}

fn assert_quiet_end(run: Child, what: &str) {
    let output = run.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        (output.status.code(), stderr.as_str()),
        (Some(0), ""),
        "{what}"
    );
}

fn send(signal: &str, run: &Child) {
    // Uses the `kill` built into the shell, because a small system has no `kill` program.
    let sent = Command::new("sh")
        .args(["-c", &format!("kill {signal} {}", run.id())])
        .status();
    assert!(sent.unwrap().success());
}

/// Waits until a run has begun its output.
fn until_begun(desk: &Desk) {
    let begun = Instant::now();
    while desk.written().is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no output is begun"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_interrupt_while_measuring_leaves_nothing_behind() {
    for (signal, number) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
        let desk = Desk::new();
        desk.put("rtt.svg", b"precious");
        // The rows exceed the pipe's capacity, so after the first row the run waits for a reader.
        let mut run = piped(&desk, "rtt src.pcap dst.pcap --format csv --plot rtt.svg");
        run.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(desk.written().len(), 2, "the chart is begun");
        send(signal, &run);
        assert_eq!(run.wait().unwrap().signal(), Some(number));
        assert_eq!(desk.written(), ["rtt.svg"]);
        assert_eq!(desk.get("rtt.svg"), b"precious");
    }
}

#[test]
fn an_interrupt_while_waiting_for_input_leaves_nothing_behind() {
    let desk = Desk::new();
    let mut run = piped(&desk, "rtt - dst.pcap -o rtt.parquet");
    let start = &desk.get("src.pcap")[..5000];
    run.stdin.as_mut().unwrap().write_all(start).unwrap();
    until_begun(&desk);
    send("-INT", &run);
    assert_eq!(run.wait().unwrap().signal(), Some(2));
    assert_eq!(desk.written(), [""; 0]);
}

#[test]
fn a_signal_that_the_parent_ignores_does_not_end_a_run() {
    let desk = Desk::new();
    // As `nohup` does.
    let script = "trap '' HUP; exec \"$0\" rtt - dst.pcap -o rtt.csv";
    let mut run = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_tcpexp")])
        .current_dir(desk.path("."))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let src = desk.get("src.pcap");
    let (start, rest) = src.split_at(5000);
    let mut stdin = run.stdin.take().unwrap();
    stdin.write_all(start).unwrap();
    until_begun(&desk);
    send("-HUP", &run);
    stdin.write_all(rest).unwrap();
    drop(stdin);
    assert!(run.wait().unwrap().success());
    assert_eq!(desk.written(), ["rtt.csv"]);
}

#[test]
fn a_file_that_cannot_grow_is_an_error_and_is_removed() {
    for (output, old) in [("-o rtt.csv", "rtt.csv"), ("--plot rtt.png", "rtt.png")] {
        let desk = Desk::new();
        desk.put(old, b"precious");
        let script = format!(
            "ulimit -f 8; exec '{}' rtt src.pcap dst.pcap {output}",
            env!("CARGO_BIN_EXE_tcpexp")
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(desk.path("."));
        heed_signals(&mut command);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(
            reason(&output),
            format!("cannot write {old}: File too large (os error 27)")
        );
        assert_eq!(desk.written(), [old]);
        assert_eq!(desk.get(old), b"precious");
    }
}

#[test]
fn few_threads_give_the_same_rows_or_one_error_line() {
    let programs = ["setpriv", "prlimit"];
    if !rustix::process::geteuid().is_root() || !tcpexp_testkit::has_programs(&programs) {
        return tcpexp_testkit::skip("needs root to run as a user with few threads");
    }
    let desk = Desk::new();
    // The other user must be able to run the program.
    std::fs::copy(env!("CARGO_BIN_EXE_tcpexp"), desk.path("tcpexp")).unwrap();
    std::fs::set_permissions(
        desk.path("."),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let limited = |threads: u32, line: &str| {
        let script = format!(
            "exec setpriv --reuid 64123 --clear-groups prlimit --nproc={threads} ./tcpexp {line}"
        );
        Command::new("sh")
            .args(["-c", &script])
            .env("RAYON_NUM_THREADS", "4")
            .current_dir(desk.path("."))
            .output()
            .unwrap()
    };
    for line in [
        "flows src.pcap --format csv",
        "rtt src.pcap dst.pcap --format csv",
        "throughput src.pcap --bin 1ms --format csv",
    ] {
        let expected = limited(1_000, line);
        for threads in 1..10 {
            let output = limited(threads, line);
            let stderr = String::from_utf8_lossy(&output.stderr);
            if output.status.success() {
                assert_eq!(output.stdout, expected.stdout, "{line}: {threads}");
            } else {
                assert_eq!(output.status.code(), Some(1), "{line}: {stderr}");
                assert!(
                    reason(&output).contains("cannot start a thread"),
                    "{stderr}"
                );
            }
            assert!(threads < 2 || output.status.success(), "{line}: {stderr}");
        }
    }
}

#[test]
fn errors_of_outputs_name_the_file_and_the_cause() {
    let failure = |limit: &str, line: &str| {
        let desk = Desk::new();
        let script = format!(
            "trap '' XFSZ; ulimit {limit}; exec '{}' {line}",
            env!("CARGO_BIN_EXE_tcpexp")
        );
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(desk.path("."))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert_eq!(desk.written(), [""; 0], "{line}");
        reason(&output)
    };
    let split = failure("-f 8", "split src.pcap --parts 2 -o .");
    assert!(
        split.starts_with("cannot write ./src.")
            && split.ends_with("-of-2.pcapng: File too large (os error 27)"),
        "{split}"
    );
    let analyze = failure("-n 8", "analyze src.pcap -o data");
    assert!(
        analyze.starts_with("cannot write data")
            && analyze.ends_with("Too many open files (os error 24)"),
        "{analyze}"
    );
}

#[test]
fn binary_data_is_not_printed_to_a_terminal() {
    if !tcpexp_testkit::has_programs(&["script"]) {
        return;
    }
    let desk = Desk::new();
    let in_terminal = |line: &str| {
        let mut script = Command::new("script");
        script
            .args(["-qec", line, "/dev/null"])
            .current_dir(desk.path("."))
            .stdin(Stdio::null());
        script.output().unwrap()
    };
    if !in_terminal("true").status.success() {
        return tcpexp_testkit::skip("needs terminals (/dev/pts)");
    }
    for (format, name) in [("parquet", "Parquet"), ("arrow", "Arrow")] {
        let line = format!(
            "'{}' rtt src.pcap dst.pcap --format {format}",
            env!("CARGO_BIN_EXE_tcpexp")
        );
        let output = in_terminal(&line);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(
            said.contains(&format!("a terminal cannot show {name}")),
            "{said}"
        );
    }
}
