//! Scripts for a router. The programs are the files of `src/sh`; this module adds the values and
//! steps of a plan.
//!
//! Every script calls its single function in its last line: if the connection breaks during the
//! transfer of the script, nothing runs.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tcpexp_host::{command_line, quote};
use tcpexp_units::Timestamp;

use super::ApplyOptions;
use crate::plan::{
    self, DELAY_DEVICES, OFFLOADS, OUR_GROUP, OUR_POLICER, OUR_PRIORITIES, OUR_ROOTS, Plan, Step,
};
use crate::router::{DescribedRouter, Os, Router};

/// Shell functions for the clock of a host and for its leases, documented at the head of the file.
///
/// The variable `lease` must be set before.
pub const HOST_SH: &str = include_str!("../sh/host.sh");
/// Characters in a line of base64 (RFC 2045, section 6.8).
const LINE_OF_BASE64: usize = 76;

const LINUX_SH: &str = include_str!("../sh/linux.sh");
const FREEBSD_SH: &str = include_str!("../sh/freebsd.sh");
const ROUTER_SH: &str = include_str!("../sh/router.sh");

/// Exit code of a script if another owner holds the router.
pub(crate) const HELD: i32 = 96;
/// Exit code if something could not be cleared.
pub(crate) const LEFT: i32 = 95;

/// Looks at the router without changing it. Needs no root.
pub(crate) fn preflight(router: &Router) -> String {
    Draft::new(router.os).call(&[
        "router_preflight",
        router.left.as_str(),
        router.right.as_str(),
    ])
}

/// Clears what the same owner applied before, takes the lease, arms the watchdog and makes the
/// bottleneck.
pub(crate) fn apply(plan: &Plan, owner: &str, options: ApplyOptions) -> String {
    let router = &plan.router;
    let take_over = if options.take_over { "yes" } else { "" };
    let seconds = options.clear_after.map_or(String::new(), whole_seconds);
    let mut draft = Draft::new(router.os);
    draft.links(plan);
    draft.steps("steps_to_make", &plan.apply);
    draft.steps("steps_to_clear", &plan.clear);
    draft.describe(plan);
    let devices = [router.left.as_str(), router.right.as_str()];
    draft.call(&[
        "router_apply",
        owner,
        take_over,
        &seconds,
        devices[0],
        devices[1],
    ])
}

/// Changes the bottleneck in place by `steps`, and prints the time of the change. Steps of `undo` restore
/// it if a step fails.
pub(crate) fn change(
    to: &Plan,
    owner: &str,
    [steps, undo]: [&[Step]; 2],
    at: Option<Timestamp>,
) -> String {
    let at = at.map_or(String::new(), |at| at.as_nanos().to_string());
    let mut draft = Draft::new(to.router.os);
    draft.links(to);
    draft.steps("steps_to_change", steps);
    let tried = |step: &Step| Step {
        may_fail: true,
        ..step.clone()
    };
    draft.steps("steps_to_undo", &undo.iter().map(tried).collect::<Vec<_>>());
    draft.describe(to);
    draft.call(&["router_change", owner, &at])
}

/// Begins the traces of the bottleneck anew.
pub(crate) fn restart_traces(plan: &Plan, owner: &str) -> String {
    let steps: Vec<Step> = plan.restart_traces().cloned().collect();
    let mut plan = plan.clone();
    // The router has them since the bottleneck was made.
    plan.files.clear();
    change(&plan, owner, [&steps, &[]], None)
}

/// Clears the router unless another owner holds it.
pub(crate) fn release(os: Os, owner: &str) -> String {
    clearing(os).call(&["router_release", owner])
}

/// Clears the router, whoever holds it.
pub(crate) fn clear(os: Os) -> String {
    clearing(os).call(&["router_clear"])
}

fn clearing(os: Os) -> Draft {
    let mut draft = Draft::new(os);
    // On Linux, the script finds the parts to clear itself, without a lease.
    if os == Os::FreeBsd {
        draft.steps("steps_to_clear", &plan::clear_freebsd());
    }
    draft
}

/// Arms the watchdog anew.
pub(crate) fn keep_alive(os: Os, owner: &str, after: Duration) -> String {
    Draft::new(os).call(&["router_keep", owner, &whole_seconds(after)])
}

/// Prints the holder and the state of all queues.
pub(crate) fn show(os: Os) -> String {
    Draft::new(os).call(&["router_show"])
}

/// A script in the making: the library, then functions that print text of the plan.
struct Draft {
    text: String,
}

impl Draft {
    fn new(os: Os) -> Self {
        let mut draft = Self {
            text: String::new(),
        };
        // A function prints the library, so that `router_apply` can also store it for `clear.sh`.
        draft.printer("library", &library(os));
        draft.text += "eval \"$(library)\"\n";
        draft
    }

    /// A function that prints `text`.
    fn printer(&mut self, name: &str, text: &str) {
        // The shell expands nothing in a here-document whose mark is quoted.
        let mark = format!("END_OF_{}", name.to_uppercase());
        let _ = write!(self.text, "{name}() {{\ncat <<'{mark}'\n{text}{mark}\n}}\n");
    }

    fn steps(&mut self, name: &str, steps: &[Step]) {
        self.printer(name, &lines(steps));
    }

    /// Adds a function for each program of the plan, which prints it in base64.
    fn links(&mut self, plan: &Plan) {
        for file in &plan.files {
            let text = BASE64_STANDARD.encode(&file.bytes);
            let lines = text.as_bytes().chunks(LINE_OF_BASE64);
            let lines = lines.map(|line| String::from_utf8_lossy(line) + "\n");
            self.printer(&file.name, &lines.collect::<String>());
        }
    }

    /// Adds the plan's description, for readers who have only the router.
    fn describe(&mut self, plan: &Plan) {
        // Structures of strings and numbers always have a JSON text.
        let json = |value: serde_json::Result<String>| value.unwrap_or_default() + "\n";
        self.printer(
            "bottleneck_json",
            &json(serde_json::to_string(&plan.bottleneck)),
        );
        // The description of a bottleneck has no MTU: the hosts determine it.
        let described = DescribedRouter {
            router: plan.router.clone(),
            mtu: plan.bottleneck.forward.mtu,
        };
        self.printer("router_json", &json(serde_json::to_string(&described)));
    }

    fn call(mut self, words: &[&str]) -> String {
        // Some shells run no EXIT trap if a signal ends them. `exit` runs it, and the trap clears
        // the router.
        let _ = write!(
            self.text,
            "main() {{\ntrap 'exit 143' HUP INT TERM\n{}\n}}\nmain\n",
            command_line(words)
        );
        self.text
    }
}

/// All functions, and the names and numbers that are ours on a router.
fn library(os: Os) -> String {
    let [forward_root, reverse_root] = OUR_ROOTS;
    let priorities = OUR_PRIORITIES.map(|priority| priority.to_string());
    let offloads = OFFLOADS.map(|(feature, name)| format!("{feature}:{name}"));
    let values = [
        ("held_code", HELD.to_string()),
        ("left_code", LEFT.to_string()),
        ("group", OUR_GROUP.to_string()),
        ("forward_root", forward_root.to_owned()),
        ("reverse_root", reverse_root.to_owned()),
        ("device_prefix", DELAY_DEVICES.to_owned()),
        ("priorities", priorities.join(" ")),
        ("policer", OUR_POLICER.to_string()),
        ("offloads", offloads.join(" ")),
        ("rule_set", plan::RULE_SET.to_string()),
    ];
    let values = values.map(|(name, value)| format!("{name}={}\n", quote(&value)));
    let system = match os {
        Os::Linux => LINUX_SH,
        Os::FreeBsd => FREEBSD_SH,
    };
    values.concat() + system + HOST_SH + ROUTER_SH
}

/// Formats steps as lines for `eval`. Successive deletions by `tc` become one call of `tc`, because
/// most of them find nothing to delete.
fn lines(steps: &[Step]) -> String {
    let is_deletion = |step: &Step| step.may_fail && step.argv[0] == "tc";
    let groups = steps.chunk_by(|one, next| is_deletion(one) && is_deletion(next));
    groups.fold(String::new(), |text, group| match group {
        [step] if step.may_fail => text + "try " + &step.line() + "\n",
        [step] => text + "run " + &step.line() + "\n",
        several => {
            // `-force` continues after a deletion that finds nothing.
            let lines = several.iter().map(|step| step.argv[1..].join(" ") + "\n");
            let lines: String = lines.collect();
            text + "try tc -force -batch - <<'END_OF_BATCH'\n" + &lines + "END_OF_BATCH\n"
        }
    })
}

/// A time limit in seconds, rounded up: the watchdog never clears the router too early.
fn whole_seconds(time: Duration) -> String {
    let part = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(part).max(1).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_is_rounded_up_to_seconds() {
        let limit = |millis| whole_seconds(Duration::from_millis(millis));
        assert_eq!([1_000, 1_900, 10, 90_001].map(limit), ["1", "2", "1", "91"]);
    }
}
