//! Where the bytes of a capture are.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;
use std::sync::Arc;

use tcpexp_capture::{Capture, MappedFile};
use tcpexp_store::Object;
#[cfg(feature = "tables")]
use tcpexp_store::StoreOptions;

use super::Recording;
use crate::Error;
use crate::capture_set::CaptureSet;
#[cfg(feature = "tables")]
use crate::contents::Contents;
use crate::stored::Stored;

#[derive(Debug)]
pub(super) enum Source {
    /// Memory-mapped once for all passes.
    Mapped(MappedFile),
    /// Reopened for each pass.
    Path,
    Spooled(File),
    /// In memory.
    Bytes(Vec<u8>),
    /// Requested anew for each pass.
    Object(Object),
    /// A part of a set: mapped anew for each pass, so that only the part being read is mapped.
    MappedEachPass,
    /// Parts that are read one after the other.
    Parts(Vec<Recording>, Arc<CaptureSet>),
}

impl Source {
    /// The same bytes, read as a stream instead of mapped.
    pub(super) fn streamed(self) -> Self {
        match self {
            Self::Mapped(_) | Self::MappedEachPass => Self::Path,
            Self::Parts(parts, set) => {
                let parts = parts.into_iter().map(Recording::streamed).collect();
                Self::Parts(parts, set)
            }
            source @ (Self::Path | Self::Spooled(_) | Self::Bytes(_) | Self::Object(_)) => source,
        }
    }

    /// Returns an error if a store has failed.
    pub(super) fn require_store(&self, name: &Path) -> Result<(), Error> {
        match self {
            Self::Object(object) => match object.failure() {
                Some(source) => Err(Error::Store {
                    path: name.to_owned(),
                    source,
                }),
                None => Ok(()),
            },
            Self::Parts(parts, _) => parts.iter().try_for_each(Recording::require_store),
            Self::Mapped(_)
            | Self::Path
            | Self::Spooled(_)
            | Self::Bytes(_)
            | Self::MappedEachPass => Ok(()),
        }
    }

    /// Length in bytes.
    pub(super) fn bytes(&self, name: &Path) -> u64 {
        let metadata = match self {
            Self::Mapped(file) => return file.len() as u64,
            Self::Bytes(bytes) => return bytes.len() as u64,
            Self::Path | Self::MappedEachPass => std::fs::metadata(name),
            Self::Spooled(file) => file.metadata(),
            Self::Object(object) => return object.size(),
            Self::Parts(parts, _) => return parts.iter().map(Recording::file_bytes).sum(),
        };
        // The length serves progress bars only; if the file vanished, the next pass reports the
        // error.
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// True if the bytes stay, whatever happens to the name of the file.
    pub(super) fn is_held(&self) -> bool {
        matches!(self, Self::Mapped(_))
    }

    /// Reads the stored file, or each file of a set, with `read`.
    #[cfg(feature = "tables")]
    pub(super) fn read_files<T>(
        &self,
        (name, stored): (&Path, Option<Stored>),
        options: &StoreOptions,
        read: impl Fn(Contents, Option<u64>) -> io::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let read = |path: &Path, opened: io::Result<Contents>, stored: Option<Stored>| {
            let opened = opened.map_err(|source| Error::Open {
                path: path.to_owned(),
                source,
            })?;
            // Another file may have taken the name.
            if let (Contents::File(file), Some(stored)) = (&opened, stored)
                && let Ok(metadata) = file.metadata()
                && !stored.is_same_file(&metadata)
            {
                return Err(Error::Changed {
                    path: path.to_owned(),
                });
            }
            let bytes = stored.map(|stored| stored.bytes);
            read(opened, bytes).map_err(|source| Error::Open {
                path: path.to_owned(),
                source,
            })
        };
        let opened = match self {
            Self::Parts(_, set) => {
                let files = set.files.iter();
                let files = files.map(|file| {
                    let opened = Contents::open(&file.path, options);
                    read(&file.path, opened, file.stored)
                });
                return files.collect();
            }
            Self::Mapped(_) | Self::Path | Self::MappedEachPass => {
                File::open(name).map(Contents::File)
            }
            Self::Spooled(file) => rewound(file).map(Contents::File),
            Self::Bytes(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::Object(object) => Ok(Contents::Object(object.reader())),
        };
        Ok(vec![read(name, opened, stored)?])
    }

    /// Opens the capture at its first record. A set is opened part by part. Of a stored file, the capture
    /// has the bytes that the file had at first.
    pub(super) fn capture(
        &self,
        name: &Path,
        stored: Option<Stored>,
    ) -> Result<Capture<'_>, Error> {
        let unread = |source| Error::Capture {
            path: name.to_owned(),
            source,
        };
        let opened = match self {
            Self::Mapped(file) => return Capture::from_bytes(file).map_err(unread),
            Self::Bytes(bytes) => return Capture::from_bytes(bytes).map_err(unread),
            Self::Object(object) => {
                // Results of an earlier pass that a store broke off are of no use.
                self.require_store(name)?;
                let capture = Capture::from_reader(object.reader());
                // An error of the store is not one of the capture.
                self.require_store(name)?;
                return capture.map_err(unread);
            }
            Self::Path | Self::MappedEachPass => File::open(name),
            Self::Parts(..) => Err(io::ErrorKind::IsADirectory.into()),
            Self::Spooled(file) => rewound(file),
        };
        let file = opened.map_err(|source| Error::Open {
            path: name.to_owned(),
            source,
        })?;
        if let Some(stored) = stored {
            let has_grown = file.metadata().is_ok_and(|now| now.len() > stored.bytes);
            if has_grown || matches!(self, Self::Path) {
                return Capture::from_reader(file.take(stored.bytes)).map_err(unread);
            }
        }
        // A spooled file has no other writer, so it may be mapped. `streamed` requires
        // `from_reader`, which does not map.
        let capture = match self {
            Self::Spooled(_) | Self::MappedEachPass => Capture::from_file(file),
            Self::Path | Self::Mapped(_) | Self::Bytes(_) | Self::Object(_) | Self::Parts(..) => {
                Capture::from_reader(file)
            }
        };
        capture.map_err(unread)
    }
}

/// A handle at the start of `file`; all handles share one position.
fn rewound(file: &File) -> io::Result<File> {
    let mut file = file.try_clone()?;
    file.rewind()?;
    Ok(file)
}
