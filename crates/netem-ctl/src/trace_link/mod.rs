//! A link that follows a trace, as a program for Linux's traffic control.
//!
//! The program is a filter of a `prio` queue, whose lock it runs under. It computes the time at which
//! each packet leaves as the packet arrives, because a first-in first-out link sends in the order of
//! arrival, and stamps the packet with it. The `fq` queue below holds a packet until its stamp. A packet
//! that finds the queue full is dropped.
//!
//! Linux has no queue that follows a trace: each change of a rate limiter's rate causes an error of
//! one packet, because the limiter keeps its debt at the old rate.

mod assembler;
mod object_file;
mod program;
#[cfg(test)]
mod tests;

use crate::bottleneck::Opportunities;

pub(crate) use object_file::SECTION;

/// The object file of the program for a link and a queue of `limit` packets.
pub(crate) fn object_file(link: &Opportunities, limit: u32) -> Vec<u8> {
    object_file::write(&program::assemble(link, limit))
}
