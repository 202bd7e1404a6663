//! The table `queue`: the state of the bottleneck's queue over time.

use std::sync::Arc;

use tcpexp_pair::spp::PathDirection;
use tcpexp_units::{TimeDelta, Timestamp};

use super::flow::time_part;
use crate::columns::{Builder, Columns};

/// The state of a queue at one time or over a bin.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    /// Time of the state, or start of the bin.
    pub at: Timestamp,
    /// Origin of the state.
    pub source: QueueSource,
}

/// Origin of a queue's state.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueSource {
    /// The queue's own counters, polled at intervals.
    Log {
        /// Name of the log's file.
        log: Arc<str>,
        /// The state read from the log.
        state: Box<QueueState>,
    },
    /// The queueing delays of the packets that passed in a bin.
    Packets {
        /// Way of the packets.
        path_direction: PathDirection,
        /// Length of the bin.
        width: TimeDelta,
        /// Number of packets that left in the bin and arrived.
        packets: u64,
        /// Smallest queueing delay.
        min: TimeDelta,
        /// Mean queueing delay.
        mean: TimeDelta,
        /// Largest queueing delay.
        max: TimeDelta,
    },
}

/// The state of one queue as `tc -s -j qdisc` reports it. Counters start at the queue's creation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// The device that the queue sends to.
    pub interface: Option<Arc<str>>,
    /// Kind of queue: `htb`, `fq_codel`, `netem`.
    pub kind: Option<Arc<str>>,
    /// The queue's handle, `1:`.
    pub handle: Option<Arc<str>>,
    /// The class that the queue is attached to; `None` at the root.
    pub parent: Option<Arc<str>>,
    /// Bytes queued.
    pub backlog_bytes: Option<u64>,
    /// Packets queued.
    pub backlog_packets: Option<u64>,
    /// Bytes sent.
    pub sent_bytes: Option<u64>,
    /// Packets sent.
    pub sent_packets: Option<u64>,
    /// Packets dropped.
    pub drops: Option<u64>,
    /// Number of times the rate limit delayed a packet.
    pub overlimits: Option<u64>,
    /// Packets that the device did not accept at once.
    pub requeues: Option<u64>,
    /// Packets marked with ECN instead of dropped.
    pub ecn_marks: Option<u64>,
}

pub(super) fn columns(origin: Timestamp) -> Columns<QueueRow> {
    let columns = Columns::named("dataset_queue")
        .name("source", "Source of the state: log (the queue's counters, read at intervals) or packets (queueing delays of the packets that left in a bin; only without a log).", |row: &QueueRow| row.name());
    let columns = time_part(
        columns,
        "Time when the counters were read, or start of the bin",
        origin,
        |row| row.at,
    );
    delays(state(columns)).done()
}

fn state(columns: Builder<QueueRow>) -> Builder<QueueRow> {
    const NULL: &str = "Null if source is packets, and if the log has no such value.";
    type Text = fn(&QueueState) -> Option<&str>;
    type Count = fn(&QueueState) -> Option<u64>;
    let texts: [(&str, &str, Text); 4] = [
        ("interface", "The device that the queue sends to", |state| {
            state.interface.as_deref()
        }),
        (
            "kind",
            "Name of the queue discipline in tc, such as htb, fq_codel or netem",
            |state| state.kind.as_deref(),
        ),
        ("handle", "The queue's handle", |state| {
            state.handle.as_deref()
        }),
        (
            "parent",
            "Class that the queue is attached to; null at the root as well",
            |state| state.parent.as_deref(),
        ),
    ];
    let counts: [(&str, &str, Count); 8] = [
        ("backlog_bytes", "Bytes queued", |state| state.backlog_bytes),
        ("backlog_packets", "Packets queued", |state| {
            state.backlog_packets
        }),
        (
            "sent_bytes",
            "Bytes sent since the queue was created",
            |state| state.sent_bytes,
        ),
        (
            "sent_packets",
            "Packets sent since the queue was created",
            |state| state.sent_packets,
        ),
        (
            "dropped_packets",
            "Packets dropped since the queue was created",
            |state| state.drops,
        ),
        (
            "overlimits",
            "Number of times that the rate limit delayed a packet, since the queue was created",
            |state| state.overlimits,
        ),
        (
            "requeues",
            "Packets requeued because the device was busy, since the queue was created",
            |state| state.requeues,
        ),
        (
            "ecn_marked_packets",
            "Packets marked instead of dropped since the queue was created",
            |state| state.ecn_marks,
        ),
    ];
    let columns =
        columns.maybe_name(
            "log",
            "The log file. Null if source is packets.",
            |row| match &row.source {
                QueueSource::Log { log, .. } => Some(log),
                QueueSource::Packets { .. } => None,
            },
        );
    let columns = texts
        .into_iter()
        .fold(columns, |columns, (name, what, of)| {
            columns.maybe_name(
                name,
                &format!("{what}. {NULL}"),
                move |row| of(row.state()?),
            )
        });
    counts
        .into_iter()
        .fold(columns, |columns, (name, what, of)| {
            columns.maybe_count(
                name,
                &format!("{what}. {NULL}"),
                move |row| of(row.state()?),
            )
        })
}

fn delays(columns: Builder<QueueRow>) -> Builder<QueueRow> {
    const NULL: &str = "Null if source is log.";
    type Span = fn(&Bin) -> TimeDelta;
    let spans: [(&str, &str, Span); 4] = [
        ("width_ns", "Width of the bin, in nanoseconds", |bin| {
            bin.width
        }),
        (
            "queueing_delay_min_ns",
            "Smallest queueing delay of these packets, in nanoseconds",
            |bin| bin.min,
        ),
        (
            "queueing_delay_mean_ns",
            "Mean queueing delay of these packets, in nanoseconds",
            |bin| bin.mean,
        ),
        (
            "queueing_delay_max_ns",
            "Largest queueing delay of these packets, in nanoseconds",
            |bin| bin.max,
        ),
    ];
    let columns = columns
        .maybe_text(
            "way",
            &format!("Direction of the packets between the points: out or back. {NULL}"),
            |row| Some(row.bin()?.path_direction.name()),
        )
        .maybe_count(
            "packets",
            &format!("Packets that left in the bin and arrived. {NULL}"),
            |row| Some(row.bin()?.packets),
        );
    spans
        .into_iter()
        .fold(columns, |columns, (name, what, of)| {
            columns.maybe_span(name, &format!("{what}. {NULL}"), move |row| {
                Some(of(&row.bin()?))
            })
        })
}

/// The values of a bin.
struct Bin {
    path_direction: PathDirection,
    width: TimeDelta,
    packets: u64,
    min: TimeDelta,
    mean: TimeDelta,
    max: TimeDelta,
}

impl QueueRow {
    const fn name(&self) -> &'static str {
        match self.source {
            QueueSource::Log { .. } => "log",
            QueueSource::Packets { .. } => "packets",
        }
    }

    fn state(&self) -> Option<&QueueState> {
        match &self.source {
            QueueSource::Log { state, .. } => Some(state),
            QueueSource::Packets { .. } => None,
        }
    }

    const fn bin(&self) -> Option<Bin> {
        match self.source {
            QueueSource::Packets {
                path_direction,
                width,
                packets,
                min,
                mean,
                max,
            } => Some(Bin {
                path_direction,
                width,
                packets,
                min,
                mean,
                max,
            }),
            QueueSource::Log { .. } => None,
        }
    }
}
