//! `tcpexp lab`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::desk::Desk;

/// The cache directory, shared by all tests so that the kernel is downloaded once.
fn cache() -> std::path::PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab")
}

/// True if guests can boot on this machine; otherwise skips the running test.
fn has_lab() -> bool {
    let built = Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(["lab", "build", "--cache"])
        .arg(cache())
        .output()
        .unwrap();
    if built.status.success() {
        return true;
    }
    tcpexp_testkit::skip(&String::from_utf8_lossy(&built.stderr));
    false
}

#[test]
fn a_guest_runs_the_same_command_with_the_same_result() {
    if !has_lab() {
        return;
    }
    let desk = Desk::new();
    let share = desk.path("share");
    std::fs::create_dir(&share).unwrap();
    for name in ["src.pcap", "dst.pcap"] {
        std::fs::copy(desk.path(name), share.join(name)).unwrap();
    }
    let inside = Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(["lab", "run", "--limit", "600", "--share"])
        .arg(&share)
        .arg("--cache")
        .arg(cache())
        .args([
            "--",
            "tcpexp",
            "rtt",
            "/share/src.pcap",
            "/share/dst.pcap",
            "--format",
            "csv",
        ])
        .output()
        .unwrap();
    let outside = desk.run("rtt src.pcap dst.pcap --format csv");
    assert!(outside.stdout.len() > 1000);
    assert_eq!(
        String::from_utf8(inside.stdout).unwrap(),
        String::from_utf8(outside.stdout).unwrap(),
        "{}",
        String::from_utf8_lossy(&inside.stderr)
    );
    assert_eq!(inside.status.code(), Some(0));
}

#[test]
fn a_killed_command_leaves_nothing_of_its_guest() {
    if !has_lab() {
        return;
    }
    let desk = Desk::new();
    let folder = desk.path("temporary");
    std::fs::create_dir(&folder).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tcpexp"))
        .args(["lab", "run", "--cache"])
        .arg(cache())
        .args(["--", "sleep", "inf"])
        .env("TMPDIR", &folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("the guest runs", || !machines(&folder).is_empty());
    command.kill().unwrap();
    command.wait().unwrap();
    until("the guest is gone", || machines(&folder).is_empty());
    until("its files are gone", || {
        std::fs::read_dir(&folder).unwrap().next().is_none()
    });
}

/// Returns the virtual machines that boot from a folder.
fn machines(folder: &Path) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap();
    let called = processes.filter_map(|entry| {
        let called = std::fs::read(entry.unwrap().path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&called).replace('\0', " "))
    });
    let folder = folder.to_string_lossy();
    called
        .filter(|called| called.contains("qemu") && called.contains(&*folder))
        .collect()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(
            begin.elapsed() < Duration::from_secs(60),
            "not within a minute: {what}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn invalid_lab_arguments_create_nothing() {
    let desk = Desk::new();
    let none = desk.misuse("lab run --cache c --sources 0 -- true");
    insta::assert_snapshot!(none, @"error: invalid value '0' for '--sources <N>': 0 is not in 1..=64");
    let modules = desk.misuse("lab run --cache c --modules m -- true");
    insta::assert_snapshot!(modules, @"error: the following required arguments were not provided:");
    assert!(!desk.path("c").exists());
}
