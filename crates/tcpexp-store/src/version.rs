//! One version of an object, read by ranges.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::Error;
use crate::connect::Connected;

/// Bytes at the start of an object that are kept: every pass looks at them first, and reading the
/// head of a capture needs no more. A request takes about as long for them as for one byte.
pub(crate) const HEAD_BYTES: u64 = 256 << 10;

/// One version of an object.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    store: Arc<dyn ObjectStore>,
    path: Path,
    identity: Identity,
    /// The first [`HEAD_BYTES`].
    pub(crate) head: Bytes,
    failure: Mutex<Option<Error>>,
}

/// What distinguishes two versions of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Identity {
    e_tag: Option<String>,
    /// Time of the last change of an object without an `ETag`.
    modified: Option<DateTime<Utc>>,
    size: u64,
}

impl Version {
    /// Reads the start of the object, which also shows its identity.
    pub(crate) async fn current(place: Connected) -> Result<Self, Error> {
        let (identity, head) = begin(&place).await?;
        let Connected {
            name, store, path, ..
        } = place;
        Ok(Self {
            name,
            store,
            path,
            identity,
            head,
            failure: Mutex::new(None),
        })
    }

    /// Length in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.identity.size
    }

    /// Reads a range of the object, in the pieces in which it arrives.
    pub(crate) async fn fetch(&self, range: Range<u64>) -> Result<VecDeque<Bytes>, Error> {
        let options = GetOptions {
            // A weak validator never matches (RFC 9110, 13.1.1), so it is only compared below.
            if_match: self
                .identity
                .e_tag
                .clone()
                .filter(|tag| !tag.starts_with("W/")),
            range: Some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        let got = self.store.get_opts(&self.path, options).await;
        let got = got.map_err(|error| Error::of(&error))?;
        // A server may ignore the condition.
        if Identity::of(&got.meta) != self.identity {
            return Err(Error::Changed);
        }
        pieces(got).await
    }

    /// Remembers the first error.
    pub(crate) fn fail(&self, error: &Error) {
        self.failure().get_or_insert_with(|| error.clone());
    }

    pub(crate) fn failure(&self) -> MutexGuard<'_, Option<Error>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the start of the object, which also shows its identity.
async fn begin(place: &Connected) -> Result<(Identity, Bytes), Error> {
    let Connected { store, path, .. } = place;
    let asked = Instant::now();
    let options = GetOptions {
        range: Some(GetRange::Bounded(0..HEAD_BYTES)),
        ..GetOptions::default()
    };
    let first = match store.get_opts(path, options).await {
        Ok(first) => first,
        Err(error @ object_store::Error::NotFound { .. }) => return Err(Error::of(&error)),
        // Another request to a store that is out of reach would take as long.
        Err(error) if asked.elapsed() >= place.retry_time => return Err(Error::of(&error)),
        // An empty object has no range (416).
        Err(error) => match store.head(path).await {
            Ok(meta) if meta.size == 0 => return Ok((Identity::of(&meta), Bytes::new())),
            _ => return Err(Error::of(&error)),
        },
    };
    let identity = Identity::of(&first.meta).known()?;
    let mut head = BytesMut::new();
    head.extend(pieces(first).await?);
    Ok((identity, head.freeze()))
}

/// All bytes that the store announced.
async fn pieces(got: GetResult) -> Result<VecDeque<Bytes>, Error> {
    let wanted = got.range.end - got.range.start;
    let pieces = got.into_stream().try_collect::<VecDeque<_>>().await;
    let mut pieces = pieces.map_err(|error| Error::of(&error))?;
    // A reader takes an empty piece for the end of the object.
    pieces.retain(|piece| !piece.is_empty());
    let have = pieces.iter().map(|piece| piece.len() as u64).sum();
    if have != wanted {
        return Err(Error::Short { have, wanted });
    }
    Ok(pieces)
}

impl Identity {
    fn of(meta: &ObjectMeta) -> Self {
        // 1970 stands for an answer without a time.
        let modified = Some(meta.last_modified).filter(|at| at.timestamp() != 0);
        Self {
            e_tag: meta.e_tag.clone(),
            modified: modified.filter(|_| meta.e_tag.is_none()),
            size: meta.size,
        }
    }

    /// Fails if the answers of two versions could not be distinguished.
    fn known(self) -> Result<Self, Error> {
        match (&self.e_tag, self.modified) {
            (None, None) => Err(Error::NoVersion),
            _ => Ok(self),
        }
    }
}
