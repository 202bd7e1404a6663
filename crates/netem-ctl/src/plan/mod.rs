//! From a bottleneck to the commands that make it, and back from what a router says to whether it
//! is so. All of it is a function of its input.

mod aqm;
mod check;
mod dummynet;
mod error;
mod freebsd;
mod json;
mod linux;
mod read_back;
mod size;
mod tc;
mod validate;

use serde::Serialize;
use tcpexp_host::command_line;

use crate::bottleneck::Bottleneck;
use crate::router::{Os, Router};

pub use check::{Check, Mismatch, Must, Number, OptionFact, OptionValue, QdiscFact};
pub use error::{ChangeError, PlanError};
pub use size::QueueSize;

pub(crate) use freebsd::SET as RULE_SET;
pub(crate) use tc::{DELAY_DEVICES, GROUP as OUR_GROUP, OFFLOADS, PRIORITIES as OUR_PRIORITIES};

/// Handles of our rate stages.
pub(crate) const OUR_ROOTS: [&str; 2] = [tc::FORWARD.rate, tc::REVERSE.rate];

/// All that is to be typed on a router for one bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// For which router.
    pub router: Router,
    /// What the description says, with all that it does not say filled in.
    pub bottleneck: Bottleneck,
    /// Makes it. Begins with taking away what is there of ours, so that it can be repeated.
    pub apply: Vec<Step>,
    /// What to read back, and what it must say.
    pub verify: Vec<Check>,
    /// Takes away all that `apply` makes; knows only the router, so it clears after any plan.
    pub clear: Vec<Step>,
    /// Room in the queue in each direction that has one, forward first.
    pub queues: [Option<QueueSize>; 2],
    /// What there is to change without taking it down.
    objects: Vec<Object>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Step {
    /// The program and its arguments, each as it is: no shell is needed to understand them.
    pub argv: Vec<String>,
    /// Whether it may find nothing to do.
    pub may_fail: bool,
}

/// Something that a router has and that can be changed in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// What it is: objects of one name are the same thing before and after a change.
    pub(crate) name: String,
    /// What cannot be changed in place.
    pub(crate) fixed: Vec<String>,
    /// The command that gives it its current properties, where there is one.
    pub(crate) change: Option<Step>,
}

/// The commands for a bottleneck on a router.
pub fn plan(bottleneck: &Bottleneck, router: &Router) -> Result<Plan, PlanError> {
    let bottleneck = bottleneck.resolved();
    validate::check(&bottleneck, router)?;
    match router.os {
        Os::Linux => linux::plan(bottleneck, router),
        Os::FreeBsd => freebsd::plan(bottleneck, router),
    }
}

/// The commands that clear a router of any bottleneck of ours.
pub fn clear(router: &Router) -> Vec<Step> {
    match router.os {
        Os::Linux => linux::clear(router),
        Os::FreeBsd => freebsd::clear(),
    }
}

/// The commands that clear a FreeBSD router, whose interfaces need not be known.
pub(crate) fn clear_freebsd() -> Vec<Step> {
    freebsd::clear()
}

impl Plan {
    /// The commands that turn this bottleneck into `next` while packets flow.
    ///
    /// A delay that shrinks reorders what is under way: packets sent later take the shorter way.
    pub fn change_to(&self, next: &Self) -> Result<Vec<Step>, ChangeError> {
        if self.router != next.router {
            return Err(ChangeError::Router);
        }
        let mut steps = Vec::new();
        for object in &next.objects {
            let before = self
                .objects
                .iter()
                .find(|before| before.name == object.name);
            let before = before.ok_or_else(|| ChangeError::Appears(object.name.clone()))?;
            if before == object {
                continue;
            }
            match &object.change {
                Some(change) if before.fixed == object.fixed => steps.push(change.clone()),
                _ => return Err(ChangeError::Fixed(object.name.clone())),
            }
        }
        let is_kept =
            |before: &&Object| next.objects.iter().any(|object| object.name == before.name);
        match self.objects.iter().find(|before| !is_kept(before)) {
            Some(gone) => Err(ChangeError::Vanishes(gone.name.clone())),
            None => Ok(steps),
        }
    }
}

impl Step {
    /// A command whose words are those of `line`; none of them has a blank in it.
    pub(crate) fn of(line: &str) -> Self {
        Self {
            argv: line.split_ascii_whitespace().map(str::to_owned).collect(),
            may_fail: false,
        }
    }

    /// The command as a line for a shell.
    pub fn line(&self) -> String {
        command_line(&self.argv)
    }

    /// The same, where finding nothing to do is fine.
    pub(crate) fn may_fail(line: &str) -> Self {
        Self {
            may_fail: true,
            ..Self::of(line)
        }
    }
}
