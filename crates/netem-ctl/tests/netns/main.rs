//! A real router in a network namespace of this machine. Its kernel need not have all queues: these
//! tests make a rate and a plain queue only. They need root.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod applying;
mod failing;
mod owners;
mod process;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use netem_ctl::{
    ApplyOptions, Bottleneck, Local, Os, Output, Plan, Router, RunError, Runner, Script, plan,
};
use tempfile::TempDir;

/// A namespace with the interfaces `r0` and `r1`.
struct Namespace(String);

impl Namespace {
    /// `None` where none can be made; the test is then skipped.
    fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if !tcpexp_testkit::has_programs(&["ip", "tc", "ethtool"]) {
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tcxt{}n{number}", std::process::id());
        let ip = |words: &str| {
            let status = Command::new("ip").args(words.split(' ')).output();
            status.is_ok_and(|output| output.status.success())
        };
        if !ip(&format!("netns add {name}")) {
            tcpexp_testkit::skip("needs the right to make a network namespace");
            return None;
        }
        let here = Self(name);
        let name = &here.0;
        let is_made = ip(&format!("-n {name} link add r0 type veth peer name s0"))
            && ip(&format!("-n {name} link add r1 type veth peer name d0"))
            && here
                .says("tc qdisc add dev r0 root handle 1: htb && tc qdisc del dev r0 root")
                .0
                == 0;
        if !is_made {
            tcpexp_testkit::skip("needs a kernel with veth and htb");
            return None;
        }
        Some(here)
    }

    fn runner(&self) -> Local {
        Local::in_namespace(&self.0)
    }

    fn says(&self, text: &str) -> (i32, String) {
        let output = self
            .runner()
            .run(&Script::new(format!("{text}\n")))
            .unwrap();
        (output.code, output.text() + &output.complaint())
    }

    /// All state that a bottleneck could leave on the router.
    fn state(&self) -> String {
        let (_, text) = self.says(
            "tc qdisc show; ip -o link show type ifb; ethtool -k r0 | grep -v fixed; \
             set -- $(ls -Li /proc/self/ns/net); ls -d /run/tcpexp-netem-$1* 2>/dev/null || true",
        );
        text
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// A router on which one program is replaced by a script, and which ends scripts after a shorter time.
struct Faulty {
    runner: Local,
    folder: TempDir,
    patience: Duration,
}

impl Faulty {
    /// Runs `body` before the program. The program does not run if `body` exits.
    fn new(here: &Namespace, program: &str, body: &str, patience: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let real = tcpexp_testkit::find_program(program).unwrap();
        let file = folder.path().join(program);
        let text = format!("#!/bin/sh\n{body}\nexec {} \"$@\"\n", real.display());
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        Self {
            runner: here.runner(),
            folder,
            patience,
        }
    }
}

impl Runner for Faulty {
    fn host(&self) -> &str {
        self.runner.host()
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        let folder = self.folder.path().display();
        let mut script = script.clone().within(self.patience);
        script.text = format!("PATH={folder}:$PATH\nexport PATH\n{}", script.text);
        self.runner.run(&script)
    }

    fn fetch(&self, remote: &str, local: &Path, timeout: Duration) -> Result<(), RunError> {
        self.runner.fetch(remote, local, timeout)
    }

    fn upload(&self, local: &Path, remote: &str, timeout: Duration) -> Result<(), RunError> {
        self.runner.upload(local, remote, timeout)
    }
}

fn planned(toml: &str) -> Plan {
    let router = Router {
        os: Os::Linux,
        left: "r0".parse().unwrap(),
        right: "r1".parse().unwrap(),
    };
    plan(&Bottleneck::from_toml(toml).unwrap(), &router).unwrap()
}

const SLOW: &str = "[forward]\nrate = '10mbit'\nbuffer = '50p'\n\
                    [reverse]\nrate = '1mbit'\nbuffer = '64kB'\nqueue = 'bfifo'";
const FAST: &str = "[forward]\nrate = '20mbit'\nbuffer = '90p'\n\
                    [reverse]\nrate = '1mbit'\nbuffer = '64kB'\nqueue = 'bfifo'";

fn plainly() -> ApplyOptions {
    ApplyOptions::default()
}
