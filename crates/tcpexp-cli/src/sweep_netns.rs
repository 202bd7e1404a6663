//! A testbed of network namespaces on this machine, created for a sweep and removed at its end.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use netem_ctl::Local;
use rustix::fs::{FlockOperation, flock};
use tcpexp_lab::{Topology, script};
use tcpexp_sweep::plan::Lab;

/// Prefix of the names of all tcpexp namespaces.
const PREFIX: &str = "tcpexp-";
/// Lock file of the namespaces; only one sweep at a time holds it.
const LOCK: &str = "/run/lock/tcpexp-netns";

/// The namespaces of one sweep.
pub(crate) struct Namespaces {
    topology: Topology,
    _lock: File,
}

impl Namespaces {
    /// Creates the namespaces, after removing those of a killed sweep.
    pub(crate) fn create(lab: Lab) -> anyhow::Result<Self> {
        // Without the lock, `remove` below could remove the namespaces of a running sweep.
        let lock = lock()?;
        let shape = crate::sweep_lab::shape(lab)?;
        // The value exists before the scripts run, so that its `drop` also removes an incomplete
        // testbed.
        let namespaces = Self {
            topology: Topology::with_prefix(shape, PREFIX),
            _lock: lock,
        };
        sh(&script(&namespaces.topology.remove())).context("cannot remove old namespaces")?;
        sh(&script(&namespaces.topology.create())).context("cannot create namespaces")?;
        let router = namespaces.topology.namespace(lab.first_router());
        // A kernel without netem fails here, before the first run.
        sh(&format!(
            "ip netns exec {router} tc qdisc add dev lo root netem limit 9
             ip netns exec {router} tc qdisc del dev lo root"
        ))
        .context("this kernel has no netem; kind = \"lab\" does not need it")?;
        Ok(namespaces)
    }

    /// Returns the connection to the testbed host called `name`.
    pub(crate) fn reach(&self, name: &str) -> Local {
        Local::in_namespace(self.topology.namespace(name))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        if let Err(error) = sh(&script(&self.topology.remove())) {
            crate::sweep_progress::line(&format!("cannot remove the namespaces: {error:#}"));
        }
    }
}

fn lock() -> anyhow::Result<File> {
    if !rustix::process::geteuid().is_root() {
        bail!("kind = \"netns\" requires root; kind = \"lab\" does not");
    }
    fs::create_dir_all("/run/lock").context("cannot create /run/lock")?;
    let lock = File::create(LOCK).with_context(|| format!("cannot write {LOCK}"))?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        bail!("another sweep uses the namespaces of this machine");
    }
    Ok(lock)
}

/// Runs a shell script; fails with its error output.
fn sh(script: &str) -> anyhow::Result<()> {
    let output = Command::new("sh")
        // `-e` ends the script at the first command that fails.
        .args(["-ec", script])
        .stdin(Stdio::null())
        .output()
        .context("cannot run sh")?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().map(str::trim).collect();
    bail!("{}", lines.join("; "))
}
