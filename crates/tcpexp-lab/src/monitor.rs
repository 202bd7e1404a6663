//! The monitor of a running QEMU: QMP, one JSON object per line.
//!
//! QEMU's `docs/interop/qmp-spec.rst`.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

/// Our end of a monitor connection.
pub(crate) struct Monitor {
    stream: BufReader<UnixStream>,
    /// Events received while waiting for an answer.
    events: Vec<String>,
}

/// Time limit for messages. A boot takes half a minute on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

impl Monitor {
    /// Both ends of a connection. The other end becomes QEMU's standard input.
    pub(crate) fn pair() -> io::Result<(Self, Stdio)> {
        let (ours, qemus) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let monitor = Self {
            stream: BufReader::new(ours),
            events: Vec::new(),
        };
        Ok((monitor, std::os::fd::OwnedFd::from(qemus).into()))
    }

    /// Waits for the greeting of QEMU and negotiates no capabilities.
    pub(crate) fn greet(&mut self) -> io::Result<()> {
        self.message()?;
        self.execute("qmp_capabilities", &json!({})).map(drop)
    }

    /// Runs a command and returns its result.
    pub(crate) fn execute(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        let line = json!({ "execute": command, "arguments": arguments });
        writeln!(self.stream.get_mut(), "{line}")?;
        loop {
            // Events may come before the answer and are kept for `await_event`.
            let mut message = self.message()?;
            if let Some(result) = message.get_mut("return") {
                return Ok(result.take());
            }
            if let Some(error) = message.get("error") {
                let what = error["desc"].as_str().unwrap_or("no reason given");
                return Err(io::Error::other(format!("{command}: {what}")));
            }
            self.events
                .extend(message["event"].as_str().map(str::to_owned));
        }
    }

    /// Waits for the next event of a name.
    pub(crate) fn await_event(&mut self, name: &str) -> io::Result<()> {
        loop {
            if let Some(place) = self.events.iter().position(|event| event == name) {
                self.events.drain(..=place);
                return Ok(());
            }
            let message = self.message()?;
            self.events
                .extend(message["event"].as_str().map(str::to_owned));
        }
    }

    fn message(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        let read = self
            .stream
            .read_line(&mut line)
            .map_err(|error| match error.kind() {
                // A Unix socket reports an expired read timeout as EAGAIN.
                io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
                _ => error,
            })?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a monitor of a QEMU that sends `lines` regardless of its input.
    fn monitor_of(lines: &str) -> Monitor {
        let (ours, mut qemus) = UnixStream::pair().unwrap();
        qemus.write_all(lines.as_bytes()).unwrap();
        // Shut down for writing only: our end may still send.
        qemus.shutdown(std::net::Shutdown::Write).unwrap();
        std::mem::forget(qemus);
        Monitor {
            stream: BufReader::new(ours),
            events: Vec::new(),
        }
    }

    #[test]
    fn answer_is_found_among_events() {
        let mut monitor =
            monitor_of("{\"event\": \"STOP\"}\n{\"return\": {\"status\": \"paused\"}}\n");
        let answer = monitor.execute("query-status", &json!({})).unwrap();
        assert_eq!(answer["status"], "paused");
        monitor.await_event("STOP").unwrap();
    }

    #[test]
    fn error_reply_is_an_error_with_its_reason() {
        let mut monitor =
            monitor_of("{\"error\": {\"class\": \"GenericError\", \"desc\": \"not now\"}}\n");
        let error = monitor.execute("cont", &json!({})).unwrap_err();
        assert_eq!(error.to_string(), "cont: not now");
    }

    #[test]
    fn closed_connection_is_an_error() {
        let error = monitor_of("").await_event("STOP").unwrap_err();
        assert_eq!(error.to_string(), "unexpected end of file");
    }
}
