//! Decodes packets written byte by byte.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod build;
mod corpus;
mod ip;
mod laws;
mod link;
mod other;
mod transport;
mod tunnel;
