//! Why a router does not do what it is to do.

use thiserror::Error;

use super::scripts::{HELD, LEFT};
use crate::plan::{ChangeError, Mismatch, PlanError};
use crate::runner::{Output, RunError};

/// Something that keeps a router from having, changing or losing a bottleneck.
#[derive(Debug, Error)]
pub enum ControlError {
    /// The bottleneck cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The change needs a new bottleneck.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The router cannot be reached, or a script has no known end.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Programs are missing.
    #[error("{host}: {} missing: install {package}", tools.join(", "))]
    MissingTools {
        /// Where.
        host: String,
        /// Which.
        tools: Vec<String>,
        /// What brings them.
        package: &'static str,
    },
    /// There is no such interface.
    #[error("{host}: there is no interface {interface}; there are {}", others.join(", "))]
    NoInterface {
        /// Where.
        host: String,
        /// Which.
        interface: String,
        /// Those that there are.
        others: Vec<String>,
    },
    /// It would cut the connection that we came by.
    #[error("{host}: {interface} carries this connection (to {peer}): expected a data interface")]
    ControlInterface {
        /// Where.
        host: String,
        /// Which.
        interface: String,
        /// Where we are, as the router sees it.
        peer: String,
    },
    /// Someone else's queue is there, and clearing could not bring it back.
    #[error(
        "{host}: {interface} has a queue that is not ours ({kind} {handle}): remove it first, as it \
         could not be put back"
    )]
    ForeignQueue {
        /// Where.
        host: String,
        /// Which.
        interface: String,
        /// What kind.
        kind: String,
        /// Its number.
        handle: String,
    },
    /// The kernel cannot emulate.
    #[error("{host}: {problem}")]
    Unfit {
        /// Where.
        host: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// Someone else has a bottleneck there.
    #[error("{host}: held by {holder}: wait, or take over")]
    Held {
        /// Where.
        host: String,
        /// Who and since when.
        holder: String,
    },
    /// A command failed.
    #[error("{host}: {message}")]
    Command {
        /// Where.
        host: String,
        /// The command and what it said.
        message: String,
    },
    /// What was read back is not what was asked for.
    #[error("{host}: {}", list(wrong))]
    Mismatch {
        /// Where.
        host: String,
        /// What differs.
        wrong: Vec<Mismatch>,
    },
    /// Something of ours could not be taken away.
    #[error("{host}: not cleared: {what}")]
    Left {
        /// Where.
        host: String,
        /// What is left.
        what: String,
    },
    /// No counters where some must be.
    #[error("{host}: cannot read the counters of its queues")]
    NoCounters {
        /// Where.
        host: String,
    },
}

fn list(wrong: &[Mismatch]) -> String {
    let wrong: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    wrong.join("; ")
}

impl ControlError {
    /// Reads from its exit code why a script of ours failed.
    pub(crate) fn of_script(host: &str, output: &Output) -> Self {
        let host = host.to_owned();
        let said = output.complaint();
        let about = |word: &str| {
            said.split_once(word)
                .map(|(_, what)| what.trim().to_owned())
        };
        match output.code {
            HELD => Self::Held {
                host,
                holder: about("held by ").unwrap_or(said),
            },
            LEFT => Self::Left {
                host,
                what: about("left: ").unwrap_or(said),
            },
            _ => Self::Command {
                host,
                message: said,
            },
        }
    }
}
