//! The sender's congestion state: reconstructed from packets, or read from a kernel's log.

mod sample;

pub use sample::{CwndSource, Limit, Phase, SenderSample};
