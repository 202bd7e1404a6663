//! The traffic of hosts.

use tcpexp_units::TimeDelta;

use super::network::Direction;

/// IP version of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// How a TCP sender sets its congestion window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// Slow start, then one segment per round trip; halved on loss.
    #[default]
    Aimd,
    /// A constant number of segments, for high rates despite loss.
    Fixed(u32),
}

/// An application that writes the same amount again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writes {
    /// Segments per write.
    pub segments: u32,
    /// Payload bytes that the last segment of a write lacks to be full.
    pub missing_bytes: u16,
    /// Time from one write to the next.
    pub interval: TimeDelta,
}

/// TCP flows with common properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLoad {
    /// Number of flows.
    pub flows: u32,
    /// Number of concurrent flows; when one ends, the next begins.
    pub parallel: u32,
    /// Bytes per flow.
    pub bytes: u64,
    /// Direction of the data.
    pub direction: Direction,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// True if segments carry the timestamps option, in milliseconds.
    pub timestamps: bool,
    /// True if the flows use SACK.
    pub sack: bool,
    /// How the sender sets its congestion window.
    pub congestion: Congestion,
    /// Upper limit of the sender's window, in segments.
    pub max_window_segments: u32,
    /// Receive window that the receiver announces, in segments; `None` for more than senders use.
    pub receive_window_segments: Option<u32>,
    /// How the sender's application writes; `None` if all data is there at the start.
    pub writes: Option<Writes>,
    /// IP version.
    pub ip: IpVersion,
    /// The first `parallel` flows begin at random times within this span.
    pub stagger: TimeDelta,
}

impl TcpLoad {
    /// Number of segments of a flow.
    pub(crate) fn segments(&self) -> u32 {
        let mss = u64::from(self.mss);
        let segments = match self.writes {
            None => self.bytes.div_ceil(mss),
            Some(writes) => {
                let whole = self.bytes / writes.bytes(mss);
                let rest = self.bytes % writes.bytes(mss);
                whole * u64::from(writes.segments) + rest.div_ceil(mss)
            }
        };
        u32::try_from(segments.max(1)).expect("a flow has at most 2^32 segments")
    }

    /// Stream position of the first byte of a segment.
    pub(crate) fn position(&self, segment: u32) -> u64 {
        let (segment, mss) = (u64::from(segment), u64::from(self.mss));
        let position = match self.writes {
            None => segment * mss,
            Some(writes) => {
                let per_write = u64::from(writes.segments);
                segment / per_write * writes.bytes(mss) + segment % per_write * mss
            }
        };
        position.min(self.bytes)
    }
}

impl Writes {
    fn bytes(self, mss: u64) -> u64 {
        u64::from(self.segments) * mss - u64::from(self.missing_bytes)
    }
}

impl Default for TcpLoad {
    /// One upload of a million bytes with timestamps and SACK.
    fn default() -> Self {
        Self {
            flows: 1,
            parallel: u32::MAX,
            bytes: 1_000_000,
            direction: Direction::Forward,
            mss: 1448,
            timestamps: true,
            sack: true,
            congestion: Congestion::Aimd,
            max_window_segments: 1024,
            receive_window_segments: None,
            writes: None,
            ip: IpVersion::V4,
            stagger: TimeDelta::ZERO,
        }
    }
}

/// Content that distinguishes the datagrams of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UdpPayload {
    /// A number in the first eight bytes.
    #[default]
    Numbered,
    /// All datagrams are identical.
    Constant,
}

/// UDP streams with common properties, at a constant rate unless the interval varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpLoad {
    /// Number of streams; all run concurrently.
    pub flows: u32,
    /// True if the client sends.
    pub forward: bool,
    /// True if the server sends.
    pub reverse: bool,
    /// Datagrams per sender.
    pub datagrams: u64,
    /// Time between datagrams.
    pub interval: TimeDelta,
    /// Maximum of the additional time between datagrams, uniformly distributed.
    pub interval_jitter: TimeDelta,
    /// Payload of a datagram in bytes.
    pub payload_bytes: u16,
    /// Content of the datagrams.
    pub payload: UdpPayload,
    /// IP version.
    pub ip: IpVersion,
}

impl Default for UdpLoad {
    /// 50 datagrams per second in each direction, as in a telephone call.
    fn default() -> Self {
        Self {
            flows: 1,
            forward: true,
            reverse: true,
            datagrams: 500,
            interval: TimeDelta::from_millis(20),
            interval_jitter: TimeDelta::ZERO,
            payload_bytes: 172,
            payload: UdpPayload::Numbered,
            ip: IpVersion::V4,
        }
    }
}
