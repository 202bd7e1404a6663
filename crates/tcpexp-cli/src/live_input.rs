//! Captures in progress: files, pipes, and interfaces of other hosts.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use netem_ctl::{RunError, Script, ScriptStream, Ssh, SshHost, SshOptions};
use tcpexp::{Error, Filter, LiveInput, OneStream};
use tcpexp_host::quote;

use crate::shared_args::STANDARD_INPUT;
use crate::{failure, shown};

/// Captures packets of an interface to standard output until standard input ends.
const CAPTURE_SH: &str = include_str!("capture.sh");

/// Pauses before a lost connection is opened again, doubled after each attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The capture at `path`: `HOST:INTERFACE`, `-` or a file.
pub(crate) fn live_input(
    path: &Path,
    ssh_config: Option<&Path>,
    filter: Option<&Filter>,
    quiet: bool,
) -> anyhow::Result<Box<dyn LiveInput>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(OneStream::new(STANDARD_INPUT.into(), io::stdin())));
    }
    if let Some((host, interface)) = remote(path) {
        let options = SshOptions {
            config: ssh_config.map(Path::to_owned),
            ..SshOptions::default()
        };
        let host: SshHost = host.parse()?;
        let script = format!(
            "interface={}\nfilter={}\n{CAPTURE_SH}",
            quote(interface),
            quote(filter.map_or("", Filter::as_str))
        );
        return Ok(Box::new(RemoteCapture {
            name: path.to_owned(),
            ssh: Ssh::new(host, options)?,
            script: Script::new(script).as_root(),
            stream: None,
            has_begun: false,
            pause: FIRST_PAUSE,
        }));
    }
    // Opening a named pipe waits for its writer, which may wait for the other one: the thread that
    // reads the pipe opens it.
    std::fs::metadata(path).with_context(|| format!("cannot open {}", path.display()))?;
    require_no_directory(path)?;
    Ok(Box::new(OneStream::new(
        path.to_owned(),
        LazyFile {
            path: path.to_owned(),
            file: None,
            has_ended: false,
            quiet,
        },
    )))
}

/// The host and the interface that `HOST:INTERFACE` names, unless it is the name of a file.
fn remote(path: &Path) -> Option<(&str, &str)> {
    if path.exists() {
        return None;
    }
    let (host, interface) = path.to_str()?.rsplit_once(':')?;
    let is_name = |text: &str| !text.is_empty() && !text.contains('/');
    (is_name(host) && is_name(interface)).then_some((host, interface))
}

/// Fails for a directory: its files are read as one capture only when they are complete.
pub(crate) fn require_no_directory(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        bail!(
            "{} is a directory: --live reads a pipe, a file or HOST:INTERFACE",
            shown::path(path)
        );
    }
    Ok(())
}

/// Notes on a terminal that a file has been read to its end. There is no sign whether another program
/// will add packets.
pub(crate) fn note_end(path: &Path, quiet: bool) {
    if !quiet
        && io::stderr().is_terminal()
        && let Some(note) = end_of_file(path)
    {
        failure::print_line(&note);
    }
}

/// What to say at the end of a file; `None` at the end of a pipe.
fn end_of_file(path: &Path) -> Option<String> {
    let name = shown::path(path);
    path.is_file().then(|| {
        format!(
            "note: end of {name}; to follow a growing file, read a pipe from `tail -c +1 -f {name}`"
        )
    })
}

/// A file that the first read opens.
struct LazyFile {
    path: PathBuf,
    file: Option<File>,
    has_ended: bool,
    quiet: bool,
}

impl Read for LazyFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::open(&self.path)?),
        };
        let bytes = file.read(buffer)?;
        if bytes == 0 && !buffer.is_empty() && !self.has_ended {
            self.has_ended = true;
            note_end(&self.path, self.quiet);
        }
        Ok(bytes)
    }
}

/// A capture on another host, over ssh. A lost connection is opened again.
struct RemoteCapture {
    name: PathBuf,
    ssh: Ssh,
    script: Script,
    stream: Option<ScriptStream>,
    /// True once packets have arrived, which shows that the host, the interface and the rights are
    /// correct.
    has_begun: bool,
    pause: Duration,
}

impl LiveInput for RemoteCapture {
    fn open(
        &mut self,
        failure: Option<tcpexp_capture::Error>,
    ) -> Result<Option<Box<dyn Read + Send>>, Error> {
        if let Some(stream) = self.stream.take() {
            let why = without_banner(self.ssh.stream_error(&self.script, stream));
            if failure.is_none() {
                self.has_begun = true;
                self.pause = FIRST_PAUSE;
            }
            self.wait(why)?;
        }
        loop {
            let started = self.ssh.stream(&self.script);
            let output = started.map(|mut stream| {
                let output = stream.take_output();
                self.stream = Some(stream);
                output
            });
            match output {
                Ok(output) => return Ok(output.map(|output| Box::new(output) as Box<_>)),
                Err(why) => self.wait(why)?,
            }
        }
    }
}

/// The error without the line that tcpdump prints when it starts: this line is not the cause.
fn without_banner(error: RunError) -> RunError {
    let RunError::Exit {
        host,
        code,
        message,
    } = error
    else {
        return error;
    };
    let said = message.split("; ");
    let said: Vec<&str> = said
        .filter(|line| !line.starts_with("tcpdump: listening on"))
        .collect();
    let message = match said.as_slice() {
        [] => "the connection ended".to_owned(),
        said => said.join("; "),
    };
    RunError::Exit {
        host,
        code,
        message,
    }
}

impl RemoteCapture {
    /// Waits before the next attempt; the first attempt must succeed.
    fn wait(&mut self, why: RunError) -> Result<(), Error> {
        if !self.has_begun {
            return Err(Error::Input {
                name: self.name.clone(),
                source: Box::new(why),
            });
        }
        failure::print_line(&format!(
            "warning: {} was lost, next attempt in {} s: {why}",
            self.name.display(),
            self.pause.as_secs()
        ));
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_file_needs_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("src.pcap");
        std::fs::write(&file, "").unwrap();
        let note = end_of_file(&file).unwrap();
        assert!(note.contains("tail -c +1 -f "), "{note}");
        assert_eq!(end_of_file(Path::new("standard input")), None);
        assert_eq!(end_of_file(Path::new("/dev/null")), None);
    }

    #[test]
    fn directory_is_no_live_capture() {
        let folder = tempfile::tempdir().unwrap();
        let refusal = live_input(folder.path(), None, None, true).err().unwrap();
        let refusal = refusal.to_string();
        assert!(
            refusal.contains(" is a directory: --live reads"),
            "{refusal}"
        );
    }

    #[test]
    fn message_at_the_start_of_a_capture_is_not_the_cause_of_its_end() {
        let said = |message: &str| {
            let error = RunError::Exit {
                host: "dst1".to_owned(),
                code: 1,
                message: message.to_owned(),
            };
            without_banner(error).to_string()
        };
        let banner = "tcpdump: listening on data, link-type EN10MB (Ethernet)";
        assert!(said(banner).ends_with("the connection ended"));
        let failed = format!("{banner}; tcpdump: pcap_loop: The interface disappeared");
        assert!(said(&failed).ends_with(": tcpdump: pcap_loop: The interface disappeared"));
    }
}
