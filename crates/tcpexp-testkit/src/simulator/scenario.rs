//! Scenarios for the simulator.

use tcpexp_units::{Skew, TimeDelta, Timestamp};

use super::load::{TcpLoad, UdpLoad};
use super::network::{Direction, Outage, Path, Point, Policer};
use crate::{Container, Endian, Framing, Resolution};

/// How hosts fill the IPv4 Identification field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpId {
    /// A counter for each flow and direction, from a random start.
    #[default]
    Counter,
    /// Always zero, as RFC 6864 allows for atomic datagrams.
    Zero,
    /// Random for each packet.
    Random,
    /// A counter that restarts at zero after this many packets.
    Wrapping(u16),
}

/// How one point captures, and its file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureSpec {
    /// Capture file format.
    pub container: Container,
    /// Byte order of the file.
    pub endian: Endian,
    /// Timestamp unit.
    pub resolution: Resolution,
    /// Snapshot length in bytes.
    pub snaplen: u32,
    /// Link layer in front of the IP header.
    pub framing: Framing,
    /// Start of the capture, relative to the start of the run.
    pub starts_after: TimeDelta,
    /// End of the capture, relative to the start of the run.
    pub stops_after: Option<TimeDelta>,
    /// True if each packet is recorded twice, as on a mirror port.
    pub twice: bool,
    /// Segmentation offload: the host sends up to this many segments as one frame of at most 65 535
    /// bytes, and the path carries them as separate packets.
    pub tso_segments: u32,
    /// Receive offload: up to this many consecutive segments are captured as one frame.
    pub gro_segments: u32,
    /// Received frames shorter than this are padded; 60 for Ethernet.
    pub min_frame_bytes: u16,
}

impl Default for CaptureSpec {
    /// Whole packets in a classic pcap with nanosecond timestamps.
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

/// A measurement point between SRC and DST, and the network between it and the next point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Middle {
    /// The path to the next point.
    pub path: Path,
    /// The path from the next point, if it differs.
    pub reverse: Option<Path>,
    /// Offset of this point's clock against SRC's at the start.
    pub offset: TimeDelta,
    /// Rate error of this point's clock against SRC's.
    pub skew: Skew,
    /// How this point captures. Its segments are never offloaded.
    pub capture: CaptureSpec,
    /// Packets per million that the capture misses.
    pub missed_ppm: u32,
}

impl Default for Middle {
    /// A [`Path::default`], a perfect clock and a perfect capture.
    fn default() -> Self {
        Self {
            path: Path::default(),
            reverse: None,
            offset: TimeDelta::ZERO,
            skew: Skew::NONE,
            capture: CaptureSpec::default(),
            missed_ppm: 0,
        }
    }
}

/// A clock step: from `at` on the clock shows `by` more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockStep {
    /// The point whose clock steps.
    pub point: Point,
    /// True time since the start.
    pub at: TimeDelta,
    /// Size of the step; a negative step sets the clock back.
    pub by: TimeDelta,
}

/// All parameters of a simulated pair of captures.
///
/// The path fields apply to both directions, unless `reverse` is set. With `middles` they describe
/// the network between SRC and the first middle point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Equal seeds give identical files.
    pub seed: u64,
    /// True time at the start of the run.
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
    /// See [`Path::policer`].
    pub policer: Option<Policer>,
    /// See [`Path::outage`].
    pub outage: Option<Outage>,
    /// The path from the server to the client, if it differs.
    pub reverse: Option<Path>,
    /// Measurement points between SRC and DST, in the order from SRC to DST.
    pub middles: Vec<Middle>,
    /// Offset of DST's clock against SRC's at the start.
    pub offset: TimeDelta,
    /// Rate error of DST's clock against SRC's.
    pub skew: Skew,
    /// A clock step during the run.
    pub clock_step: Option<ClockStep>,
    /// Rate of the hosts' network cards in bits per second.
    pub host_rate_bps: u64,
    /// Time that a host takes to send a packet.
    pub host_delay: TimeDelta,
    /// How hosts fill the IPv4 Identification field.
    pub ip_id: IpId,
    /// True if DST sees the client with a translated address and port.
    pub nat: bool,
    /// How SRC captures.
    pub src: CaptureSpec,
    /// How DST captures.
    pub dst: CaptureSpec,
    /// Hosts stop sending after this many packets; packets in flight still arrive.
    pub max_packets: Option<u64>,
    /// Hosts stop sending after this time; packets in flight still arrive.
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
            policer: path.policer,
            outage: path.outage,
            reverse: None,
            middles: Vec::new(),
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
    /// Returns the path of one direction.
    pub fn path(&self, direction: Direction) -> Path {
        let forward = Path {
            rate_bps: self.rate_bps,
            queue_bytes: self.queue_bytes,
            delay: self.delay,
            jitter: self.jitter,
            reorders: self.reorders,
            loss_ppm: self.loss_ppm,
            duplicate_ppm: self.duplicate_ppm,
            policer: self.policer,
            outage: self.outage,
        };
        match direction {
            Direction::Forward => forward,
            Direction::Reverse => self.reverse.unwrap_or(forward),
        }
    }

    /// Returns the path of one direction on one segment: segment 0 is between SRC and the next
    /// point.
    pub fn segment(&self, segment: usize, direction: Direction) -> Path {
        let Some(middle) = segment.checked_sub(1).map(|place| &self.middles[place]) else {
            return self.path(direction);
        };
        match direction {
            Direction::Forward => middle.path,
            Direction::Reverse => middle.reverse.unwrap_or(middle.path),
        }
    }

    /// Returns how a point captures.
    pub const fn capture(&self, point: Point) -> &CaptureSpec {
        match point {
            Point::Src => &self.src,
            Point::Dst => &self.dst,
        }
    }

    /// Returns the clock reading of a point at a true time, before rounding to the file's
    /// resolution.
    pub fn clock(&self, point: Point, at: Timestamp) -> Timestamp {
        let since_start = at - self.start;
        let shown = match point {
            Point::Src => at,
            Point::Dst => self.off_by(at, self.offset, self.skew),
        };
        match self.clock_step {
            Some(step) if step.point == point && since_start >= step.at => shown + step.by,
            _ => shown,
        }
    }

    /// Returns the clock reading of a middle point at a true time.
    pub fn clock_between(&self, middle: &Middle, at: Timestamp) -> Timestamp {
        self.off_by(at, middle.offset, middle.skew)
    }

    fn off_by(&self, at: Timestamp, offset: TimeDelta, skew: Skew) -> Timestamp {
        // The product exceeds 64 bits within four minutes at 50 ppm.
        let gained = i128::from((at - self.start).as_nanos()) * i128::from(skew.as_ppt());
        at + offset + TimeDelta::from_nanos((gained / 1_000_000_000_000) as i64)
    }
}
