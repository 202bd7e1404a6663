//! An object that supports several passes.

use std::sync::Arc;

use object_store::ObjectStoreExt;

use crate::connect::Connected;
use crate::reader::ObjectReader;
use crate::runtime::Answer;
use crate::version::Version;
use crate::{Error, StoreOptions};

/// An object in a store, in the version that was opened.
#[derive(Clone, Debug)]
pub struct Object(Arc<Version>);

impl Object {
    /// Opens the object at `url` and reads its start.
    pub fn open(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        Self::to(Connected::to(url, options)?)
    }

    pub(crate) fn to(place: Connected) -> Result<Self, Error> {
        let version = Answer::of(Version::current(place))?.wait()??;
        Ok(Self(Arc::new(version)))
    }

    /// True if there is an object at `url`.
    pub fn exists(url: &str, options: &StoreOptions) -> Result<bool, Error> {
        Self::is_at(Connected::to(url, options)?)
    }

    pub(crate) fn is_at(place: Connected) -> Result<bool, Error> {
        let Connected { store, path, .. } = place;
        let head = Answer::of(async move { store.head(&path).await })?;
        match head.wait()? {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(Error::of(&error)),
        }
    }

    /// Writes a small object at once, in place of an earlier one.
    pub fn put(url: &str, bytes: Vec<u8>, options: &StoreOptions) -> Result<(), Error> {
        let Connected { store, path, .. } = Connected::to(url, options)?;
        let put = Answer::of(async move { store.put(&path, bytes.into()).await })?;
        put.wait()?.map(drop).map_err(|error| Error::of(&error))
    }

    /// The URL without its query and user information.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.0.size()
    }

    /// Starts to read the object at its first byte.
    pub fn reader(&self) -> ObjectReader {
        ObjectReader::new(Arc::clone(&self.0))
    }

    /// The first error of any reader. What was read before it is only a part of the object, even if
    /// a later reader succeeds.
    pub fn failure(&self) -> Option<Error> {
        self.0.failure().clone()
    }
}
