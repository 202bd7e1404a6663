//! The user's description of an emulated path.

mod flow;
mod link;
mod loss;
mod plain_types;
mod queue;
mod schema;
mod tables;
mod trace;

use std::net::IpAddr;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcpexp_units::{BitRate, Buffer, ByteCount, Share, TimeDelta};
use toml::de::{DeTable, Deserializer};

pub(crate) use flow::MAX_FLOWS;
pub use flow::{FlowDelay, Prefix, PrefixError};
pub use link::LinkLayer;
pub(crate) use link::{Cells, ETHERNET_HEADER, FULL_FRAME};
pub use loss::{GilbertElliott, Loss};
pub use plain_types::with_plain_types;
pub use queue::{Distribution, Isolation, Queue};
pub use schema::Text;
pub use tables::wrong_table;
pub(crate) use trace::Opportunities;
pub use trace::{Trace, TraceError, TraceFacts};

/// The emulated path of the traffic that crosses a router, separately for each direction.
///
/// `forward` is from the router's left interface to its right one: from source to sink.
///
/// ```
/// let bottleneck = netem_ctl::Bottleneck::from_toml(r#"
///     [forward]
///     rate = "10mbit"
///     delay = "20ms"
///     buffer = "1bdp"
/// "#)?;
/// assert_eq!(bottleneck.base_rtt().to_string(), "40.000 ms");
/// # Ok::<(), netem_ctl::ReadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// From left to right.
    pub forward: Path,
    /// From right to left. Only its delay and the delays of flows default to the values of
    /// `forward`.
    #[serde(default)]
    pub reverse: Path,
}

/// One direction. A packet is first delayed (or lost, duplicated, reordered), then queued for the
/// rate. The queue is the last stage, and only the queue drops for lack of room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Path {
    /// Rate of the bottleneck, counted as Linux does: Ethernet frames without preamble, checksum
    /// and gap (1514 bytes for a full one). On FreeBSD, IP packets without the Ethernet header. With
    /// `linklayer` or `overhead`, the bytes on that link.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<BitRate>>")]
    pub rate: Option<BitRate>,
    /// The link layer, which adds bytes to each packet or sends it in cells: the rate and the buffer
    /// count these bytes. Linux only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linklayer: Option<LinkLayer>,
    /// Bytes that the link adds to each IP packet, from -64 to 256; those of `linklayer` by default.
    /// The 14 bytes of an Ethernet header are then not counted. Linux only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<i32>,
    /// Rate of a policer, which drops the packets above it and queues none. It comes before the queue
    /// and counts Ethernet frames, also where `linklayer` makes `rate` count the bytes of the link. Linux only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<BitRate>>")]
    pub police: Option<BitRate>,
    /// Bytes that pass the policer at once after an idle time; needed by `police`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub police_burst: Option<ByteCount>,
    /// Time between the slots of a slotted link, which sends in bursts: the packets that arrive between
    /// two slots wait for the next one. It replaces `rate`. Linux only.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub slot: Option<TimeDelta>,
    /// Longest time between slots, if it varies: each time is uniform between `slot` and this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub slot_most: Option<TimeDelta>,
    /// Packets that a slot carries at most; unlimited by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_packets: Option<u32>,
    /// Bytes of Ethernet frames after which a slot ends: its last packet may exceed them. Unlimited by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub slot_bytes: Option<ByteCount>,
    /// A file with the times at which the link may send, or with its rate over time. It replaces `rate`,
    /// and the queue is a `pfifo`. At each time, one full Ethernet frame of 1514 bytes or several smaller
    /// ones may leave; unused capacity is lost. A line of the file is a time in milliseconds (as mahimahi
    /// has them), or a time in seconds and the rate from then on in Mbit/s. The trace begins with the first
    /// packet of the traffic, and repeats. Linux only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// One-way delay of the path without its queue. Default: none forward; in reverse, as forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub delay: Option<TimeDelta>,
    /// Largest deviation of the delay to either side if uniform; the standard deviation if `normal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub jitter: Option<TimeDelta>,
    /// Distribution of the jitter; uniform by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter_distribution: Option<Distribution>,
    /// True if jitter reorders packets. Otherwise a packet leaves no earlier than the packet before
    /// it, which lengthens the delays of packets closer together than the jitter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub jitter_reorders: bool,
    /// Packets lost before the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
    /// Share of packets that skip the delay, and so overtake others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<Share>>")]
    pub reorder: Option<Share>,
    /// Share of packets that are duplicated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<Share>>")]
    pub duplicate: Option<Share>,
    /// Size of the queue; required for `pfifo`, `bfifo`, `red` and `sfq`, optional for the others. A buffer
    /// in time holds the bytes that `rate`, or the mean rate of slots or a trace, sends in this time. A BDP is this
    /// rate times the base RTT: the sum of the delays of both directions. In a plan, the base RTT is that between
    /// the first source and the first sink, over all routers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<Buffer>>")]
    pub buffer: Option<Buffer>,
    /// The queue discipline; `pfifo` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// True if the queue marks packets with ECN instead of dropping them. Default: false; `cake`
    /// always marks. Hosts negotiate ECN independently of this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// Target queueing delay (`codel`, `fq_codel`, `pie`, `fq_pie`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub target: Option<TimeDelta>,
    /// Interval of `codel` and `fq_codel` (RFC 8289, section 4.2); the `rtt` of `cake`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub interval: Option<TimeDelta>,
    /// Update interval of the drop probability (`pie`, `fq_pie`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub update_interval: Option<TimeDelta>,
    /// Marks all packets that waited longer than this (`codel`, `fq_codel`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<TimeDelta>>")]
    pub ce_threshold: Option<TimeDelta>,
    /// Number of per-flow queues (`fq_codel`, `fq_pie`, `sfq`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_queues: Option<u32>,
    /// Average queue at which `red` begins to drop; a twelfth of the buffer by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub red_min: Option<ByteCount>,
    /// Average queue at which `red` drops with its highest probability; three times `red_min` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<ByteCount>>")]
    pub red_max: Option<ByteCount>,
    /// Highest drop probability of `red`; 10 % by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Text<Share>>")]
    pub red_probability: Option<Share>,
    /// Flow isolation of `cake`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Flows with a delay of their own; they share the queue with all others. In reverse, the
    /// default is the flows of `forward` with source and destination exchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<FlowDelay>>,
    /// MTU of the hosts, in bytes: the size of a full packet. Default: 1500. Not read from TOML: the hosts
    /// determine it.
    #[serde(skip)]
    pub mtu: Option<u32>,
}

/// The description of a bottleneck is malformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} ({text}): {message}")]
pub struct ReadError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Text of the line.
    pub text: String,
    /// The fault and the expected form.
    pub message: String,
}

impl ReadError {
    fn new(span: Option<Range<usize>>, message: String, text: &str) -> Self {
        let start = span.map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(text);
        let line = before.matches('\n').count();
        Self {
            line: line + 1,
            text: text.lines().nth(line).unwrap_or("").trim().to_owned(),
            message,
        }
    }
}

impl Path {
    /// The path without zero probabilities and jitter, which tools do not print.
    pub(crate) fn without_zeros(&self) -> Self {
        let happens = |share: &Share| *share > Share::default();
        Self {
            loss: self.loss.filter(|loss| match loss {
                Loss::Random(share) => happens(share),
                Loss::Bursts(_) => true,
            }),
            reorder: self.reorder.filter(happens),
            duplicate: self.duplicate.filter(happens),
            jitter: self.jitter.filter(|jitter| *jitter != TimeDelta::ZERO),
            ..self.clone()
        }
    }
}

impl Bottleneck {
    /// Reads a `bottleneck.toml`.
    pub fn from_toml(text: &str) -> Result<Self, ReadError> {
        let refused = |error: &toml::de::Error| {
            let message = with_plain_types(&error.message().replace('\n', " "));
            ReadError::new(error.span(), message, text)
        };
        let table = DeTable::parse(text).map_err(|error| refused(&error))?;
        if let Some((span, message)) = tables::wrong_table_of_bottleneck(table.get_ref()) {
            return Err(ReadError::new(Some(span), message, text));
        }
        Self::deserialize(Deserializer::from(table)).map_err(|error| refused(&error))
    }

    /// The description for hosts with this MTU in bytes; `None` is Ethernet's.
    #[must_use]
    pub fn with_mtu(mut self, mtu: Option<u32>) -> Self {
        self.forward.mtu = mtu;
        self.reverse.mtu = mtu;
        self
    }

    /// The description with all defaults filled in.
    #[must_use]
    pub fn resolved(&self) -> Self {
        let mut all = self.clone();
        let delay = all.forward.delay.get_or_insert(TimeDelta::ZERO);
        all.reverse.delay.get_or_insert(*delay);
        let flows = all.forward.flows.get_or_insert_default();
        let mirrored = || flows.iter().map(FlowDelay::mirrored).collect();
        all.reverse.flows.get_or_insert_with(mirrored);
        for path in [&mut all.forward, &mut all.reverse] {
            // `validate` refuses a queue without a rate, so only a path with a rate,
            // slots or a trace gets the default.
            if path.rate.is_some() || path.slot.is_some() || path.trace.is_some() {
                path.queue.get_or_insert(Queue::Pfifo);
            }
        }
        all
    }

    /// Round-trip time with empty queues, for flows without a delay of their own.
    pub fn base_rtt(&self) -> TimeDelta {
        let all = self.resolved();
        let delays = [all.forward.delay, all.reverse.delay];
        delays.into_iter().flatten().sum()
    }

    /// Round-trip time with empty queues from one host to another and back, for packets whose ports no flow
    /// names.
    pub fn base_rtt_between(&self, source: IpAddr, sink: IpAddr) -> TimeDelta {
        let all = self.resolved();
        all.forward.delay_between(source, sink) + all.reverse.delay_between(sink, source)
    }

    /// Longest round-trip time of any flow with empty queues.
    pub fn longest_rtt(&self) -> TimeDelta {
        let all = self.resolved();
        all.forward.longest_delay() + all.reverse.longest_delay()
    }
}

#[cfg(test)]
mod tests;
