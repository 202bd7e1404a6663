//! Reads an object from front to back, by ranges that are requested ahead.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;

use crate::Error;
use crate::runtime::Answer;
use crate::version::{HEAD_BYTES, Version};

/// Largest range of a request.
const RANGE_BYTES: u64 = 4 << 20;

/// Requests under way at once. With the range in use, a reader holds at most
/// `(REQUESTS + 1) * RANGE_BYTES`, twice while the parts of an answer are joined: 40 MiB. Two captures
/// of 420 MB took 73 MB more than as streams of files.
const REQUESTS: usize = 4;

/// Reads one version of an object. A seek starts anew.
///
/// The first range after a start is small and requested alone, so that a look at a few bytes costs
/// few. The following ranges double in length.
#[derive(Debug)]
pub struct ObjectReader {
    of: Arc<Version>,
    /// Where reading started.
    start: u64,
    /// Bytes that have arrived and are next.
    current: Bytes,
    /// Position behind `current`.
    arrived: u64,
    ahead: VecDeque<Answer<Result<Bytes, Error>>>,
    /// Position behind the last requested range.
    requested: u64,
}

impl ObjectReader {
    pub(crate) fn new(of: Arc<Version>) -> Self {
        Self {
            of,
            start: 0,
            current: Bytes::new(),
            arrived: 0,
            ahead: VecDeque::new(),
            requested: 0,
        }
    }

    /// The next bytes; none at the end of the object.
    fn next(&mut self) -> Result<Bytes, Error> {
        let size = self.of.size();
        if self.arrived >= size {
            return Ok(Bytes::new());
        }
        let head = &self.of.head;
        if self.ahead.is_empty() && self.arrived < head.len() as u64 {
            let rest =
                usize::try_from(self.arrived).map_or(Bytes::new(), |from| head.slice(from..));
            self.requested = head.len() as u64;
            return Ok(rest);
        }
        self.request_ahead()?;
        let next = self.ahead.pop_front().map(Answer::wait).transpose()?;
        let next = next.transpose()?.unwrap_or_default();
        // The next ranges are on their way while this one is used.
        if self.arrived > self.start {
            self.request_ahead()?;
        }
        Ok(next)
    }

    fn request_ahead(&mut self) -> Result<(), Error> {
        let is_first = self.requested == self.start;
        let requests = if is_first { 1 } else { REQUESTS };
        while self.ahead.len() < requests && self.requested < self.of.size() {
            let length = (self.requested - self.start).clamp(HEAD_BYTES, RANGE_BYTES);
            let end = self.of.size().min(self.requested + length);
            let range = self.requested..end;
            let of = Arc::clone(&self.of);
            let answer = Answer::of(async move { of.fetch(range).await })?;
            self.ahead.push_back(answer);
            self.requested = end;
        }
        Ok(())
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.current.is_empty() {
            self.current = self.next().map_err(|error| {
                self.of.fail(&error);
                io::Error::other(error)
            })?;
            self.arrived += self.current.len() as u64;
        }
        let count = buffer.len().min(self.current.len());
        buffer[..count].copy_from_slice(&self.current.split_to(count));
        Ok(count)
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let base = match to {
            SeekFrom::Start(_) => 0,
            SeekFrom::End(_) => self.of.size(),
            SeekFrom::Current(_) => self.arrived - self.current.len() as u64,
        };
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) | SeekFrom::Current(by) => base.checked_add_signed(by),
        };
        let place = place.ok_or(io::ErrorKind::InvalidInput)?;
        *self = Self {
            start: place,
            arrived: place,
            requested: place,
            ..Self::new(Arc::clone(&self.of))
        };
        Ok(place)
    }
}
