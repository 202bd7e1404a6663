//! Tests of the SSH runner with a real sshd on this machine, and with faulty replacements of it.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod server;
mod streams;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use netem_ctl::{Control, Os, Router, Runner, Script, Ssh};

use server::{Odd, Server, client, free_port, reach};

const SOON: Duration = Duration::from_secs(20);

#[test]
fn scripts_arrive_unchanged_and_return_their_exit_code() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let [ssh, kept] = [server.ssh(), server.ssh().kept_open()];
    let script =
        Script::new("a='it is \"$HOME\"'\necho \"$a\" | tr a-z A-Z\necho no >&2\nexit 7\n");
    for ssh in [&ssh, &ssh, &kept, &kept] {
        let output = ssh.run(&script).unwrap();
        assert_eq!(output.text(), "IT IS \"$HOME\"\n");
        assert_eq!((output.code, output.complaint().as_str()), (7, "no"));
        assert!(output.finished > output.started);
    }
    let error = ssh.run_ok(&script).unwrap_err();
    assert_eq!(error.to_string(), "rtr: exit code 7: no");
}

#[test]
fn text_of_the_login_is_no_output_of_a_script() {
    let Some(server) = Server::start(Odd::Talkative) else {
        return;
    };
    for ssh in [server.ssh(), server.ssh().kept_open()] {
        for _ in 0..2 {
            let output = ssh.run(&Script::new("echo '@@ owner'; printf end\n"));
            assert_eq!(output.unwrap().text(), "@@ owner\nend");
        }
    }
}

#[test]
fn an_account_that_runs_no_commands_is_an_error() {
    let Some(server) = Server::start(Odd::Idle) else {
        return;
    };
    for ssh in [server.ssh(), server.ssh().kept_open()] {
        for script in [Script::new("true\n"), Script::new("true\n").as_root()] {
            let error = ssh.run(&script).unwrap_err().to_string();
            assert!(
                error.contains("expected an account that runs commands"),
                "{error}"
            );
        }
        assert!(Control::new(&ssh, "me").clear(Os::Linux).is_err());
        let [from, to] = ["config", "copy"].map(|name| server.folder().join(name));
        for copied in [
            ssh.upload(&from, &to.display().to_string(), SOON),
            ssh.fetch(&from.display().to_string(), &to, SOON),
        ] {
            let error = copied.unwrap_err().to_string();
            assert!(
                error.contains("expected an account that runs commands"),
                "{error}"
            );
        }
        assert!(!to.exists());
    }
}

#[test]
fn text_of_the_login_never_becomes_a_part_of_a_file() {
    let Some(server) = Server::start(Odd::Talkative) else {
        return;
    };
    let [from, to, back] = ["config", "to", "back"].map(|name| server.folder().join(name));
    let ssh = server.ssh();
    ssh.upload(&from, &to.display().to_string(), SOON).unwrap();
    assert_eq!(fs::read(&to).unwrap(), fs::read(&from).unwrap());
    let error = ssh
        .fetch(&to.display().to_string(), &back, SOON)
        .unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("longer than the file"), "{error}: {source}");
    assert!(!back.exists());
}

#[test]
fn files_are_copied_in_both_directions() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let ssh = server.ssh();
    let at = |name: &str| server.folder().join(name);
    let bytes: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(at("from"), &bytes).unwrap();
    let there = at("there").display().to_string();
    ssh.upload(&at("from"), &there, SOON).unwrap();
    ssh.fetch(&there, &at("back"), SOON).unwrap();
    assert!(fs::read(at("back")).unwrap() == bytes);
    let missing = ssh.fetch("/does/not/exist", &at("none"), SOON).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "rtr: exit code 1: cat: /does/not/exist: No such file or directory"
    );
    assert!(!at("none").exists() && !at("none.partial").exists());
    let strange = ssh.fetch("/etc/passwd; reboot", &at("none"), SOON);
    assert!(
        strange
            .unwrap_err()
            .to_string()
            .contains("expected a path without blanks")
    );
}

#[test]
fn an_upload_of_another_length_than_the_file_is_refused_and_removed() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let there = server.folder().join("there");
    // The kernel makes this file as it is read, and states a length of 0.
    let upload = server.ssh().upload(
        Path::new("/proc/self/status"),
        &there.display().to_string(),
        SOON,
    );
    assert_eq!(
        upload.unwrap_err().to_string(),
        format!(
            "rtr: exit code 1: {} has another length than the file",
            there.display()
        )
    );
    assert!(!there.exists() && !there.with_extension("partial").exists());
}

#[test]
fn a_hanging_script_is_killed_on_the_host() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let pid = server.folder().join("pid");
    let text = format!("echo $$ >{}\nsleep 4714\n", pid.display());
    let script = Script::new(text).within(Duration::from_secs(1));
    for ssh in [server.ssh(), server.ssh().kept_open()] {
        let error = ssh.run(&script).unwrap_err();
        assert_eq!(
            error.to_string(),
            "rtr: the script did not end within 1 s and was killed"
        );
        let pid = fs::read_to_string(&pid).unwrap();
        assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap());
    }
}

#[test]
fn a_broken_connection_is_an_error_and_the_next_script_reconnects() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let kill = "pid=$PPID\nwhile read -r name <\"/proc/$pid/comm\" && [ \"$name\" != sshd ]; do\n\
                pid=$(cut -d ' ' -f 4 \"/proc/$pid/stat\")\ndone\nkill -9 \"$pid\"\nsleep 4715\n";
    for ssh in [server.ssh(), server.ssh().kept_open()] {
        let error = ssh.run(&Script::new(kill)).unwrap_err().to_string();
        assert!(error.starts_with("rtr: "), "{error}");
        assert_eq!(
            ssh.run_ok(&Script::new("echo back\n")).unwrap().text(),
            "back\n"
        );
    }
}

/// Returns the error of `run` on a host.
fn refusal(config: &std::path::Path, patience: Duration) -> String {
    let error = reach(config, patience)
        .run(&Script::new("true\n").as_root())
        .unwrap_err();
    error.to_string()
}

#[test]
fn a_refused_connection_is_reported_in_one_line() {
    if !tcpexp_testkit::has_programs(&["ssh"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    fs::write(&config, client(folder.path(), free_port())).unwrap();
    assert_eq!(
        refusal(&config, SOON),
        "rtr: connection refused: is sshd running there, on this port?"
    );
    let bottleneck = folder.path().join("b.toml");
    fs::write(&bottleneck, "[forward]\nrate = '1mbit'\nbuffer = '9p'\n").unwrap();
    let mut command = Command::cargo_bin("netem-ctl").unwrap();
    let command = command.args(["apply", "--host", "rtr", "--left", "a0", "--right", "b0"]);
    let command = command.arg("--ssh-config").arg(&config);
    let assert = command.arg("--config").arg(&bottleneck).assert().code(1);
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert_eq!(
        said,
        "netem-ctl: rtr: connection refused: is sshd running there, on this port?\n"
    );
}

#[test]
fn an_unresponsive_host_is_reported_in_one_line_within_the_timeout() {
    if !tcpexp_testkit::has_programs(&["ssh"]) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().map(Result::unwrap).collect::<Vec<_>>());
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("config");
    fs::write(&config, client(folder.path(), port)).unwrap();
    let started = Instant::now();
    assert_eq!(
        refusal(&config, Duration::from_secs(3)),
        "rtr: the host does not respond"
    );
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_changed_host_key_is_reported_in_one_line() {
    let Some(server) = Server::start(Odd::OtherKey) else {
        return;
    };
    assert_eq!(
        refusal(&server.config(), SOON),
        "rtr: its host key differs from the known one; if the change is expected, remove the old key with \
         ssh-keygen -R"
    );
}

#[test]
fn an_unknown_host_is_reported_in_one_line() {
    let Some(server) = Server::start(Odd::Unknown) else {
        return;
    };
    assert_eq!(
        refusal(&server.config(), SOON),
        "rtr: its host key is not known yet; connect once by hand with ssh"
    );
}

#[test]
fn a_failed_login_is_reported_in_one_line() {
    let Some(server) = Server::start(Odd::Denied) else {
        return;
    };
    assert_eq!(
        refusal(&server.config(), SOON),
        "rtr: the host does not accept our key (ssh runs without a password prompt)"
    );
}

#[test]
fn a_user_without_root_and_sudo_is_reported_in_one_line() {
    let Some(server) = Server::start(Odd::Powerless) else {
        return;
    };
    let said = refusal(&server.config(), SOON);
    let expected = [
        "rtr: the user is not root, and sudo is not installed",
        "rtr: the user is not root, and sudo asks for a password (sudo -n fails)",
    ];
    assert!(expected.contains(&said.as_str()), "{said}");
    // Scripts without root work.
    let output = server.ssh().run_ok(&Script::new("echo here\n"));
    assert_eq!(output.unwrap().text(), "here\n");
}

#[test]
fn missing_tools_and_the_interface_of_the_connection_are_reported_before_any_change() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let ssh = server.ssh();
    let control = Control::new(&ssh, "test");
    let router = |os, left: &str| Router {
        os,
        left: left.parse().unwrap(),
        right: "nothing0".parse().unwrap(),
    };
    // This machine has none of the tools of the other system.
    let said = control.preflight(&router(Os::FreeBsd, "em0")).unwrap_err();
    assert_eq!(
        said.to_string(),
        "rtr: ipfw, daemon, kldstat missing: install the base system"
    );
    if ssh
        .run(&Script::new("command -v tc && command -v ethtool\n"))
        .unwrap()
        .code
        != 0
    {
        eprintln!("skipped: there is no tc or no ethtool");
        return;
    }
    let said = control.preflight(&router(Os::Linux, "lo")).unwrap_err();
    assert!(
        said.to_string()
            .starts_with("rtr: interface nothing0 does not exist: expected one of lo")
    );
    let mut router = router(Os::Linux, "nothing0");
    router.right = "lo".parse().unwrap();
    router.left = "lo".parse().unwrap();
    let said = control.preflight(&router).unwrap_err();
    assert_eq!(
        said.to_string(),
        "rtr: lo carries this connection (to 127.0.0.1): expected a data interface"
    );
}

#[test]
fn a_connection_that_is_kept_open_serves_scripts_after_a_pause_and_ends_with_its_runner() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let script = Script::new("echo here\n");
    let twice = |ssh: &Ssh| {
        for _ in 0..2 {
            assert_eq!(ssh.run_ok(&script).unwrap().text(), "here\n");
            thread::sleep(Duration::from_secs(3));
        }
    };
    twice(&server.impatient_ssh());
    assert_eq!(server.logins(), 2);
    let kept = server.impatient_ssh().kept_open();
    twice(&kept);
    assert_eq!((server.logins(), server.connections()), (3, 1));
    drop(kept);
    let deadline = Instant::now() + SOON;
    while server.connections() > 0 {
        assert!(Instant::now() < deadline, "the connection stays");
        thread::sleep(Duration::from_millis(100));
    }
}
