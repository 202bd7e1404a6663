//! The link layer: the bytes that a packet takes on the link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcpexp_units::BitRate;

use super::Path;

/// A link layer, with the bytes that it adds to each IP packet and the cells that carry them.
///
/// The names and numbers are those of tc-cake(8), which counts from the IP packet too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkLayer {
    /// Ethernet on the wire: 38 bytes of preamble, header, checksum and gap; at least 84 in all.
    Ethernet,
    /// Cable modems, DOCSIS: 18 bytes; at least 64 in all.
    Docsis,
    /// ATM cells of 53 bytes that carry 48; no bytes of its own, so `overhead` states them.
    Atm,
    /// PTM, 64 of 65 bytes; no bytes of its own, so `overhead` states them. Needs `cake`.
    Ptm,
    /// ADSL, PPP over ATM, VC multiplexed: 10 bytes in ATM cells.
    PppoaVcmux,
    /// ADSL, PPP over ATM, LLC: 14 bytes in ATM cells.
    PppoaLlc,
    /// ADSL, PPP over Ethernet, VC multiplexed: 32 bytes in ATM cells.
    PppoeVcmux,
    /// ADSL, PPP over Ethernet, LLC/SNAP: 40 bytes in ATM cells.
    PppoeLlcsnap,
    /// ADSL, bridged Ethernet, VC multiplexed: 24 bytes in ATM cells.
    BridgedVcmux,
    /// ADSL, bridged Ethernet, LLC/SNAP: 32 bytes in ATM cells.
    BridgedLlcsnap,
    /// ADSL, IP over ATM, VC multiplexed: 8 bytes in ATM cells.
    IpoaVcmux,
    /// ADSL, IP over ATM, LLC/SNAP: 16 bytes in ATM cells.
    IpoaLlcsnap,
    /// VDSL2, PPP over Ethernet: 30 bytes in PTM. Needs `cake`.
    PppoePtm,
    /// VDSL2, bridged Ethernet: 22 bytes in PTM. Needs `cake`.
    BridgedPtm,
}

/// The cells or blocks of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cells {
    /// Packets are sent whole.
    None,
    /// ATM: 53 bytes carry 48, the last cell is padded (ITU-T I.361).
    Atm,
    /// PTM: 65 bytes carry 64 (ITU-T G.992.3, annex N).
    Ptm,
}

/// How a link carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    /// Bytes added to each IP packet.
    pub(crate) overhead: i32,
    /// Smallest size of a packet with them.
    pub(crate) minimum: u32,
    pub(crate) cells: Cells,
}

/// Largest IP packet of Ethernet, its usual MTU (IEEE 802.3).
const ETHERNET_MTU: u32 = 1_500;

/// Bytes of a full Ethernet frame: the MTU of 1500 and the header.
pub(crate) const FULL_FRAME: u64 = 1_514;

/// Bytes of an Ethernet header: two addresses and the type.
pub(crate) const ETHERNET_HEADER: i32 = 14;

impl LinkLayer {
    const fn framing(self) -> Framing {
        let (overhead, minimum, cells) = match self {
            Self::Ethernet => (38, 84, Cells::None),
            Self::Docsis => (18, 64, Cells::None),
            Self::Atm => (0, 0, Cells::Atm),
            Self::Ptm => (0, 0, Cells::Ptm),
            Self::PppoaVcmux => (10, 0, Cells::Atm),
            Self::PppoaLlc => (14, 0, Cells::Atm),
            Self::PppoeVcmux | Self::BridgedLlcsnap => (32, 0, Cells::Atm),
            Self::PppoeLlcsnap => (40, 0, Cells::Atm),
            Self::BridgedVcmux => (24, 0, Cells::Atm),
            Self::IpoaVcmux => (8, 0, Cells::Atm),
            Self::IpoaLlcsnap => (16, 0, Cells::Atm),
            Self::PppoePtm => (30, 0, Cells::Ptm),
            Self::BridgedPtm => (22, 0, Cells::Ptm),
        };
        Framing {
            overhead,
            minimum,
            cells,
        }
    }

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Docsis => "docsis",
            Self::Atm => "atm",
            Self::Ptm => "ptm",
            Self::PppoaVcmux => "pppoa-vcmux",
            Self::PppoaLlc => "pppoa-llc",
            Self::PppoeVcmux => "pppoe-vcmux",
            Self::PppoeLlcsnap => "pppoe-llcsnap",
            Self::BridgedVcmux => "bridged-vcmux",
            Self::BridgedLlcsnap => "bridged-llcsnap",
            Self::IpoaVcmux => "ipoa-vcmux",
            Self::IpoaLlcsnap => "ipoa-llcsnap",
            Self::PppoePtm => "pppoe-ptm",
            Self::BridgedPtm => "bridged-ptm",
        }
    }
}

impl Framing {
    /// Bytes of the link that a packet takes.
    pub(crate) fn bytes(self, ip_bytes: u64) -> u64 {
        let framed = ip_bytes.saturating_add_signed(self.overhead.into());
        let framed = framed.max(self.minimum.into());
        match self.cells {
            Cells::None => framed,
            Cells::Atm => framed.div_ceil(48) * 53,
            Cells::Ptm => framed + framed.div_ceil(64),
        }
    }
}

impl Path {
    /// How the link carries packets; `None` if the plan does not state it.
    pub(crate) fn framing(&self) -> Option<Framing> {
        if self.linklayer.is_none() && self.overhead.is_none() {
            return None;
        }
        let plain = Framing {
            overhead: 0,
            minimum: 0,
            cells: Cells::None,
        };
        let layer = self.linklayer.map_or(plain, LinkLayer::framing);
        Some(Framing {
            overhead: self.overhead.unwrap_or(layer.overhead),
            ..layer
        })
    }

    /// The mean rate of a slotted link that always has full packets to send; `None` if its slots carry any
    /// number of packets.
    pub(crate) fn slot_rate(&self) -> Option<BitRate> {
        let least = self.slot?;
        let most = self.slot_most.unwrap_or(least);
        // Twice the mean time between slots.
        let sum = u128::try_from((least + most).as_nanos()).ok()?;
        let packets = self.slot_packets.map(u64::from);
        // The packet that uses up the bytes of a slot leaves in it (`sch_netem.c`, `netem_dequeue`).
        let by_bytes = self
            .slot_bytes
            .map(|bytes| bytes.as_bytes().div_ceil(self.full_frame()));
        let packets = packets.into_iter().chain(by_bytes).min()?;
        let bytes = u128::from(packets) * u128::from(self.full_frame());
        let bps = (bytes * 8 * 2 * 1_000_000_000).checked_div(sum)?;
        Some(BitRate::from_bps(u64::try_from(bps).ok()?))
    }

    /// Bytes of a full IP packet: the MTU of the hosts.
    pub(crate) fn full_packet(&self) -> u64 {
        self.mtu.unwrap_or(ETHERNET_MTU).into()
    }

    /// Bytes of a full packet with its Ethernet header.
    pub(crate) fn full_frame(&self) -> u64 {
        self.full_packet()
            .saturating_add_signed(ETHERNET_HEADER.into())
    }

    /// Bytes of the rate that an IP packet of this size takes. Without `linklayer` and `overhead`,
    /// these are Linux's: the packet and its Ethernet header.
    pub fn link_bytes(&self, ip_bytes: u64) -> u64 {
        match self.framing() {
            Some(framing) => framing.bytes(ip_bytes),
            None => ip_bytes.saturating_add_signed(ETHERNET_HEADER.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tcpexp_units::ByteCount;

    use super::*;

    fn bytes(layer: LinkLayer, ip_bytes: u64) -> u64 {
        let path = Path {
            linklayer: Some(layer),
            ..Path::default()
        };
        path.link_bytes(ip_bytes)
    }

    #[test]
    fn atm_carries_48_bytes_in_cells_of_53() {
        // 1500 + 40 = 1540 bytes fill 32 cells and 4 bytes of another one.
        assert_eq!(bytes(LinkLayer::PppoeLlcsnap, 1_500), 33 * 53);
        assert_eq!(bytes(LinkLayer::PppoeLlcsnap, 40), 2 * 53);
        assert_eq!(bytes(LinkLayer::IpoaVcmux, 40), 53);
        assert_eq!(bytes(LinkLayer::IpoaVcmux, 41), 2 * 53);
    }

    #[test]
    fn other_layers_add_their_bytes_and_pad_short_packets() {
        assert_eq!(bytes(LinkLayer::Ethernet, 1_500), 1_538);
        assert_eq!(bytes(LinkLayer::Ethernet, 40), 84);
        assert_eq!(bytes(LinkLayer::Docsis, 40), 64);
        assert_eq!(bytes(LinkLayer::PppoePtm, 1_500), 1_530 + 24);
        assert_eq!(Path::default().link_bytes(1_500), 1_514);
        let overhead = |overhead| Path {
            overhead: Some(overhead),
            ..Path::default()
        };
        assert_eq!(overhead(26).link_bytes(1_500), 1_526);
        assert_eq!(overhead(-20).link_bytes(1_500), 1_480);
    }

    #[test]
    fn slots_have_the_rate_of_the_smaller_of_their_limits() {
        let path = Path {
            slot: Some("5ms".parse().unwrap()),
            slot_most: Some("15ms".parse().unwrap()),
            slot_bytes: Some(ByteCount::new(15_000)),
            ..Path::default()
        };
        // Ten frames of 1514 bytes every 10 ms in the mean.
        assert_eq!(path.slot_rate(), Some(BitRate::from_bps(12_112_000)));
        let path = Path {
            slot_packets: Some(5),
            ..path
        };
        assert_eq!(path.slot_rate(), Some(BitRate::from_bps(6_056_000)));
        let small = Path {
            mtu: Some(576),
            ..path.clone()
        };
        assert_eq!(
            small.slot_rate(),
            Some(BitRate::from_bps(5 * 590 * 8 * 100))
        );
        let path = Path {
            slot_packets: None,
            slot_bytes: None,
            ..path
        };
        assert_eq!(path.slot_rate(), None);
    }

    #[test]
    fn the_packet_that_fills_a_slot_leaves_in_it() {
        let packets = |slot_bytes| {
            let path = Path {
                slot: Some("10ms".parse().unwrap()),
                slot_bytes: Some(ByteCount::new(slot_bytes)),
                ..Path::default()
            };
            path.slot_rate().unwrap().as_bps() / (1_514 * 8 * 100)
        };
        assert_eq!(
            [1, 200, 1_514, 1_515, 1_600, 3_028].map(packets),
            [1, 1, 1, 2, 2, 2]
        );
    }
}
