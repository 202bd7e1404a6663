//! A running virtual machine.

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::LabError;
use crate::files::{one_line, unread, unwritten};
use crate::image::Image;
use crate::job::{Job, Orders, write_root};
use crate::monitor::Monitor;
use crate::process::{Place, Process, Streams, cannot_run};
use crate::programs::QEMU;
use crate::qemu::{Begin, Machine};
use crate::state;

/// A running guest.
///
/// The guest ends when its command ends, when this value is dropped, or when our process ends for
/// any reason; in the last case, a guard process ends it.
pub struct Guest {
    process: Process,
    // Open as long as the guest runs, for its last messages.
    _monitor: Option<Monitor>,
    verdict: PathBuf,
    memory_mib: u32,
    stopper: Stopper,
}

/// Stops a guest from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stopper {
    is_stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// Stops the guest. [`Guest::wait`] returns [`LabError::Stopped`].
    pub fn stop(&self) {
        // No other memory is shared through the flag, so no ordering is needed.
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Interval of checking the guest.
const GLANCE: Duration = Duration::from_millis(20);

/// Largest orders for a resumed machine. The device transfers single bytes, so larger orders are part
/// of the boot.
const MAX_ORDERS: usize = 128 * 1024;

impl Guest {
    /// Starts a guest.
    ///
    /// The first guest of an image and a setting takes longer: its machine boots, and its state is saved
    /// for later guests.
    pub fn spawn(image: &Image, job: &Job) -> Result<Self, LabError> {
        let place = Place::new()?;
        let out = match &job.out {
            Some(out) => fs::create_dir_all(out)
                .and_then(|()| out.canonicalize())
                .map_err(unwritten(out))?,
            None => place.folder().to_owned(),
        };
        let verdict = place.folder().join("verdict");
        let machine = |begin| {
            Machine {
                kernel: &image.kernel,
                verdict: &verdict,
                out: &out,
                memory_mib: job.memory_mib,
                seed: job.seed,
                begin,
            }
            .arguments()
        };
        let root = place.folder().join("root.cpio");
        let orders = job.orders()?;
        let (process, monitor) = if job.command.is_empty() {
            write_root(image, job, Orders::Included, &root)?;
            let arguments = machine(Begin::Terminal { root: &root });
            (Process::start(place, arguments, Streams::Inherited)?, None)
        } else if orders.len() > MAX_ORDERS {
            write_root(image, job, Orders::Included, &root)?;
            let arguments = machine(Begin::Boot { root: &root });
            (Process::start(place, arguments, Streams::Pipes)?, None)
        } else {
            let state = state::ensure(image, job)?;
            let path = place.folder().join("orders.cpio");
            fs::write(&path, orders).map_err(unwritten(&path))?;
            let (memory, orders) = (&state::memory(&state), &path);
            let arguments = machine(Begin::GoOn { memory, orders });
            let (mut process, mut monitor) = Process::monitored(place, arguments)?;
            state::go_on(&mut monitor, &state)
                .map_err(|error| does_not_go_on(&mut process, &error))?;
            (process, Some(monitor))
        };
        Ok(Self {
            process,
            _monitor: monitor,
            verdict,
            memory_mib: job.memory_mib,
            stopper: Stopper::default(),
        })
    }

    /// A handle that stops the guest.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Forwards the output of the command until its end, and returns its exit code.
    ///
    /// `limit` is in real time. The guest is stopped after it.
    pub fn wait(
        mut self,
        output: &mut (dyn Write + Send),
        errors: &mut (dyn Write + Send),
        limit: Option<Duration>,
    ) -> Result<u8, LabError> {
        let (stdout, stderr) = (
            self.process.machine.stdout.take(),
            self.process.machine.stderr.take(),
        );
        let (status, has_no_memory) = thread::scope(|scope| {
            let (broken, breaks) = mpsc::channel();
            let also_broken = broken.clone();
            scope.spawn(move || pass_on(stdout, output, &broken));
            let mut console = Console::new(errors);
            let console = scope.spawn(move || {
                pass_on(stderr, &mut console, &also_broken);
                console.has_no_memory
            });
            let status = self.end(limit, &breaks);
            if status.is_err() {
                // The other streams are read until the guest ends.
                drop(self.process.machine.kill());
            }
            // The thread does not panic.
            status.map(|status| (status, console.join().unwrap_or(false)))
        })?;
        self.verdict(status, has_no_memory)
    }

    /// Waits until the guest ends, its output is closed, or its time is up.
    fn end(
        &mut self,
        limit: Option<Duration>,
        breaks: &mpsc::Receiver<io::Error>,
    ) -> Result<ExitStatus, LabError> {
        let begin = Instant::now();
        loop {
            match self.process.machine.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) => {}
                Err(source) => return Err(cannot_run(QEMU.name)(source)),
            }
            match breaks.recv_timeout(GLANCE) {
                Ok(source) => return Err(LabError::Output { source }),
                // Both outputs have ended, so `recv_timeout` returns at once and the loop would
                // spin.
                Err(RecvTimeoutError::Disconnected) => thread::sleep(GLANCE),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.stopper.is_stopped.load(Ordering::Relaxed) {
                return Err(LabError::Stopped);
            }
            if let Some(limit) = limit.filter(|limit| begin.elapsed() > *limit) {
                return Err(LabError::Limit { limit });
            }
        }
    }

    fn verdict(&self, status: ExitStatus, has_no_memory: bool) -> Result<u8, LabError> {
        let verdict = fs::read_to_string(&self.verdict).map_err(unread(&self.verdict))?;
        let verdict = verdict.trim();
        if let Some(what) = verdict.strip_prefix("failed: ") {
            let what = what.to_owned();
            return Err(LabError::Guest { what });
        }
        let code = verdict
            .strip_prefix("exit ")
            .and_then(|code| code.parse().ok());
        // The guest writes its verdict last, so a missing verdict means an early end of QEMU.
        code.ok_or_else(|| {
            if has_no_memory {
                LabError::OutOfMemory {
                    memory_mib: self.memory_mib,
                }
            } else {
                LabError::Died {
                    how: status.to_string(),
                }
            }
        })
    }
}

/// Message of QEMU for an unreadable state.
fn does_not_go_on(process: &mut Process, error: &io::Error) -> LabError {
    drop(process.machine.kill());
    // QEMU's messages end with QEMU, which was therefore killed first.
    let mut said = String::new();
    // Without it there is still the error.
    drop(
        process
            .machine
            .stderr
            .take()
            .map(|mut stderr| stderr.read_to_string(&mut said)),
    );
    LabError::Guest {
        what: one_line(&format!("{said}\n{error}")),
    }
}

/// Copies to the end of the input. Reports a closed output.
fn pass_on(from: Option<impl Read>, to: &mut (dyn Write + Send), broken: &mpsc::Sender<io::Error>) {
    let Some(mut from) = from else { return };
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if let Err(error) = to.write_all(&buffer[..read]).and_then(|()| to.flush()) {
            drop(broken.send(error));
            return;
        }
    }
}

/// What the guest's kernel prints when it ends a program for lack of memory.
const NO_MEMORY: &[u8] = b"Out of memory: Killed process";

/// Forwards the guest's console, and records whether its kernel reported a lack of memory.
struct Console<'a> {
    errors: &'a mut (dyn Write + Send),
    /// The last bytes written: a message may continue in the next part.
    latest: Vec<u8>,
    has_no_memory: bool,
}

impl<'a> Console<'a> {
    fn new(errors: &'a mut (dyn Write + Send)) -> Self {
        Self {
            errors,
            latest: Vec::new(),
            has_no_memory: false,
        }
    }
}

impl Write for Console<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.errors.write(bytes)?;
        self.latest.extend_from_slice(&bytes[..written]);
        let mut parts = self.latest.windows(NO_MEMORY.len());
        self.has_no_memory |= parts.any(|part| part == NO_MEMORY);
        let known = self.latest.len().saturating_sub(NO_MEMORY.len() - 1);
        self.latest.drain(..known);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.errors.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn console_recognises_a_guest_without_memory_in_parts_of_any_size() {
        let said = b"[ 7.0] Out of memory: Killed process 179 (dd)\n";
        for size in [1, 7, said.len()] {
            let mut errors = Vec::new();
            let mut console = Console::new(&mut errors);
            for part in said.chunks(size) {
                console.write_all(part).unwrap();
            }
            assert!(console.has_no_memory, "{size}");
            assert_eq!(errors, said);
        }
        let mut errors = Vec::new();
        let mut console = Console::new(&mut errors);
        console.write_all(b"[ 7.0] Out of the way\n").unwrap();
        assert!(!console.has_no_memory);
    }
}
