//! What to simulate.

use tcpexp_units::{Skew, TimeDelta, Timestamp};

use crate::{Container, Endian, Framing, Resolution};

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client, which opens the flow, to the server; SRC sees it before DST.
    #[default]
    Forward,
    /// From the server to the client; DST sees it before SRC.
    Reverse,
}

impl Direction {
    /// The other way.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Forward => Self::Reverse,
            Self::Reverse => Self::Forward,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// The measurement point that sees this direction first.
    pub const fn upstream(self) -> Point {
        match self {
            Self::Forward => Point::Src,
            Self::Reverse => Point::Dst,
        }
    }

    /// The measurement point that sees this direction last.
    pub const fn downstream(self) -> Point {
        self.opposite().upstream()
    }
}

/// A place where packets are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// At the client. Its clock tells true time unless a [`ClockStep`] hits it.
    #[default]
    Src,
    /// At the server.
    Dst,
}

/// A clock is set: from `at` on it shows `by` more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// Whose clock.
    pub point: Point,
    /// True time since the start.
    pub at: TimeDelta,
    /// How far it jumps; negative jumps back.
    pub by: TimeDelta,
}

/// One way through the network between the two points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Bottleneck rate in bits per second of IP packets with their framing.
    pub rate_bps: u64,
    /// Room in front of the bottleneck in bytes; what finds no room is dropped.
    pub queue_bytes: u64,
    /// Propagation delay, one way.
    pub delay: TimeDelta,
    /// Each packet is late by up to this much more, uniformly.
    pub jitter: TimeDelta,
    /// Whether a packet with less jitter may overtake one with more.
    pub reorders: bool,
    /// Packets in a million that are lost at random, behind the queue.
    pub loss_ppm: u32,
    /// Packets in a million that arrive twice.
    pub duplicate_ppm: u32,
}

impl Default for Path {
    /// 100 Mbit/s, 10 ms, a buffer of one bandwidth-delay product of 20 ms, no loss.
    fn default() -> Self {
        Self {
            rate_bps: 100_000_000,
            queue_bytes: 250_000,
            delay: TimeDelta::from_millis(10),
            jitter: TimeDelta::ZERO,
            reorders: false,
            loss_ppm: 0,
            duplicate_ppm: 0,
        }
    }
}

/// How hosts fill the IPv4 Identification field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpId {
    /// Each flow and direction counts from a random start.
    #[default]
    Counter,
    /// Always zero, as RFC 6864 allows for atomic datagrams.
    Zero,
    /// Random for each packet.
    Random,
    /// Counts and starts again at zero after this many.
    Wrapping(u16),
}

/// IP version of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// How a TCP sender sets its window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// Slow start, then one segment per round trip, halved on loss.
    #[default]
    Aimd,
    /// This many segments, whatever happens: high rates in spite of loss.
    Fixed(u32),
}

/// Some TCP flows of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLoad {
    /// How many flows in all.
    pub flows: u32,
    /// How many at a time; when one ends the next begins.
    pub parallel: u32,
    /// Bytes each flow carries.
    pub bytes: u64,
    /// Which way they go.
    pub direction: Direction,
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// Whether segments carry the timestamps option, in milliseconds.
    pub timestamps: bool,
    /// Whether SACK is used.
    pub sack: bool,
    /// How the sender sets its window.
    pub congestion: Congestion,
    /// The sender's window never exceeds this many segments.
    pub max_window_segments: u32,
    /// IP version.
    pub ip: IpVersion,
    /// The first `parallel` flows begin at random within this time.
    pub stagger: TimeDelta,
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
            ip: IpVersion::V4,
            stagger: TimeDelta::ZERO,
        }
    }
}

/// What tells the datagrams of one stream apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UdpPayload {
    /// A number in the first eight bytes.
    #[default]
    Numbered,
    /// Nothing: all are the same.
    Constant,
}

/// Some UDP streams of one kind, at constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UdpLoad {
    /// How many streams, all at once.
    pub flows: u32,
    /// Whether the client sends.
    pub forward: bool,
    /// Whether the server sends.
    pub reverse: bool,
    /// Datagrams each sender sends.
    pub datagrams: u64,
    /// Time from one datagram to the next.
    pub interval: TimeDelta,
    /// Bytes in a datagram.
    pub payload_bytes: u16,
    /// What is in them.
    pub payload: UdpPayload,
    /// IP version.
    pub ip: IpVersion,
}

impl Default for UdpLoad {
    /// 50 datagrams a second each way, as a telephone sends them.
    fn default() -> Self {
        Self {
            flows: 1,
            forward: true,
            reverse: true,
            datagrams: 500,
            interval: TimeDelta::from_millis(20),
            payload_bytes: 172,
            payload: UdpPayload::Numbered,
            ip: IpVersion::V4,
        }
    }
}

/// What one point captures, and into what kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureSpec {
    /// The kind of file.
    pub container: Container,
    /// The file's byte order.
    pub endian: Endian,
    /// What timestamps count.
    pub resolution: Resolution,
    /// Longest piece of a frame that is kept, in bytes.
    pub snaplen: u32,
    /// What is in front of the IP header.
    pub framing: Framing,
    /// The capture begins this long after the start.
    pub starts_after: TimeDelta,
    /// The capture ends this long after the start.
    pub stops_after: Option<TimeDelta>,
    /// Each packet is recorded twice, as happens on mirror ports.
    pub twice: bool,
    /// Segmentation offload: up to this many segments leave the host here as one frame, which the
    /// path sees as separate packets. At most 65 535 bytes.
    pub tso_segments: u32,
    /// Receive offload: up to this many segments that arrive in order are seen as one frame.
    pub gro_segments: u32,
    /// Frames that arrive shorter than this are padded; 60 for Ethernet.
    pub min_frame_bytes: u16,
}

impl Default for CaptureSpec {
    /// Everything, whole, in a classic pcap with nanoseconds.
    fn default() -> Self {
        Self {
            container: Container::Pcap,
            endian: Endian::Little,
            resolution: Resolution::Nanos,
            snaplen: 262_144,
            framing: Framing::Ethernet,
            starts_after: TimeDelta::ZERO,
            stops_after: None,
            twice: false,
            tso_segments: 1,
            gro_segments: 1,
            min_frame_bytes: 0,
        }
    }
}

/// Everything that decides what the two captures hold.
///
/// The path fields describe both ways, unless `reverse` says how the way back differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Same seed, same bytes.
    pub seed: u64,
    /// True time of the start.
    pub start: Timestamp,
    /// TCP flows.
    pub tcp: Vec<TcpLoad>,
    /// UDP streams.
    pub udp: Vec<UdpLoad>,
    /// See [`Path::rate_bps`].
    pub rate_bps: u64,
    /// See [`Path::queue_bytes`].
    pub queue_bytes: u64,
    /// See [`Path::delay`].
    pub delay: TimeDelta,
    /// See [`Path::jitter`].
    pub jitter: TimeDelta,
    /// See [`Path::reorders`].
    pub reorders: bool,
    /// See [`Path::loss_ppm`].
    pub loss_ppm: u32,
    /// See [`Path::duplicate_ppm`].
    pub duplicate_ppm: u32,
    /// The way back from the server, where it differs.
    pub reverse: Option<Path>,
    /// What DST's clock shows more than SRC's at the start.
    pub offset: TimeDelta,
    /// How fast DST's clock runs against SRC's.
    pub skew: Skew,
    /// A clock that is set on the way.
    pub clock_step: Option<ClockStep>,
    /// Rate of the hosts' network cards in bits per second.
    pub host_rate_bps: u64,
    /// How long a host takes to answer a packet.
    pub host_delay: TimeDelta,
    /// How the IPv4 Identification field is filled.
    pub ip_id: IpId,
    /// Whether DST sees the client under another address and port.
    pub nat: bool,
    /// How SRC captures.
    pub src: CaptureSpec,
    /// How DST captures.
    pub dst: CaptureSpec,
    /// Hosts fall silent after this many packets; what is on the way still arrives.
    pub max_packets: Option<u64>,
    /// Hosts fall silent after this time; what is on the way still arrives.
    pub max_time: Option<TimeDelta>,
}

impl Default for Scenario {
    /// One upload of a million bytes over a [`Path::default`] with perfect clocks and captures.
    fn default() -> Self {
        let path = Path::default();
        Self {
            seed: 1,
            start: Timestamp::from_nanos(1_700_000_000_000_000_000),
            tcp: vec![TcpLoad::default()],
            udp: Vec::new(),
            rate_bps: path.rate_bps,
            queue_bytes: path.queue_bytes,
            delay: path.delay,
            jitter: path.jitter,
            reorders: path.reorders,
            loss_ppm: path.loss_ppm,
            duplicate_ppm: path.duplicate_ppm,
            reverse: None,
            offset: TimeDelta::ZERO,
            skew: Skew::NONE,
            clock_step: None,
            host_rate_bps: 10_000_000_000,
            host_delay: TimeDelta::from_micros(20),
            ip_id: IpId::Counter,
            nat: false,
            src: CaptureSpec::default(),
            dst: CaptureSpec::default(),
            max_packets: None,
            max_time: None,
        }
    }
}

impl Scenario {
    /// The way packets of a direction take.
    pub fn path(&self, direction: Direction) -> Path {
        let forward = Path {
            rate_bps: self.rate_bps,
            queue_bytes: self.queue_bytes,
            delay: self.delay,
            jitter: self.jitter,
            reorders: self.reorders,
            loss_ppm: self.loss_ppm,
            duplicate_ppm: self.duplicate_ppm,
        };
        match direction {
            Direction::Forward => forward,
            Direction::Reverse => self.reverse.unwrap_or(forward),
        }
    }

    /// How a point captures.
    pub const fn capture(&self, point: Point) -> &CaptureSpec {
        match point {
            Point::Src => &self.src,
            Point::Dst => &self.dst,
        }
    }

    /// What the clock at a point shows at a true time, before rounding to the file's resolution.
    pub fn clock(&self, point: Point, at: Timestamp) -> Timestamp {
        let since_start = at - self.start;
        let mut shown = at;
        if point == Point::Dst {
            let gained = i128::from(since_start.as_nanos()) * i128::from(self.skew.as_ppt());
            let gained = TimeDelta::from_nanos((gained / 1_000_000_000_000) as i64);
            shown = shown + self.offset + gained;
        }
        match self.clock_step {
            Some(step) if step.point == point && since_start >= step.at => shown + step.by,
            _ => shown,
        }
    }
}
