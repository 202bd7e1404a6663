//! The true state of senders, from logs or a table.

use std::path::PathBuf;

use tcpexp::{Truth, logged_senders};

use crate::sender_args::LogFormat;
use crate::shared_args::wrong_usage;
use crate::{fetched, shown};

/// Reads the logs of one host, or one table, which has no format of a log.
pub(crate) fn read(paths: &[PathBuf], format: Option<LogFormat>) -> anyhow::Result<Truth> {
    let truth = logged_senders(paths, format.map(LogFormat::of_import))?;
    if let (Some(_), true, [path]) = (format, truth.logs.is_empty(), paths) {
        return Err(wrong_usage(&format!(
            "--truth-format is for logs, and {} is a table",
            shown::path(&fetched::as_given(path))
        )));
    }
    Ok(truth)
}
