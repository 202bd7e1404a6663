//! Sweeps that hosts or plans refuse; and, among the ignored tests, sweeps that are really carried
//! out in the virtual testbed: through its sshd, its tc, its TCP.

#![allow(clippy::unwrap_used, reason = "a panic is a failed test and says why")]

mod baseline;
mod bench;
mod grid;
mod killed;
mod netns;
mod planned;
mod refused;
mod studies;
mod traffic;
mod trouble;
