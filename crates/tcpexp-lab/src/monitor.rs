//! Talking to a running QEMU: its machine protocol, one JSON object a line.
//!
//! QEMU's `docs/interop/qmp-spec.rst`.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

/// Our end of the line to one QEMU.
pub(crate) struct Monitor {
    stream: BufReader<UnixStream>,
    /// Events that came while an answer was awaited.
    events: Vec<String>,
}

/// A machine that has nothing to say for so long hangs; one that boots takes half a minute where
/// much else is going on.
const PATIENCE: Duration = Duration::from_secs(600);

impl Monitor {
    /// Both ends of a line; the other is to become QEMU's standard input.
    pub(crate) fn pair() -> io::Result<(Self, Stdio)> {
        let (ours, qemus) = UnixStream::pair()?;
        ours.set_read_timeout(Some(PATIENCE))?;
        let monitor = Self {
            stream: BufReader::new(ours),
            events: Vec::new(),
        };
        Ok((monitor, std::os::fd::OwnedFd::from(qemus).into()))
    }

    /// Waits for QEMU's greeting, and says that nothing beyond the basics is wanted.
    pub(crate) fn greet(&mut self) -> io::Result<()> {
        self.message()?;
        self.execute("qmp_capabilities", &json!({})).map(drop)
    }

    /// What a command returns.
    pub(crate) fn execute(&mut self, command: &str, arguments: &Value) -> io::Result<Value> {
        let line = json!({ "execute": command, "arguments": arguments });
        writeln!(self.stream.get_mut(), "{line}")?;
        loop {
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

    /// Waits for something to happen, the next time that it does.
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

    /// What our end hears from a QEMU that says `lines` whatever it is told.
    fn hearing(lines: &str) -> Monitor {
        let (ours, mut qemus) = UnixStream::pair().unwrap();
        qemus.write_all(lines.as_bytes()).unwrap();
        // Shut for writing only: ours may still talk.
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
            hearing("{\"event\": \"STOP\"}\n{\"return\": {\"status\": \"paused\"}}\n");
        let answer = monitor.execute("query-status", &json!({})).unwrap();
        assert_eq!(answer["status"], "paused");
        monitor.await_event("STOP").unwrap();
    }

    #[test]
    fn refusal_is_an_error_with_its_reason() {
        let mut monitor =
            hearing("{\"error\": {\"class\": \"GenericError\", \"desc\": \"not now\"}}\n");
        let error = monitor.execute("cont", &json!({})).unwrap_err();
        assert_eq!(error.to_string(), "cont: not now");
    }

    #[test]
    fn end_of_the_line_is_an_error() {
        assert!(hearing("").await_event("STOP").is_err());
    }
}
