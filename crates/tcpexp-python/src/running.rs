//! A command that runs on its own thread, ahead of the reader of its rows.

use std::ffi::OsString;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tcpexp_cli::{CallError, Handed, Printed, Request, call};
use thiserror::Error;

use crate::held::HeldDir;
use crate::progress::Progress;

/// Batches that the command may be ahead of the reader: enough for both to work at once. A batch has
/// up to 65,536 rows.
const AHEAD: usize = 2;
/// Time between two checks for signals: a person does not notice it.
const BETWEEN_CHECKS: Duration = Duration::from_millis(50);

/// The arguments of a command, and what it reads.
#[derive(Clone)]
pub(crate) struct Arguments {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) held: Vec<Arc<HeldDir>>,
}

/// A part of the output of a command.
pub(crate) enum Part {
    Table(Handed),
    End(Printed),
    /// Nothing follows an end or an error, which another thread may have taken.
    Past,
}

/// Why there is no further part.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// A panic, whose message is on standard error.
    #[error("the command ended without a result")]
    Vanished,
}

/// A running command. Dropping it stops the command.
pub(crate) struct Running {
    stop: Arc<AtomicBool>,
    parts: Receiver<Result<Part, CallError>>,
    /// True after the end or an error.
    has_ended: bool,
    /// Lets the command go on after its schema.
    go: Sender<()>,
    progress: Mutex<Progress>,
}

impl Running {
    /// Starts the command. It waits after its schema until [`go`](Self::go) is called.
    pub(crate) fn start(of: Arguments, request: Request) -> Result<Self, RunError> {
        let (send, parts) = sync_channel(AHEAD);
        let (go, may_go) = channel();
        let stop = Arc::clone(&request.stop);
        let progress = Mutex::new(Progress::of(request.advance.clone()));
        let run = move || {
            let Arguments { arguments, held } = of;
            let hand = send.clone();
            let take = move |part: Handed| {
                let is_schema = matches!(part, Handed::Schema(_));
                let is_taken = hand.send(Ok(Part::Table(part))).is_ok();
                is_taken && (!is_schema || may_go.recv().is_ok())
            };
            let outcome = call(arguments, request, take);
            // Nobody waits for the end of a command that was stopped.
            drop(send.send(outcome.map(Part::End)));
            drop(held);
        };
        let thread = thread::Builder::new().name("tcpexp".to_owned());
        thread.spawn(run).map_err(RunError::Thread)?;
        Ok(Self {
            stop,
            parts,
            has_ended: false,
            go,
            progress,
        })
    }

    /// The progress, to show it while the next part is awaited.
    pub(crate) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the command go on after its schema.
    pub(crate) fn go(&self) {
        // A command that has ended needs no permission.
        let _ = self.go.send(());
    }

    /// The next part. `None` after a time without one: check for signals, then ask again.
    pub(crate) fn next(&mut self) -> Result<Option<Part>, RunError> {
        if self.has_ended {
            return Ok(Some(Part::Past));
        }
        let part = match self.parts.recv_timeout(BETWEEN_CHECKS) {
            Ok(part) => part.map(Some).map_err(RunError::from),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(RunError::Vanished),
        };
        self.has_ended = matches!(part, Err(_) | Ok(Some(Part::End(_))));
        part
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
