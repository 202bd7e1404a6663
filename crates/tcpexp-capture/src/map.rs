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

impl MappedFile {
    /// Maps a regular file that is not empty.
    pub fn new(file: &File) -> io::Result<Self> {
        map(file).map(Self)
    }
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
