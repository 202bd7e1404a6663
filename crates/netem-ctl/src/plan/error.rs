//! Bottlenecks that cannot be made, and why.

use thiserror::Error;

use crate::bottleneck::Queue;

/// A bottleneck that makes no sense, or that a router's system cannot make.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Both sides of the router are the same interface.
    #[error("left and right are both {0}: expected two interfaces")]
    OneInterface(String),
    /// A key without the one that it needs.
    #[error("{direction}.{key} needs {needs}")]
    Needs {
        /// Of which direction.
        direction: &'static str,
        /// Which key.
        key: &'static str,
        /// What is missing.
        needs: &'static str,
    },
    /// A key that means nothing to the queue.
    #[error("{direction}.{key} means nothing to {queue}: expected it with {expected}")]
    NotOfQueue {
        /// Of which direction.
        direction: &'static str,
        /// Which key.
        key: &'static str,
        /// To which queue.
        queue: Queue,
        /// Which queues it is for.
        expected: &'static str,
    },
    /// A value outside what can be emulated.
    #[error("{direction}.{key} is {value}: expected {expected}")]
    Value {
        /// Of which direction.
        direction: &'static str,
        /// Which key.
        key: &'static str,
        /// Its value.
        value: String,
        /// What can be.
        expected: &'static str,
    },
    /// Flows that cannot be told apart.
    #[error("{direction}.flows[{index}]: {problem}")]
    Flow {
        /// Of which direction.
        direction: &'static str,
        /// Which, from 0.
        index: usize,
        /// What is wrong.
        problem: &'static str,
    },
    /// The router's system has no such thing.
    #[error("{direction}.{key}: {os} cannot do that; {instead}")]
    Unsupported {
        /// Of which direction.
        direction: &'static str,
        /// Which key.
        key: &'static str,
        /// Which system.
        os: &'static str,
        /// What it can do.
        instead: &'static str,
    },
}

/// A change that cannot be made while packets flow.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// Another router.
    #[error("the two plans are for different routers")]
    Router,
    /// Something new is needed.
    #[error("{0} is not there yet: apply the new bottleneck instead")]
    Appears(String),
    /// Something would go.
    #[error("{0} would have to go: apply the new bottleneck instead")]
    Vanishes(String),
    /// Something would be of another kind.
    #[error("{0} cannot become the new one in place: apply the new bottleneck instead")]
    Fixed(String),
}
