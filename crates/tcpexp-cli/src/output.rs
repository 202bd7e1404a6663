//! Output files that are either complete or absent.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail};
use tcpexp::partial;
use tcpexp_store::{Upload, as_url, shown_url};
use tempfile::NamedTempFile;

use crate::caller::{CallError, Caller, caller};
use crate::standard_output::{self, StandardOutput};
use crate::store_options::of_this_run;
use crate::temporary::{forget, temporary};
use crate::{failure, shown};

/// An output: standard output, a device, a pipe, a file or an object. A file has a temporary name until
/// it is complete, and an object does not exist until then.
pub(crate) struct Output {
    writer: BufWriter<Target>,
    path: PathBuf,
    _unfinished: Option<Unfinished>,
}

enum Target {
    Stdout(StandardOutput),
    /// Standard output on a terminal: control characters in rows are escaped.
    Terminal(StandardOutput),
    /// Standard output whose reader has closed it, while other outputs are still written.
    Closed,
    /// Text for the program that called the command.
    Caller(Arc<Caller>),
    Device(File),
    /// The temporary file, and the lock that marks it as in use.
    File(NamedTempFile, File),
    Object(Box<Upload>),
    /// Finished or discarded.
    Nowhere,
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => match stdout.write(bytes) {
                Err(error) if standard_output::is_closed(&error) && Unfinished::exists() => {
                    *self = Self::Closed;
                    Ok(bytes.len())
                }
                written => written,
            },
            Self::Terminal(stdout) => write_shown(stdout, bytes),
            Self::Caller(caller) => {
                caller.print(&String::from_utf8_lossy(bytes));
                Ok(bytes.len())
            }
            Self::Device(file) => file.write(bytes),
            // Errors of the wrapper name the temporary file.
            Self::File(file, _) => file.as_file_mut().write(bytes),
            Self::Object(upload) => upload.write(bytes),
            Self::Closed | Self::Nowhere => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => match stdout.flush() {
                Err(error) if standard_output::is_closed(&error) && Unfinished::exists() => {
                    *self = Self::Closed;
                    Ok(())
                }
                flushed => flushed,
            },
            Self::Terminal(stdout) => stdout.flush(),
            Self::Device(file) => file.flush(),
            Self::File(file, _) => file.as_file_mut().flush(),
            Self::Caller(_) | Self::Object(_) | Self::Closed | Self::Nowhere => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Output {
    /// Opens `path` for writing; `None` and `-` mean standard output.
    pub(crate) fn create(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            let target = match caller() {
                Some(caller) => Target::Caller(caller),
                None if StandardOutput::is_terminal() => Target::Terminal(StandardOutput),
                None => Target::Stdout(StandardOutput),
            };
            return Ok(Self::new(target, Path::new("standard output")));
        };
        let cannot = || format!("cannot write {}", shown_url(path));
        if let Some(url) = as_url(path) {
            let upload = Upload::create(url, &of_this_run()).with_context(cannot)?;
            let name = shown_url(path);
            return Ok(Self::new(
                Target::Object(Box::new(upload)),
                name.as_ref().as_ref(),
            ));
        }
        if names_directory(path) {
            bail!(
                "{} ends with a slash, which names a directory",
                path.display()
            );
        }
        // A rename onto a device would replace the device.
        let target = match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => bail!("{} is a directory", path.display()),
            // `/dev/stdout`.
            Ok(metadata)
                if !metadata.is_file()
                    && caller().is_none()
                    && standard_output::is_of(&metadata) =>
            {
                return Self::create(None);
            }
            Ok(metadata) if !metadata.is_file() => Target::Device(
                File::options()
                    .write(true)
                    .open(path)
                    .with_context(cannot)?,
            ),
            _ => {
                // A symbolic link stays, as with `> FILE` of a shell: the file that it leads to is
                // replaced.
                let place = partial::final_place(path);
                let (file, lock) = temporary(&place)?;
                return Ok(Self::new(Target::File(file, lock), &place));
            }
        };
        Ok(Self::new(target, path))
    }

    fn new(target: Target, path: &Path) -> Self {
        let is_standard = matches!(
            target,
            Target::Stdout(_) | Target::Terminal(_) | Target::Caller(_)
        );
        Self {
            writer: BufWriter::with_capacity(1 << 16, target),
            path: path.to_owned(),
            _unfinished: (!is_standard).then(Unfinished::count),
        }
    }

    /// Name of the output in messages.
    pub(crate) fn name(&self) -> &Path {
        &self.path
    }

    /// True if the output is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(
            self.writer.get_ref(),
            Target::Stdout(_) | Target::Terminal(_) | Target::Closed
        )
    }

    /// Completes the output and renames a file to its final name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let path = self.path.clone();
        let cannot = || format!("cannot write {}", path.display());
        if caller().is_some_and(|caller| caller.is_stopped()) {
            return Err(CallError::Stopped.into());
        }
        // The buffer must reach the file before the file is taken out of the writer.
        self.writer.flush().with_context(cannot)?;
        match self.take() {
            Target::File(file, _lock) => {
                let temporary = file.path().to_owned();
                partial::keep_rights(&temporary, &path).with_context(cannot)?;
                // `PersistError` repeats its source in its own message.
                let persisted = file.persist(&path).map_err(|error| error.error);
                persisted.with_context(cannot)?;
                // The name is forgotten after the rename: until then, an interrupt removes the file.
                forget(&temporary);
            }
            Target::Object(upload) => upload.finish().map(drop).with_context(cannot)?,
            _ => {}
        }
        Ok(())
    }

    fn take(&mut self) -> Target {
        std::mem::replace(self.writer.get_mut(), Target::Nowhere)
    }
}

impl Drop for Output {
    /// Discards the buffer: a failed run prints nothing, but dropping a writer would flush it.
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// True if a path ends with a slash: no file can get this name.
fn names_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/") && !path.is_dir()
}

/// Counts an output other than standard output, until it is finished or discarded.
///
/// While there is one, a reader that closes standard output does not end the run: the other outputs
/// must still be complete, since the exit code says so.
struct Unfinished;

static UNFINISHED: AtomicUsize = AtomicUsize::new(0);

impl Unfinished {
    fn count() -> Self {
        UNFINISHED.fetch_add(1, Ordering::Relaxed);
        Self
    }

    fn exists() -> bool {
        UNFINISHED.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Finishes all outputs of a command: standard output last, so that neither a closed nor a full
/// standard output keeps a file from its final name.
pub(crate) fn finish_all(outputs: impl IntoIterator<Item = Output>) -> anyhow::Result<()> {
    let (standard, mut files): (Vec<_>, Vec<_>) = outputs.into_iter().partition(Output::is_stdout);
    // All files are complete before the first gets its final name.
    for file in &mut files {
        let flushed = file.flush();
        flushed.with_context(|| format!("cannot write {}", file.name().display()))?;
    }
    files.into_iter().try_for_each(Output::finish)?;
    let printed = standard.into_iter().try_for_each(Output::finish);
    unless_closed(printed)
}

/// Prints the last text of a command. If the reader has closed standard output, the outcome of the
/// command still determines its exit code.
pub(crate) fn print_last(text: &str) -> anyhow::Result<()> {
    unless_closed(print(text))
}

fn unless_closed(printed: anyhow::Result<()>) -> anyhow::Result<()> {
    printed.or_else(|error| {
        if failure::is_closed_pipe(&error) {
            Ok(())
        } else {
            Err(error)
        }
    })
}

/// Writes rows to a terminal; returns the number of input bytes written.
fn write_shown(stdout: &mut StandardOutput, bytes: &[u8]) -> io::Result<usize> {
    match shown::first_control(bytes) {
        None => stdout.write(bytes),
        Some(0) => {
            // U+0080 to U+009F take two bytes in UTF-8.
            let len = if bytes[0] == 0xc2 { 2 } else { 1 };
            let control = String::from_utf8_lossy(&bytes[..len]);
            stdout.write_all(shown::line(&control).as_bytes())?;
            Ok(len)
        }
        // The next call gets the control character, as `write` may take fewer bytes.
        Some(plain) => stdout.write(&bytes[..plain]),
    }
}

/// Prints text to standard output, with control characters escaped.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    print_raw(shown::lines(text).as_bytes())
}

/// Prints output for another program to standard output, unescaped.
pub(crate) fn print_raw(text: &[u8]) -> anyhow::Result<()> {
    if let Some(caller) = caller() {
        caller.print(&String::from_utf8_lossy(text));
        return Ok(());
    }
    // Flushing reports a closed pipe or a full disk here. At exit, the error would be lost.
    let mut stdout = StandardOutput::lock();
    stdout
        .write_all(text)
        .and_then(|()| stdout.flush())
        .context("cannot write standard output")
}

/// True if binary output would go to a terminal.
pub(crate) fn is_terminal(path: Option<&Path>) -> bool {
    let is_stdout = path.is_none_or(|path| path.as_os_str() == "-");
    is_stdout && caller().is_none() && StandardOutput::is_terminal()
}

/// The cause alone, if the table's error only states that writing failed.
pub(crate) fn without_wrapping(error: tcpexp_table::Error) -> anyhow::Error {
    match error {
        tcpexp_table::Error::Write(source) => source.into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_that_ends_with_a_slash_is_refused_before_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str| {
            let path = folder.path().join(name);
            let refusal = Output::create(Some(&path)).err();
            let refusal = refusal.map(|error| error.to_string()).unwrap_or_default();
            refusal.replace(&format!("{}/", folder.path().display()), "")
        };
        let why = "ends with a slash, which names a directory";
        assert_eq!(refused("new.csv/"), format!("new.csv/ {why}"));
        std::fs::write(folder.path().join("old.csv"), "").unwrap();
        assert_eq!(refused("old.csv/"), format!("old.csv/ {why}"));
        std::fs::create_dir(folder.path().join("results")).unwrap();
        assert_eq!(refused("results/"), "results/ is a directory");
    }

    #[test]
    fn output_keeps_the_access_rights_of_the_file_that_it_replaces() {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        std::fs::write(&path, "").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        Output::create(Some(&path)).unwrap().finish().unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn failed_rename_states_its_cause_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.csv");
        let output = Output::create(Some(&path)).unwrap();
        std::fs::create_dir(&path).unwrap();
        let failure = failure::chain(&output.finish().unwrap_err());
        assert_eq!(failure.matches("os error").count(), 1, "{failure}");
        assert!(!failure.contains("temporary"), "{failure}");
    }
}
