//! What an ACK finds: the sender's state and its reaction to the ACK before.

use tcpexp_flow::StreamOffset;
use tcpexp_units::{TimeDelta, Timestamp};

/// The sender's reaction to the previous ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sender) enum Reply {
    /// Data followed at once, as if the ACK had made room for it.
    AtOnce,
    /// Data followed for another reason.
    Otherwise,
    /// No data followed.
    Nothing,
    /// No data followed, but the next ACK came too soon to judge.
    NothingYet,
}

impl Reply {
    pub(in crate::sender) fn has_sent(self) -> bool {
        matches!(self, Self::AtOnce | Self::Otherwise)
    }
}

/// The sender's state when an ACK arrives, before it is processed.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub(in crate::sender) struct AckContext {
    pub(in crate::sender) at: Timestamp,
    /// Record number of the ACK.
    pub(in crate::sender) packet: u64,
    pub(in crate::sender) pipe: u32,
    pub(in crate::sender) outstanding: u32,
    pub(in crate::sender) una: StreamOffset,
    pub(in crate::sender) nxt: StreamOffset,
    /// True if the receiver's window has no room for what the sender sends at once: it holds the sender back.
    pub(in crate::sender) is_closed: bool,
    /// True if `is_closed` is not certain: the sender may wait for something else than room.
    pub(in crate::sender) is_doubtful: bool,
    pub(in crate::sender) reply: Reply,
    /// True if the last data sent ends with a segment shorter than the SMSS: the application had no
    /// more data.
    pub(in crate::sender) is_drained: bool,
    /// True if a tail loss probe of new data was sent since the last ACK.
    pub(in crate::sender) has_probed: bool,
    pub(in crate::sender) srtt: Option<TimeDelta>,
}
