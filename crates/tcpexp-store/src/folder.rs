//! The objects of a dataset.

use std::sync::Arc;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use crate::connect::Connected;
use crate::runtime::Answer;
use crate::upload::Upload;
use crate::{Error, StoreOptions};

/// All objects whose keys start with one path and a slash.
#[derive(Clone, Debug)]
pub struct Folder {
    name: String,
    store: Arc<dyn ObjectStore>,
    path: Path,
}

impl Folder {
    /// The folder at `url`. Sends nothing.
    pub fn at(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        let Connected { name, store, path } = Connected::to(url.trim_end_matches('/'), options)?;
        Ok(Self { name, store, path })
    }

    /// Names of the objects and folders in it, without those in folders below.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let list = async move { store.list_with_delimiter(Some(&path)).await };
        let list = Answer::of(list)?.wait()?;
        let list = list.map_err(|error| Error::of(&error))?;
        let objects = list.objects.iter().map(|object| &object.location);
        let paths = objects.chain(&list.common_prefixes);
        let names = paths.filter_map(|path| path.filename().map(str::to_owned));
        Ok(names.collect())
    }

    /// Begins to write an object in it.
    pub fn create(&self, name: &str) -> Result<Upload, Error> {
        Upload::to(Connected {
            name: format!("{}/{name}", self.name),
            store: Arc::clone(&self.store),
            path: self.path.clone().join(name),
        })
    }

    /// Removes an object in it, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let (store, path) = (Arc::clone(&self.store), self.path.clone().join(name));
        let remove = async move { store.delete(&path).await };
        match Answer::of(remove)?.wait()? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::of(&error)),
        }
    }
}
