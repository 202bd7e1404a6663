//! Keeps the files of a run on its hosts until they are fetched.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::crew::Crew;
use crate::site;

/// Time between two extensions of a lease: a few of them fit into the time by which each extends it.
const EVERY: Duration = Duration::from_secs(20);

/// Does `work`. Meanwhile the lease of each host ends `keep` after the last sign of life of this process, however
/// long packing and fetching take; a host whose driver has died clears itself soon.
pub(super) fn while_kept<T>(crew: &Crew<'_>, keep: Duration, work: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let mut ends = Vec::new();
        for name in &crew.names {
            let (end, ended) = mpsc::channel::<()>();
            ends.push(end);
            scope.spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(EVERY) {
                    // A host that does not answer fails `work`, which reports it.
                    drop(crew.at(name, "keep", &site::keep(name, keep.as_secs())));
                }
            });
        }
        let done = work();
        drop(ends);
        done
    })
}
