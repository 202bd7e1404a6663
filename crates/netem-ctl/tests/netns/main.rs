//! A real router in a network namespace of this machine. Its kernel need not have all queues: these
//! tests make a rate and a plain queue only. They need root.
#![expect(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use netem_ctl::{
    ApplyOptions, Bottleneck, Control, ControlError, Local, Os, Output, Plan, Router, RunError,
    Runner, Script, plan,
};

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

#[test]
fn applying_twice_and_clearing_twice_restores_the_router() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let plan = planned(SLOW);
    for _ in 0..2 {
        control.apply(&plan, plainly()).unwrap();
        control.verify(&plan).unwrap();
    }
    assert_eq!(
        control.clear(Os::Linux).unwrap().owner.as_deref(),
        Some("test")
    );
    assert_eq!(control.clear(Os::Linux).unwrap().owner, None);
    assert_eq!(here.state(), before);
}

#[test]
fn a_change_is_made_in_place_and_read_back() {
    let Some(here) = Namespace::new() else { return };
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let [slow, fast] = [SLOW, FAST].map(planned);
    control.apply(&slow, plainly()).unwrap();
    let changed = control.change(&slow, &fast, None).unwrap();
    assert!(changed.ended > changed.began && changed.began.is_some());
    let wrong = control.verify(&slow).unwrap_err().to_string();
    assert!(
        wrong.contains("limit of pfifo on r1 is 90, not 50"),
        "{wrong}"
    );
    assert!(
        wrong.contains("rate of class 7b1:10 on r1 is 20000000"),
        "{wrong}"
    );
    let counters = control.counters(&fast).unwrap();
    assert_eq!(counters.forward.unwrap().drops, 0);
    assert_eq!(counters.unshaped_packets, 0);
    control.clear(Os::Linux).unwrap();
}

#[test]
fn a_change_that_fails_half_way_leaves_what_was_there() {
    let Some(here) = Namespace::new() else { return };
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let slow = planned(SLOW);
    let fast = planned(&FAST.replace("64kB", "90kB"));
    control.apply(&slow, plainly()).unwrap();
    // The forward queue changes first. The reverse queue is gone, so its change fails.
    assert_eq!(here.says("tc qdisc del dev r0 root").0, 0);
    let before = here.says("tc qdisc show; tc class show dev r1");
    let failed = control.change(&slow, &fast, None).unwrap_err().to_string();
    assert!(failed.contains("exit code"), "{failed}");
    assert_eq!(here.says("tc qdisc show; tc class show dev r1"), before);
    let holder = control.show(Os::Linux).unwrap().holder.unwrap();
    assert_eq!(holder.bottleneck.as_ref(), Some(&slow.bottleneck));
    control.clear(Os::Linux).unwrap();
}

#[test]
fn a_second_bottleneck_that_fails_half_way_leaves_the_first() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let slow = planned(SLOW);
    control.apply(&slow, plainly()).unwrap();
    let held = here.says("tc qdisc show; tc class show dev r1");
    let mut broken = planned(FAST);
    let last = broken.apply.len() - 1;
    broken.apply[last].argv.push("limit".into());
    let refused = control.apply(&broken, plainly()).unwrap_err().to_string();
    assert!(refused.contains("exit code"), "{refused}");
    // A bottleneck that differs from its plan once made is not kept either.
    let mut other = planned(FAST);
    other.verify = planned(&FAST.replace("90p", "80p")).verify;
    let refused = control.apply(&other, plainly()).unwrap_err().to_string();
    assert!(refused.contains("is 90, not 80"), "{refused}");
    control.verify(&slow).unwrap();
    assert_eq!(here.says("tc qdisc show; tc class show dev r1"), held);
    let holder = control.show(Os::Linux).unwrap().holder.unwrap();
    assert_eq!(holder.bottleneck.as_ref(), Some(&slow.bottleneck));
    // Another owner takes nothing back.
    let second = Control::new(&runner, "second");
    assert!(second.apply(&broken, plainly()).is_err());
    control.verify(&slow).unwrap();
    control.clear(Os::Linux).unwrap();
    assert_eq!(here.state(), before);
}

/// Reaches a router that another owner takes over before its state is read back.
struct TakenOver<'a> {
    runner: &'a dyn Runner,
    takes_over: &'a (dyn Fn() + Sync),
    scripts: AtomicUsize,
}

impl Runner for TakenOver<'_> {
    fn host(&self) -> &str {
        self.runner.host()
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        // The first two are the check of the router and the bottleneck.
        if self.scripts.fetch_add(1, Ordering::Relaxed) == 2 {
            (self.takes_over)();
        }
        self.runner.run(script)
    }

    fn fetch(&self, remote: &str, local: &Path, timeout: Duration) -> Result<(), RunError> {
        self.runner.fetch(remote, local, timeout)
    }

    fn upload(&self, local: &Path, remote: &str, timeout: Duration) -> Result<(), RunError> {
        self.runner.upload(local, remote, timeout)
    }
}

#[test]
fn an_owner_that_has_lost_the_router_leaves_the_new_bottleneck() {
    let Some(here) = Namespace::new() else { return };
    let runner = here.runner();
    let second = Control::new(&runner, "second");
    let fast = planned(FAST);
    let taken_over = TakenOver {
        runner: &runner,
        takes_over: &|| {
            let take_over = ApplyOptions {
                take_over: true,
                ..plainly()
            };
            second.apply(&fast, take_over).unwrap();
        },
        scripts: AtomicUsize::new(0),
    };
    let refused = Control::new(&taken_over, "first").apply(&planned(SLOW), plainly());
    assert!(
        matches!(refused, Err(ControlError::Mismatch { .. })),
        "{refused:?}"
    );
    second.verify(&fast).unwrap();
    second.clear(Os::Linux).unwrap();
}

#[test]
fn a_router_has_one_holder_and_can_be_taken_over() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let (first, second) = (
        Control::new(&runner, "first"),
        Control::new(&runner, "second"),
    );
    let [slow, fast] = [SLOW, FAST].map(planned);
    first.apply(&slow, plainly()).unwrap();
    let refused = second.apply(&fast, plainly()).unwrap_err();
    assert!(matches!(&refused, ControlError::Held { .. }), "{refused}");
    assert!(
        refused.to_string().contains("held by first since "),
        "{refused}"
    );
    let refused = second.change(&slow, &fast, None).unwrap_err();
    assert!(matches!(&refused, ControlError::Held { .. }), "{refused}");
    first.verify(&slow).unwrap();
    let take_over = ApplyOptions {
        take_over: true,
        ..plainly()
    };
    second.apply(&fast, take_over).unwrap();
    // Who lost it does not take it from its new owner.
    assert_eq!(first.release(Os::Linux).unwrap().owner, None);
    let holder = second.show(Os::Linux).unwrap().holder.unwrap();
    assert_eq!(holder.owner, "second");
    assert_eq!(holder.bottleneck.as_ref(), Some(&fast.bottleneck));
    let released = second.release(Os::Linux).unwrap();
    assert_eq!(released.owner.as_deref(), Some("second"));
    assert_eq!(here.state(), before);
}

#[test]
fn the_router_clears_itself_when_the_lease_expires() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let soon = ApplyOptions {
        clear_after: Some(Duration::from_secs(2)),
        ..plainly()
    };
    control.apply(&planned(SLOW), soon).unwrap();
    // A sign of life sets the timer anew, and clearing takes it away.
    control
        .keep_alive(Os::Linux, Duration::from_secs(1))
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while here.state() != before && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(here.state(), before);
    assert_eq!(control.clear(Os::Linux).unwrap().owner, None);
}

#[test]
fn remains_of_a_crash_are_cleared_even_without_saved_state() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    control.apply(&planned(SLOW), plainly()).unwrap();
    here.says("ip link add tcxd-l group 7700 type ifb; set -- $(ls -Li /proc/self/ns/net); rm -r /run/tcpexp-netem-$1");
    let cleared = Control::new(&runner, "another").clear(Os::Linux).unwrap();
    assert_eq!(cleared.owner.as_deref(), Some("somebody"));
    // Without its memory the router cannot know which offloads were on.
    here.says("for f in tso gso gro tx-udp-segmentation; do ethtool -K r0 $f on; done");
    let queues = |text: &str| {
        let lines = text.lines().filter(|line| line.starts_with("qdisc"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(queues(&here.state()), queues(&before));
    assert!(!here.state().contains("tcxd"), "{}", here.state());
}

#[test]
fn a_foreign_queue_is_left_unchanged() {
    let Some(here) = Namespace::new() else { return };
    assert_eq!(
        here.says("tc qdisc add dev r1 root handle 5: pfifo limit 7")
            .0,
        0
    );
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let refused = control
        .apply(&planned(SLOW), plainly())
        .unwrap_err()
        .to_string();
    assert_eq!(
        refused,
        format!(
            "{}: r1 has a foreign queue (pfifo 5:): remove it first, because it cannot be \
             restored",
            here.0
        )
    );
    assert_eq!(control.clear(Os::Linux).unwrap().owner, None);
    assert_eq!(here.state(), before);
}

#[test]
fn a_bottleneck_refused_by_the_kernel_leaves_nothing_behind() {
    let Some(here) = Namespace::new() else { return };
    let before = here.state();
    let runner = here.runner();
    let control = Control::new(&runner, "test");
    let router = Router {
        os: Os::Linux,
        left: "r0".parse().unwrap(),
        right: "r7".parse().unwrap(),
    };
    let nowhere = plan(&planned(SLOW).bottleneck, &router).unwrap();
    let refused = control.apply(&nowhere, plainly()).unwrap_err().to_string();
    assert!(
        refused.contains("interface r7 does not exist: expected one of "),
        "{refused}"
    );
    // The kernel refuses a `limit` without a number, in the middle of the script.
    let mut broken = planned(SLOW);
    let last = broken.apply.len() - 1;
    broken.apply[last].argv.push("limit".into());
    let refused = control.apply(&broken, plainly()).unwrap_err().to_string();
    assert!(refused.contains("exit code"), "{refused}");
    assert!(refused.contains("of: tc qdisc add dev r0"), "{refused}");
    assert_eq!(here.state(), before);
}

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
