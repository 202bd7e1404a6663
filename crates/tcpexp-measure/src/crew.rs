//! Threads that work on one capture together.

use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::thread;

/// Runs `work` with each worker of a ring: one on this thread, the others on up to `threads - 1` further
/// threads. Returns the results in the order of the workers.
///
/// If the system refuses to start a thread, there are fewer workers. A ring is made for all its workers, so
/// `ring` makes it when their number is known.
pub(crate) fn run_ring<W: Send, T: Send, I: IntoIterator<Item = W>>(
    threads: usize,
    ring: impl FnOnce(usize) -> I,
    work: impl Fn(W) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    thread::scope(|scope| {
        let mut started = Vec::new();
        for _ in 1..threads {
            let (to, from) = sync_channel::<W>(1);
            let thread = move || from.recv().ok().map(work);
            match thread::Builder::new().spawn_scoped(scope, thread) {
                Ok(thread) => started.push((to, thread)),
                Err(_) => break,
            }
        }
        let mut workers = ring(started.len() + 1).into_iter();
        let own = workers.next();
        let mut others = Vec::new();
        for ((to, thread), worker) in started.into_iter().zip(workers) {
            // The thread waits for its worker, so it receives it.
            let _ = to.send(worker);
            others.push(thread);
        }
        let mut results: Vec<T> = own.map(work).into_iter().collect();
        for other in others {
            results.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_as_many_workers_as_threads_start() {
        for (threads, most) in [(1, 1), (3, 3)] {
            let mut made = 0;
            let ring = |workers| {
                made = workers;
                0..workers
            };
            let results = run_ring(threads, ring, |worker| worker);
            assert!((1..=most).contains(&made));
            assert_eq!(results, (0..made).collect::<Vec<_>>());
        }
    }
}
