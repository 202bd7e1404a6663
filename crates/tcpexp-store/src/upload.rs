//! Writes objects that appear whole.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload};

use crate::connect::Connected;
use crate::runtime::Answer;
use crate::{Error, StoreOptions, Tag};

/// Length of a part of an upload. S3 has at least 5 MiB for a part and at most 10,000 parts, so an
/// object has at most 78 GiB.
const PART_BYTES: usize = 8 << 20;

/// Parts under way at once. With the part that is filled, an upload holds at most
/// `(PARTS + 1) * PART_BYTES`, which are 32 MiB.
const PARTS: usize = 3;

/// Time for a store to remove the parts of an upload. It removes them by its rules otherwise.
const ABORT_TIME: Duration = Duration::from_secs(5);

/// An object that is being written.
///
/// It appears when [`finish`](Self::finish) returns, in place of an earlier object of the same name.
/// Until then, and if the upload is dropped first, the store shows no part of it. A program that is
/// killed leaves the parts, which no reader sees; stores remove them by their rules for unfinished
/// uploads.
#[derive(Debug)]
pub struct Upload {
    place: Place,
    filled: Vec<u8>,
    /// The begun upload; `None` if the store takes objects as a whole, and all of it is kept in memory.
    parts: Option<Box<dyn MultipartUpload>>,
    has_parts: bool,
    under_way: VecDeque<Answer<Result<(), Error>>>,
}

#[derive(Debug)]
struct Place {
    store: Arc<dyn ObjectStore>,
    path: Path,
}

impl Upload {
    /// Begins to write the object at `url`. Fails if the store refuses it.
    pub fn create(url: &str, options: &StoreOptions) -> Result<Self, Error> {
        Self::to(Connected::to(url, options)?)
    }

    pub(crate) fn to(place: Connected) -> Result<Self, Error> {
        let Connected {
            name, store, path, ..
        } = place;
        let mut upload = Self {
            place: Place { store, path },
            filled: Vec::new(),
            parts: None,
            has_parts: false,
            under_way: VecDeque::new(),
        };
        // `object_store` writes to web servers only at once.
        if !name.starts_with("http") {
            let Place { store, path } = &upload.place;
            let (store, path) = (Arc::clone(store), path.clone());
            let begun = Answer::of(async move { store.put_multipart(&path).await })?.wait()?;
            upload.parts = Some(begun.map_err(|error| Error::of(&error))?);
        }
        Ok(upload)
    }

    /// Completes the object. Returns its tag; `None` from a store without tags.
    pub fn finish(mut self) -> Result<Option<Tag>, Error> {
        let tag = |put: object_store::PutResult| put.e_tag.as_deref().map(Tag::of);
        let rest = std::mem::take(&mut self.filled);
        let is_empty = !self.has_parts && rest.is_empty();
        if is_empty || self.parts.is_none() {
            // An upload in parts has at least one. Dropping aborts it.
            let Place { store, path } = &self.place;
            let (store, path) = (Arc::clone(store), path.clone());
            let put = Answer::of(async move { store.put(&path, rest.into()).await })?;
            return put.wait()?.map(tag).map_err(|error| Error::of(&error));
        }
        if !rest.is_empty() {
            self.send(rest)?;
        }
        while let Some(part) = self.under_way.pop_front() {
            part.wait()??;
        }
        let Some(mut parts) = self.parts.take() else {
            return Ok(None);
        };
        let completed = Answer::of(async move {
            let completed = parts.complete().await;
            (parts, completed)
        })?;
        let (parts, completed) = completed.wait()?;
        completed.map(tag).map_err(|error| {
            // Dropping aborts it.
            self.parts = Some(parts);
            Error::of(&error)
        })
    }

    /// Sends a part.
    fn send(&mut self, part: Vec<u8>) -> Result<(), Error> {
        let Some(parts) = &mut self.parts else {
            return Ok(());
        };
        let sent = parts.put_part(PutPayload::from(part));
        let sent = async move { sent.await.map_err(|error| Error::of(&error)) };
        self.under_way.push_back(Answer::of(sent)?);
        self.has_parts = true;
        if self.under_way.len() > PARTS
            && let Some(part) = self.under_way.pop_front()
        {
            part.wait()??;
        }
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.filled.extend_from_slice(bytes);
        while self.parts.is_some() && self.filled.len() >= PART_BYTES {
            let rest = self.filled.split_off(PART_BYTES);
            let part = std::mem::replace(&mut self.filled, rest);
            self.send(part).map_err(io::Error::other)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // An object has no readers before it is whole.
        Ok(())
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.under_way.clear();
        if let Some(mut parts) = self.parts.take()
            && let Ok(aborted) = Answer::of(async move { parts.abort().await })
        {
            // The store may be out of reach, which is why the upload is dropped.
            aborted.wait_at_most(ABORT_TIME);
        }
    }
}
