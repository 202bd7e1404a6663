//! Records, and the interfaces that captured them.

use tcpexp_units::Timestamp;

use crate::ByteOrder;
use crate::clock::{Clock, Resolution};

/// One captured packet, borrowed from the capture.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Capture time, or the reason why it is unknown.
    pub at: Result<Timestamp, NoTime>,
    /// `LINKTYPE_` number of the first header in `captured`.
    pub link_type: u16,
    /// Index into [`Capture::interfaces`](crate::Capture::interfaces).
    pub interface: u32,
    /// Length of the packet on the wire in bytes, as the capture tool recorded it.
    pub wire_bytes: u32,
    /// The captured bytes without padding.
    pub captured: &'a [u8],
    /// Offset of the record in the (decompressed) file, in bytes.
    pub offset: u64,
    /// Options of the record's block; pcap has none.
    pub options: PacketOptions<'a>,
}

/// The options of a pcapng packet block, such as comments.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketOptions<'a> {
    /// What follows the packet in its block: padding, options, and the length of the block.
    pub(crate) tail: &'a [u8],
    pub(crate) order: ByteOrder,
}

impl<'a> PacketOptions<'a> {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The comments (`opt_comment`), in the order of the file.
    pub fn comments(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        const COMMENT: u16 = 1;
        let comments = self.iter().filter(|(code, _)| *code == COMMENT);
        comments.map(|(_, comment)| comment)
    }

    /// Code and value of each option.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        const END: u16 = 0;
        let Self { tail, order } = *self;
        // A block and its options are whole words.
        let options = tail.len() % 4..tail.len().saturating_sub(4);
        let mut bytes = tail.get(options).unwrap_or_default();
        std::iter::from_fn(move || {
            let code = order.u16_at(bytes, 0).filter(|code| *code != END)?;
            let end = 4 + usize::from(order.u16_at(bytes, 2)?);
            let value = bytes.get(4..end)?;
            bytes = bytes.get(end.next_multiple_of(4)..).unwrap_or_default();
            Some((code, value))
        })
    }
}

/// Options of a packet block, copied from the file.
#[derive(Clone, Debug, Default)]
pub struct HeldOptions {
    tail: Vec<u8>,
    order: ByteOrder,
}

impl HeldOptions {
    /// Copies the options.
    pub fn of(options: &PacketOptions<'_>) -> Self {
        Self {
            tail: options.tail.to_vec(),
            order: options.order,
        }
    }

    /// The options.
    pub fn options(&self) -> PacketOptions<'_> {
        PacketOptions {
            tail: &self.tail,
            order: self.order,
        }
    }
}

/// Reason why a record has no usable timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    /// The file has none: a pcapng Simple Packet Block.
    Missing,
    /// The file's timestamp is before 1677 or after 2262, which nanoseconds in an `i64` cannot hold.
    OutOfRange,
    /// The file's timestamp is more than a day from the timestamps of the records around it, which
    /// agree with each other.
    Outlier(Timestamp),
}

/// Capture interface. A pcap file has exactly one; a pcapng file describes its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// `LINKTYPE_` number of the interface's packets.
    pub link_type: u16,
    /// Snapshot length in bytes; `None` if the file sets no limit.
    pub snaplen: Option<u32>,
    /// The interface's name on the capturing host: untrusted text, to be quoted before it is printed.
    pub name: Option<String>,
    /// Step of the timestamps.
    pub resolution: Resolution,
    /// Number of packets that reached the interface, from the last statistics block with this
    /// counter.
    pub received: Option<u64>,
    /// Number of packets lost for lack of resources, on the interface and in the operating system,
    /// from the last statistics block with these counters or, if that is more, from all packet blocks.
    pub dropped: Option<u64>,
    /// Drops that the last statistics block states.
    stated_drops: Option<u64>,
    /// Sum of the drops before each packet.
    summed_drops: Option<u64>,
    pub(crate) clock: Clock,
}

impl Interface {
    /// Creates an interface without a name and statistics; a `snaplen` of 0 sets no limit.
    pub(crate) fn new(link_type: u16, snaplen: u32, clock: Clock) -> Self {
        Self {
            link_type,
            snaplen: (snaplen != 0).then_some(snaplen),
            name: None,
            resolution: clock.resolution(),
            received: None,
            dropped: None,
            stated_drops: None,
            summed_drops: None,
            clock,
        }
    }

    /// Stores the drops that a statistics block states.
    pub(crate) fn state_drops(&mut self, count: u64) {
        self.stated_drops = Some(count);
        self.dropped = self.stated_drops.max(self.summed_drops);
    }

    /// Adds the drops between a packet and the one before it. They are among those of statistics blocks.
    pub(crate) fn add_drops(&mut self, count: u64) {
        let sum = self.summed_drops.unwrap_or(0).saturating_add(count);
        self.summed_drops = Some(sum);
        self.dropped = self.stated_drops.max(self.summed_drops);
    }
}
