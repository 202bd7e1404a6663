//! A file as bytes, without reading it.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// A file in memory, for captures that are read more than once: its pages are looked up once.
///
/// Should another process shorten the file meanwhile, the system ends this one.
#[derive(Debug)]
pub struct MappedFile(Mmap);

/// Bytes whose pages are given back at once.
const WINDOW_BYTES: usize = 4 << 20;

/// How far one pass over a [`MappedFile`] has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    /// One past the last byte whose pages were given back.
    given_back: usize,
    /// Whether nobody will read what has been passed.
    is_last: bool,
}

impl Passage {
    /// A pass from the first byte. If it is the last one, pages that it has passed are given back,
    /// so that a file that is larger than the memory leaves room for others.
    pub fn new(is_last: bool) -> Self {
        Self {
            is_last,
            ..Self::default()
        }
    }
}

impl MappedFile {
    /// Maps a regular file that is not empty.
    pub fn new(file: &File) -> io::Result<Self> {
        map(file).map(Self)
    }

    /// Gives back the pages before `position`, which a pass has come to, if nobody will read them.
    ///
    /// Only advice: whoever reads them nevertheless finds the same bytes.
    pub fn passes(&self, position: u64, passage: &mut Passage) {
        let position = usize::try_from(position)
            .unwrap_or(usize::MAX)
            .min(self.len());
        // The record at hand may still be read.
        while passage.is_last && passage.given_back + 2 * WINDOW_BYTES <= position {
            self.give_back(passage.given_back, WINDOW_BYTES);
            passage.given_back += WINDOW_BYTES;
        }
    }

    #[cfg(target_os = "linux")]
    #[expect(
        unsafe_code,
        reason = "giving pages back is unsafe in general; see SAFETY"
    )]
    fn give_back(&self, start: usize, bytes: usize) {
        // SAFETY: what makes this advice dangerous is memory that only this process has. The
        // mapping is of a file and read-only: a page that is given back is read from the file
        // again when it is touched.
        let _ = unsafe {
            self.0
                .unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, bytes)
        };
    }

    #[cfg(not(target_os = "linux"))]
    fn give_back(&self, _start: usize, _bytes: usize) {}
}

impl Deref for MappedFile {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Maps a regular file for reading from front to back.
#[expect(
    unsafe_code,
    reason = "the file may change under a mapping; see SAFETY"
)]
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only, and lives as long as every slice of it (`Source` owns it
    // and lends). What the type system cannot promise is that no other process writes the file
    // meanwhile. If one does, bytes differ between reads: the walk decodes each header once, checks
    // every length against the mapping's own length before it slices, and keeps no invariant in
    // the file, so wrong bytes give a wrong or damaged record and nothing worse. If one shortens
    // the file, touching the lost pages kills the process with SIGBUS, which is no memory error;
    // `Capture::from_reader` is there for files that are being rotated.
    let map = unsafe { Mmap::map(file)? };
    // Advice: without it the pages still come, a little later.
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}
