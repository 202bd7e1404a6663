//! Reasons for skipped records, and counts of used and skipped records.

use std::fmt;

/// Reason why a record gives no packet: the first problem met, from the outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skipped {
    /// The capture file has no time for the record. The file reader reports this reason and the
    /// next two, not the decoder.
    NoTimestamp,
    /// The record's time is outside the years 1677 to 2262.
    TimestampOutOfRange,
    /// The record's time is more than a day away from the times of its neighbors.
    TimestampOutlier,
    /// The user's filter does not select the record. The capture's reader reports this reason and
    /// the next, not the decoder.
    Filtered,
    /// The record is outside the user's range of times.
    OutsideRange,
    /// The capture has each packet several times, and this is not the first record of a packet. The capture's
    /// reader reports this reason, not the decoder.
    FurtherRecord,
    /// The link type is not supported.
    UnsupportedLinkType,
    /// The link layer is supported, its payload is not IP: ARP, LLC, LLDP, ….
    NotIp,
    /// The record ends before the end of the fixed transport header.
    Cut,
    /// The IP header contradicts itself or the layer below.
    MalformedIp,
    /// A fragment other than the first, without a transport header.
    LaterFragment,
    /// IPv4 or IPv6 in IP, not entered.
    IpInIp,
    /// Generic routing encapsulation, not entered.
    Gre,
    /// A virtual extensible LAN frame, not entered.
    Vxlan,
    /// The packet has more nested tunnels than the decoder follows.
    NestedTooDeep,
    /// The transport header contradicts itself or the IP header.
    MalformedTransport,
}

impl Skipped {
    /// All reasons, in order of their [`index`](Self::index).
    pub const ALL: [Self; 16] = [
        Self::NoTimestamp,
        Self::TimestampOutOfRange,
        Self::TimestampOutlier,
        Self::Filtered,
        Self::OutsideRange,
        Self::FurtherRecord,
        Self::UnsupportedLinkType,
        Self::NotIp,
        Self::Cut,
        Self::MalformedIp,
        Self::LaterFragment,
        Self::IpInIp,
        Self::Gre,
        Self::Vxlan,
        Self::NestedTooDeep,
        Self::MalformedTransport,
    ];

    /// Index from 0, for arrays with one element per reason.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The reason as text that completes "12 packets skipped: ".
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoTimestamp => "no timestamp",
            Self::TimestampOutOfRange => "timestamp out of range",
            Self::TimestampOutlier => "timestamp far from those around it",
            Self::Filtered => "not selected by the filter",
            Self::OutsideRange => "outside the selected times",
            Self::FurtherRecord => "repeated record of a packet",
            Self::UnsupportedLinkType => "link type not supported",
            Self::NotIp => "not IP",
            Self::Cut => "cut before the end of the transport header",
            Self::MalformedIp => "malformed IP header",
            Self::LaterFragment => "IP fragment other than the first",
            Self::IpInIp => "IP-in-IP tunnel not entered",
            Self::Gre => "GRE tunnel not entered",
            Self::Vxlan => "VXLAN tunnel not entered",
            Self::NestedTooDeep => "too many nested tunnels",
            Self::MalformedTransport => "malformed transport header",
        }
    }

    /// A number of records with the reason: `3 not IP`.
    pub fn counted(self, records: u64) -> String {
        match (self, records) {
            (Self::FurtherRecord, 0 | 2..) => format!("{records} repeated records of packets"),
            _ => format!("{records} {self}"),
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

impl std::error::Error for Skipped {}

/// Counts of used records, and of skipped records by reason.
///
/// Every observed record is in exactly one count, so the counts sum to [`records`](Self::records).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    used: u64,
    cut_options: u64,
    impossible_lengths: u64,
    skipped: [u64; Skipped::ALL.len()],
}

impl Tally {
    /// Counts one record by its outcome.
    #[inline]
    pub fn observe<T>(&mut self, outcome: &Result<T, Skipped>) {
        match outcome {
            Ok(_) => self.used += 1,
            Err(reason) => self.skipped[reason.index()] += 1,
        }
    }

    /// Counts records that another pass skipped for this reason.
    pub fn add_skipped(&mut self, reason: Skipped, records: u64) {
        let count = &mut self.skipped[reason.index()];
        // A file may hold any number.
        *count = count.saturating_add(records);
    }

    /// Counts a used record whose TCP options were captured only in part.
    #[cold]
    pub fn add_cut_options(&mut self) {
        self.cut_options += 1;
    }

    /// Number of used records whose TCP options were captured only in part.
    pub const fn cut_options(&self) -> u64 {
        self.cut_options
    }

    /// Counts a used record whose stated length on the wire its packet cannot have had.
    #[cold]
    pub fn add_impossible_length(&mut self) {
        self.impossible_lengths += 1;
    }

    /// Number of used records whose stated length on the wire their packet cannot have had.
    pub const fn impossible_lengths(&self) -> u64 {
        self.impossible_lengths
    }

    /// Number of records that gave a packet.
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// Returns each reason with its number of records; omits reasons with none.
    pub fn skipped(&self) -> impl Iterator<Item = (Skipped, u64)> + use<> {
        Skipped::ALL
            .into_iter()
            .zip(self.skipped)
            .filter(|&(_, count)| count > 0)
    }

    /// Number of records skipped for `reason`.
    pub const fn skipped_for(&self, reason: Skipped) -> u64 {
        self.skipped[reason.index()]
    }

    /// Number of all observed records.
    pub fn records(&self) -> u64 {
        self.used + self.skipped.iter().sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lists_each_reason_at_its_index() {
        for (index, reason) in Skipped::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
    }

    #[test]
    fn reasons_have_distinct_texts() {
        let words: std::collections::BTreeSet<_> = Skipped::ALL.map(Skipped::words).into();
        assert_eq!(words.len(), Skipped::ALL.len());
    }

    #[test]
    fn a_reason_that_names_records_has_a_plural() {
        let counted = [1, 7000].map(|records| Skipped::FurtherRecord.counted(records));
        let expected = [
            "1 repeated record of a packet",
            "7000 repeated records of packets",
        ];
        assert_eq!(counted, expected);
        assert_eq!(Skipped::NotIp.counted(3), "3 not IP");
    }

    #[test]
    fn used_and_skipped_sum_to_records() {
        let mut tally = Tally::default();
        tally.observe(&Ok(()));
        tally.observe(&Ok(()));
        tally.observe::<()>(&Err(Skipped::NotIp));
        tally.observe::<()>(&Err(Skipped::Gre));
        tally.observe::<()>(&Err(Skipped::NotIp));
        assert_eq!(tally.used(), 2);
        let skipped: Vec<_> = tally.skipped().collect();
        assert_eq!(skipped, [(Skipped::NotIp, 2), (Skipped::Gre, 1)]);
        assert_eq!(tally.records(), 5);
        assert_eq!(tally.skipped_for(Skipped::Cut), 0);
    }
}
