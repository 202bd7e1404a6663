//! Work on many items at the same time.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;

use crate::caller::{CallError, caller, on_behalf_of};

/// Does `work` on each item, on `jobs` threads or one per processor. Returns the results in the order
/// of the items. Fails if the caller stops the command.
pub(crate) fn each_of<T: Sync, R: Send>(
    items: &[T],
    jobs: Option<NonZeroUsize>,
    work: impl Fn(&T) -> R + Sync,
) -> anyhow::Result<Vec<R>> {
    // Items differ in length, so each thread takes the next item when it is free.
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let jobs = jobs.or(std::thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, NonZeroUsize::get).min(items.len());
    let caller = caller();
    let is_stopped = || caller.as_ref().is_some_and(|caller| caller.is_stopped());
    let do_next = || {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let result = work(items.get(place)?);
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push((place, result));
        Some(())
    };
    let work = || while !is_stopped() && do_next().is_some() {};
    std::thread::scope(|scope| {
        for started in 0..jobs {
            let thread = || on_behalf_of(caller.clone(), work);
            // If the system refuses a thread, those already started do all jobs; without any, this thread
            // does them.
            if Builder::new().spawn_scoped(scope, thread).is_err() {
                if started == 0 {
                    work();
                }
                break;
            }
        }
    });
    if is_stopped() {
        return Err(CallError::Stopped.into());
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
