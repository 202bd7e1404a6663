//! The rest of a record after the decoded headers.

use crate::Skipped;

/// The bytes of a record after the headers decoded so far.
///
/// `captured` is never longer than `wire_bytes`.
#[derive(Clone, Copy)]
pub(crate) struct Unread<'a> {
    /// The captured part of these bytes.
    pub(crate) captured: &'a [u8],
    /// Number of these bytes on the wire.
    pub(crate) wire_bytes: usize,
}

impl<'a> Unread<'a> {
    /// Starts with a whole record. `wire_bytes` is raised to the number of captured bytes if lower.
    #[inline]
    pub(crate) fn new(captured: &'a [u8], wire_bytes: u32) -> Self {
        let wire_bytes = usize::try_from(wire_bytes).unwrap_or(usize::MAX);
        Self {
            captured,
            wire_bytes: wire_bytes.max(captured.len()),
        }
    }

    /// Returns the first `N` bytes and the rest.
    #[inline]
    pub(crate) fn take<const N: usize>(self) -> Result<(&'a [u8; N], Self), Skipped> {
        let (taken, captured) = self.captured.split_first_chunk().ok_or(Skipped::Cut)?;
        Ok((
            taken,
            Self {
                captured,
                // No underflow: at least the captured bytes were on the wire.
                wire_bytes: self.wire_bytes - N,
            },
        ))
    }

    /// Returns the rest after the first `bytes` bytes.
    #[inline]
    pub(crate) fn skip(self, bytes: usize) -> Result<Self, Skipped> {
        let captured = self.captured.get(bytes..).ok_or(Skipped::Cut)?;
        Ok(Self {
            captured,
            wire_bytes: self.wire_bytes - bytes,
        })
    }

    /// Limits the bytes to the length in an outer header, which may be less or more than the record
    /// claims.
    #[inline]
    pub(crate) fn limit(self, wire_bytes: usize) -> Self {
        let captured = &self.captured[..self.captured.len().min(wire_bytes)];
        Self {
            captured,
            wire_bytes,
        }
    }
}
