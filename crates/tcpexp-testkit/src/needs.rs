//! Test requirements that a machine may lack: programs, privileges and time.
//!
//! A test that lacks a requirement calls [`skip`] and returns early. [`skip`] prints one line and
//! records the test for [`report_skipped`]. If `TCPEXP_NEED_TOOLS` is set, as in CI, [`skip`]
//! panics instead.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Environment variable that makes every skipped test fail.
const NEED_TOOLS: &str = "TCPEXP_NEED_TOOLS";

/// Records that the running test is skipped, and prints the missing requirement.
///
/// # Panics
///
/// Panics if `TCPEXP_NEED_TOOLS` is set.
pub fn skip(missing: &str) {
    assert!(
        !must_run(),
        "{NEED_TOOLS} is set, and this test lacks: {missing}"
    );
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let line = format!("skipped {test}: {}\n", missing.trim().replace('\n', "; "));
    // Not `eprintln!`, because the test harness hides its output in a passing test.
    let _ = std::io::stderr().write_all(line.as_bytes());
    let mut notes = OpenOptions::new().create(true).append(true).open(notes());
    if let Ok(notes) = &mut notes {
        let _ = notes.write_all(line.as_bytes());
    }
}

/// True if all `programs` are installed; otherwise skips the running test.
pub fn has_programs(programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs
        .iter()
        .copied()
        .filter(|program| find_program(program).is_none())
        .collect();
    if !missing.is_empty() {
        skip(&format!("needs {}", missing.join(", ")));
    }
    missing.is_empty()
}

/// True if tests that take minutes run; otherwise skips the running test.
pub fn has_minutes() -> bool {
    if !must_run() {
        skip(&format!("takes minutes, and {NEED_TOOLS} is not set"));
    }
    must_run()
}

/// Returns the path of an installed program; also searches the system folders of root's `PATH`.
pub fn find_program(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/local/sbin:/usr/sbin:/sbin";
    path.split(':')
        .map(|folder| Path::new(folder).join(program))
        .find(|place| place.is_file())
}

/// Prints the skipped tests of this `cargo test` and their number, and clears the record.
pub fn report_skipped() {
    let lines = fs::read_to_string(notes()).unwrap_or_default();
    let _ = fs::remove_file(notes());
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    // A test may record the same requirement more than once.
    lines.dedup();
    println!("\nskipped tests: {}", lines.len());
    for line in lines {
        println!("  {line}");
    }
}

fn must_run() -> bool {
    std::env::var_os(NEED_TOOLS).is_some()
}

/// The file in which this `cargo test` records skipped tests, next to the test programs. Its name
/// holds the id of the parent process, which all test programs of one run share, so earlier runs do
/// not count.
fn notes() -> PathBuf {
    let program = std::env::current_exe().expect("a test has a program");
    program.with_file_name(format!(
        "skipped-tests.{}",
        std::os::unix::process::parent_id()
    ))
}
