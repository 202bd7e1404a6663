//! One step of a walk over a capture, the same whether its bytes are mapped or arrive in pieces.
//!
//! A walk looks at a window that starts where the last step ended. It never reads, so it can say
//! that it needs a larger window; once the window is known to reach the end of the file it must
//! decide with what is there.

use tcpexp_units::Timestamp;

use crate::error::{FirstBytes, Foreign};
use crate::pcap::PcapWalk;
use crate::pcapng::NgWalk;
use crate::{Damage, Error, Format, Interface, NoTime};

/// Longest record or block that is believed, in bytes. Larger claims are damage, so this also
/// bounds the memory of a stream.
pub(crate) const LONGEST_RECORD: u32 = 64 << 20;

/// Longest record or block that is believed where records are searched for among garbage.
pub(crate) const LONGEST_IN_SEARCH: u32 = 256 << 10;

/// Records or blocks in a row that prove the bytes to be a capture again. Shorter rows do if they
/// end exactly where the file does.
pub(crate) const ROW: usize = 3;

/// What the window starts with.
#[derive(Debug)]
pub(crate) enum Step {
    /// A record.
    Record(Found),
    /// This many bytes that belong to the capture and hold no record.
    Pass(usize),
    /// This many bytes that cannot be used, but whose end is certain.
    Skip(usize, Damage),
    /// Less than can be decided on: a window of at least this many bytes is needed.
    More(usize),
    /// Bytes that are no record. Where the next one starts is worth a search, or is not.
    Broken { damage: Damage, search: bool },
    /// The end of the file, after whole records.
    End,
}

/// A record, as places in the window.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) at: Result<Timestamp, NoTime>,
    pub(crate) link_type: u16,
    pub(crate) interface: u32,
    pub(crate) wire_bytes: u32,
    /// Where the captured bytes start.
    pub(crate) captured_from: usize,
    pub(crate) captured_bytes: usize,
    /// Length of the record with headers and padding.
    pub(crate) record_bytes: usize,
}

/// What a window further on in the file starts with.
#[derive(Debug)]
pub(crate) enum Peek {
    /// A record of this many bytes, with its time.
    Record(Option<Timestamp>, usize),
    /// This many bytes without a record.
    Pass(usize),
    /// Unknown: a window of at least this many bytes is needed.
    More(usize),
    /// Nothing that can be read without having read what is before it.
    Unknown,
}

/// Where in a window of unknown bytes a capture goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// At this byte.
    Found(usize),
    /// Not before byte `from`; from there a window of `needed` bytes is needed.
    More { from: usize, needed: usize },
    /// Nowhere to the end of the file.
    Nowhere,
}

/// Whether a row of records starts somewhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Holds,
    Breaks,
    /// A window of this many bytes would tell.
    Undecided(usize),
}

/// Tries every byte of `window` as the start of a row; `shortest` is the least a record takes.
pub(crate) fn search(
    window: &[u8],
    at_end: bool,
    shortest: usize,
    row_at: impl Fn(&[u8]) -> Row,
) -> Search {
    let starts = (window.len() + 1).saturating_sub(shortest);
    for from in 0..starts {
        match row_at(&window[from..]) {
            Row::Holds => return Search::Found(from),
            Row::Breaks => {}
            Row::Undecided(needed) => return Search::More { from, needed },
        }
    }
    if at_end {
        return Search::Nowhere;
    }
    Search::More {
        from: starts,
        needed: shortest,
    }
}

/// A walk in one of the two formats.
#[derive(Debug)]
pub(crate) enum Walk {
    Pcap(PcapWalk),
    PcapNg(NgWalk),
}

impl Walk {
    /// Bytes needed to open a file that starts with `start`, which has at least four.
    pub(crate) fn header_bytes(start: &[u8]) -> usize {
        if NgWalk::starts(start) {
            NgWalk::HEADER_BYTES
        } else {
            PcapWalk::HEADER_BYTES
        }
    }

    /// Reads the header; also gives how many bytes of it are done with.
    pub(crate) fn open(start: &[u8]) -> Result<(Self, usize), Error> {
        if start.is_empty() {
            return Err(Error::Empty);
        }
        if start.len() < 4 {
            return Err(Error::HeaderCut {
                have: start.len(),
                needed: PcapWalk::HEADER_BYTES,
            });
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

    /// What the window starts with if that is a whole record like most.
    #[inline]
    pub(crate) fn usual(&mut self, window: &[u8]) -> Option<Found> {
        match self {
            Self::Pcap(walk) => walk.usual(window),
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

    /// What the window starts with, without stepping over it.
    pub(crate) fn peek(&self, window: &[u8]) -> Peek {
        match self {
            Self::Pcap(walk) => walk.peek(window),
            Self::PcapNg(walk) => walk.peek(window),
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

    pub(crate) fn interfaces(&self) -> &[Interface] {
        match self {
            Self::Pcap(walk) => std::slice::from_ref(walk.interface()),
            Self::PcapNg(walk) => walk.interfaces(),
        }
    }
}
