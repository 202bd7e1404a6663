//! `[[log]]`: commands whose output is logged during a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tcpexp_units::TimeDelta;

use super::traffic::is_word;
use netem_ctl::Text;

/// Kind of such logs in the record of a run, and in `tcpexp analyze --log`.
pub(crate) const COLUMNS: &str = "columns";

/// `[[log]]`: a command on a host during a run, whose output is a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandLog {
    /// Name of the log, in the table `readings` and in the name of its file.
    pub name: String,
    /// Name of the host.
    pub host: String,
    /// Command, as a list of words.
    pub command: Vec<String>,
    /// Time between the end of the command and its next start. By default the command starts once and
    /// prints until the run ends. Programs that buffer their output to a pipe need an option such as
    /// `-l` of tcpdump.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub interval: Option<TimeDelta>,
    /// What separates the columns of a line: any white space, or commas as in CSV.
    #[serde(default)]
    pub separator: Separator,
    /// Names of the columns, from the left; `-` leaves one out. By default the first line has them, and
    /// lines equal to it are skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

/// What separates the columns of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Separator {
    /// White space.
    #[default]
    Whitespace,
    /// Commas; a value in double quotes may have some.
    Csv,
}

impl CommandLog {
    /// The key with a fault, and what was expected.
    pub(super) fn fault(&self) -> Option<(&'static str, String)> {
        if is_word(&self.name).is_none() {
            return Some(("name", "expected letters, digits, _, -, . and :".to_owned()));
        }
        if self.command.first().is_none_or(String::is_empty) {
            return Some(("command", "expected a list of words".to_owned()));
        }
        if self.interval.is_some_and(|time| time <= TimeDelta::ZERO) {
            return Some(("interval", "expected a time above 0".to_owned()));
        }
        let mut names: Vec<&String> = self.columns.iter().filter(|name| *name != "-").collect();
        names.sort_unstable();
        let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
        if let Some([name, ..]) = twice {
            let message = format!("expected unique names, found {name:?} twice");
            return Some(("columns", message));
        }
        if names.iter().any(|name| name.is_empty()) || names.is_empty() && !self.columns.is_empty()
        {
            return Some(("columns", "expected names".to_owned()));
        }
        None
    }

    /// The first line of the log, which describes the others.
    pub(crate) fn header(&self) -> String {
        json!({"name": self.name, "separator": self.separator, "columns": self.columns}).to_string()
    }
}
