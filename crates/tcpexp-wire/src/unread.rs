//! What is left of a record after the headers read so far.

use crate::Skipped;

/// The bytes of a record that no header has claimed yet.
///
/// `captured` is never longer than `wire_bytes`.
#[derive(Clone, Copy)]
pub(crate) struct Unread<'a> {
    /// What the capture has of them.
    pub(crate) captured: &'a [u8],
    /// How many there were on the wire.
    pub(crate) wire_bytes: usize,
}

impl<'a> Unread<'a> {
    /// A whole record. A file that claims fewer bytes on the wire than it holds is not believed.
    #[inline]
    pub(crate) fn new(captured: &'a [u8], wire_bytes: u32) -> Self {
        let wire_bytes = usize::try_from(wire_bytes).unwrap_or(usize::MAX);
        Self {
            captured,
            wire_bytes: wire_bytes.max(captured.len()),
        }
    }

    /// The first `N` bytes and what follows them.
    #[inline]
    pub(crate) fn take<const N: usize>(self) -> Result<(&'a [u8; N], Self), Skipped> {
        let (taken, captured) = self.captured.split_first_chunk().ok_or(Skipped::Cut)?;
        Ok((
            taken,
            Self {
                captured,
                wire_bytes: self.wire_bytes - N,
            },
        ))
    }

    /// What follows the first `bytes` bytes.
    #[inline]
    pub(crate) fn skip(self, bytes: usize) -> Result<Self, Skipped> {
        let captured = self.captured.get(bytes..).ok_or(Skipped::Cut)?;
        Ok(Self {
            captured,
            wire_bytes: self.wire_bytes - bytes,
        })
    }

    /// The first `wire_bytes` bytes as the header before them counts, be that more or fewer than
    /// the record says.
    #[inline]
    pub(crate) fn limit(self, wire_bytes: usize) -> Self {
        let captured = &self.captured[..self.captured.len().min(wire_bytes)];
        Self {
            captured,
            wire_bytes,
        }
    }
}
