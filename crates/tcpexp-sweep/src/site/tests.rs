//! The shell functions of a run, on this machine.

use std::path::Path;
use std::process::Command;

use super::RUN_SH;

/// Runs commands in a run's directory, and returns their output.
fn run_in(dir: &Path, commands: &str) -> String {
    let at = format!("dir={0} lease={0}\n", dir.display());
    let library = format!("{at}{}{RUN_SH}", netem_ctl::HOST_SH);
    for folder in ["pids", "out/status", "out/logs"] {
        std::fs::create_dir_all(dir.join(folder)).unwrap();
    }
    let process = format!("{library}process_body \"$@\"\n");
    std::fs::write(dir.join("process.sh"), process).unwrap();
    let output = Command::new("sh")
        .args(["-euc", &format!("{library}{commands}")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    text
}

#[test]
fn a_forgotten_process_that_must_be_killed_is_not_reported() {
    let dir = tempfile::tempdir().unwrap();
    let commands = r#"
        spawn stubborn stubborn.txt 0 sh -c "trap '' TERM; : >$dir/ready; sleep 60"
        until [ -e "$dir/ready" ]; do sleep 0.01; done
        ended
        forget stubborn
        ended
        ls "$dir/pids" "$dir/out/status" "$dir/out/logs" | grep stubborn || :
    "#;
    assert_eq!(run_in(dir.path(), commands), "");
}
