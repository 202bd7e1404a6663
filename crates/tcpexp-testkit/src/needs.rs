//! Programs, rights and time that some tests need and not every machine or person has.
//!
//! A test that lacks one of them returns early after [`skip`], which prints one line and notes the
//! test for [`report_skipped`]. Where `TCPEXP_NEED_TOOLS` is set, as in CI, [`skip`] panics instead.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Set where every test must run.
const NEED_TOOLS: &str = "TCPEXP_NEED_TOOLS";

/// Notes that the running test is skipped, and prints what it lacks.
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
    // Written directly: the test harness hides what `eprintln!` writes in a test that passes.
    let _ = std::io::stderr().write_all(line.as_bytes());
    let mut notes = OpenOptions::new().create(true).append(true).open(notes());
    if let Ok(notes) = &mut notes {
        let _ = notes.write_all(line.as_bytes());
    }
}

/// Returns whether all `programs` are installed; skips the running test if one is not.
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

/// Returns whether tests that take minutes run; skips the running test if they do not.
pub fn has_minutes() -> bool {
    if !must_run() {
        skip(&format!("takes minutes, and {NEED_TOOLS} is not set"));
    }
    must_run()
}

/// The path of an installed program; also looks where only root's `PATH` leads.
pub fn find_program(program: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/local/sbin:/usr/sbin:/sbin";
    path.split(':')
        .map(|folder| Path::new(folder).join(program))
        .find(|place| place.is_file())
}

/// Prints how many tests of this `cargo test` were skipped, and forgets them.
pub fn report_skipped() {
    let lines = fs::read_to_string(notes()).unwrap_or_default();
    let _ = fs::remove_file(notes());
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    // A test may ask more than once.
    lines.dedup();
    println!("\nskipped tests: {}", lines.len());
    for line in lines {
        println!("  {line}");
    }
}

fn must_run() -> bool {
    std::env::var_os(NEED_TOOLS).is_some()
}

/// Where this `cargo test` notes skipped tests: beside its test programs. All of them have one parent
/// process, so that an earlier run is not counted.
fn notes() -> PathBuf {
    let program = std::env::current_exe().expect("a test has a program");
    program.with_file_name(format!(
        "skipped-tests.{}",
        std::os::unix::process::parent_id()
    ))
}
