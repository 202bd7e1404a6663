//! Samples, and the summary of a flow.

use tcpexp_flow::{Direction, Flow, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};

use crate::MissedData;
use tcpexp_metrics::RttSummary;

/// Output rows of a TCP flow or a QUIC connection, in this order.
#[derive(Clone, Debug)]
pub enum SingleRttRow {
    /// A flow whose first segment was just seen, or of QUIC whose first sample follows.
    Began(Flow),
    /// A round-trip time.
    Sample(SingleRttSample),
    /// A flow that ended.
    Ended(Box<SingleRttFlow>),
}

/// One round-trip time between the capture point and a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingleRttSample {
    /// Capture time of the answer, on the capture's clock.
    pub at: Timestamp,
    /// The flow.
    pub flow: FlowId,
    /// Direction of the answered packet. The round trip is between the capture point and the
    /// receiver of this direction.
    pub direction: Direction,
    /// Time from the packet to its answer. Negative where the capture's times run backwards.
    pub rtt: TimeDelta,
    /// Method that matched the packet with its answer.
    pub method: RttMethod,
    /// Kind of ACK.
    pub ack_class: AckClass,
    /// Offset of the first answered byte in its direction's stream; `None` for QUIC.
    pub offset: Option<StreamOffset>,
    /// Maximum error of `rtt`. With the spin bit, the round trip over the path may be shorter by
    /// this error, because the answer may have waited at its sender. With a coarse clock, the error
    /// is its tick, in either direction. `None` if neither applies.
    pub error: Option<TimeDelta>,
    /// The sender's timer after this sample as in RFC 6298; `None` before the first sample that
    /// counts, and while samples that the capture missed may change it by more than 5 %.
    pub rfc6298: Option<RttEstimate>,
    /// The sender's timer as in Linux.
    pub linux: Option<RttEstimate>,
}

/// The state of a sender's retransmission timer, assuming that its round trip ends at the capture
/// point.
///
/// Each ACK counts once: its sample by sequence number, or else its sample by timestamp if it
/// acknowledges new data (RFC 7323, section 4.1). Timeouts do not back off the timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttEstimate {
    /// Smoothed round-trip time (SRTT).
    pub srtt: TimeDelta,
    /// Mean deviation (RTTVAR).
    pub rttvar: TimeDelta,
    /// Retransmission timeout (RTO).
    pub rto: TimeDelta,
}

/// Method that matches a packet with its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RttMethod {
    /// The answer acknowledges the segment's sequence numbers.
    SequenceAck,
    /// The answer echoes the packet's timestamp (RFC 7323).
    Timestamps,
    /// The connection IDs of a QUIC handshake (RFC 9000, section 7.2).
    QuicHandshake,
    /// The spin bit of QUIC (RFC 9000, section 17.4).
    SpinBit,
}

/// Kind of ACK, by the data that it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AckClass {
    /// The ACK acknowledges a SYN; its delay contains neither application time nor a delayed ACK.
    Handshake,
    /// The ACK advances the acknowledgment number, and no data was out of order.
    Cumulative,
    /// The ACK advances the acknowledgment number over bytes that the receiver had partly reported
    /// as out of order, so the timed segment came late.
    AfterReordering,
    /// The ACK acknowledges the segment in a SACK block only (RFC 2018).
    Selective,
    /// The ACK acknowledges no new data.
    Duplicate,
    /// The packet carried no data, SYN or FIN and so required no answer: its timestamp came back
    /// with the next packet of the other end. The time is an upper bound, close only while the
    /// other end is busy. In a capture at the receiver, it is the only measurement towards the
    /// sender.
    Unasked,
    /// The packet repeats a change of the spin bit.
    Spin,
}

/// Summary of a flow that ended.
#[derive(Clone, Debug)]
pub struct SingleRttFlow {
    /// The flow.
    pub flow: Flow,
    /// Indexed by direction of the data.
    pub directions: [SingleRttDirection; 2],
    /// Tick of the capture's clock, if known to be coarse.
    pub coarse_tick: Option<TimeDelta>,
}

/// Summary of one direction of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SingleRttDirection {
    /// Time from the SYN to its ACK.
    pub handshake: Option<TimeDelta>,
    /// Round-trip times by sequence and ACK numbers.
    pub sequence_ack: Option<RttSummary>,
    /// Round-trip times by timestamps, of packets that required an answer.
    pub timestamps: Option<RttSummary>,
    /// Round-trip times by timestamps, of packets that required no answer.
    pub unasked: Option<RttSummary>,
    /// Round-trip times by the spin bit.
    pub spin_bit: Option<RttSummary>,
    /// The round-trip time of a QUIC handshake.
    pub quic_handshake: Option<RttSummary>,
    /// Number of ACKs without a sample because they acknowledge data that was retransmitted, or whose first ACK
    /// the capture may have missed.
    pub ambiguous_acks: u64,
    /// Bytes that were acknowledged and that the capture missed.
    pub missed: MissedData,
    /// The sender's timer after the last sample, as in RFC 6298.
    pub rfc6298: Option<RttEstimate>,
    /// The sender's timer as in Linux.
    pub linux: Option<RttEstimate>,
}

impl SingleRttRow {
    /// Adds the error from a clock whose tick is `tick`, which no packet shows by itself.
    pub fn add_clock_error(&mut self, tick: TimeDelta) {
        match self {
            Self::Began(_) => {}
            Self::Sample(sample) => {
                sample.error = Some(sample.error.unwrap_or(TimeDelta::ZERO) + tick);
            }
            Self::Ended(flow) => flow.coarse_tick = Some(tick),
        }
    }
}

impl RttMethod {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SequenceAck => "sequence_ack",
            Self::Timestamps => "timestamps",
            Self::QuicHandshake => "quic_handshake",
            Self::SpinBit => "spin_bit",
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
            Self::Spin => "spin",
        }
    }
}
