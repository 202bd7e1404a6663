//! The executable file of the command, which is copied into guests of the testbed.

use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};

/// True if an interpreter runs the command, so that the program of this process is not tcpexp.
static IS_INTERPRETED: AtomicBool = AtomicBool::new(false);

/// Notes that an interpreter runs the command.
pub(crate) fn is_interpreted() {
    IS_INTERPRETED.store(true, Ordering::Relaxed);
}

/// True if an interpreter runs the command.
pub(crate) fn is_in_interpreter() -> bool {
    IS_INTERPRETED.load(Ordering::Relaxed)
}

/// Path of the program of this process.
pub(crate) fn itself() -> anyhow::Result<PathBuf> {
    if is_in_interpreter() {
        bail!(
            "the testbed copies the tcpexp program into its guests, and the command of the Python \
             package is none: install it with `cargo install --path crates/tcpexp-cli`"
        );
    }
    env::current_exe().context("cannot find the tcpexp program")
}
