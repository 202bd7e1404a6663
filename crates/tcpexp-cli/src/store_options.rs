//! Options of object stores for the outputs of a run.
//!
//! A command creates its outputs on the thread that runs it, so the thread identifies the options, and
//! also the program that calls the command.

use std::cell::RefCell;

use clap::ArgMatches;
use tcpexp::{StoreOption, StoreOptions};

thread_local! {
    static OPTIONS: RefCell<StoreOptions> = RefCell::default();
}

/// Sets the options of a run: those of `--storage-option`.
pub(crate) fn set(matches: &ArgMatches) {
    let mut leaf = matches;
    while let Some((_, inner)) = leaf.subcommand() {
        leaf = inner;
    }
    // Fails for a command without this option.
    let given = leaf.try_get_many::<StoreOption>("storage_option");
    let given = given.ok().flatten().into_iter().flatten().cloned();
    set_to(given);
}

/// Sets the options of what runs next on this thread.
pub(crate) fn set_to(options: impl IntoIterator<Item = StoreOption>) {
    OPTIONS.set(options.into_iter().collect());
}

/// The options of the run on this thread.
pub(crate) fn of_this_run() -> StoreOptions {
    OPTIONS.with_borrow(StoreOptions::clone)
}
