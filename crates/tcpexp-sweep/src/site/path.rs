//! The commands that make a path on the router, change it, and take it back.

use std::fmt::Write;

use netem_ctl::{Bottleneck, Check, Plan, Router, Step};
use tcpexp_units::{ByteCount, TimeDelta};

use crate::plan::{Host, Os};

/// Why a path cannot be made.
pub(crate) type PathError = Box<dyn std::error::Error + Send + Sync>;

/// What is done to a router for one path.
pub(crate) struct PathCommands {
    /// Makes the path.
    pub(crate) apply: String,
    /// Takes it back, however much of it is there.
    pub(crate) clear: String,
    /// Prints what [`PathCommands::mismatches`] reads.
    pub(crate) read_back: String,
    plan: Plan,
}

/// Stands between the outputs of two commands.
const MARK: &str = "==tcpexp==\n";

/// The commands for `path` on `router`.
pub(crate) fn path_commands(path: &Bottleneck, router: &Host) -> Result<PathCommands, PathError> {
    let plan = plan(path, router)?;
    let mut read_back = String::new();
    for check in &plan.verify {
        let _ = write!(read_back, "{}\necho {MARK}", super::words(&check.argv));
    }
    Ok(PathCommands {
        apply: script(&plan.apply),
        clear: script(&plan.clear),
        read_back,
        plan,
    })
}

/// The commands that turn one path into another while packets flow.
pub(crate) fn change_commands(
    before: &Bottleneck,
    after: &Bottleneck,
    router: &Host,
) -> Result<String, PathError> {
    let steps = plan(before, router)?.change_to(&plan(after, router)?)?;
    Ok(script(&steps))
}

/// How long the forward queue takes to run empty; `None` if it has no size of its own.
pub(crate) fn queue_time(path: &Bottleneck, router: &Host) -> Option<TimeDelta> {
    let size = plan(path, router).ok()?.queues[0]?;
    path.forward.rate?.time_of(ByteCount::new(size.bytes))
}

impl PathCommands {
    /// What is not as it must be, of what [`PathCommands::read_back`] printed.
    pub(crate) fn mismatches(&self, text: &str) -> Vec<String> {
        let outputs = text.split(MARK);
        let both = self.plan.verify.iter().zip(outputs);
        let wrong = both.flat_map(|(check, output): (&Check, &str)| check.compare(output));
        wrong.map(|mismatch| mismatch.to_string()).collect()
    }
}

fn plan(path: &Bottleneck, router: &Host) -> Result<Plan, PathError> {
    let router = Router {
        os: match router.os {
            Os::Linux => netem_ctl::Os::Linux,
            Os::FreeBsd => netem_ctl::Os::FreeBsd,
        },
        left: router.left.as_deref().unwrap_or_default().parse()?,
        right: router.right.as_deref().unwrap_or_default().parse()?,
    };
    Ok(netem_ctl::plan(path, &router)?)
}

fn script(steps: &[Step]) -> String {
    let line = |step: &Step| {
        let end = if step.may_fail {
            " 2>/dev/null || :"
        } else {
            ""
        };
        format!("{}{end}\n", step.line())
    };
    steps.iter().map(line).collect()
}
