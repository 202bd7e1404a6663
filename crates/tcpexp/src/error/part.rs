//! Errors of parts of captures.

use tcpexp_capture::PART_VERSION;
use tcpexp_flow::FlowShard;
use thiserror::Error;

/// Why a part of a capture cannot be measured.
#[derive(Debug, Error)]
pub enum PartError {
    /// Another version of `tcpexp` wrote it.
    #[error(
        "it is a part of version {version}, but this tcpexp reads version {PART_VERSION}: split the capture again"
    )]
    Version {
        /// Version in the file.
        version: u32,
    },
    /// The options change which flows there are.
    #[error("it is part {shard} of a capture that was split with a different {option}")]
    Options {
        /// The part.
        shard: FlowShard,
        /// The option.
        option: &'static str,
    },
    /// A selection of packets changes the numbers of the flows.
    #[error(
        "it is part {shard} of a capture, and {option} would change the numbers of its flows: use --flow, or the whole capture"
    )]
    Selected {
        /// The part.
        shard: FlowShard,
        /// The option.
        option: &'static str,
    },
    /// Another part is asked for.
    #[error("it is part {shard} of a capture and has no flow of part {wanted}")]
    OtherShard {
        /// The part.
        shard: FlowShard,
        /// What is asked for.
        wanted: FlowShard,
    },
    /// A part is measured together with other files.
    #[error("it is part {shard} of a capture: measure one part at a time, or the whole capture")]
    InSet {
        /// The part.
        shard: FlowShard,
    },
    /// The file breaks off.
    #[error("it is part {shard} of a capture, and its end is missing: split the capture again")]
    Incomplete {
        /// The part.
        shard: FlowShard,
    },
    /// A second pass over the whole capture has another order of records than the first.
    #[error(
        "it is part {shard} of a capture whose records are out of order only after its start, so that a second pass reads them in another order: use --shard {shard} with the whole capture"
    )]
    LateOutOfOrder {
        /// The part.
        shard: FlowShard,
    },
    /// A measurement of the whole capture would keep only the busiest flows.
    #[error(
        "it is part {shard} of a capture of {flows} flows, more than --max-flows: use --shard {shard} with the whole capture"
    )]
    TooManyFlows {
        /// The part.
        shard: FlowShard,
        /// Number of flows of the whole capture.
        flows: u64,
    },
    /// The results depend on packets that are not in the part.
    #[error(
        "it is part {shard} of a capture, and {what} on packets of all flows: use --shard {shard} with the whole capture"
    )]
    AllFlows {
        /// The part.
        shard: FlowShard,
        /// The results and their verb.
        what: &'static str,
    },
}
