//! An object that supports several passes.

use std::sync::Arc;

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
        let place = Connected::to(url, options)?;
        let version = Answer::of(Version::current(place))?.wait()??;
        Ok(Self(Arc::new(version)))
    }

    /// The URL without its query.
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
