//! Objects whose keys start with one path, such as those of a dataset.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions};

use crate::connect::Connected;
use crate::runtime::Answer;
use crate::upload::Upload;
use crate::{Error, Object, StoreOptions, Stored, Tag};

/// All objects whose keys start with one path and a slash.
#[derive(Clone, Debug)]
pub struct Folder {
    name: String,
    store: Arc<dyn ObjectStore>,
    path: Path,
    retry_time: Duration,
}

impl Folder {
    /// The folder at `url`, which may be a whole bucket. Sends nothing.
    pub fn at(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        let Connected {
            name,
            store,
            path,
            retry_time,
        } = Connected::to_folder(url, options)?;
        Ok(Self {
            name,
            store,
            path,
            retry_time,
        })
    }

    /// The URL of an object in it, without a query.
    pub fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }

    fn object(&self, name: &str) -> Result<Connected, Error> {
        let below = Path::parse(name).map_err(|_| Error::NotFound)?;
        Ok(Connected {
            name: self.url(name),
            store: Arc::clone(&self.store),
            path: self.path.parts().chain(below.parts()).collect(),
            retry_time: self.retry_time,
        })
    }

    /// All objects in it and in the folders below, in the order of their names. Empty objects that only mark
    /// a folder, whose keys end in a slash, are left out.
    pub fn all(&self) -> Result<Vec<Stored>, Error> {
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let list = async move { store.list(Some(&path)).try_collect::<Vec<_>>().await };
        let list = Answer::of(list)?.wait()?;
        let mut found = BTreeSet::new();
        for object in list.map_err(|error| Error::of(&error))? {
            // Keys of other characters cannot be requested by the client either.
            let Some(below) = object.location.prefix_match(&self.path) else {
                continue;
            };
            let name = below.collect::<Path>().as_ref().to_owned();
            let bytes = object.size;
            let is_marker = bytes == 0 && (name.is_empty() || self.is_marker(&object.location)?);
            if !is_marker {
                found.insert((name, bytes));
            }
        }
        let found = found.into_iter();
        Ok(found.map(|(name, bytes)| Stored { name, bytes }).collect())
    }

    /// True if an empty object in a list marks a folder: the client drops the slash at the end of its key, and
    /// there is no empty object without the slash.
    fn is_marker(&self, path: &Path) -> Result<bool, Error> {
        let (store, path) = (Arc::clone(&self.store), path.clone());
        match Answer::of(async move { store.head(&path).await })?.wait()? {
            Ok(object) => Ok(object.size != 0),
            Err(object_store::Error::NotFound { .. }) => Ok(true),
            Err(error) => Err(Error::of(&error)),
        }
    }

    /// Opens an object in it.
    pub fn open(&self, name: &str) -> Result<Object, Error> {
        Object::to(self.object(name)?)
    }

    /// True if it has the object.
    pub fn has(&self, name: &str) -> Result<bool, Error> {
        Object::is_at(self.object(name)?)
    }

    /// Writes a small object unless it exists. Returns false if it does. A store that has no such
    /// request replaces the object.
    pub fn put_new(&self, name: &str, bytes: Vec<u8>) -> Result<bool, Error> {
        let Connected { store, path, .. } = self.object(name)?;
        let put = Answer::of(async move {
            let new = PutOptions::from(PutMode::Create);
            match store.put_opts(&path, bytes.clone().into(), new).await {
                Err(error) if is_unknown_request(&error) => store.put(&path, bytes.into()).await,
                put => put,
            }
        })?;
        match put.wait()? {
            Ok(_) => Ok(true),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(false),
            Err(error) => Err(Error::of(&error)),
        }
    }

    /// Names of the objects and folders in it, without those in folders below.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let [objects, folders] = self.objects_and_folders()?;
        Ok([objects, folders].concat())
    }

    /// Names of the objects in it, without those in folders below.
    pub fn objects(&self) -> Result<Vec<String>, Error> {
        let [objects, _] = self.objects_and_folders()?;
        Ok(objects)
    }

    fn objects_and_folders(&self) -> Result<[Vec<String>; 2], Error> {
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let list = async move { store.list_with_delimiter(Some(&path)).await };
        let list = Answer::of(list)?.wait()?;
        let list = list.map_err(|error| Error::of(&error))?;
        let name = |path: &Path| path.filename().map(str::to_owned);
        // The object that marks this folder has its path.
        let objects = list.objects.iter().map(|object| &object.location);
        let objects = objects.filter(|path| **path != self.path);
        Ok([
            objects.filter_map(name).collect(),
            list.common_prefixes.iter().filter_map(name).collect(),
        ])
    }

    /// The tags of the objects in it, without those in folders below. `None` for a store without tags.
    pub fn tags(&self) -> Result<BTreeMap<String, Option<Tag>>, Error> {
        let (store, path) = (Arc::clone(&self.store), self.path.clone());
        let list = async move { store.list_with_delimiter(Some(&path)).await };
        let list = Answer::of(list)?.wait()?;
        let list = list.map_err(|error| Error::of(&error))?;
        let tagged = list.objects.into_iter().filter_map(|object| {
            let name = object.location.filename()?.to_owned();
            Some((name, object.e_tag.as_deref().map(Tag::of)))
        });
        Ok(tagged.collect())
    }

    /// Begins to write an object in it.
    pub fn create(&self, name: &str) -> Result<Upload, Error> {
        Upload::to(self.object(name)?)
    }

    /// Removes an object in it, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let Connected { store, path, .. } = self.object(name)?;
        let remove = async move { store.delete(&path).await };
        match Answer::of(remove)?.wait()? {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::of(&error)),
        }
    }
}

/// True if the store or its client does not support a request that writes an object only if the key is free.
fn is_unknown_request(error: &object_store::Error) -> bool {
    match error {
        object_store::Error::NotImplemented { .. } => true,
        // The code of S3 in an answer of status 501.
        error => Error::of(error).to_string().contains("NotImplemented"),
    }
}
