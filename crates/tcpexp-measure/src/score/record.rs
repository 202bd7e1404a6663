//! What one side tells of one sender.

use crate::sender::SenderSample;

/// What a reconstruction, or a kernel, tells of one sender.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderRecord {
    /// Its state at each ACK, in order of time. Rows without sequence numbers, as from polling, may
    /// be among them; they are compared by time.
    pub samples: Vec<SenderSample>,
}
