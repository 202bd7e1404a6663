//! A host that is entered by the namespaces of a process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use netem_ctl::{Local, Runner, Script};

#[test]
fn a_host_is_entered_by_the_namespaces_of_its_process() {
    if !tcpexp_testkit::has_programs(&["unshare", "nsenter", "hostname"]) {
        return;
    }
    let host = "mount -t tmpfs tmp /tmp && hostname other && echo ready && exec sleep 60";
    let mut process = Command::new("unshare")
        .args(["--net", "--mount", "--uts", "sh", "-c", host])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = String::new();
    let stdout = process.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut ready).unwrap();
    if ready == "ready\n" {
        let local = Local::in_namespaces_of(process.id(), "here");
        assert_eq!(local.host(), "here");
        let script = "hostname; cat /proc/net/dev | wc -l; echo text >/tmp/tcpexp-file; id -u\n";
        let output = local.run_ok(&Script::new(script).as_root()).unwrap();
        // Two lines of headings, and the loopback interface.
        assert_eq!(output.text(), "other\n3\n0\n");
        // Its folder of temporary files is not ours.
        assert!(!Path::new("/tmp/tcpexp-file").exists());
        let folder = tempfile::tempdir().unwrap();
        let [down, up] = ["down", "up"].map(|name| folder.path().join(name));
        let soon = Duration::from_secs(5);
        local.fetch("/tmp/tcpexp-file", &down, soon).unwrap();
        assert_eq!(fs::read_to_string(&down).unwrap(), "text\n");
        fs::write(&up, "back\n").unwrap();
        local.upload(&up, "/tmp/tcpexp-file", soon).unwrap();
        let output = local
            .run_ok(&Script::new("cat /tmp/tcpexp-file\n"))
            .unwrap();
        assert_eq!(output.text(), "back\n");
    } else {
        tcpexp_testkit::skip("needs the right to make namespaces");
    }
    process.kill().unwrap();
    process.wait().unwrap();
}
