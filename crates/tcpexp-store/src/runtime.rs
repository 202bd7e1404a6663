//! Threads that run requests for callers that block.

use std::future::Future;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use crate::Error;

/// Threads for requests: each waits for the network most of the time, and a second one decrypts
/// while the first is busy.
const THREADS: usize = 2;

/// The answer of a request that runs on another thread. Dropping it ends the request.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    answer: Receiver<T>,
    task: AbortHandle,
}

impl<T: Send + 'static> Answer<T> {
    /// Starts a request.
    pub(crate) fn of(request: impl Future<Output = T> + Send + 'static) -> Result<Self, Error> {
        let (send, answer) = sync_channel(1);
        let task = runtime()?.spawn(async move {
            // Nobody waits for the answer of a reader that was dropped.
            let _ = send.send(request.await);
        });
        Ok(Self {
            answer,
            task: task.abort_handle(),
        })
    }

    /// Waits for the answer, but not longer than `time`.
    pub(crate) fn wait_at_most(self, time: Duration) {
        drop(self.answer.recv_timeout(time));
    }

    /// Waits for the answer. A channel and not the runtime waits, as the caller may be a task of
    /// another runtime.
    pub(crate) fn wait(self) -> Result<T, Error> {
        // A task ends without an answer only by a panic.
        self.answer.recv().map_err(|_| Error::Failed {
            reason: "the request ended without an answer".to_owned(),
        })
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The runtime of all stores, which lives as long as the process.
fn runtime() -> Result<&'static Runtime, Error> {
    static RUNTIME: Mutex<Option<(u32, &Runtime)>> = Mutex::new(None);
    let mut known = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    // A process that Python has forked has none of the threads.
    if let Some((owner, runtime)) = *known
        && owner == process
    {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("tcpexp-store")
        .enable_all()
        .build();
    let made = made.map_err(|error| Error::Threads {
        reason: error.to_string(),
    })?;
    let made: &'static Runtime = Box::leak(Box::new(made));
    *known = Some((process, made));
    Ok(made)
}
