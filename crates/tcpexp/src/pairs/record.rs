//! The file of a pair that could not be analysed.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tcpexp_store::{Object, StoreOptions, as_url};

use crate::contents::Contents;
use crate::{Error, PairsError, partial};

/// Value of the field `kind`.
const KIND: &str = "tcpexp failed pair";

/// Ending of the file's name.
pub(super) const ENDING: &str = ".error.json";

/// A pair that could not be analysed: it has no dataset, and a later run does not try again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FailedPart {
    pub(super) kind: String,
    pub(super) tcpexp_version: String,
    pub(super) pair: String,
    /// Paths of the files at the source.
    pub(super) src: Vec<String>,
    /// Paths of the files at the destination.
    pub(super) dst: Vec<String>,
    pub(super) options: BTreeMap<String, serde_json::Value>,
    pub(super) error: String,
}

impl FailedPart {
    pub(super) fn kind() -> String {
        KIND.to_owned()
    }

    pub(super) fn read(path: &Path, stores: &StoreOptions) -> Result<Self, Error> {
        let file = Contents::named(path, stores)?;
        let read: Result<Self, _> = serde_json::from_reader(BufReader::new(file));
        let no_part = || PairsError::NoPairPart {
            path: path.to_owned(),
        };
        let part = read.ok().filter(|part| part.kind == KIND);
        Ok(part.ok_or_else(no_part)?)
    }

    /// Writes the file or object, which appears complete or not at all.
    pub(super) fn write(&self, path: &Path, stores: &StoreOptions) -> Result<(), Error> {
        let cannot = |source| Error::Write {
            path: path.to_owned(),
            source,
        };
        let mut text = serde_json::to_string_pretty(self).map_err(|error| cannot(error.into()))?;
        text.push('\n');
        if let Some(url) = as_url(path) {
            let put = Object::put(url, text.into_bytes(), stores);
            return put.map_err(|source| Error::Store {
                path: path.to_owned(),
                source,
            });
        }
        let folder = partial::folder_of(path);
        // The default mode of a new file.
        let create = || partial::builder(0o666).tempfile_in(folder);
        let made = partial::locked(create, tempfile::NamedTempFile::path);
        let (mut file, _lock) = made.map_err(|error| cannot(partial::without_path(&error)))?;
        file.write_all(text.as_bytes()).map_err(cannot)?;
        file.persist(path).map_err(|error| cannot(error.error))?;
        Ok(())
    }
}
