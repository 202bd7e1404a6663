//! Lazy access to the options of a TCP header.

use crate::SeqNum;

const END_OF_LIST: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
/// Kind numbers of the two field orders of the `AccECN` option (RFC 9768, section 3.2.3).
const ACCURATE_ECN_0: u8 = 172;
const ACCURATE_ECN_1: u8 = 174;

/// The options of an acknowledgment that measurements read.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckOptions<'a> {
    /// `TSval` and `TSecr`, as [`TcpOptions::timestamps`] returns them.
    pub timestamps: Option<(u32, u32)>,
    /// The CE byte counter of the `AccECN` option, modulo 2^24: payload bytes that arrived with
    /// congestion experienced (RFC 9768, section 3.2.3). A short option omits it.
    pub ce_bytes: Option<u32>,
    sack: &'a [u8],
}

impl<'a> AckOptions<'a> {
    /// The blocks of the SACK option, as [`TcpOptions::sack_blocks`] returns them.
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = (SeqNum, SeqNum)> + use<'a> {
        blocks(self.sack)
    }
}

/// Options of a SYN segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size in bytes (RFC 9293, section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale shift as sent. A shift above 14 counts as 14 (RFC 7323, section 2.3).
    pub window_scale: Option<u8>,
    /// True if selective acknowledgments are permitted (RFC 2018, section 2).
    pub sack_permitted: bool,
    /// True if the timestamps option is present (RFC 7323, section 3.2).
    pub timestamps: bool,
}

/// Greatest shift of the window scale option (RFC 7323, section 2.3).
pub const MAX_WINDOW_SHIFT: u8 = 14;

impl SynOptions {
    /// Shift of the windows after the handshake that the sender of these options advertises; `other` are those
    /// of the other end's SYN. Scaling needs the option in both SYNs (RFC 7323, section 2.2).
    pub fn agreed_shift(&self, other: &Self) -> u8 {
        match (self.window_scale, other.window_scale) {
            (Some(shift), Some(_)) => shift.min(MAX_WINDOW_SHIFT),
            _ => 0,
        }
    }
}

/// The options of one TCP header, as far as they were captured.
///
/// Options are parsed on access. An option beyond the end of the capture, or after an option with
/// an impossible length, is not found. If an option occurs twice, the first occurrence counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpOptions<'a> {
    raw: &'a [u8],
    is_cut: bool,
}

impl<'a> TcpOptions<'a> {
    /// Creates options that were captured in full.
    #[inline]
    pub const fn new(raw: &'a [u8]) -> Self {
        Self { raw, is_cut: false }
    }

    /// Creates options that were captured only in part.
    #[inline]
    pub const fn cut(raw: &'a [u8]) -> Self {
        Self { raw, is_cut: true }
    }

    /// The captured bytes, padding included.
    #[inline]
    pub const fn raw(&self) -> &'a [u8] {
        self.raw
    }

    /// True if the header has more option bytes than the capture. An option that is not found may
    /// then exist on the wire.
    #[inline]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns `TSval` and `TSecr` of the timestamps option (RFC 7323, section 3.2).
    ///
    /// `TSecr` is meaningful only if the ACK flag is set.
    #[inline]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        self.leading_timestamps()
            .or_else(|| self.later_timestamps())
    }

    /// Returns the first timestamps option with a value of eight bytes.
    #[inline(never)]
    fn later_timestamps(&self) -> Option<(u32, u32)> {
        let mut options = self.each().filter(|(kind, _)| *kind == TIMESTAMPS);
        options.find_map(|(_, value)| Some(two_words(value.try_into().ok()?)))
    }

    /// Returns the timestamps if the option is the first one, in the layout of RFC 7323, appendix A.
    #[inline]
    fn leading_timestamps(&self) -> Option<(u32, u32)> {
        let ([NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10, value @ ..], _) =
            self.raw.split_first_chunk::<12>()?
        else {
            return None;
        };
        Some(two_words(*value))
    }

    /// Returns the timestamps if the option is the only one, in the layout of RFC 7323, appendix A.
    /// Nearly every segment of a connection with timestamps has this layout.
    #[inline]
    pub fn lone_timestamps(&self) -> Option<(u32, u32)> {
        self.leading_timestamps().filter(|_| self.raw.len() == 12)
    }

    /// Reads the options of a SYN in one walk; a SYN-ACK may also have options of an acknowledgment.
    pub fn of_syn(&self) -> (SynOptions, AckOptions<'a>) {
        let mut syn = SynOptions::default();
        let of_ack = self.walk(|kind, value| match (kind, value) {
            (MAXIMUM_SEGMENT_SIZE, &[high, low]) if syn.mss.is_none() => {
                syn.mss = Some(u16::from_be_bytes([high, low]));
            }
            (WINDOW_SCALE, &[shift]) if syn.window_scale.is_none() => {
                syn.window_scale = Some(shift);
            }
            (SACK_PERMITTED, []) => syn.sack_permitted = true,
            _ => {}
        });
        syn.timestamps = of_ack.timestamps.is_some();
        (syn, of_ack)
    }

    /// Returns the blocks of the SACK option: first byte and the byte after the last (RFC 2018,
    /// section 3).
    ///
    /// Blocks keep the order of the option; a D-SACK block comes first (RFC 2883).
    #[inline]
    pub fn sack_blocks(&self) -> impl Iterator<Item = (SeqNum, SeqNum)> + use<'a> {
        let value = || {
            let option = self.each().find(|(kind, _)| *kind == SACK);
            option.map_or(&[][..], |(_, value)| value)
        };
        blocks(self.lone_blocks().map_or_else(value, |lone| lone.sack))
    }

    /// Reads the options of an acknowledgment in one walk: separate calls take three.
    #[inline]
    pub fn of_ack(&self) -> AckOptions<'a> {
        self.lone_blocks().unwrap_or_else(|| self.walk(|_, _| {}))
    }

    /// Returns timestamps and SACK blocks if the header has no other options, in the layout that Linux
    /// writes (RFC 7323, appendix A; RFC 2018, section 3).
    #[inline]
    fn lone_blocks(&self) -> Option<AckOptions<'a>> {
        let (head, sack) = self.raw.split_first_chunk::<16>()?;
        let [
            NO_OPERATION,
            NO_OPERATION,
            TIMESTAMPS,
            10,
            timestamps @ ..,
            NO_OPERATION,
            NO_OPERATION,
            SACK,
            length,
        ] = head
        else {
            return None;
        };
        (usize::from(*length) == 2 + sack.len()).then(|| AckOptions {
            timestamps: Some(two_words(*timestamps)),
            ce_bytes: None,
            sack,
        })
    }

    /// Reads the options of an acknowledgment; passes all others to `other`.
    // Inlined: returned from a call, the options of all ACKs would pass through memory.
    #[inline]
    fn walk(&self, mut other: impl FnMut(u8, &[u8])) -> AckOptions<'a> {
        let mut timestamps = None;
        let mut sack = None;
        let mut counters = None;
        for (kind, value) in self.each() {
            match kind {
                TIMESTAMPS if timestamps.is_none() => timestamps = value.try_into().ok(),
                SACK if sack.is_none() => sack = Some(value),
                ACCURATE_ECN_0 | ACCURATE_ECN_1 if counters.is_none() => counters = Some(value),
                _ => other(kind, value),
            }
        }
        AckOptions {
            timestamps: timestamps.map(|value: &[u8; 8]| two_words(*value)),
            ce_bytes: counters.and_then(ce_bytes),
            sack: sack.unwrap_or_default(),
        }
    }

    fn each(&self) -> Options<'a> {
        Options { rest: self.raw }
    }
}

/// Iterator over kind and value of each complete option.
struct Options<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Options<'a> {
    type Item = (u8, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match *self.rest {
                [NO_OPERATION, ref rest @ ..] => self.rest = rest,
                // A length counts kind and length themselves, so 0 and 1 are illegal and would not
                // advance (RFC 9293, MUST-7).
                [kind, length @ 2..=0xff, ..] if kind != END_OF_LIST => {
                    let (option, rest) = self.rest.split_at_checked(length.into())?;
                    self.rest = rest;
                    return Some((kind, &option[2..]));
                }
                _ => return None,
            }
        }
    }
}

/// Returns the blocks in the value of a SACK option. A length other than 2 + 8n is malformed (RFC
/// 2018, section 3), but whole blocks are still used.
#[inline]
fn blocks(value: &[u8]) -> impl Iterator<Item = (SeqNum, SeqNum)> + use<'_> {
    value.as_chunks().0.iter().map(|block| {
        let (left, right) = two_words(*block);
        (SeqNum(left), SeqNum(right))
    })
}

/// Returns the CE byte counter in the value of an `AccECN` option. It is the second counter in both
/// field orders.
fn ce_bytes(value: &[u8]) -> Option<u32> {
    let counter: &[u8; 3] = value.get(3..6)?.try_into().ok()?;
    let [high, middle, low] = *counter;
    Some(u32::from_be_bytes([0, high, middle, low]))
}

#[inline]
fn two_words(bytes: [u8; 8]) -> (u32, u32) {
    let word = |at| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (word(0), word(4))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MSS 1460, SACK permitted, timestamps 7 and 0, window scale 10: the options of a Linux SYN.
    const SYN: [u8; 20] = [
        2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 10,
    ];

    fn blocks(options: TcpOptions<'_>) -> Vec<(u32, u32)> {
        let blocks = options.sack_blocks();
        assert!(options.of_ack().sack_blocks().eq(options.sack_blocks()));
        blocks.map(|(left, right)| (left.0, right.0)).collect()
    }

    #[test]
    fn each_option_of_a_syn_is_read() {
        let options = TcpOptions::new(&SYN);
        let all = SynOptions {
            mss: Some(1460),
            window_scale: Some(10),
            sack_permitted: true,
            timestamps: true,
        };
        assert_eq!(options.of_syn().0, all);
        assert_eq!(options.timestamps(), Some((7, 0)));
        assert_eq!(options.of_syn().1.timestamps, Some((7, 0)));
        assert_eq!(blocks(options), []);
    }

    #[test]
    fn a_header_without_options_yields_no_options() {
        let none = TcpOptions::default();
        assert_eq!(none.of_syn().0, SynOptions::default());
        assert_eq!(none.timestamps(), None);
        assert_eq!(blocks(none), []);
        assert!(!none.is_cut());
    }

    #[test]
    fn sack_blocks_come_in_the_order_sent() {
        let dsack = [
            1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18, 0, 0, 0, 10, 0, 0, 0, 20, 0, 0, 0,
            50, 0, 0, 0, 60,
        ];
        let options = TcpOptions::new(&dsack);
        assert_eq!(options.timestamps(), Some((1, 2)));
        assert_eq!(options.of_ack().timestamps, Some((1, 2)));
        assert_eq!(blocks(options), [(10, 20), (50, 60)]);
    }

    #[test]
    fn one_walk_reads_the_first_of_each_option_of_an_ack() {
        let raw = [
            8, 4, 9, 9, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 174, 8, 0, 0, 1, 2, 3, 4, 172, 11, 9,
            9, 9, 9, 9, 9, 9, 9, 9,
        ];
        let options = TcpOptions::new(&raw);
        let of_ack = options.of_ack();
        assert_eq!(of_ack.timestamps, Some((1, 2)));
        assert_eq!(of_ack.timestamps, options.timestamps());
        assert_eq!(of_ack.ce_bytes, Some(0x02_03_04));
        assert_eq!(of_ack.sack_blocks().count(), 0);
        assert_eq!(TcpOptions::new(&[172, 5, 0, 0, 1]).of_ack().ce_bytes, None);
    }

    #[test]
    fn a_truncated_option_is_not_read() {
        for kept in 0..SYN.len() {
            let cut = TcpOptions::cut(&SYN[..kept]);
            let read = SynOptions {
                mss: (kept >= 4).then_some(1460),
                window_scale: None,
                sack_permitted: kept >= 6,
                timestamps: kept >= 16,
            };
            assert_eq!(cut.of_syn().0, read);
            assert_eq!(cut.timestamps(), (kept >= 16).then_some((7, 0)));
            assert!(cut.is_cut());
        }
        let usual = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        assert_eq!(TcpOptions::cut(&usual[..11]).timestamps(), None);
    }

    #[test]
    fn options_after_an_impossible_length_are_not_read() {
        for length in [0, 1, 200] {
            let options = [254, length, 3, 3, 7];
            assert_eq!(TcpOptions::new(&options).of_syn().0, SynOptions::default());
        }
    }

    #[test]
    fn options_after_the_end_of_the_list_are_not_read() {
        assert_eq!(
            TcpOptions::new(&[0, 3, 3, 7]).of_syn().0,
            SynOptions::default()
        );
    }

    #[test]
    fn an_option_of_the_wrong_length_is_ignored() {
        assert_eq!(
            TcpOptions::new(&[2, 3, 5, 1]).of_syn().0,
            SynOptions::default()
        );
        assert_eq!(
            TcpOptions::new(&[8, 6, 0, 0, 0, 1, 1, 1]).timestamps(),
            None
        );
    }

    #[test]
    fn windows_are_scaled_if_both_syns_have_the_option() {
        let syn = |window_scale| SynOptions {
            window_scale,
            ..SynOptions::default()
        };
        assert_eq!(syn(Some(7)).agreed_shift(&syn(Some(2))), 7);
        assert_eq!(syn(Some(200)).agreed_shift(&syn(Some(0))), 14);
        assert_eq!(syn(Some(7)).agreed_shift(&syn(None)), 0);
        assert_eq!(syn(None).agreed_shift(&syn(Some(7))), 0);
    }
}
