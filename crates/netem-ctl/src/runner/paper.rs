//! Runners that run nothing: one prints scripts, one records them.

use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tcpexp_units::Timestamp;

use super::script::{Output, Script};
use super::{RunError, Runner};

/// Prints each script as it would run. All scripts succeed without output.
pub struct DryRun {
    host: String,
    to: Mutex<Box<dyn Write + Send>>,
}

/// Records each script and returns scripted answers.
pub struct Recording {
    host: String,
    answer: Box<Answer>,
    scripts: Mutex<Vec<Script>>,
}

type Answer = dyn Fn(&Script) -> Result<Output, RunError> + Send + Sync;

impl DryRun {
    /// Prints the scripts for `host`.
    pub fn new(host: impl Into<String>, to: impl Write + Send + 'static) -> Self {
        Self {
            host: host.into(),
            to: Mutex::new(Box::new(to)),
        }
    }

    fn print(&self, text: &str) -> Result<(), RunError> {
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(text.as_bytes())
            .map_err(|source| RunError::Print { source })
    }
}

impl Runner for DryRun {
    fn host(&self) -> &str {
        &self.host
    }

    fn is_dry(&self) -> bool {
        true
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        let rights = if script.as_root { ", as root" } else { "" };
        let end = if script.text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        self.print(&format!(
            "### on {}{rights}\n{}{end}",
            self.host, script.text
        ))?;
        Ok(Output::silent(0))
    }

    fn fetch(&self, remote: &str, local: &Path, _: Duration) -> Result<(), RunError> {
        self.print(&format!(
            "### from {}: {remote} to {}\n",
            self.host,
            local.display()
        ))
    }

    fn upload(&self, local: &Path, remote: &str, _: Duration) -> Result<(), RunError> {
        self.print(&format!(
            "### to {}: {} to {remote}\n",
            self.host,
            local.display()
        ))
    }
}

impl Recording {
    /// Answers each script with `answer`.
    pub fn new(
        host: impl Into<String>,
        answer: impl Fn(&Script) -> Result<Output, RunError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            host: host.into(),
            answer: Box::new(answer),
            scripts: Mutex::default(),
        }
    }

    /// The recorded scripts.
    pub fn scripts(&self) -> Vec<Script> {
        let scripts = self.scripts.lock();
        scripts.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Runner for Recording {
    fn host(&self) -> &str {
        &self.host
    }

    fn run(&self, script: &Script) -> Result<Output, RunError> {
        let mut scripts = self.scripts.lock().unwrap_or_else(PoisonError::into_inner);
        scripts.push(script.clone());
        // Without the lock, the scripts of several threads are answered at the same time.
        drop(scripts);
        (self.answer)(script)
    }

    fn fetch(&self, remote: &str, _: &Path, timeout: Duration) -> Result<(), RunError> {
        self.run(&Script::command(&["cat", remote]).within(timeout))
            .map(drop)
    }

    fn upload(&self, _: &Path, remote: &str, timeout: Duration) -> Result<(), RunError> {
        self.run(&Script::new(format!("cat >{remote}\n")).within(timeout))
            .map(drop)
    }
}

impl Output {
    /// The output of a script that prints nothing and exits with `code`.
    pub fn silent(code: i32) -> Self {
        Self {
            code,
            stdout: Vec::new(),
            stderr: Vec::new(),
            started: Timestamp::from_nanos(0),
            finished: Timestamp::from_nanos(0),
        }
    }

    /// With `text` on standard output.
    #[must_use]
    pub fn saying(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdout = text.into();
        self
    }

    /// With `text` on standard error.
    #[must_use]
    pub fn complaining(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stderr = text.into();
        self
    }
}
