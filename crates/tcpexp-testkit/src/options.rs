//! TCP options, at most 40 bytes.

/// The options of one TCP header, built left to right.
///
/// ```
/// use tcpexp_testkit::TcpOptions;
///
/// let options = TcpOptions::NONE.mss(1460).sack_permitted().timestamps(7, 0);
/// assert_eq!(options.as_bytes().len(), 16);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpOptions {
    bytes: [u8; 40],
    len: u8,
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self::NONE
    }
}

impl TcpOptions {
    /// No options.
    pub const NONE: Self = Self {
        // The unused bytes are no-operations, which serve as padding.
        bytes: [1; 40],
        len: 0,
    };

    /// Appends raw bytes.
    ///
    /// # Panics
    ///
    /// Panics if the options exceed 40 bytes.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        let from = usize::from(self.len);
        let to = from + bytes.len();
        assert!(to <= 40, "{to} bytes of TCP options; a header holds 40");
        self.bytes[from..to].copy_from_slice(bytes);
        self.len = to as u8;
        self
    }

    /// Appends the maximum segment size (RFC 9293 section 3.2).
    #[must_use]
    pub fn mss(self, mss: u16) -> Self {
        let [high, low] = mss.to_be_bytes();
        self.raw(&[2, 4, high, low])
    }

    /// Appends the window scale (RFC 7323 section 2.2).
    #[must_use]
    pub fn window_scale(self, shift: u8) -> Self {
        self.raw(&[3, 3, shift])
    }

    /// Appends SACK permitted (RFC 2018 section 2).
    #[must_use]
    pub fn sack_permitted(self) -> Self {
        self.raw(&[4, 2])
    }

    /// Appends timestamps (RFC 7323 section 3.2).
    #[must_use]
    pub fn timestamps(self, value: u32, echo_reply: u32) -> Self {
        self.raw(&[8, 10])
            .raw(&value.to_be_bytes())
            .raw(&echo_reply.to_be_bytes())
    }

    /// Appends SACK blocks of sequence numbers, end exclusive (RFC 2018 section 3).
    #[must_use]
    pub fn sack(self, blocks: &[(u32, u32)]) -> Self {
        let mut options = self.raw(&[5, (2 + 8 * blocks.len()) as u8]);
        for (start, end) in blocks {
            options = options.raw(&start.to_be_bytes()).raw(&end.to_be_bytes());
        }
        options
    }

    /// Appends the `AccECN` option of kind 174 with this CE byte counter and both other counters at
    /// 1 (RFC 9768 section 3.2.3).
    #[must_use]
    pub fn accurate_ecn(self, ce_bytes: u32) -> Self {
        let [_, counter @ ..] = ce_bytes.to_be_bytes();
        self.raw(&[174, 11, 0, 0, 1]).raw(&counter).raw(&[0, 0, 1])
    }

    /// Appends a no-operation byte, which real stacks use for alignment.
    #[must_use]
    pub fn nop(self) -> Self {
        self.raw(&[1])
    }

    /// Returns the bytes, padded with no-operations to a multiple of four.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len).next_multiple_of(4)]
    }
}
