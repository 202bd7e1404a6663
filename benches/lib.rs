//! Input of the benches: captures of bulk transfers, generated in memory.
//!
//! `cargo bench -p tcpexp-benches` runs all stages. Each stage includes those before it: `reader`
//! walks records, `wire` also decodes them, `flow` also tracks flows. `spp` measures round-trip times
//! between two captures of many kinds, `commands` measures each command, `table` the writing of a million
//! rows, and `chart` the drawing of a million samples. Throughput is in packets per second, or rows.

use tcpexp_testkit::{
    CaptureSpec, Congestion, Container, Resolution, Scenario, TcpLoad, simulate_into,
};

/// Approximate number of packets in each capture.
const PACKETS: u32 = 200_000;
const RATE_BPS: u64 = 2_000_000_000;

/// Snapshot length that keeps the headers of every packet and almost no payload, in bytes.
pub const HEADERS: u32 = 96;
/// Snapshot length that keeps every packet whole, in bytes.
pub const FULL: u32 = 262_144;
/// Number of flows for a capture of few, long flows.
pub const FEW: u32 = 8;
/// Number of flows for a capture of short flows, about ten packets each.
pub const MANY: u32 = 20_000;
/// Loss of one packet in a hundred, in packets per million.
pub const LOSSY: u32 = 10_000;

/// Parameters of uploads past two measurement points.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of flows; at most 200 run concurrently.
    pub flows: u32,
    /// Random loss in packets per million.
    pub loss_ppm: u32,
    /// Snapshot length in bytes.
    pub snaplen: u32,
    /// Number of segments that the sender hands to its interface as one frame.
    pub tso_segments: u32,
    /// True if the destination sees the client with a translated address.
    pub nat: bool,
    /// Capture file format.
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
    /// Generates the captures; the same load gives identical files.
    ///
    /// # Panics
    ///
    /// Never: writes to memory succeed.
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
        // All windows together fill the path; loss prevents them from filling the queue.
        let window = 7_500 / parallel;
        // Three packets carry two segments and their acknowledgment; seven packets open and close a
        // flow.
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
