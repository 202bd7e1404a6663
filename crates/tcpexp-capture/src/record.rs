//! Records, and the interfaces that captured them.

use tcpexp_units::Timestamp;

use crate::clock::{Clock, Resolution};

/// One captured packet, borrowed from the capture.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// When the packet was seen, or why that is unknown.
    pub at: Result<Timestamp, NoTime>,
    /// `LINKTYPE_` number of the first header in `captured`.
    pub link_type: u16,
    /// Index into [`Capture::interfaces`](crate::Capture::interfaces).
    pub interface: u32,
    /// Length of the packet on the wire in bytes, as the capture tool recorded it.
    pub wire_bytes: u32,
    /// The captured bytes without padding.
    pub captured: &'a [u8],
    /// Where the record starts in the (decompressed) file, in bytes.
    pub offset: u64,
}

/// Why a record has no usable timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    /// The file has none: a pcapng Simple Packet Block.
    Missing,
    /// The file's timestamp is before 1677 or after 2262, which nanoseconds in an `i64` cannot hold.
    OutOfRange,
    /// The file's timestamp is more than a day from those of the records around it, which agree with
    /// each other.
    Outlier(Timestamp),
}

/// Where packets were captured. A pcap file has exactly one; a pcapng file describes its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `LINKTYPE_` number of the packets seen here.
    pub link_type: u16,
    /// Snapshot length in bytes; `None` if the file sets no limit.
    pub snaplen: Option<u32>,
    /// The interface's name on the capturing host: untrusted text, to be quoted before it is printed.
    pub name: Option<String>,
    /// Step of the timestamps.
    pub resolution: Resolution,
    /// Packets that reached the interface, from the last statistics that count them.
    pub received: Option<u64>,
    /// Packets lost for want of resources on the interface and in the operating system, from the
    /// last statistics that count them.
    pub dropped: Option<u64>,
    pub(crate) clock: Clock,
}

impl Interface {
    /// An interface with no name and no statistics; a `snaplen` of 0 sets no limit.
    pub(crate) fn new(link_type: u16, snaplen: u32, clock: Clock) -> Self {
        Self {
            link_type,
            snaplen: (snaplen != 0).then_some(snaplen),
            name: None,
            resolution: clock.resolution(),
            received: None,
            dropped: None,
            clock,
        }
    }
}
