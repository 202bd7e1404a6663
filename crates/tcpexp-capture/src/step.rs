//! One step of a walk over a capture, for mapped files and for streams alike.
//!
//! A walk parses a window that starts where the last step ended. The walk reads no input itself: it
//! requests a larger window, unless the window reaches the end of the file.

use tcpexp_units::Timestamp;

use crate::{Damage, NoTime};

/// Longest accepted record or block in bytes; a longer length is damage. Bounds a stream's buffer.
/// A super-packet has 64 KiB; other pcapng blocks (name resolution, secrets) stay below some
/// megabytes.
pub(crate) const LONGEST_RECORD: u32 = 64 << 20;

/// Longest accepted record or block during resynchronisation: tcpdump's default snapshot length, so
/// that a random length rarely passes.
pub(crate) const LONGEST_IN_SEARCH: u32 = 256 << 10;

/// Number of consecutive sound records that end a resynchronisation. Fewer suffice at the exact end
/// of the file.
pub(crate) const ROW: usize = 3;

/// Content at the start of the window.
#[derive(Debug)]
pub(crate) enum Step {
    /// A record.
    Record(Found),
    /// This many sound bytes without a record.
    Pass(usize),
    /// This many bytes without a record, used in part.
    Doubt(usize, Damage),
    /// This many unusable bytes with a known end.
    Skip(usize, Damage),
    /// Undecided: a window of at least this many bytes is needed.
    More(usize),
    /// Unusable bytes; `search` is true if sound records may follow.
    Broken { damage: Damage, search: bool },
    /// The end of the file, after whole records.
    End,
}

/// A record as offsets into the window.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) at: Result<Timestamp, NoTime>,
    pub(crate) link_type: u16,
    pub(crate) interface: u32,
    pub(crate) wire_bytes: u32,
    /// Offset of the captured bytes.
    pub(crate) captured_from: usize,
    pub(crate) captured_bytes: usize,
    /// Length of the record with headers and padding.
    pub(crate) record_bytes: usize,
}

/// Content at a later place in the file.
#[derive(Debug)]
pub(crate) enum Peek {
    /// A record of this many bytes, with its time.
    Record(Option<Timestamp>, usize),
    /// This many bytes without a record.
    Pass(usize),
    /// Unknown: a window of at least this many bytes is needed.
    More(usize),
    /// Unreadable without the bytes before it.
    Unknown,
}

/// Result of a search for the next sound record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Search {
    /// A sound record at this byte.
    Found(usize),
    /// No sound record before byte `from`; a window of `needed` bytes from there is needed.
    More { from: usize, needed: usize },
    /// No sound record up to the end of the file.
    Nowhere,
}

/// Result of the check for a row of records at one offset.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Holds,
    Breaks,
    /// Undecided: a window of this many bytes is needed.
    Undecided(usize),
}

/// Tries every byte of `window` as the start of a row; `shortest` is the length of the shortest
/// record.
pub(crate) fn search(
    window: &[u8],
    at_end: bool,
    shortest: usize,
    row_at: impl Fn(&[u8]) -> Row,
) -> Search {
    // A window shorter than the shortest record has no start to try.
    let starts = (window.len() + 1).saturating_sub(shortest);
    for from in 0..starts {
        match row_at(&window[from..]) {
            Row::Holds => return Search::Found(from),
            Row::Breaks => {}
            // All starts before this byte are ruled out, so the caller can release them before it
            // reads on.
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
