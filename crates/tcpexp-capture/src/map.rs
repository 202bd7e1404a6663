//! Memory-mapped files.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// A mapped file, for captures that are read more than once: the page table is filled once.
///
/// If another process truncates the file meanwhile, the kernel kills this process with SIGBUS.
#[derive(Debug)]
pub struct MappedFile(Mmap);

/// Number of bytes whose pages are released together.
const WINDOW_BYTES: usize = 4 << 20;

/// Position of one pass over a [`MappedFile`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    /// One past the last released byte.
    given_back: usize,
    /// True if no later pass reads the same bytes.
    is_last: bool,
}

impl Passage {
    /// Starts a pass at the first byte. The last pass releases the pages it has read, so that a
    /// file larger than the memory does not evict other data.
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

    /// Releases the pages before `position` in the last pass.
    ///
    /// This is advice to the kernel: a later read of these bytes still returns them.
    pub fn passes(&self, position: u64, passage: &mut Passage) {
        let position = usize::try_from(position)
            .unwrap_or(usize::MAX)
            .min(self.len());
        // The current record is still borrowed.
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
        // SAFETY: MADV_DONTNEED loses data only in private dirty pages. The mapping is read-only
        // and backed by a file: the kernel reads a released page from the file on the next access.
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
    // SAFETY: the mapping is read-only and outlives every slice of it (`Source` owns it and lends).
    // The type system cannot guarantee that no other process writes the file meanwhile. If one
    // does, bytes differ between reads: the walk decodes each header once, checks every length
    // against the mapping's own length before it slices, and keeps no invariant in the file, so
    // wrong bytes give a wrong or damaged record and nothing worse. If another process shortens the
    // file, an access to the lost pages kills this process with SIGBUS, which is not a memory
    // error; `Capture::from_reader` reads files that are being rotated.
    let map = unsafe { Mmap::map(file)? };
    // Advice only: without it the reads are correct, but slower.
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}
