//! TCP sequence numbers.

/// A TCP sequence number. It wraps, so it has no order; `tcpexp-flow` unwraps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(pub u32);
