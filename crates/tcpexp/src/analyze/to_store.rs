//! Copies a complete dataset to an object store.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use tcpexp_store::{Folder, Tag};

use super::manifest_file::FILE_NAME as MANIFEST;
use crate::{DatasetError, Error};

/// Maximum number of attempts to write the manifest. An attempt fails only if another run has written its manifest.
const ATTEMPTS: usize = 3;

/// Copies the dataset in the directory `from`. `place` names `folder` in messages.
///
/// Readers recognise a dataset by its manifest, so the manifest of an earlier dataset is removed first and the
/// new manifest is written last, if the tables are still those of this run. With `is_once`, two runs make the
/// same dataset: they write the same bytes, and one of them writes the manifest.
pub(super) fn copy(from: &Path, folder: &Folder, place: &Path, is_once: bool) -> Result<(), Error> {
    let copy = Copy {
        from,
        folder,
        place,
    };
    let names = copy.names()?;
    if is_once {
        if folder
            .has(MANIFEST)
            .map_err(|error| copy.in_store(MANIFEST, error))?
        {
            return Ok(());
        }
    } else {
        copy.remove(MANIFEST)?;
        for old in folder.names().map_err(|error| copy.in_store("", error))? {
            if !names.contains(&old) {
                copy.remove(&old)?;
            }
        }
    }
    let mut tags = BTreeMap::new();
    for name in names.into_iter().filter(|name| name != MANIFEST) {
        let tag = copy.table(&name)?;
        tags.insert(name, tag);
    }
    if is_once {
        // The manifest of another run lists the same tables.
        return copy.manifest().map(drop);
    }
    for _ in 0..ATTEMPTS {
        copy.require_own(&tags)?;
        if copy.manifest()? {
            return Ok(());
        }
        // The tables of the run that wrote the manifest may have replaced those of this one.
        copy.require_own(&tags)?;
        copy.remove(MANIFEST)?;
    }
    Err(copy.overwritten())
}

struct Copy<'a> {
    from: &'a Path,
    folder: &'a Folder,
    place: &'a Path,
}

impl Copy<'_> {
    fn names(&self) -> Result<Vec<String>, Error> {
        let cannot = |source| self.cannot("", source);
        let entries = fs::read_dir(self.from).map_err(cannot)?;
        let names: io::Result<Vec<_>> = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect();
        let mut names = names.map_err(cannot)?;
        names.sort();
        Ok(names)
    }

    fn table(&self, name: &str) -> Result<Option<Tag>, Error> {
        let upload = self.folder.create(name);
        let mut upload = upload.map_err(|error| self.in_store(name, error))?;
        let copied =
            File::open(self.from.join(name)).and_then(|mut file| io::copy(&mut file, &mut upload));
        copied.map_err(|source| self.cannot(name, source))?;
        upload.finish().map_err(|error| self.in_store(name, error))
    }

    /// Writes the manifest; false if there is one.
    fn manifest(&self) -> Result<bool, Error> {
        let bytes = fs::read(self.from.join(MANIFEST));
        let bytes = bytes.map_err(|source| self.cannot(MANIFEST, source))?;
        let put = self.folder.put_new(MANIFEST, bytes);
        put.map_err(|error| self.in_store(MANIFEST, error))
    }

    fn remove(&self, name: &str) -> Result<(), Error> {
        let removed = self.folder.remove(name);
        removed.map_err(|error| self.in_store(name, error))
    }

    /// Fails unless the store has the tables that this run wrote.
    fn require_own(&self, tags: &BTreeMap<String, Option<Tag>>) -> Result<(), Error> {
        let found = self.folder.tags();
        let found = found.map_err(|error| self.in_store("", error))?;
        for (name, own) in tags {
            let is_own = match (found.get(name), own) {
                (None, _) => false,
                (Some(Some(found)), Some(own)) if found == own => true,
                // No tags, or a store whose lists have other tags than its answers.
                _ => self.is_same(name)?,
            };
            if !is_own {
                return Err(self.overwritten());
            }
        }
        Ok(())
    }

    /// True if the store has the bytes of the file.
    fn is_same(&self, name: &str) -> Result<bool, Error> {
        let object = match self.folder.open(name) {
            Ok(object) => object,
            Err(tcpexp_store::Error::NotFound) => return Ok(false),
            Err(error) => return Err(self.in_store(name, error)),
        };
        let file = File::open(self.from.join(name));
        let file = file.map_err(|source| self.cannot(name, source))?;
        let length = file
            .metadata()
            .map_err(|source| self.cannot(name, source))?;
        if length.len() != object.size() {
            return Ok(false);
        }
        let mut own = BufReader::new(file).bytes();
        for byte in BufReader::new(object.reader()).bytes() {
            let byte = byte.map_err(|source| self.cannot(name, source))?;
            let own = own.next().transpose();
            if own.map_err(|source| self.cannot(name, source))? != Some(byte) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn overwritten(&self) -> Error {
        let path = self.place.to_owned();
        DatasetError::Overwritten { path }.into()
    }

    fn cannot(&self, name: &str, source: io::Error) -> Error {
        let path = self.place.join(name);
        Error::Write { path, source }
    }

    fn in_store(&self, name: &str, error: tcpexp_store::Error) -> Error {
        self.cannot(name, io::Error::other(error))
    }
}

#[cfg(test)]
#[cfg(feature = "stores")]
mod tests {
    use std::sync::{Arc, OnceLock};

    use tcpexp_store::StoreOptions;
    use tcpexp_testkit::{ObjectServer, Reply};

    use super::*;

    /// Copies a dataset of one table, while another run puts an object before the tables are compared. Returns the
    /// end, and the manifest in the store.
    fn copied(path: &'static str) -> (Result<(), String>, Option<Vec<u8>>) {
        let server: Arc<OnceLock<ObjectServer>> = Arc::default();
        let other = Arc::clone(&server);
        let mut lists = 0;
        let started = ObjectServer::deciding(move |asked| {
            lists += usize::from(asked.query.contains("list-type"));
            // The first list is that of old tables.
            if lists == 2 {
                lists += 1;
                other.get().unwrap().put(path, b"other");
            }
            Reply::Right
        });
        let options = [
            format!("aws_endpoint={}", started.endpoint()),
            "allow_http=true".to_owned(),
            "skip_signature=true".to_owned(),
        ];
        let options: StoreOptions = options
            .iter()
            .map(|option| option.parse().unwrap())
            .collect();
        assert!(server.set(started).is_ok());
        let from = tempfile::tempdir().unwrap();
        fs::write(from.path().join("rtt.parquet"), "own table").unwrap();
        fs::write(from.path().join(MANIFEST), "own manifest").unwrap();
        let place = Path::new("s3://b/run");
        let folder = Folder::at("s3://b/run", &options).unwrap();
        let end = copy(from.path(), &folder, place, false);
        let manifest = server.get().unwrap().get("/b/run/manifest.json");
        (end.map_err(|error| error.to_string()), manifest)
    }

    #[test]
    fn tables_of_another_run_get_no_manifest() {
        let (end, manifest) = copied("/b/run/rtt.parquet");
        assert_eq!(
            end.unwrap_err(),
            "another run wrote to s3://b/run at the same time: its tables replaced those of this run"
        );
        assert_eq!(manifest, None);
    }

    #[test]
    fn the_manifest_of_an_earlier_run_is_replaced_if_the_tables_were() {
        let (end, manifest) = copied("/b/run/manifest.json");
        assert_eq!(end, Ok(()));
        assert_eq!(manifest.unwrap(), b"own manifest");
    }
}
