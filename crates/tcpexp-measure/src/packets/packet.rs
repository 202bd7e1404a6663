//! One packet of a flow.

use tcpexp_flow::{Direction, FlowId, StreamOffset};
use tcpexp_units::{TimeDelta, Timestamp};
use tcpexp_wire::TcpFlags;

use crate::rtt::{AckClass, RttMethod};

/// Maximum number of SACK blocks in one header (RFC 2018, section 3).
const MAX_BLOCKS: usize = 4;

/// One packet of a flow, and what it shows by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowPacketRow {
    /// The flow.
    pub flow: FlowId,
    /// Record number in the capture, from 0.
    pub record: u64,
    /// Capture time.
    pub at: Timestamp,
    /// Direction of the packet.
    pub direction: Direction,
    /// Bytes of transport payload.
    pub payload_bytes: u32,
    /// The TCP header; `None` for other protocols.
    pub tcp: Option<TcpPart>,
}

/// What the TCP header shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPart {
    /// Control bits.
    pub flags: TcpFlags,
    /// Offset of the first sequence number.
    pub start: StreamOffset,
    /// `start` relative to the first captured sequence number of this direction, which counts as 0
    /// for a SYN and as 1 for data, as in Wireshark.
    pub relative_start: i64,
    /// Acknowledgment number; `None` without the ACK flag.
    pub ack: Option<StreamOffset>,
    /// `ack` relative to the other direction's first captured sequence number.
    pub relative_ack: Option<i64>,
    /// The receive window in bytes; `None` if the window scale was not captured.
    pub window_bytes: Option<u64>,
    /// SACK blocks as first byte and byte after the last, relative to the same number as `ack`.
    pub sack: [Option<(i64, i64)>; MAX_BLOCKS],
    /// True if the first SACK block reports bytes that had arrived before (RFC 2883).
    pub is_duplicate_sack: bool,
    /// Class of the data.
    pub class: PacketClass,
    /// True if it is a duplicate ACK (RFC 5681, section 2).
    pub is_duplicate_ack: bool,
    /// Round-trip time that the ACK gives.
    pub rtt: Option<PacketRtt>,
}

/// A round-trip time from the capture to the other end and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRtt {
    /// The time.
    pub rtt: TimeDelta,
    /// Method that matched the ACK with its packet.
    pub method: RttMethod,
    /// Kind of ACK.
    pub class: AckClass,
}

/// Class of a packet's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PacketClass {
    /// No data, SYN or FIN.
    Empty,
    /// New data in sequence, or a SYN or FIN.
    New,
    /// New data after a gap: data before it was lost, reordered or not captured.
    AfterGap,
    /// Data below the highest captured sequence number, sent again.
    Retransmitted,
    /// Data below the highest captured sequence number that other packets overtook on the path.
    Reordered,
    /// Data below the highest captured sequence number; whether it was retransmitted, reordered or duplicated
    /// is unknown.
    Behind,
    /// Duplicate record of a packet.
    Copy,
    /// Keep-alive probe (RFC 9293, section 3.8.4).
    KeepAlive,
    /// Probe of a closed window (RFC 9293, section 3.8.6.1).
    WindowProbe,
}

impl PacketClass {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::New => "new",
            Self::AfterGap => "after_gap",
            Self::Retransmitted => "retransmitted",
            Self::Reordered => "reordered",
            Self::Behind => "behind",
            Self::Copy => "copy",
            Self::KeepAlive => "keep_alive",
            Self::WindowProbe => "window_probe",
        }
    }
}
