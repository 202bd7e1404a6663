//! A walk over a capture file of either format.

use tcpexp_units::Timestamp;

use crate::error::{FirstBytes, Foreign};
use crate::pcap::PcapWalk;
use crate::pcapng::NgWalk;
use crate::source::Source;
use crate::step::{Found, Peek, Search, Step};
use crate::{ByteOrder, Compression, Error, Format, Interface, PartEnd, PartHead};

/// A walk over a file of one of the two formats.
#[derive(Debug)]
pub(crate) enum Walk {
    Pcap(PcapWalk),
    PcapNg(NgWalk),
}

/// Fewest bytes of a magic number that are evidence of a capture: a file of one byte may be an empty line,
/// whose byte also starts a pcapng file.
const LEAST_MAGIC: usize = 2;

/// The error of a file shorter than a magic number.
fn short(start: &[u8]) -> Error {
    let is_cut = start.len() >= LEAST_MAGIC
        && (PcapWalk::may_start(start)
            || NgWalk::may_start(start)
            || Compression::may_start(start));
    if is_cut {
        Error::HeaderCut {
            have: start.len(),
            needed: PcapWalk::HEADER_BYTES,
        }
    } else {
        Error::NotCapture {
            start: FirstBytes::of(start),
        }
    }
}

impl Walk {
    /// Returns the header length of a file that starts with `start`, which has at least four bytes.
    pub(crate) fn header_bytes(start: &[u8]) -> usize {
        if NgWalk::starts(start) {
            NgWalk::HEADER_BYTES
        } else {
            PcapWalk::HEADER_BYTES
        }
    }

    /// Reads the header; also returns the number of bytes to consume.
    pub(crate) fn open(start: &[u8]) -> Result<(Self, usize), Error> {
        if start.is_empty() {
            return Err(Error::Empty);
        }
        if start.len() < 4 {
            return Err(short(start));
        }
        if NgWalk::starts(start) {
            // The first block is the section header, which the walk itself steps over.
            return NgWalk::open(start).map(|walk| (Self::PcapNg(walk), 0));
        }
        if PcapWalk::starts(start) {
            return PcapWalk::open(start).map(|walk| (Self::Pcap(walk), PcapWalk::HEADER_BYTES));
        }
        Err(match Foreign::sniff(start) {
            Some(foreign) => Error::Unsupported { foreign },
            None => Error::NotCapture {
                start: FirstBytes::of(start),
            },
        })
    }

    /// Makes the walk return every record as soon as its last byte is there, except after damage: a search
    /// needs the records that follow.
    pub(crate) fn stop_looking_ahead(&mut self) {
        match self {
            Self::Pcap(walk) => walk.stop_looking_ahead(),
            // The lengths of a block confirm each other.
            Self::PcapNg(_) => {}
        }
    }

    /// Returns the record at the start of the window, if it is complete and of the usual kind.
    #[inline]
    pub(crate) fn usual(&mut self, window: &[u8]) -> Option<Found> {
        match self {
            Self::Pcap(walk) => walk.usual(window),
            // `NgWalk::step` has its own fast path.
            Self::PcapNg(_) => None,
        }
    }

    #[inline]
    pub(crate) fn step(&mut self, window: &[u8], at_end: bool, offset: u64) -> Step {
        match self {
            Self::Pcap(walk) => walk.step(window, at_end, offset),
            Self::PcapNg(walk) => walk.step(window, at_end, offset),
        }
    }

    /// Returns the content at the start of the window, without consuming it.
    fn peek(&self, window: &[u8]) -> Peek {
        match self {
            Self::Pcap(walk) => walk.peek(window),
            Self::PcapNg(walk) => walk.peek(window),
        }
    }

    /// Returns the time of the next record at or after byte `from` of the window, and moves `from`
    /// past this record; `None` if the file cannot be read that far without consuming the bytes
    /// before.
    pub(crate) fn time_ahead(
        &self,
        source: &mut Source<'_>,
        from: &mut usize,
    ) -> Option<Timestamp> {
        loop {
            // A record may extend past the window.
            if source.window().len() < *from && !source.fill_ahead(*from) {
                return None;
            }
            match self.peek(&source.window()[*from..]) {
                Peek::Record(time, bytes) => {
                    *from += bytes;
                    // A record without a time cannot confirm another time, but the next record may.
                    if time.is_some() {
                        return time;
                    }
                }
                Peek::Pass(bytes) => *from += bytes,
                Peek::More(needed) if source.fill_ahead(*from + needed) => {}
                Peek::More(_) | Peek::Unknown => return None,
            }
        }
    }

    pub(crate) fn search(&self, window: &[u8], at_end: bool) -> Search {
        match self {
            Self::Pcap(walk) => walk.search(window, at_end),
            Self::PcapNg(walk) => walk.search(window, at_end),
        }
    }

    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Pcap(walk) => walk.format(),
            Self::PcapNg(walk) => walk.format(),
        }
    }

    /// Byte order of the current section.
    #[inline]
    pub(crate) fn order(&self) -> ByteOrder {
        match self {
            // Only blocks of pcapng have options.
            Self::Pcap(_) => ByteOrder::Little,
            Self::PcapNg(walk) => walk.order(),
        }
    }

    /// The marks of a part of a capture at the head and at the end of the file.
    pub(crate) fn part(&self) -> Option<(&Option<PartHead>, &Option<PartEnd>)> {
        match self {
            Self::Pcap(_) => None,
            Self::PcapNg(walk) => Some(walk.part()),
        }
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        match self {
            Self::Pcap(walk) => std::slice::from_ref(walk.interface()),
            Self::PcapNg(walk) => walk.interfaces(),
        }
    }
}
