//! Applies a bottleneck to a router, reads it back, changes it and clears it.

mod counters;
mod error;
mod preflight;
mod scripts;
mod sections;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tcpexp_units::Timestamp;

use crate::plan::{ChangeError, Mismatch, Plan};
use crate::router::{Os, Router};
use crate::runner::{Output, RunError, Runner, Script};

pub use counters::{Counters, QueueCounters};
pub use error::ControlError;
pub use preflight::Holder;
pub use scripts::HOST_SH;

/// Controls one router on behalf of one owner.
///
/// The owner holds a lease on the router from [`apply`](Self::apply) to [`clear`](Self::clear): no
/// other owner can apply or change meanwhile. With [`ApplyOptions::clear_after`], a watchdog on the
/// router clears it if the owner does not come back.
pub struct Control<'a> {
    runner: &'a dyn Runner,
    owner: String,
}

/// Options of [`Control::apply`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApplyOptions {
    /// Time after which the router clears itself, unless [`Control::keep_alive`] extends it.
    pub clear_after: Option<Duration>,
    /// Takes the lease from another owner.
    pub take_over: bool,
}

/// Result of clearing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleared {
    /// The owner of the cleared bottleneck; `None` if there was no bottleneck.
    pub owner: Option<String>,
}

/// Time of a change on the router's clock; `None` if the router did not print it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Before the first command.
    pub began: Option<Timestamp>,
    /// After the last one.
    pub ended: Option<Timestamp>,
}

/// The state of a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The holder and its bottleneck; `None` if nobody holds the router.
    pub holder: Option<Holder>,
    /// Queues, classes and filters, as the router's tools print them.
    pub text: String,
}

/// Time limit of a script. A router changes in about a second; this allows for slow ones.
const PATIENCE: Duration = Duration::from_secs(30);

/// Exit code of a script that SIGKILL ended.
const KILLED: i32 = 128 + 9;

/// Longest time ahead for which a change may be scheduled.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// Returns the name of an owner as it stands in leases: one word, other characters replaced by `_`.
pub fn owner_name(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.:@-/+".contains(c);
    text.replace(|c: char| !is_plain(c), "_")
}

/// Returns the script that changes `from` into `to` in place, now or at a time on the router's
/// clock. Its output has the time of the change: see [`Changed::parse`]. It fails unless `owner`
/// holds the router. If a step fails, the script undoes the steps before it.
pub fn change_script(
    from: &Plan,
    to: &Plan,
    owner: &str,
    at: Option<Timestamp>,
) -> Result<Script, ChangeError> {
    let steps = from.change_to(to)?;
    // What can change in place can be changed back.
    let undo = to.change_to(from)?;
    let text = scripts::change(to, &owner_name(owner), [&steps, &undo], at);
    let script = Script::new(text).as_root();
    // A scheduled script sleeps on the router until its time.
    Ok(script.within(PATIENCE + at.map_or(Duration::ZERO, |_| LONGEST_WAIT)))
}

impl Changed {
    /// Parses the output of a [`change_script`].
    pub fn parse(output: &str) -> Self {
        let mut times = output.lines().filter_map(|line| line.strip_prefix("time "));
        // `router_change` prints two lines: before its first step and after its last step.
        let mut time = || Some(Timestamp::from_nanos(times.next()?.trim().parse().ok()?));
        Self {
            began: time(),
            ended: time(),
        }
    }
}

impl<'a> Control<'a> {
    /// Controls the router that `runner` reaches. An owner must use the same name, such as
    /// `user@host`, each time; see [`owner_name`].
    pub fn new(runner: &'a dyn Runner, owner: &str) -> Self {
        let owner = owner_name(owner);
        Self { runner, owner }
    }

    /// The owner, as leases have it.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Checks that the router can emulate and may be changed, and reports its holder. Changes nothing.
    pub fn preflight(&self, router: &Router) -> Result<Option<Holder>, ControlError> {
        // Not as root: sudo removes SSH_CONNECTION, from which the script finds the control
        // interface.
        let output = self.run(&scripts::preflight(router), false)?;
        // A dry run has no output. The missing output must not make the check refuse the router.
        if self.runner.is_dry() {
            return Ok(None);
        }
        preflight::judge(self.runner.host(), router, &output.text())
    }

    /// Makes the bottleneck and reads it back. If that fails, makes the bottleneck that the same owner
    /// had before, with the rest of the time until its watchdog clears it, or clears the router if there was none.
    /// The error states if the earlier bottleneck is in place again, and if parts that the script left had to be
    /// cleared. If the connection is lost, the error is [`ControlError::Lost`], and only the watchdog clears the
    /// router.
    pub fn apply(&self, plan: &Plan, options: ApplyOptions) -> Result<(), ControlError> {
        let holder = self.preflight(&plan.router)?;
        let before = holder.filter(|holder| holder.owner == self.owner);
        self.make(plan, options)
            .map_err(|why| self.undo(plan.router.os, before.as_ref(), why))
    }

    /// Makes the bottleneck and reads it back.
    fn make(&self, plan: &Plan, options: ApplyOptions) -> Result<(), ControlError> {
        let script = scripts::apply(plan, &self.owner, options);
        let output = self.run(&script, true);
        let output = output.map_err(|why| why.while_making(false))?;
        self.succeeded(&output)?;
        self.verify(plan).map_err(|why| why.while_making(true))
    }

    /// The error of a failed [`make`](Self::make), once its parts are cleared, unless another owner has taken
    /// the router over, and the bottleneck from before it is made again.
    fn undo(&self, os: Os, before: Option<&Holder>, why: ControlError) -> ControlError {
        if !why.leaves_parts() {
            return why;
        }
        // The script clears its parts itself, unless it was killed.
        let cleared = match self.release(os) {
            Ok(cleared) => cleared,
            Err(source) => return why.once(Err::<(), _>(source)),
        };
        let Some((before, plan)) = before.and_then(|before| Some((before, before.plan()?))) else {
            let why = Box::new(why);
            return match cleared.owner {
                Some(_) => ControlError::Cleared { why },
                None => *why,
            };
        };
        let options = ApplyOptions {
            clear_after: before.clears_in(),
            // An owner that has taken the router meanwhile keeps it.
            take_over: false,
        };
        match self.make(&plan, options) {
            Ok(()) => ControlError::Restored { why: Box::new(why) },
            Err(source) => why.once(Err::<(), _>(self.undo(os, None, source))),
        }
    }

    /// Reads the bottleneck back; differences are an error.
    pub fn verify(&self, plan: &Plan) -> Result<(), ControlError> {
        match self.mismatches(plan)? {
            wrong if wrong.is_empty() => Ok(()),
            wrong => Err(ControlError::Mismatch {
                host: self.runner.host().to_owned(),
                wrong,
            }),
        }
    }

    /// Reads the bottleneck back and returns the differences.
    pub fn mismatches(&self, plan: &Plan) -> Result<Vec<Mismatch>, ControlError> {
        let commands: Vec<_> = plan.verify.iter().map(|check| &check.argv).collect();
        let output = self.run(&sections::read(&commands), true)?;
        if self.runner.is_dry() {
            return Ok(Vec::new());
        }
        let text = output.text();
        let sections = sections::split(&text);
        let found = |index: usize| sections.get(index).map_or("", |(_, text)| text);
        let checks = plan.verify.iter().enumerate();
        Ok(checks
            .flat_map(|(index, check)| check.compare(found(index)))
            .collect())
    }

    /// Changes the bottleneck in place, now or at a time on the router's clock, and reads it back. Undoes
    /// the change if that fails.
    pub fn change(
        &self,
        from: &Plan,
        to: &Plan,
        at: Option<Timestamp>,
    ) -> Result<Changed, ControlError> {
        let ran = self.run_script(&change_script(from, to, &self.owner, at)?);
        // The script undoes its steps itself, unless it was killed.
        let was_killed = match &ran {
            Ok(output) => output.code == KILLED,
            Err(why) => matches!(why, ControlError::Run(RunError::Timeout { .. })),
        };
        let output = ran
            .and_then(|output| self.succeeded(&output).map(|()| output))
            .map_err(|why| {
                if was_killed {
                    why.once(self.change_back(from, to))
                } else {
                    why
                }
            })?;
        self.verify(to)
            .map_err(|why| why.once(self.change_back(from, to)))?;
        Ok(Changed::parse(&output.text()))
    }

    /// Undoes a change.
    fn change_back(&self, from: &Plan, to: &Plan) -> Result<(), ControlError> {
        let output = self.run_script(&change_script(to, from, &self.owner, None)?)?;
        self.succeeded(&output)
    }

    /// Begins the traces of the bottleneck anew, with the next packet that crosses the router.
    pub fn restart_traces(&self, plan: &Plan) -> Result<(), ControlError> {
        let output = self.run(&scripts::restart_traces(plan, &self.owner), true)?;
        self.succeeded(&output)
    }

    /// Clears the bottleneck of any owner. Needs no plan: a script on the router clears the parts,
    /// or the parts are found by their names and numbers.
    pub fn clear(&self, os: Os) -> Result<Cleared, ControlError> {
        self.cleared(&scripts::clear(os))
    }

    /// Clears the bottleneck unless another owner holds the router.
    pub fn release(&self, os: Os) -> Result<Cleared, ControlError> {
        self.cleared(&scripts::release(os, &self.owner))
    }

    fn cleared(&self, script: &str) -> Result<Cleared, ControlError> {
        let output = self.run(script, true)?;
        self.succeeded(&output)?;
        let text = output.text();
        let owner = text.lines().find_map(|line| line.strip_prefix("owner "));
        let says = |word: &str| text.lines().any(|line| line == word);
        let cleared = says("cleared");
        // An account that runs no commands can end a session without an error.
        if !cleared && !says("nothing") && !self.runner.is_dry() {
            let host = self.runner.host().to_owned();
            return Err(ControlError::NoAnswer { host });
        }
        // A bottleneck that outlived its lease has no owner (`clear_forgotten`).
        let owner = owner.unwrap_or("somebody").to_owned();
        Ok(Cleared {
            owner: cleared.then_some(owner),
        })
    }

    /// Lets the router clear itself after this time from now.
    pub fn keep_alive(&self, os: Os, clear_after: Duration) -> Result<(), ControlError> {
        let script = scripts::keep_alive(os, &self.owner, clear_after);
        let output = self.run(&script, true)?;
        self.succeeded(&output)
    }

    /// Reads the holder and the state of the router.
    pub fn show(&self, os: Os) -> Result<Shown, ControlError> {
        let output = self.run(&scripts::show(os), true)?;
        let text = output.text();
        let sections = sections::split(&text);
        let state = sections.iter().find(|(known, _)| *known == "state");
        // Without root's rights the script prints nothing, which is no router without a holder.
        if state.is_none() && !self.runner.is_dry() {
            return Err(ControlError::of_script(self.runner.host(), &output));
        }
        Ok(Shown {
            holder: preflight::holder(&sections),
            text: state.map_or(String::new(), |(_, text)| (*text).to_owned()),
        })
    }

    /// Reads the counters of the queues and of the delay stages.
    pub fn counters(&self, plan: &Plan) -> Result<Counters, ControlError> {
        let commands = counters::commands(plan);
        let output = self.run(&sections::read(&commands), true)?;
        let text = output.text();
        counters::read(plan, &sections::split(&text)).ok_or(ControlError::NoCounters {
            host: self.runner.host().to_owned(),
        })
    }

    fn run(&self, text: &str, as_root: bool) -> Result<Output, ControlError> {
        let mut script = Script::new(text).within(PATIENCE);
        script.as_root = as_root;
        self.run_script(&script)
    }

    fn run_script(&self, script: &Script) -> Result<Output, ControlError> {
        Ok(self.runner.run(script)?)
    }

    fn succeeded(&self, output: &Output) -> Result<(), ControlError> {
        if output.is_success() {
            return Ok(());
        }
        Err(ControlError::of_script(self.runner.host(), output))
    }
}
