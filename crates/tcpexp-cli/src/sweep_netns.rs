//! A testbed of network namespaces on this machine: made for a sweep and removed when it ends.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use netem_ctl::Local;
use rustix::fs::{FlockOperation, flock};
use tcpexp_lab::{Shape, Topology, script};
use tcpexp_sweep::plan::Lab;

/// What all namespaces of ours begin with.
const PREFIX: &str = "tcpexp-";
/// Held by the one sweep at a time that has them.
const LOCK: &str = "/run/lock/tcpexp-netns";

/// The namespaces of one sweep.
pub(crate) struct Namespaces {
    topology: Topology,
    _lock: File,
}

impl Namespaces {
    /// Makes them. What a sweep that was killed left is removed before.
    pub(crate) fn create(lab: Lab) -> anyhow::Result<Self> {
        let lock = lock()?;
        let shape = Shape::new(lab.sources.into(), lab.sinks.into())?;
        let namespaces = Self {
            topology: Topology::with_prefix(shape, PREFIX),
            _lock: lock,
        };
        sh(&script(&namespaces.topology.remove())).context("cannot remove old namespaces")?;
        sh(&script(&namespaces.topology.create())).context("cannot create namespaces")?;
        let router = namespaces.topology.namespace("rtr");
        sh(&format!(
            "ip netns exec {router} tc qdisc add dev lo root netem limit 9
             ip netns exec {router} tc qdisc del dev lo root"
        ))
        .context("this kernel has no netem; kind = \"lab\" does not need it")?;
        Ok(namespaces)
    }

    /// The way into the namespace of the testbed's host called `name`.
    pub(crate) fn reach(&self, name: &str) -> Local {
        Local::in_namespace(self.topology.namespace(name))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        if let Err(error) = sh(&script(&self.topology.remove())) {
            crate::sweep_progress::line(&format!("namespaces are left: {error:#}"));
        }
    }
}

fn lock() -> anyhow::Result<File> {
    if !rustix::process::geteuid().is_root() {
        bail!("kind = \"netns\" needs root; kind = \"lab\" does not");
    }
    fs::create_dir_all("/run/lock").context("cannot create /run/lock")?;
    let lock = File::create(LOCK).with_context(|| format!("cannot write {LOCK}"))?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        bail!("another sweep uses the namespaces of this machine");
    }
    Ok(lock)
}

/// Runs a script of commands; fails with what it says.
fn sh(script: &str) -> anyhow::Result<()> {
    let output = Command::new("sh")
        .args(["-ec", script])
        .stdin(Stdio::null())
        .output()
        .context("cannot run sh")?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    bail!("{}", lines.join("; "))
}
