//! The table `queue`: the state of the bottleneck's queue over time.

use std::sync::Arc;

use tcpexp_measure::spp::Way;
use tcpexp_units::{TimeDelta, Timestamp};

use super::flow::time_part;
use crate::columns::{Builder, Columns};

/// The state of a queue at some time, or over some time.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueRow {
    /// When, or since when.
    pub at: Timestamp,
    /// What tells it.
    pub source: QueueSource,
}

/// How the state of a queue is known.
#[derive(Clone, Debug, PartialEq)]
pub enum QueueSource {
    /// The queue's own counters, read at intervals.
    Log {
        /// The log's file.
        log: Arc<str>,
        /// What was read.
        state: Box<QueueState>,
    },
    /// The queueing delays of the packets that passed in a bin.
    Packets {
        /// Which way they went.
        way: Way,
        /// How long the bin is.
        width: TimeDelta,
        /// How many packets arrived of those that left in the bin.
        packets: u64,
        /// The smallest queueing delay.
        min: TimeDelta,
        /// Their mean.
        mean: TimeDelta,
        /// The largest one.
        max: TimeDelta,
    },
}

/// What `tc -s -j qdisc` tells of one queue. Counters count from when the queue was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueState {
    /// Which device it sends to.
    pub interface: Option<Arc<str>>,
    /// What kind of queue: `htb`, `fq_codel`, `netem`.
    pub kind: Option<Arc<str>>,
    /// Its handle, `1:`.
    pub handle: Option<Arc<str>>,
    /// The class that it is attached to; `None` at the root.
    pub parent: Option<Arc<str>>,
    /// Bytes queued.
    pub backlog_bytes: Option<u64>,
    /// Packets queued.
    pub backlog_packets: Option<u64>,
    /// Bytes sent on.
    pub sent_bytes: Option<u64>,
    /// Packets sent on.
    pub sent_packets: Option<u64>,
    /// Packets dropped.
    pub drops: Option<u64>,
    /// How often the rate held a packet back.
    pub overlimits: Option<u64>,
    /// Packets that the device did not take at once.
    pub requeues: Option<u64>,
    /// Packets marked instead of dropped.
    pub ecn_marks: Option<u64>,
}

pub(super) fn columns(origin: Timestamp) -> Columns<QueueRow> {
    let columns = Columns::named("dataset_queue")
        .text("source", "How the state is known: log (the queue's own counters, read at intervals) or packets (the queueing delays of the packets that left in a bin; only where no log tells).", |row: &QueueRow| row.name());
    let columns = time_part(
        columns,
        "When the counters were read, or when the bin starts",
        origin,
        |row| row.at,
    );
    delays(state(columns)).done()
}

fn state(columns: Builder<QueueRow>) -> Builder<QueueRow> {
    const NULL: &str = "Null if source is packets, and where the log does not tell.";
    type Text = fn(&QueueState) -> Option<&str>;
    type Count = fn(&QueueState) -> Option<u64>;
    let texts: [(&str, &str, Text); 4] = [
        ("interface", "The device that the queue sends to", |state| {
            state.interface.as_deref()
        }),
        (
            "kind",
            "What kind of queue it is, as tc calls it: htb, fq_codel, netem",
            |state| state.kind.as_deref(),
        ),
        ("handle", "The queue's handle", |state| {
            state.handle.as_deref()
        }),
        (
            "parent",
            "The class that it is attached to; null at the root as well",
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
            "Bytes sent on since the queue was made",
            |state| state.sent_bytes,
        ),
        (
            "sent_packets",
            "Packets sent on since the queue was made",
            |state| state.sent_packets,
        ),
        (
            "dropped_packets",
            "Packets dropped since the queue was made",
            |state| state.drops,
        ),
        (
            "overlimits",
            "How often the rate held a packet back since the queue was made",
            |state| state.overlimits,
        ),
        (
            "requeues",
            "Packets that the device did not take at once since the queue was made",
            |state| state.requeues,
        ),
        (
            "ecn_marked_packets",
            "Packets marked instead of dropped since the queue was made",
            |state| state.ecn_marks,
        ),
    ];
    let columns =
        columns.maybe_name(
            "log",
            "The log's file. Null if source is packets.",
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
        ("width_ns", "How long the bin is, in nanoseconds", |bin| {
            bin.width
        }),
        (
            "queueing_delay_min_ns",
            "The smallest queueing delay of these packets, in nanoseconds",
            |bin| bin.min,
        ),
        (
            "queueing_delay_mean_ns",
            "The mean of their queueing delays, in nanoseconds",
            |bin| bin.mean,
        ),
        (
            "queueing_delay_max_ns",
            "The largest of their queueing delays, in nanoseconds",
            |bin| bin.max,
        ),
    ];
    let columns = columns
        .maybe_text(
            "way",
            &format!("Which way the packets went between the points: out or back. {NULL}"),
            |row| Some(row.bin()?.way.name()),
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

/// The numbers of a bin.
struct Bin {
    way: Way,
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
                way,
                width,
                packets,
                min,
                mean,
                max,
            } => Some(Bin {
                way,
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
