//! Tests of applying, restoring and clearing with recorded scripts.

use std::path::Path;

use super::*;
use crate::bottleneck::Bottleneck;
use crate::plan::plan;
use crate::runner::{Recording, SshProblem};

/// A host on which sudo asks for a password.
struct Locked;

impl Runner for Locked {
    fn host(&self) -> &'static str {
        "rtr"
    }

    fn run(&self, _: &Script) -> Result<Output, RunError> {
        let at = Timestamp::from_nanos(0);
        Ok(Output {
            code: 1,
            stdout: Vec::new(),
            stderr: b"sudo: a password is required\n".to_vec(),
            started: at,
            finished: at,
        })
    }

    fn fetch(&self, _: &str, _: &Path, _: Duration) -> Result<(), RunError> {
        Ok(())
    }

    fn upload(&self, _: &Path, _: &str, _: Duration) -> Result<(), RunError> {
        Ok(())
    }
}

#[test]
fn a_router_that_cannot_be_read_is_not_shown_as_free() {
    let error = Control::new(&Locked, "me").show(Os::Linux).unwrap_err();
    assert!(
        error.to_string().contains("a password is required"),
        "{error}"
    );
}

#[test]
fn a_router_is_not_cleared_if_the_script_says_nothing() {
    let clear = |says: &'static str| {
        let router = Recording::new("rtr", move |_| Ok(Output::silent(0).saying(says)));
        let cleared = Control::new(&router, "me").clear(Os::Linux);
        cleared
            .map(|cleared| cleared.owner)
            .map_err(|error| error.to_string())
    };
    assert_eq!(clear("nothing\n"), Ok(None));
    assert_eq!(clear("owner me\ncleared\n"), Ok(Some("me".to_owned())));
    let error = "rtr: the script did not report whether the router is cleared";
    assert_eq!(clear("Welcome\n"), Err(error.to_owned()));
}

/// What a router without offloads answers to the read-back of a path without rate and delay.
const READ_BACK: &str = "tcp-segmentation-offload: off\ngeneric-segmentation-offload: off\n\
                         generic-receive-offload: off\nlarge-receive-offload: off\n\
                         tx-udp-segmentation: off\n";

/// A free or held router on which the second script with steps to make, that of the earlier bottleneck,
/// succeeds.
fn router(lease: &'static str) -> Recording {
    let made = std::sync::atomic::AtomicUsize::new(0);
    Recording::new("rtr", move |script| {
        let text = &script.text;
        if text.contains("\nrouter_preflight ") {
            return Ok(Output::silent(0).saying(format!(
                "@@ tools\n{lease}@@ links\nr0\nr1\n@@ qdisc r0\n[]\n@@ qdisc r1\n[]\n"
            )));
        }
        if text.contains("\nrouter_release ") {
            return Ok(Output::silent(0).saying("nothing\n"));
        }
        if !text.contains("\nrouter_apply ") {
            let sections = [0, 1].map(|index| format!("@@ {index}\n{READ_BACK}"));
            return Ok(Output::silent(0).saying(sections.concat()));
        }
        let before = made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(Output::silent(i32::from(before == 0)).complaining("exit code 1 of: tc"))
    })
}

fn empty_plan() -> Plan {
    let interfaces = Router {
        os: Os::Linux,
        left: "r0".parse().unwrap(),
        right: "r1".parse().unwrap(),
    };
    plan(&Bottleneck::default(), &interfaces).unwrap()
}

/// Applies a bottleneck that fails, and returns the error and the last call of `router_apply`.
fn failed_apply(lease: &'static str) -> (String, String) {
    let router = router(lease);
    let plan = empty_plan();
    let options = ApplyOptions {
        clear_after: Some(Duration::from_secs(7_200)),
        take_over: true,
    };
    let error = Control::new(&router, "me").apply(&plan, options);
    let scripts = router.scripts();
    let calls = scripts.iter().flat_map(|script| script.text.lines());
    let mut calls = calls.filter(|line| line.starts_with("router_apply me "));
    let last = calls.next_back().unwrap_or_default().to_owned();
    (error.unwrap_err().to_string(), last)
}

#[test]
fn failed_apply_restores_the_earlier_bottleneck_with_the_rest_of_its_time() {
    const HELD: &str = "@@ owner\nme 1767225600\n@@ clears in\n90\n@@ bottleneck\n\
                        {\"forward\":{}}\n@@ router\n\
                        {\"os\":\"linux\",\"left\":\"r0\",\"right\":\"r1\"}\n";
    const FOREVER: &str = "@@ owner\nme 1767225600\n@@ clears in\n@@ bottleneck\n\
                           {\"forward\":{}}\n@@ router\n\
                           {\"os\":\"linux\",\"left\":\"r0\",\"right\":\"r1\"}\n";
    let error = "rtr: exit code 1 of: tc; the earlier bottleneck is in place again";
    let restored = |call: &str| (error.to_owned(), call.to_owned());
    assert_eq!(failed_apply(HELD), restored("router_apply me '' 90 r0 r1"));
    assert_eq!(
        failed_apply(FOREVER),
        restored("router_apply me '' '' r0 r1")
    );
    // A free router has nothing to restore.
    let (error, last) = failed_apply("@@ owner\n");
    assert_eq!(error, "rtr: exit code 1 of: tc");
    assert_eq!(last, "router_apply me yes 7200 r0 r1");
}

#[test]
fn an_apply_that_loses_its_connection_names_what_may_remain() {
    // The script that reads back calls no function.
    const READ: &str = "";
    let failed = |lost_in: &'static str, problem: SshProblem| {
        let free = router("@@ owner\n");
        let lost = Recording::new("rtr", move |script| {
            let is_of = |word: &str| script.text.contains(word);
            let calls = ["\nrouter_preflight ", "\nrouter_apply "];
            let call = calls.into_iter().find(|call| is_of(call));
            if call.unwrap_or(READ) == lost_in {
                let host = "rtr".to_owned();
                let problem = problem.clone();
                return Err(RunError::Ssh { host, problem });
            }
            if is_of("\nrouter_apply ") {
                return Ok(Output::silent(0));
            }
            free.run(script)
        });
        let error = Control::new(&lost, "me")
            .apply(&empty_plan(), ApplyOptions::default())
            .unwrap_err();
        (error.may_leave_parts(), error.to_string())
    };
    let remains = "; the router may hold the bottleneck or a part of it";
    let closed = "rtr: the connection was closed";
    let of_closed = |lost_in| failed(lost_in, SshProblem::Closed);
    assert_eq!(of_closed("\nrouter_preflight "), (false, closed.to_owned()));
    for lost_in in ["\nrouter_apply ", READ] {
        assert_eq!(of_closed(lost_in), (true, format!("{closed}{remains}")));
    }
    // ssh: "Read from remote host rtr: No route to host".
    assert!(failed("\nrouter_apply ", SshProblem::Unreachable).0);
    // Without a connection no script begins, but the bottleneck is there before it is read back.
    assert!(!failed("\nrouter_apply ", SshProblem::Refused).0);
    assert!(failed(READ, SshProblem::Refused).0);
}

#[test]
fn the_plan_of_a_holder_has_the_mtu_of_its_hosts() {
    let text = "[forward]\nrate = \"8mbit\"\nbuffer = \"8640B\"\n";
    let bottleneck = Bottleneck::from_toml(text).unwrap();
    for mtu in [None, Some(576)] {
        let applied = plan(&bottleneck.clone().with_mtu(mtu), &empty_plan().router).unwrap();
        let script = scripts::apply(&applied, "me", ApplyOptions::default());
        let described = |start: &str| script.lines().find(|line| line.starts_with(start)).unwrap();
        let (path, router) = (described("{\"forward\""), described("{\"os\""));
        let lease = format!("@@ owner\nme 1\n@@ bottleneck\n{path}\n@@ router\n{router}\n");
        let holder = preflight::holder(&sections::split(&lease)).unwrap();
        assert_eq!(holder.plan().unwrap(), applied);
    }
}
