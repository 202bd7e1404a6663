//! The threads of a process.

use std::error::Error as _;
use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rayon::{ThreadBuilder, ThreadPoolBuilder};

/// Environment variable that sets the number of threads. Without it, there is one per processor.
const NUMBER: &str = "RAYON_NUM_THREADS";

/// Starts the threads that all measurements of this process share, at the first call. Later calls do
/// nothing.
///
/// If the system refuses to start one thread per processor, measurements run on one thread. The results do
/// not depend on the number. Without this call, the first measurement starts the threads, and panics if
/// the system refuses one.
///
/// # Errors
///
/// The system allows no further thread.
pub fn start_threads() -> io::Result<()> {
    static HAS_STARTED: Mutex<bool> = Mutex::new(false);

    let mut has_started = HAS_STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if *has_started {
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
            *has_started = true;
            Ok(())
        }
    }
}

/// Starts a thread that waits for its work. Rayon cannot start its pool again after a failure, so the
/// threads must be there before the pool.
fn start() -> io::Result<SyncSender<ThreadBuilder>> {
    let (to, from) = sync_channel::<ThreadBuilder>(1);
    thread::Builder::new().spawn(move || from.recv().map(ThreadBuilder::run))?;
    Ok(to)
}
