//! What is measured: samples, and what is known of a flow when it is over.

use tcpexp_flow::{Direction, Flow, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

use tcpexp_metrics::RttSummary;

/// What a capture's TCP flows yield, in this order for each flow.
#[derive(Clone, Debug)]
pub enum SingleRttRow {
    /// A flow whose first segment was just seen.
    Began(Flow),
    /// One round-trip time.
    Sample(SingleRttSample),
    /// A flow that is over.
    Ended(Box<SingleRttFlow>),
}

/// One round-trip time between the capture point and a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingleRttSample {
    /// When the answer was captured, on the capture's clock.
    pub at: Timestamp,
    /// Which flow.
    pub flow: FlowId,
    /// Which way the packet went that is answered: the round trip is that from the capture point to
    /// the end that this direction leads to.
    pub direction: Direction,
    /// From the capture of the packet to that of the answer. Negative where the capture's times run
    /// backwards.
    pub rtt: TimeDelta,
    /// How the answer is known to be one.
    pub method: RttMethod,
    /// What kind of ACK the answer is.
    pub ack_class: AckClass,
    /// Where in its direction's stream the bytes start that are answered.
    pub offset: StreamOffset,
    /// What the sender's timers would be after this sample as RFC 6298 has it; `None` before the
    /// first sample that counts.
    pub rfc6298: Option<RttEstimate>,
    /// The same as Linux has it.
    pub linux: Option<RttEstimate>,
}

/// The state of a sender's retransmission timer, if its round trip were that to the capture point.
///
/// Each ACK counts once: the sample by sequence number where it gives one, else that by timestamp
/// if it acknowledges something new (RFC 7323, section 4.1). Expired timers are not backed off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttEstimate {
    /// Smoothed round-trip time (SRTT).
    pub srtt: TimeDelta,
    /// Mean deviation (RTTVAR).
    pub rttvar: TimeDelta,
    /// Retransmission timeout (RTO).
    pub rto: TimeDelta,
}

/// How an answer is known to be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RttMethod {
    /// It acknowledges the segment's sequence numbers.
    SequenceAck,
    /// It echoes the packet's timestamp (RFC 7323).
    Timestamps,
}

/// What an ACK tells by what it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AckClass {
    /// It acknowledges a SYN; no application or delayed ACK is in it.
    Handshake,
    /// It moves the acknowledgment number, and nothing was out of order.
    Cumulative,
    /// It moves the acknowledgment number over bytes some of which the receiver had already
    /// reported as out of order: the segment timed came late.
    AfterReordering,
    /// It acknowledges the segment in a SACK block only (RFC 2018).
    Selective,
    /// It acknowledges nothing new.
    Duplicate,
    /// The packet asked for no answer, as it carried neither data nor SYN nor FIN: its timestamp
    /// came back with what the other end had to send next. An upper bound, and a close one only
    /// while that end is busy. At the receiver of a transfer it is all that tells of the sender.
    Unasked,
}

/// What is known of a flow when it is over.
#[derive(Clone, Debug)]
pub struct SingleRttFlow {
    /// The flow.
    pub flow: Flow,
    /// By direction of the data.
    pub directions: [SingleRttDirection; 2],
}

/// What is known of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SingleRttDirection {
    /// From the SYN to the ACK of it.
    pub handshake: Option<TimeDelta>,
    /// By sequence and ACK numbers.
    pub sequence_ack: Option<RttSummary>,
    /// By timestamps, of packets that asked for an answer.
    pub timestamps: Option<RttSummary>,
    /// By timestamps, of packets that asked for none.
    pub unasked: Option<RttSummary>,
    /// ACKs that gave no sample as they acknowledge what was sent more than once.
    pub ambiguous_acks: u64,
    /// The sender's timers after the last sample, as RFC 6298 has it.
    pub rfc6298: Option<RttEstimate>,
    /// The same as Linux has it.
    pub linux: Option<RttEstimate>,
}

impl RttMethod {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SequenceAck => "sequence_ack",
            Self::Timestamps => "timestamps",
        }
    }
}

impl AckClass {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Cumulative => "cumulative",
            Self::AfterReordering => "after_reordering",
            Self::Selective => "selective",
            Self::Duplicate => "duplicate",
            Self::Unasked => "unasked",
        }
    }
}
