//! Options of object stores for the outputs of a run.
//!
//! A command creates its outputs on the thread that runs it, so the thread identifies the options, and
//! also the program that calls the command.

use std::cell::RefCell;
use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};
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

/// Reads NAME=VALUE. Its errors do not repeat the value, which may be a key; those of clap do.
#[derive(Clone)]
pub(crate) struct StoreOptionParser;

impl TypedValueParser for StoreOptionParser {
    type Value = StoreOption;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        text: &OsStr,
    ) -> Result<StoreOption, clap::Error> {
        let text = text.to_string_lossy();
        text.parse().map_err(|error: tcpexp::StoreError| {
            let shown = match text.split_once('=') {
                Some((name, _)) => format!("{name}=…"),
                None => "…".to_owned(),
            };
            let argument = argument.map(Arg::to_string).unwrap_or_default();
            let message = format!("invalid value '{shown}' for '{argument}': {error}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_an_option_does_not_repeat_its_value() {
        for text in ["aws_secret_kye=TOPSECRET", "=TOPSECRET", "TOPSECRET"] {
            let parsed =
                StoreOptionParser.parse_ref(&Command::new("tcpexp"), None, OsStr::new(text));
            // A build without stores accepts any name.
            let message = parsed.map_or_else(|error| error.to_string(), |_| String::new());
            assert!(!message.contains("TOPSECRET"), "{message}");
        }
    }
}
