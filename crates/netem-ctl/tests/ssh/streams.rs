//! Tests of scripts whose output is read while they run.

use std::io::{BufRead, BufReader, Read};
use std::thread;
use std::time::{Duration, Instant};

use netem_ctl::Script;

use crate::SOON;
use crate::server::{Odd, Server};

#[test]
fn a_stream_is_read_while_its_script_runs_and_ends_when_dropped() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let ssh = server.ssh();
    let ended = server.folder().join("ended");
    let script = Script::new(format!(
        "it=\"it's $((1 + 1))\"\necho \"$it\"\n[ -n \"$SSH_CONNECTION\" ] && cat\n: >'{}'",
        ended.display()
    ));
    let mut stream = ssh.stream(&script).unwrap();
    let mut lines = BufReader::new(stream.take_output().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "it's 2");
    assert!(!ended.exists());
    drop(stream);
    let deadline = Instant::now() + SOON;
    while !ended.exists() {
        assert!(Instant::now() < deadline, "the script did not end");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn text_of_the_login_is_no_output_of_a_stream() {
    let Some(server) = Server::start(Odd::Talkative) else {
        return;
    };
    let ssh = server.ssh();
    let mut stream = ssh.stream(&Script::new("printf capture")).unwrap();
    let mut output = String::new();
    let mut pipe = stream.take_output().unwrap();
    pipe.read_to_string(&mut output).unwrap();
    assert_eq!(output, "capture");
}

#[test]
fn a_stream_that_fails_has_its_cause() {
    let Some(server) = Server::start(Odd::Nothing) else {
        return;
    };
    let ssh = server.ssh();
    let script = Script::new("echo no such interface >&2\nexit 3");
    let mut stream = ssh.stream(&script).unwrap();
    let mut output = String::new();
    let mut pipe = stream.take_output().unwrap();
    pipe.read_to_string(&mut output).unwrap();
    let why = ssh.stream_error(&script, stream);
    assert_eq!(
        (output.as_str(), why.to_string().as_str()),
        ("", "rtr: exit code 3: no such interface")
    );
}
