//! Summaries of a connection and of its directions.

use std::net::SocketAddr;

use tcpexp_flow::{
    EcnMode, FlowId, Holes, InitiatorKnown, Protocol, RetransmissionCause, SynOptions,
};
use tcpexp_metrics::RttSummary;
use tcpexp_units::{TimeDelta, Timestamp};

use super::half::{Counts, Half, Rare};
use super::{ByCause, Ending, Retransmitted};

use tcpexp_wire::QuicVersion;

use crate::quic::SpinState;
use crate::{Position, Vantage};

/// One connection, or the packets of another protocol between two endpoints.
#[derive(Clone, Debug)]
pub struct ConnectionSummary {
    /// Number of the flow in the capture.
    pub flow: FlowId,
    /// Transport protocol.
    pub protocol: Protocol,
    /// Address and port of the initiator.
    pub initiator: SocketAddr,
    /// Address and port of the responder.
    pub responder: SocketAddr,
    /// How the initiator is known.
    pub initiator_known: InitiatorKnown,
    /// Capture time of the first packet.
    pub first_at: Timestamp,
    /// Time from the first to the last packet of both directions.
    pub duration: TimeDelta,
    /// How the connection ended, as far as the capture shows.
    pub ending: Ending,
    /// Position of the capture on the path; `None` if unknown.
    pub vantage: Option<Vantage>,
    /// Time from the SYN to the acknowledgment of the SYN-ACK: the whole round trip, independent of
    /// the capture position. `None` if one of the segments was retransmitted or not captured.
    pub handshake_rtt: Option<TimeDelta>,
    /// True if both ends permit selective acknowledgments; `None` without both SYNs.
    pub sack: Option<bool>,
    /// True if both ends use the timestamps option; `None` without both SYNs.
    pub timestamps: Option<bool>,
    /// True if both ends scale their windows; `None` without both SYNs.
    pub window_scaling: Option<bool>,
    /// How the ends agreed to report congestion marks; `None` unless both SYNs were captured.
    pub ecn: Option<EcnMode>,
    /// Summaries of the forward and the reverse direction.
    pub directions: [DirectionSummary; 2],
    /// What is known of a QUIC connection; `None` if no long header shows that the flow is QUIC.
    pub quic: Option<QuicConnection>,
    /// Tick of the capture's clock, if known to be coarse.
    pub coarse_tick: Option<TimeDelta>,
}

/// The QUIC connection of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicConnection {
    /// The flow that first carried the connection: this flow, or an earlier one with other addresses
    /// or ports.
    pub first_flow: FlowId,
    /// Version; `None` if the handshake is in another flow.
    pub version: Option<QuicVersion>,
    /// Number of connections that the flow carries, as far as Initial packets show.
    pub connections: u64,
    /// Time from the client's first flight to its answer to the server's.
    pub handshake_rtt: Option<TimeDelta>,
    /// Use of the spin bit.
    pub spin: SpinState,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub struct DirectionSummary {
    /// Number of packets.
    pub packets: u64,
    /// Bytes on the wire, link headers included.
    pub wire_bytes: u64,
    /// Bytes of the IP datagrams.
    pub ip_bytes: u64,
    /// Bytes of transport payload.
    pub payload_bytes: u64,
    /// Bytes of payload captured for the first time, without those outside the receive window and the text of a
    /// RST (RFC 9293, section 3.5.3); for other protocols than TCP, all payload bytes.
    pub unique_bytes: u64,
    /// Bytes that the other end acknowledged and the capture never shows: the capture missed them. `None`
    /// without such bytes.
    pub missed: Option<Box<Holes>>,
    /// Packets with payload.
    pub data_packets: u64,
    /// Times of the first and the last packet; `None` without packets.
    pub span: Option<(Timestamp, Timestamp)>,
    /// Position of the capture relative to the data of this direction.
    pub position: Option<Position>,
    /// Options in the SYN of this direction.
    pub offer: Option<SynOptions>,
    /// Maximum payload of one packet in bytes; exceeds the segment size with segmentation offload.
    pub largest_payload_bytes: Option<u32>,
    /// Packets of this direction that the receiver reports as marked; see [`CeFeedback::packets`].
    /// Also `None` without the handshake.
    ///
    /// [`CeFeedback::packets`]: tcpexp_flow::CeFeedback::packets
    pub ce_reported_packets: Option<u64>,
    /// Round-trip times from the capture to this direction's receiver and back.
    pub rtt: Option<RttSummary>,
    /// Round-trip times from the capture to this direction's receiver and back, by the spin bit of QUIC.
    ///
    /// In a box, because programs keep summaries of many flows, and few have a spin bit.
    pub spin_rtt: Option<Box<RttSummary>>,
    /// `None` if all are zero and there is no α. In a box as `spin_rtt`.
    rare: Option<Box<RareCounts>>,
}

/// Counts that are zero for most directions.
#[derive(Clone, Debug, PartialEq)]
pub struct RareCounts {
    /// Retransmissions, by [`RetransmissionCause::index`].
    pub retransmitted: ByCause,
    /// Retransmitted packets whose bytes were all acknowledged before.
    pub spurious_packets: u64,
    /// Packets overtaken by later ones, on the path or in the interface of the sender.
    pub reordered_packets: u64,
    /// Out-of-order packets without evidence for a retransmission, reordering or duplication.
    pub undecided_packets: u64,
    /// Duplicate records of one packet, and duplicates made on the path.
    pub duplicate_packets: u64,
    /// Keep-alive probes.
    pub keep_alive_packets: u64,
    /// Probes of a closed window.
    pub window_probe_packets: u64,
    /// Duplicate ACKs that this direction carries. `None` if the capture cut off TCP options of this direction,
    /// unless the ends agreed to use no SACK: a SACK block makes an ACK a duplicate although its window changes.
    pub duplicate_ack_packets: Option<u64>,
    /// Segments that announce a receive window of zero.
    pub zero_window_packets: u64,
    /// Segments whose first SACK block reports duplicate bytes (D-SACK, RFC 2883). `None` as
    /// [`duplicate_ack_packets`](Self::duplicate_ack_packets).
    pub duplicate_sack_packets: Option<u64>,
    /// Packets marked as congestion experienced (RFC 3168, section 5).
    pub ce_packets: u64,
    /// Bytes of the marked IP datagrams.
    pub ce_bytes: u64,
    /// DCTCP's estimate α at the end; see [`CeFeedback::alpha`]. `None` unless the capture is at the
    /// sender: elsewhere, the data in flight is unknown.
    ///
    /// [`CeFeedback::alpha`]: tcpexp_flow::CeFeedback::alpha
    pub alpha: Option<f64>,
}

impl RareCounts {
    /// All counts are zero.
    const NONE: Self = Self {
        retransmitted: [Retransmitted {
            packets: 0,
            bytes: 0,
        }; RetransmissionCause::ALL.len()],
        spurious_packets: 0,
        reordered_packets: 0,
        undecided_packets: 0,
        duplicate_packets: 0,
        keep_alive_packets: 0,
        window_probe_packets: 0,
        duplicate_ack_packets: Some(0),
        zero_window_packets: 0,
        duplicate_sack_packets: Some(0),
        ce_packets: 0,
        ce_bytes: 0,
        alpha: None,
    };

    /// `has_sack` is false if the ends agreed to use no SACK.
    fn of(rare: &Rare, position: Option<Position>, has_sack: bool) -> Self {
        let shows_sack = !rare.has_cut_options || !has_sack;
        let out_of_sequence = &rare.out_of_sequence;
        Self {
            retransmitted: out_of_sequence.retransmitted(position),
            spurious_packets: out_of_sequence.spurious(position),
            reordered_packets: out_of_sequence.reordered(position),
            undecided_packets: out_of_sequence.undecided(position),
            duplicate_packets: rare.copies,
            keep_alive_packets: rare.keep_alives,
            window_probe_packets: rare.window_probes,
            duplicate_ack_packets: shows_sack.then_some(rare.duplicate_acks),
            zero_window_packets: rare.zero_windows,
            duplicate_sack_packets: shows_sack.then_some(rare.duplicate_sacks),
            ce_packets: rare.ce_packets,
            ce_bytes: rare.ce_bytes,
            alpha: rare.alpha().filter(|_| position == Some(Position::Sender)),
        }
    }
}

/// The connection's data about one of its directions.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) position: Option<Position>,
    pub(super) offer: Option<SynOptions>,
    /// True if the ends agreed to report no congestion marks.
    pub(super) reports_no_ce: bool,
    /// False if the ends agreed to use no SACK.
    pub(super) has_sack: bool,
    pub(super) spin_rtt: Option<RttSummary>,
}

impl DirectionSummary {
    pub(super) fn of(half: &mut Half, known: Known) -> Self {
        let Known {
            position,
            offer,
            reports_no_ce,
            has_sack,
            spin_rtt,
        } = known;
        let Counts {
            packets,
            data_packets,
            wire_bytes,
            ip_bytes,
            payload_bytes,
            largest_payload_bytes,
            ..
        } = half.counts;
        let rtt = half.rtt.summary();
        let rare = half.rarities();
        let rare = rare.map(|rare| RareCounts::of(rare, position, has_sack));
        let missed = half.missed();
        Self {
            packets,
            wire_bytes,
            ip_bytes,
            payload_bytes,
            unique_bytes: payload_bytes - half.repeated_bytes(),
            missed: (!missed.is_empty()).then(|| Box::new(missed)),
            data_packets,
            span: half.counts.span(),
            position,
            offer,
            largest_payload_bytes: (data_packets > 0).then_some(largest_payload_bytes),
            ce_reported_packets: if reports_no_ce {
                Some(0)
            } else {
                half.ce_reported_packets()
            },
            rtt,
            spin_rtt: spin_rtt.map(Box::new),
            rare: rare.filter(|rare| *rare != RareCounts::NONE).map(Box::new),
        }
    }

    /// Counts that are zero for most directions.
    pub fn rare(&self) -> &RareCounts {
        self.rare.as_deref().unwrap_or(&RareCounts::NONE)
    }

    /// Retransmissions of all causes.
    pub fn retransmissions(&self) -> Retransmitted {
        let retransmitted = &self.rare().retransmitted;
        let by_cause = RetransmissionCause::ALL.map(|cause| retransmitted[cause.index()]);
        by_cause
            .into_iter()
            .fold(Retransmitted::default(), Retransmitted::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_without_rare_counts_takes_less_than_600_bytes() {
        // An analysis keeps a summary of each flow, and a capture may have a million flows.
        assert!(size_of::<ConnectionSummary>() < 600);
        assert_eq!(
            RareCounts::of(&Rare::default(), None, true),
            RareCounts::NONE
        );
    }
}
