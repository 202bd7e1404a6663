//! The bytes of a file: a slice, a mapping, or a buffered stream.

use std::io::{self, Read};

use memmap2::Mmap;

/// Initial size of a stream's buffer, in bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// The bytes of a file and the position in them.
pub(crate) struct Source<'a> {
    data: Data<'a>,
    /// Number of consumed bytes in `data`.
    used: usize,
    /// Number of consumed bytes that are no longer in `data`.
    dropped: u64,
    /// True if `data` reaches the end of the file.
    at_end: bool,
    /// Error of the last [`fill_ahead`](Self::fill_ahead), returned by the next
    /// [`fill`](Self::fill).
    failed_ahead: Option<io::Error>,
}

enum Data<'a> {
    Slice(&'a [u8]),
    Map(Mmap),
    // Boxed: the other two are accessed for every record and stay small.
    Stream(Box<Stream<'a>>),
}

struct Stream<'a> {
    reader: Box<dyn Read + Send + 'a>,
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that hold data; the rest is free.
    filled: usize,
}

impl<'a> Source<'a> {
    pub(crate) fn slice(bytes: &'a [u8]) -> Self {
        Self::new(Data::Slice(bytes), true)
    }

    pub(crate) fn map(map: Mmap) -> Self {
        Self::new(Data::Map(map), true)
    }

    pub(crate) fn stream(reader: Box<dyn Read + Send + 'a>) -> Self {
        let stream = Stream {
            reader,
            buffer: vec![0; BUFFER_BYTES],
            filled: 0,
        };
        Self::new(Data::Stream(Box::new(stream)), false)
    }

    fn new(data: Data<'a>, at_end: bool) -> Self {
        Self {
            data,
            used: 0,
            dropped: 0,
            at_end,
            failed_ahead: None,
        }
    }

    /// Returns all buffered bytes, consumed or not.
    #[inline]
    fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Slice(bytes) => bytes,
            Data::Map(map) => map,
            Data::Stream(stream) => &stream.buffer[..stream.filled],
        }
    }

    /// Returns the buffered bytes that are not consumed.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        &self.bytes()[self.used..]
    }

    /// Consumes `count` bytes of the window.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        debug_assert!(count <= self.window().len());
        self.used += count;
    }

    /// Consumes `count` bytes of the window and returns the window as it was before, which stays valid
    /// until the next [`fill`](Self::fill).
    #[inline]
    pub(crate) fn take(&mut self, count: usize) -> &[u8] {
        let before = self.used;
        self.used += count;
        &self.bytes()[before..]
    }

    /// Returns the offset of the window from the start of the file, in bytes.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.dropped + self.used as u64
    }

    /// True if the window reaches the end of the file.
    #[inline]
    pub(crate) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Makes room for a window of `needed` bytes and reads once: a record that has arrived is returned
    /// before the reader blocks again.
    ///
    /// The buffer doubles only when it is full, so it never exceeds twice the bytes that arrived.
    pub(crate) fn fill(&mut self, needed: usize) -> io::Result<()> {
        if let Some(error) = self.failed_ahead.take() {
            return Err(error);
        }
        let Data::Stream(stream) = &mut self.data else {
            return Ok(());
        };
        let window = stream.filled - self.used;
        // A read into no room returns 0, which would look like the end of the file.
        let needed = needed.max(window + 1);
        // The window moves to the front only when the room behind it is too small, so few bytes are
        // copied.
        if self.used + needed > stream.buffer.len() {
            stream.buffer.copy_within(self.used..stream.filled, 0);
            self.dropped += self.used as u64;
            self.used = 0;
            stream.filled = window;
        }
        if stream.filled == stream.buffer.len() {
            let doubled = stream.buffer.len() * 2;
            stream.buffer.resize(doubled, 0);
        }
        let count = read_once(&mut stream.reader, &mut stream.buffer[stream.filled..])?;
        stream.filled += count;
        self.at_end = count == 0;
        Ok(())
    }

    /// Reads until the window has `needed` bytes; returns true on success.
    ///
    /// A read error is kept for the next [`fill`](Self::fill), because the bytes in the window come
    /// before it.
    pub(crate) fn fill_ahead(&mut self, needed: usize) -> bool {
        if self.failed_ahead.is_none() {
            self.failed_ahead = self.fill_to(needed).err();
        }
        self.window().len() >= needed
    }

    /// Reads until the window has `needed` bytes or the file ends.
    pub(crate) fn fill_to(&mut self, needed: usize) -> io::Result<()> {
        while self.window().len() < needed && !self.at_end {
            self.fill(needed)?;
        }
        Ok(())
    }

    /// Turns the stream into a reader that starts at its first byte.
    pub(crate) fn into_reader(self) -> Box<dyn Read + Send + 'a> {
        match self.data {
            Data::Slice(bytes) => Box::new(bytes),
            Data::Map(map) => Box::new(io::Cursor::new(map)),
            Data::Stream(mut stream) => {
                stream.buffer.truncate(stream.filled);
                Box::new(io::Cursor::new(stream.buffer).chain(stream.reader))
            }
        }
    }
}

fn read_once(reader: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(room) {
            // A signal interrupts a read before any byte arrives (EINTR), so the read is repeated.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_does_not_grow_for_a_claimed_length_without_bytes() {
        let mut source = Source::stream(Box::new(&[7; 1_000][..]));
        while !source.at_end() {
            source.fill(60 << 20).unwrap();
        }
        let Data::Stream(stream) = &source.data else {
            unreachable!()
        };
        assert_eq!(stream.buffer.len(), BUFFER_BYTES);
        assert_eq!(source.window().len(), 1_000);
    }

    #[test]
    fn the_buffer_grows_for_bytes_that_exist() {
        let mut source = Source::stream(Box::new(io::repeat(7).take(3 << 20)));
        source.fill_to(2 << 20).unwrap();
        assert!(source.window().len() >= 2 << 20);
        source.consume(2 << 20);
        source.fill_to(usize::MAX / 2).unwrap();
        assert_eq!((source.offset(), source.window().len()), (2 << 20, 1 << 20));
    }
}
