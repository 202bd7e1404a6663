//! Sweeps that hosts or plans refuse. The ignored tests carry out sweeps in the virtual testbed,
//! with its sshd, tc and TCP.

#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod baseline;
mod bench;
mod killed;
mod netns;
mod planned;
mod refused;
mod studies;
mod traces;
mod traffic;
mod trouble;
