//! A pipeline over a ring of threads: each stage moves from thread to thread.

use std::hint::spin_loop;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

/// Number of polls for a stage before its thread blocks: waking a thread takes longer than most
/// stages.
const LOOKS: u32 = 1_000;

/// One thread's handle of a stage. The threads of the ring run the stage in turn.
///
/// One thread at a time has the turn, so the number of threads does not change the result, although the
/// threads may run different stages at the same time.
pub(crate) struct Stage<S> {
    /// Nobody waits for the lock: only the thread that has the turn takes it.
    state: Arc<Mutex<S>>,
    turn: Turn,
}

/// Receives the turn of a stage and passes it on. The turn is separate from the state, because the
/// compiler would generate a channel of states for each stage of each caller.
struct Turn {
    from: Receiver<()>,
    to: SyncSender<()>,
}

impl<S> Stage<S> {
    /// The handles of `threads` threads; the stage starts at the first.
    pub(crate) fn ring(threads: usize, state: S) -> impl Iterator<Item = Self> {
        let state = Arc::new(Mutex::new(state));
        Turn::ring(threads).map(move |turn| Self {
            state: Arc::clone(&state),
            turn,
        })
    }

    /// Runs `work` when it is this thread's turn; `None` if another thread ended within the stage.
    pub(crate) fn turn<T>(&self, work: impl FnOnce(&mut S) -> T) -> Option<T> {
        self.turn.wait()?;
        let result = work(&mut *self.state.lock().ok()?);
        self.turn.pass();
        Some(result)
    }
}

impl Turn {
    fn ring(threads: usize) -> impl Iterator<Item = Self> {
        let (mut senders, receivers): (Vec<_>, Vec<_>) =
            (0..threads.max(1)).map(|_| sync_channel(1)).unzip();
        let _ = senders[0].send(());
        senders.rotate_left(1);
        receivers
            .into_iter()
            .zip(senders)
            .map(|(from, to)| Self { from, to })
    }

    fn wait(&self) -> Option<()> {
        for _ in 0..LOOKS {
            match self.from.try_recv() {
                Ok(()) => return Some(()),
                Err(_) => spin_loop(),
            }
        }
        self.from.recv().ok()
    }

    fn pass(&self) {
        // The next thread may have ended.
        let _ = self.to.send(());
    }
}

/// A function as the state of a stage: after its first error, it is not called again.
pub(crate) struct UntilError<F>(Option<F>);

impl<F> UntilError<F> {
    pub(crate) fn new(function: F) -> Self {
        Self(Some(function))
    }

    /// Calls the function; `None` after an earlier error.
    pub(crate) fn call<T, E>(&mut self, with: T) -> Option<Result<(), E>>
    where
        F: FnMut(T) -> Result<(), E>,
    {
        let result = self.0.as_mut()?(with);
        if result.is_err() {
            self.0 = None;
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_pass_a_stage_in_turn() {
        let (sender, receiver) = sync_channel(100);
        thread::scope(|scope| {
            for (number, stage) in Stage::ring(3, 0).enumerate() {
                let sender = sender.clone();
                scope.spawn(move || {
                    for _ in 0..4 {
                        stage.turn(|turns| {
                            sender.send((*turns, number)).unwrap();
                            *turns += 1;
                        });
                    }
                });
            }
        });
        drop(sender);
        let turns: Vec<(usize, usize)> = receiver.iter().collect();
        let expected: Vec<_> = (0..12).map(|turn| (turn, turn % 3)).collect();
        assert_eq!(turns, expected);
    }

    #[test]
    fn a_single_thread_always_has_its_turn() {
        let stage = Stage::ring(1, 0).next().unwrap();
        let turns = [(); 3].map(|()| stage.turn(|turns| std::mem::replace(turns, *turns + 1)));
        assert_eq!(turns, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn a_thread_that_ends_in_its_turn_closes_the_stage() {
        let mut ends = Stage::ring(2, ());
        let (first, second) = (ends.next().unwrap(), ends.next().unwrap());
        first.turn(|()| ()).unwrap();
        assert_eq!(second.turn(|()| ()), Some(()));
        drop(first);
        assert_eq!(second.turn(|()| ()), None);
    }
}
