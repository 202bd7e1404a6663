//! The bytes of an input that is a file or an object.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use tcpexp_store::{Object, ObjectReader, StoreOptions, as_url};

/// A stored input, read as it is: not decompressed.
pub(crate) enum Contents {
    File(File),
    Object(ObjectReader),
}

impl Contents {
    /// Opens the file or object at `path`.
    pub(crate) fn open(path: &Path, options: &StoreOptions) -> io::Result<Self> {
        match as_url(path) {
            Some(url) => match Object::open(url, options) {
                Ok(object) => Ok(Self::Object(object.reader())),
                Err(error) => Err(io::Error::other(error)),
            },
            None => File::open(path).map(Self::File),
        }
    }
}

impl Read for Contents {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(object) => object.read(buffer),
        }
    }
}

impl Seek for Contents {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Object(object) => object.seek(to),
        }
    }
}
