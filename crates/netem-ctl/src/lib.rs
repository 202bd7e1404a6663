//! One emulated bottleneck: described, turned into commands, applied to a router and read back.
//!
//! A [`Bottleneck`] describes the two directions of a path. [`plan`] computes the commands that make
//! it on a [`Router`], without touching anything. [`Control`] runs them and reads the state back. A
//! [`Runner`] takes scripts to a host.
//!
//! ```no_run
//! use netem_ctl::{Local, Runner, Script};
//!
//! let rtr = Local::in_namespace("rtr");
//! let output = rtr.run(&Script::new("tc -s qdisc show\n").as_root())?;
//! println!("{}", output.text());
//! # Ok::<(), netem_ctl::RunError>(())
//! ```

mod bottleneck;
pub mod cli;
mod control;
mod plan;
mod router;
mod runner;
mod trace_link;

pub use bottleneck::{
    Bottleneck, Distribution, FlowDelay, GilbertElliott, Isolation, LinkLayer, Loss, Path, Prefix,
    PrefixError, Queue, ReadError, Text, Trace, TraceError, TraceFacts, with_plain_types,
    wrong_table,
};
pub use control::{
    ApplyOptions, Changed, Cleared, Control, ControlError, Counters, HOST_SH, Holder,
    QueueCounters, Shown, change_script, owner_name,
};
pub use plan::{
    ChangeError, Check, DELAY_DEVICES, Mismatch, Must, Number, OptionFact, OptionValue, Plan,
    PlanError, QdiscFact, QueueSize, Step, clear, plan, plan_in_path,
};
pub use router::{Interface, InterfaceError, Os, Router};
pub use runner::{
    DryRun, Local, Output, Recording, RunError, Runner, Script, ScriptStream, Ssh, SshHost,
    SshHostError, SshOptions, SshProblem, StreamOutput,
};
