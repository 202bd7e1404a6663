//! Why a record is not used, and how many were.

use std::fmt;

/// Why a record gives no TCP or UDP packet. One reason per record: the first one met on the way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skipped {
    /// The capture file gives the record no time. The reader of the file finds this and the next
    /// two reasons, not the decoder.
    NoTimestamp,
    /// The record's time is outside of the years 1677 to 2262.
    TimestampOutOfRange,
    /// The record's time is more than a day from those of the records around it.
    TimestampOutlier,
    /// Nothing here reads this link type.
    UnsupportedLinkType,
    /// A link layer that we read, carrying something else than IP: ARP, LLC, LLDP, ….
    NotIp,
    /// The record ends before the fixed part of the TCP or UDP header does.
    Cut,
    /// The IP header contradicts itself or the layer below.
    MalformedIp,
    /// A fragment other than the first: it has no ports.
    LaterFragment,
    /// ICMP or `ICMPv6`.
    Icmp,
    /// An encapsulating security payload (RFC 4303).
    Encrypted,
    /// Another protocol than TCP and UDP: SCTP, OSPF, IGMP, ….
    OtherTransport,
    /// IPv4 or IPv6 in IP, not entered.
    IpInIp,
    /// Generic routing encapsulation, not entered.
    Gre,
    /// A virtual extensible LAN frame, not entered.
    Vxlan,
    /// More tunnels in each other than we follow.
    NestedTooDeep,
    /// The TCP or UDP header contradicts itself or the IP header.
    MalformedTransport,
}

impl Skipped {
    /// Every reason, in order of their [`index`](Self::index).
    pub const ALL: [Self; 16] = [
        Self::NoTimestamp,
        Self::TimestampOutOfRange,
        Self::TimestampOutlier,
        Self::UnsupportedLinkType,
        Self::NotIp,
        Self::Cut,
        Self::MalformedIp,
        Self::LaterFragment,
        Self::Icmp,
        Self::Encrypted,
        Self::OtherTransport,
        Self::IpInIp,
        Self::Gre,
        Self::Vxlan,
        Self::NestedTooDeep,
        Self::MalformedTransport,
    ];

    /// Counts up from 0, for arrays with one place per reason.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The reason in plain words, as it completes "12 packets skipped: ".
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoTimestamp => "no timestamp",
            Self::TimestampOutOfRange => "timestamp out of range",
            Self::TimestampOutlier => "timestamp far from those around it",
            Self::UnsupportedLinkType => "link type not supported",
            Self::NotIp => "not IP",
            Self::Cut => "cut before the end of the transport header",
            Self::MalformedIp => "malformed IP header",
            Self::LaterFragment => "IP fragment other than the first",
            Self::Icmp => "ICMP",
            Self::Encrypted => "encrypted (ESP)",
            Self::OtherTransport => "neither TCP nor UDP",
            Self::IpInIp => "IP-in-IP tunnel not entered",
            Self::Gre => "GRE tunnel not entered",
            Self::Vxlan => "VXLAN tunnel not entered",
            Self::NestedTooDeep => "too many nested tunnels",
            Self::MalformedTransport => "malformed TCP or UDP header",
        }
    }
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

impl std::error::Error for Skipped {}

/// How many records were used and how many were skipped, and why.
///
/// Every record observed is in exactly one of the counts, so they sum to [`records`](Self::records).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    used: u64,
    skipped: [u64; Skipped::ALL.len()],
}

impl Tally {
    /// Counts one record by what became of it.
    #[inline]
    pub fn observe<T>(&mut self, outcome: &Result<T, Skipped>) {
        match outcome {
            Ok(_) => self.used += 1,
            Err(reason) => self.skipped[reason.index()] += 1,
        }
    }

    /// Records that gave a packet.
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// The reasons met, with how many records each; a reason never met is left out.
    pub fn skipped(&self) -> impl Iterator<Item = (Skipped, u64)> + use<> {
        Skipped::ALL
            .into_iter()
            .zip(self.skipped)
            .filter(|&(_, count)| count > 0)
    }

    /// Records skipped for `reason`.
    pub const fn skipped_for(&self, reason: Skipped) -> u64 {
        self.skipped[reason.index()]
    }

    /// All records observed.
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
    fn no_two_reasons_read_the_same() {
        let words: std::collections::BTreeSet<_> = Skipped::ALL.map(Skipped::words).into();
        assert_eq!(words.len(), Skipped::ALL.len());
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
