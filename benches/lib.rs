//! What the benches read: captures of bulk transfers, made in memory.
//!
//! `cargo bench -p tcpexp-benches` runs all stages, each on top of those before it: `reader` walks
//! records, `wire` decodes them too, `flow` also tracks flows; `single` measures what one capture
//! tells, and `spp` round-trip times between two.
//! Throughput is in packets.

use tcpexp_testkit::{
    CaptureSpec, Congestion, Container, Resolution, Scenario, TcpLoad, simulate_into,
};

/// About how many packets each capture holds.
const PACKETS: u32 = 200_000;
const RATE_BPS: u64 = 2_000_000_000;

/// Keeps the headers of every packet and next to nothing of its payload.
pub const HEADERS: u32 = 96;
/// Keeps every packet whole.
pub const FULL: u32 = 262_144;
/// Each flow is long.
pub const FEW: u32 = 8;
/// Flows come and go, each of about ten packets.
pub const MANY: u32 = 20_000;
/// One packet in a hundred is lost.
pub const LOSSY: u32 = 10_000;

/// Uploads through two measurement points: everything that decides the captures.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// How many flows; 200 of them are alive at a time.
    pub flows: u32,
    /// Packets in a million that are lost.
    pub loss_ppm: u32,
    /// Longest piece of a frame that is kept, in bytes.
    pub snaplen: u32,
    /// How many segments the sender hands to its interface as one.
    pub tso_segments: u32,
    /// Whether the destination sees the client under another address.
    pub nat: bool,
    /// The kind of file.
    pub container: Container,
}

impl Default for Load {
    /// A few flows without loss, headers only, in a pcap.
    fn default() -> Self {
        Self {
            flows: FEW,
            loss_ppm: 0,
            snaplen: HEADERS,
            tso_segments: 1,
            nat: false,
            container: Container::Pcap,
        }
    }
}

/// Both capture files of a load.
#[derive(Debug)]
pub struct Captures {
    /// The capture at the source.
    pub src: Vec<u8>,
    /// The capture at the destination.
    pub dst: Vec<u8>,
    /// Packets in `src`.
    pub src_packets: u64,
    /// Packets in `dst`.
    pub dst_packets: u64,
}

impl Load {
    /// Makes the captures; the same ones every time.
    ///
    /// # Panics
    ///
    /// Never: memory takes all writes.
    pub fn captures(&self) -> Captures {
        let (mut src, mut dst) = (Vec::new(), Vec::new());
        let summary = simulate_into(&self.scenario(), &mut src, &mut dst);
        let summary = summary.expect("memory takes all writes");
        Captures {
            src,
            dst,
            src_packets: summary.src_records,
            dst_packets: summary.dst_records,
        }
    }

    fn scenario(&self) -> Scenario {
        let parallel = self.flows.min(200);
        // The windows together fill the path, and loss keeps them from filling the queue.
        let window = 7_500 / parallel;
        // Two segments and their acknowledgment are three packets; seven open and close a flow.
        let segments = u64::from(PACKETS / self.flows).saturating_sub(7) * 2 / 3 + 1;
        let capture = CaptureSpec {
            snaplen: self.snaplen,
            resolution: Resolution::Micros,
            container: self.container,
            ..CaptureSpec::default()
        };
        Scenario {
            tcp: vec![TcpLoad {
                flows: self.flows,
                parallel,
                bytes: segments * 1448,
                congestion: Congestion::Fixed(window),
                max_window_segments: window,
                ..TcpLoad::default()
            }],
            rate_bps: RATE_BPS,
            queue_bytes: RATE_BPS / 8 * 30 / 1000,
            loss_ppm: self.loss_ppm,
            nat: self.nat,
            src: CaptureSpec {
                tso_segments: self.tso_segments,
                ..capture
            },
            dst: capture,
            max_packets: Some(u64::from(PACKETS)),
            ..Scenario::default()
        }
    }
}
