//! A session that does nothing, so that its connection is in use.

use std::sync::{Arc, Mutex, PoisonError};

use super::error::RunError;
use super::script::Script;
use super::stream::ScriptStream;

/// Holds a connection open. It ends with its last clone.
#[derive(Clone, Debug, Default)]
pub(super) struct KeptOpen(Arc<Mutex<Option<ScriptStream>>>);

impl KeptOpen {
    /// Begins the session with `start`, unless it runs. It is begun anew after the connection was lost.
    ///
    /// Ignores an error: without the session, an idle connection ends, and the next script logs in
    /// again.
    pub(super) fn hold(&self, start: impl FnOnce(&Script) -> Result<ScriptStream, RunError>) {
        let mut session = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !session.as_mut().is_some_and(ScriptStream::is_running) {
            // The input ends with this process, however that ends, and so does the session.
            *session = start(&Script::new("exec cat >/dev/null\n")).ok();
        }
    }
}
