//! The program of a link that follows a trace, and its file on the router.

use super::Step;
use crate::bottleneck::Trace;
use crate::router::Interface;
use crate::trace_link;

/// A file that the router needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LinkFile {
    /// Name of the program's file without a folder. A shell function of this name prints the
    /// program.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The program for a trace and the size of a queue.
pub(crate) struct TraceLink<'a> {
    /// Equal programs have equal names.
    pub(crate) name: String,
    trace: &'a Trace,
    limit: u32,
}

/// Letters of the checksum of a trace in the name of its program: 64 bits.
const LETTERS: usize = 16;

impl<'a> TraceLink<'a> {
    pub(crate) fn new(trace: &'a Trace, limit: u32) -> Self {
        let checksum = trace.facts.as_ref().map_or("", |facts| &facts.sha256);
        let letters = checksum.get(..LETTERS).unwrap_or(checksum);
        Self {
            name: format!("trace_{letters}_{limit}"),
            trace,
            limit,
        }
    }

    /// The step that attaches the program below `parent`: a function of `linux.sh`, because the folder
    /// of the file is known on the router only.
    pub(crate) fn attach(&self, how: &str, device: &Interface, parent: &str) -> Step {
        Step::of(&format!("{ATTACH} {how} {device} {parent} {}", self.name))
    }

    /// The file of the program; `None` if the times of the trace are not known.
    pub(crate) fn file(&self) -> Option<LinkFile> {
        let link = self.trace.opportunities.as_ref()?;
        Some(LinkFile {
            name: self.name.clone(),
            bytes: trace_link::object_file(link, self.limit),
        })
    }
}

/// Name of the shell function that attaches a program.
const ATTACH: &str = "trace_link";

/// True if a step begins a trace anew.
pub(crate) fn begins_trace(step: &Step) -> bool {
    step.argv.first().is_some_and(|word| word == ATTACH)
}
