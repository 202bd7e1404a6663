//! Commands that create a bottleneck, and checks of a router's output. Pure functions: no code in
//! this module contacts a host.

mod aqm;
mod check;
mod dummynet;
mod error;
mod freebsd;
mod json;
mod linux;
mod read_back;
mod red;
mod size;
mod stab;
mod tc;
mod trace;
mod validate;

use serde::Serialize;
use tcpexp_host::command_line;
use tcpexp_units::{Buffer, ByteCount, TimeDelta};

use crate::bottleneck::Bottleneck;
use crate::router::{Os, Router};

pub use check::{Check, Mismatch, Must, Number, OptionFact, OptionValue, QdiscFact};
pub use error::{ChangeError, PlanError};
pub use size::QueueSize;

pub(crate) use freebsd::SET as RULE_SET;
pub use tc::DELAY_DEVICES;
pub(crate) use tc::{
    GROUP as OUR_GROUP, OFFLOADS, POLICER as OUR_POLICER, PRIORITIES as OUR_PRIORITIES,
};
pub(crate) use trace::LinkFile;

/// Handles of our rate stages.
pub(crate) const OUR_ROOTS: [&str; 2] = [tc::FORWARD.rate, tc::REVERSE.rate];

/// The commands for one bottleneck on one router.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The router.
    pub router: Router,
    /// The description with all defaults filled in.
    pub bottleneck: Bottleneck,
    /// Steps that create the bottleneck. They clear our parts first, so they can be repeated.
    pub apply: Vec<Step>,
    /// Commands that read the state back, with the expected values.
    pub verify: Vec<Check>,
    /// Steps that clear the bottleneck. They depend on the router only, so they clear any plan.
    pub clear: Vec<Step>,
    /// Size of the queue in each direction, forward first; `None` without a rate or buffer.
    pub queues: [Option<QueueSize>; 2],
    /// The files of its links that follow traces.
    pub(crate) files: Vec<LinkFile>,
    /// The parts that can change in place.
    objects: Vec<Object>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Step {
    /// The program and its arguments, unquoted.
    pub argv: Vec<String>,
    /// True if it may fail, as when there is nothing to delete.
    pub may_fail: bool,
}

/// A part of a bottleneck, such as a pipe or a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    /// Identity: parts with the same name are the same before and after a change.
    pub(crate) name: String,
    /// Properties that cannot change in place.
    pub(crate) fixed: Vec<String>,
    /// The command that sets its other properties, if there is one.
    pub(crate) change: Option<Step>,
}

/// Computes the commands for a bottleneck on a router.
pub fn plan(bottleneck: &Bottleneck, router: &Router) -> Result<Plan, PlanError> {
    plan_in_path(bottleneck, router, bottleneck.base_rtt())
}

/// Computes the commands for a bottleneck on one router of a path with the base round-trip time `base_rtt`,
/// which a buffer in BDP multiplies.
pub fn plan_in_path(
    bottleneck: &Bottleneck,
    router: &Router,
    base_rtt: TimeDelta,
) -> Result<Plan, PlanError> {
    // The defaults come first, so that the checks see the mirrored delay and flows of the reverse
    // path.
    let bottleneck = bottleneck.resolved();
    validate::check(&bottleneck, router)?;
    let mut plan = match router.os {
        Os::Linux => linux::plan(bottleneck, router, base_rtt)?,
        Os::FreeBsd => freebsd::plan(bottleneck, router, base_rtt)?,
    };
    if base_rtt != plan.bottleneck.base_rtt() {
        plan.state_buffers();
    }
    Ok(plan)
}

/// Computes the commands that clear any bottleneck from a router.
pub fn clear(router: &Router) -> Vec<Step> {
    match router.os {
        Os::Linux => linux::clear(router),
        Os::FreeBsd => freebsd::clear(),
    }
}

/// The commands that clear a FreeBSD router. They name no interfaces.
pub(crate) fn clear_freebsd() -> Vec<Step> {
    freebsd::clear()
}

impl Plan {
    /// Replaces buffers in BDP by their bytes: the router keeps the description without the rest of the path.
    fn state_buffers(&mut self) {
        let Bottleneck { forward, reverse } = &mut self.bottleneck;
        for (path, size) in [forward, reverse].into_iter().zip(&self.queues) {
            if let (Some(Buffer::Bdp { .. }), Some(size)) = (path.buffer, size) {
                path.buffer = Some(Buffer::Bytes(ByteCount::new(size.bytes)));
            }
        }
    }

    /// True if a link follows a trace.
    pub fn has_trace(&self) -> bool {
        self.restart_traces().next().is_some()
    }

    /// Steps that begin the traces anew, with the next packet.
    pub(crate) fn restart_traces(&self) -> impl Iterator<Item = &Step> {
        let changes = self
            .objects
            .iter()
            .filter_map(|object| object.change.as_ref());
        changes.filter(|step| trace::begins_trace(step))
    }

    /// Computes the commands that turn this bottleneck into `next` in place.
    ///
    /// A decrease of the delay reorders packets: later packets overtake the packets already in the
    /// delay stage.
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
    /// A command from its line. No word may contain a blank.
    pub(crate) fn of(line: &str) -> Self {
        Self {
            argv: line.split_ascii_whitespace().map(str::to_owned).collect(),
            may_fail: false,
        }
    }

    /// The command as a shell line.
    pub fn line(&self) -> String {
        command_line(&self.argv)
    }

    /// A command that may fail.
    pub(crate) fn may_fail(line: &str) -> Self {
        Self {
            may_fail: true,
            ..Self::of(line)
        }
    }
}

#[cfg(test)]
mod tests;
