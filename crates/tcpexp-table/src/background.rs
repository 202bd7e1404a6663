//! Work on a thread of its own.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::Error;

/// Number of messages that wait for the thread. A few even out its pauses; more only take memory.
const WAITING: usize = 4;

/// A thread that owns a state, and changes it with messages in the order in which they are sent.
///
/// The number of threads and their speed do not change the result. Dropping it waits for the thread.
#[derive(Debug)]
pub struct Background<M, S> {
    /// `None` once no more messages come.
    to: Option<SyncSender<M>>,
    /// `None` once the thread has ended.
    thread: Option<JoinHandle<Result<S, Error>>>,
}

impl<M: Send + 'static, S: Send + 'static> Background<M, S> {
    /// Starts a thread that passes each message to `work`. The first error ends it.
    ///
    /// # Errors
    ///
    /// The system refuses to start a thread.
    pub fn new(
        mut state: S,
        mut work: impl FnMut(&mut S, M) -> Result<(), Error> + Send + 'static,
    ) -> Result<Self, Error> {
        let (to, from) = sync_channel(WAITING);
        let thread = thread::Builder::new().spawn(move || {
            for message in from {
                work(&mut state, message)?;
            }
            Ok(state)
        });
        Ok(Self {
            to: Some(to),
            thread: Some(thread.map_err(Error::Thread)?),
        })
    }

    /// Sends a message; waits while some are waiting already. Returns the error of an earlier message,
    /// and an error of a closed pipe after that.
    pub fn send(&mut self, message: M) -> Result<(), Error> {
        match &self.to {
            Some(to) if to.send(message).is_ok() => Ok(()),
            // The thread ends early with an error only.
            _ => self.join().map(drop),
        }
    }

    /// Waits until all messages are done, and returns the state.
    pub fn finish(mut self) -> Result<S, Error> {
        self.join()
    }

    fn join(&mut self) -> Result<S, Error> {
        self.to = None;
        let Some(thread) = self.thread.take() else {
            return Err(Error::Write(io::ErrorKind::BrokenPipe.into()));
        };
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl<M, S> Drop for Background<M, S> {
    fn drop(&mut self) {
        self.to = None;
        if let Some(thread) = self.thread.take() {
            // Whoever drops it does without its result; a panic has been printed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_change_the_state_in_order() {
        let mut all = Background::new(Vec::new(), |all: &mut Vec<u32>, number| {
            all.push(number);
            Ok(())
        })
        .unwrap();
        (0..100).for_each(|number| all.send(number).unwrap());
        let expected: Vec<u32> = (0..100).collect();
        assert_eq!(all.finish().unwrap(), expected);
    }

    #[test]
    fn the_error_of_a_message_is_returned_for_a_later_message() {
        let full = || Error::Write(io::ErrorKind::StorageFull.into());
        let mut full = Background::new((), move |(), ()| Err(full())).unwrap();
        let error = loop {
            if let Err(error) = full.send(()) {
                break error;
            }
        };
        assert!(
            matches!(error, Error::Write(source) if source.kind() == io::ErrorKind::StorageFull)
        );
        assert!(full.finish().is_err());
    }
}
