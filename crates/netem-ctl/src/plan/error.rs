//! Errors of plans and changes.

use tcpexp_units::Buffer;
use thiserror::Error;

use crate::bottleneck::Queue;

/// Why a bottleneck cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Both sides of the router are the same interface.
    #[error("left and right are both {0}: expected two interfaces")]
    OneInterface(String),
    /// A key lacks another one.
    #[error("{direction}.{key} needs {needs}")]
    Needs {
        /// The direction.
        direction: &'static str,
        /// The key.
        key: &'static str,
        /// The missing key.
        needs: &'static str,
    },
    /// A key does not apply to the queue.
    #[error("{direction}.{key} does not apply to {queue}: expected {expected}")]
    NotOfQueue {
        /// The direction.
        direction: &'static str,
        /// The key.
        key: &'static str,
        /// The queue.
        queue: Queue,
        /// The queues that take the key.
        expected: &'static str,
    },
    /// A value is out of range.
    #[error("{direction}.{key} is {value}: expected {expected}")]
    Value {
        /// The direction.
        direction: &'static str,
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// The buffer has no room for a full packet.
    #[error(
        "{direction}.buffer is {buffer}: expected room for at least one full packet, {full} bytes as the rate counts \
         them"
    )]
    NoPacket {
        /// The direction.
        direction: &'static str,
        /// The buffer.
        buffer: Buffer,
        /// The bytes of a full packet that the rate counts.
        full: u64,
    },
    /// The queues of `sfq` have less room than the buffer.
    #[error(
        "{direction}.buffer is {packets} packets: expected at most {room}, because each queue of sfq has room for \
         {depth}; with more flow_queues, up to 1024, there is more room"
    )]
    Room {
        /// The direction.
        direction: &'static str,
        /// The packets of the buffer.
        packets: u64,
        /// The packets that all queues hold.
        room: u64,
        /// The packets that one queue holds.
        depth: u64,
    },
    /// A flow has no usable match.
    #[error("{direction}.flows[{}]: {problem}", index + 1)]
    Flow {
        /// The direction.
        direction: &'static str,
        /// Its index, from 0.
        index: usize,
        /// The fault.
        problem: &'static str,
    },
    /// The router's system lacks the feature.
    #[error("{direction}.{key}: {os} does not support it; {instead}")]
    Unsupported {
        /// The direction.
        direction: &'static str,
        /// The key.
        key: &'static str,
        /// The system.
        os: &'static str,
        /// The supported alternative.
        instead: &'static str,
    },
}

impl PlanError {
    /// The direction and the key that have the fault, such as `("forward", "queue")`.
    pub const fn place(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::OneInterface(_) => None,
            Self::Flow { direction, .. } => Some((direction, "flows")),
            Self::NoPacket { direction, .. } | Self::Room { direction, .. } => {
                Some((direction, "buffer"))
            }
            Self::Needs { direction, key, .. }
            | Self::NotOfQueue { direction, key, .. }
            | Self::Value { direction, key, .. }
            | Self::Unsupported { direction, key, .. } => Some((direction, key)),
        }
    }
}

/// Why a bottleneck cannot change in place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// The plans are for different routers.
    #[error("the two plans are for different routers")]
    Router,
    /// The new plan has a part that the old one lacks.
    #[error("{0} does not exist yet: apply the new bottleneck instead")]
    Appears(String),
    /// The old plan has a part that the new one lacks.
    #[error("{0} must be removed: apply the new bottleneck instead")]
    Vanishes(String),
    /// A part would change a property that is fixed.
    #[error("{0} cannot be changed in place: apply the new bottleneck instead")]
    Fixed(String),
}
