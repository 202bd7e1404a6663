//! The bytes of an input that is a file or an object.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use tcpexp_store::{Object, ObjectReader, StoreOptions, as_url};

use crate::Error;

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

    /// Opens the file or object at `path`, with an error that names it.
    pub(crate) fn named(path: &Path, options: &StoreOptions) -> Result<Self, Error> {
        Self::open(path, options).map_err(|source| Error::Open {
            path: path.to_owned(),
            source,
        })
    }

    /// The file at `path`. An object is copied to an unnamed temporary file: the tables of a dataset are
    /// read from their ends, in small steps.
    pub(crate) fn file(path: &Path, options: &StoreOptions) -> Result<File, Error> {
        match Self::named(path, options)? {
            Self::File(file) => Ok(file),
            Self::Object(object) => copy_of(object).map_err(|source| Error::Spool {
                name: path.to_owned(),
                source,
            }),
        }
    }
}

fn copy_of(mut object: ObjectReader) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut object, &mut file)?;
    file.rewind()?;
    Ok(file)
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
