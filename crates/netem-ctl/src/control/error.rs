//! Errors of applying, changing and clearing a bottleneck.

use thiserror::Error;

use super::scripts::{HELD, LEFT};
use crate::plan::{ChangeError, Mismatch, PlanError};
use crate::runner::{Output, RunError};

/// Why a bottleneck could not be applied, changed or cleared.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The system of the router cannot emulate the bottleneck.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The change is not possible in place.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The router is unreachable, or the end of a script is unknown.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The router lacks programs.
    #[error("{host}: {} missing: install {package}", tools.join(", "))]
    MissingTools {
        /// The host.
        host: String,
        /// The name.
        tools: Vec<String>,
        /// The packages that provide them.
        package: &'static str,
    },
    /// The router has no such interface.
    #[error("{host}: interface {interface} does not exist: expected one of {}", others.join(", "))]
    NoInterface {
        /// The host.
        host: String,
        /// The name.
        interface: String,
        /// The interfaces that it has.
        others: Vec<String>,
    },
    /// The interface carries the connection to the router.
    #[error("{host}: {interface} carries this connection (to {peer}): expected a data interface")]
    ControlInterface {
        /// The host.
        host: String,
        /// The name.
        interface: String,
        /// Our address, as the router sees it.
        peer: String,
    },
    /// The interface has a queue of another program, which clearing could not restore.
    #[error(
        "{host}: {interface} has a foreign queue ({kind} {handle}): remove it first, because it \
         cannot be restored"
    )]
    ForeignQueue {
        /// The host.
        host: String,
        /// The name.
        interface: String,
        /// Its kind.
        kind: String,
        /// Its handle.
        handle: String,
    },
    /// The router cannot emulate.
    #[error("{host}: {problem}")]
    Unfit {
        /// The host.
        host: String,
        /// The reason and the remedy.
        problem: String,
    },
    /// Another owner holds the router.
    #[error("{host}: held by {holder}: wait or take over")]
    Held {
        /// The host.
        host: String,
        /// The owner and the start of its lease.
        holder: String,
    },
    /// A command failed.
    #[error("{host}: {message}")]
    Command {
        /// The host.
        host: String,
        /// The command, and the end of its standard error.
        message: String,
    },
    /// The state read back differs from the plan.
    #[error("{host}: {}", list(wrong))]
    Mismatch {
        /// The host.
        host: String,
        /// The differences.
        wrong: Vec<Mismatch>,
    },
    /// Clearing did not remove or restore everything.
    #[error("{host}: not cleared: {what}")]
    Left {
        /// The host.
        host: String,
        /// The remaining queues, devices or rules, or the settings that are not restored.
        what: String,
    },
    /// A bottleneck could not be applied, and its parts are removed.
    #[error("{why}; the router is cleared")]
    Cleared {
        /// The error.
        why: Box<ControlError>,
    },
    /// A bottleneck could not be applied, and the earlier one of the same owner is on the router.
    #[error("{why}; the earlier bottleneck is in place again")]
    Restored {
        /// The error.
        why: Box<ControlError>,
    },
    /// After an error, the router could not be cleared, or its earlier bottleneck could not be made again.
    #[error("{why}; the router could not be restored to its earlier state")]
    NotRestored {
        /// The error.
        why: Box<ControlError>,
        /// Why restoring failed.
        source: Box<ControlError>,
    },
    /// The connection was lost while a bottleneck was applied or read back.
    #[error("{why}; the router may hold the bottleneck or a part of it")]
    Lost {
        /// The error.
        why: Box<ControlError>,
    },
    /// The script that clears did not report its result.
    #[error("{host}: the script did not report whether the router is cleared")]
    NoAnswer {
        /// The host.
        host: String,
    },
    /// The router printed no counters.
    #[error("{host}: cannot read the counters of its queues")]
    NoCounters {
        /// The host.
        host: String,
    },
}

fn list(wrong: &[Mismatch]) -> String {
    let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    wrong.join("; ")
}

impl ControlError {
    /// True if the router may hold a part of a bottleneck after this error of applying it, and can be cleared.
    pub(crate) const fn leaves_parts(&self) -> bool {
        match self {
            // Another owner's bottleneck stays, and what cannot be cleared is not tried again at once.
            // After a lost connection, the script may still run.
            Self::Held { .. } | Self::Left { .. } | Self::Lost { .. } => false,
            // A script that was killed may not have undone its changes. After the other errors, no script has
            // begun.
            Self::Run(error) => matches!(error, RunError::Timeout { .. }),
            _ => true,
        }
    }

    /// True if the router may still hold a part of a bottleneck after this error of [`Control::apply`].
    ///
    /// [`Control::apply`]: super::Control::apply
    pub const fn may_leave_parts(&self) -> bool {
        matches!(
            self,
            Self::Lost { .. } | Self::NotRestored { .. } | Self::Left { .. }
        )
    }

    /// This error of making a bottleneck, as [`Lost`](Self::Lost) if the state of the router is unknown after it.
    /// `has_begun` is true if the router certainly has a part of it.
    pub(crate) fn while_making(self, has_begun: bool) -> Self {
        match &self {
            // The router is cleared after it.
            Self::Run(RunError::Timeout { .. }) => self,
            Self::Run(error) if has_begun || error.may_have_run() => Self::Lost {
                why: Box::new(self),
            },
            _ => self,
        }
    }

    /// This error, once the router is `restored` after it.
    pub(crate) fn once<T>(self, restored: Result<T, Self>) -> Self {
        match restored {
            Ok(_) => self,
            Err(source) => Self::NotRestored {
                why: Box::new(self),
                source: Box::new(source),
            },
        }
    }

    /// Reads the cause from the exit code of a script.
    pub(crate) fn of_script(host: &str, output: &Output) -> Self {
        let host = host.to_owned();
        let message = output.complaint();
        let about = |word: &str| {
            message
                .split_once(word)
                .map(|(_, what)| what.trim().to_owned())
        };
        match output.code {
            HELD => Self::Held {
                host,
                holder: about("held by ").unwrap_or(message),
            },
            LEFT => Self::Left {
                host,
                what: about("left: ").unwrap_or(message),
            },
            _ => Self::Command { host, message },
        }
    }
}
