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
/// `(REQUESTS + 1) * RANGE_BYTES`, and the unused room of the buffers in which they arrive: two captures of
/// 442 MB took 73 MB more than as streams of files.
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
    /// Pieces that have arrived and are next.
    current: VecDeque<Bytes>,
    /// Position of the next byte.
    at: u64,
    ahead: VecDeque<Answer<Result<VecDeque<Bytes>, Error>>>,
    /// Position behind the last requested range.
    requested: u64,
}

impl ObjectReader {
    pub(crate) fn new(of: Arc<Version>) -> Self {
        Self {
            of,
            start: 0,
            current: VecDeque::new(),
            at: 0,
            ahead: VecDeque::new(),
            requested: 0,
        }
    }

    /// The next bytes; none at the end of the object.
    fn next(&mut self) -> Result<VecDeque<Bytes>, Error> {
        let size = self.of.size();
        if self.at >= size {
            return Ok(VecDeque::new());
        }
        let head = &self.of.head;
        if self.ahead.is_empty() && self.at < head.len() as u64 {
            let rest = usize::try_from(self.at).map_or(Bytes::new(), |from| head.slice(from..));
            self.requested = head.len() as u64;
            return Ok(VecDeque::from([rest]));
        }
        self.request_ahead()?;
        let next = self.ahead.pop_front().map(Answer::wait).transpose()?;
        let next = next.transpose()?.unwrap_or_default();
        // The next ranges are on their way while this one is used.
        if self.at > self.start {
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
        }
        let mut filled = 0;
        while let Some(piece) = self.current.front_mut()
            && filled < buffer.len()
        {
            let count = piece.len().min(buffer.len() - filled);
            buffer[filled..filled + count].copy_from_slice(&piece.split_to(count));
            filled += count;
            if piece.is_empty() {
                self.current.pop_front();
            }
        }
        self.at += filled as u64;
        Ok(filled)
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let base = match to {
            SeekFrom::Start(_) => 0,
            SeekFrom::End(_) => self.of.size(),
            SeekFrom::Current(_) => self.at,
        };
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) | SeekFrom::Current(by) => base.checked_add_signed(by),
        };
        let place = place.ok_or(io::ErrorKind::InvalidInput)?;
        *self = Self {
            start: place,
            at: place,
            requested: place,
            ..Self::new(Arc::clone(&self.of))
        };
        Ok(place)
    }
}
