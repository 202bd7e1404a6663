//! The threads of a process.

use std::error::Error as _;
use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::{process, thread};

use rayon::{ThreadBuilder, ThreadPoolBuilder};
use thiserror::Error;

/// Environment variable that sets the number of threads. Without it, there is one per processor.
const NUMBER: &str = "RAYON_NUM_THREADS";

/// A forked child has only the thread that forked, so work for the others would wait for ever.
#[derive(Debug, Error)]
#[error("tcpexp was used before this process was forked: use the start method spawn")]
struct Forked;

/// Starts the threads that all measurements of this process share, at the first call. Later calls do
/// nothing.
///
/// If the system refuses to start one thread per processor, measurements run on one thread. The results do
/// not depend on the number. Without this call, the first measurement starts the threads, and panics if
/// the system refuses one.
///
/// # Errors
///
/// The system allows no further thread, or this process was forked after a first call.
pub fn start_threads() -> io::Result<()> {
    static STARTED_BY: Mutex<Option<u32>> = Mutex::new(None);

    let mut started_by = STARTED_BY.lock().unwrap_or_else(PoisonError::into_inner);
    if have_started(*started_by, process::id())? {
        return Ok(());
    }
    let stated = std::env::var(NUMBER).ok();
    let stated = stated.and_then(|text| text.parse::<NonZeroUsize>().ok());
    let wanted = stated.or_else(|| thread::available_parallelism().ok());
    let wanted = wanted.map_or(1, NonZeroUsize::get);
    let mut ready = Vec::new();
    for number in 0..wanted {
        match start() {
            Ok(thread) => ready.push(thread),
            Err(error) if number == 0 => return Err(error),
            Err(_) => {
                // Leaves room for the threads that measurements start in addition.
                ready.truncate(1);
                break;
            }
        }
    }
    let pool = ThreadPoolBuilder::new().num_threads(ready.len());
    let built = pool.spawn_handler(|work| {
        let thread = ready.pop().ok_or(io::ErrorKind::WouldBlock)?;
        thread
            .send(work)
            .map_err(|_| io::ErrorKind::WouldBlock.into())
    });
    match built.build_global() {
        // Without a cause: the process has called a measurement before.
        Err(error) if error.source().is_some() => Err(io::Error::other(error)),
        Ok(()) | Err(_) => {
            *started_by = Some(process::id());
            Ok(())
        }
    }
}

/// True if this process, `own`, has started its threads.
fn have_started(started_by: Option<u32>, own: u32) -> io::Result<bool> {
    match started_by {
        Some(process) if process != own => Err(io::Error::other(Forked)),
        started_by => Ok(started_by.is_some()),
    }
}

/// Starts a thread that waits for its work. Rayon cannot start its pool again after a failure, so the
/// threads must be there before the pool.
fn start() -> io::Result<SyncSender<ThreadBuilder>> {
    let (to, from) = sync_channel::<ThreadBuilder>(1);
    thread::Builder::new().spawn(move || from.recv().map(ThreadBuilder::run))?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_the_parent_of_a_forked_process_are_not_its_own() {
        assert!(!have_started(None, 7).unwrap());
        assert!(have_started(Some(7), 7).unwrap());
        let error = have_started(Some(6), 7).unwrap_err();
        assert_eq!(
            error.to_string(),
            "tcpexp was used before this process was forked: use the start method spawn"
        );
    }
}
