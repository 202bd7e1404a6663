//! Decodes the bytes of one record into a view of its IP packet and transport header.
//!
//! [`decode`] takes the captured bytes of one frame. It returns a [`Packet`] that borrows from
//! them, or the reason why the record holds no usable packet ([`Skipped`]). It strips link layers,
//! VLAN tags, MPLS labels and PPPoE, walks IPv4 options and IPv6 extension headers, and optionally
//! enters tunnels. It allocates nothing, keeps no state and never panics.
//!
//! Captures are truncated, padded, or taken before the interface segments a packet. Lengths
//! therefore come from the IP header where it has them, and truncated options are read up to the
//! cut. Checksums are not verified: most captures at a sender hold wrong checksums.
//!
//! ```
//! # use etherparse::PacketBuilder;
//! use tcpexp_wire::{LinkType, Tally, Transport, Tunnels, decode};
//!
//! # let mut frame = Vec::new();
//! # PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
//! #     .tcp(40_000, 5201, 1_000, 65_535).syn().write(&mut frame, &[])?;
//! // `frame` is a SYN from 10.0.0.1:40000 to 10.0.0.2:5201.
//! let mut tally = Tally::default();
//! let outcome = decode(LinkType::ETHERNET, &frame, 54, Tunnels::Closed);
//! tally.observe(&outcome);
//! if let Transport::Tcp(tcp) = outcome?.transport {
//!     assert_eq!(tcp.seq.0, 1_000);
//!     assert_eq!(tcp.flags.to_string(), "S");
//!     assert_eq!(tcp.options.timestamps(), None);
//! }
//! assert_eq!((tally.used(), tally.records()), (1, 1));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

mod damage;
mod decode;
mod filter;
mod flags;
mod ip;
mod link;
mod options;
mod other;
mod packet;
pub mod protocol;
mod quic;
mod seq;
mod skipped;
mod transport;
mod tunnel;
mod unread;
mod usual;

pub use decode::{decode, decode_usual};
pub use filter::{Filter, FilterError, FilterProblem};
pub use flags::TcpFlags;
pub use link::{LinkType, frame_bytes, ip_bytes};
pub use options::{AckOptions, MAX_WINDOW_SHIFT, SynOptions, TcpOptions};
pub use packet::{
    Addresses, Ecn, Other, Packet, Ports, Tcp, Transport, Udp, is_congestion_experienced,
};
pub use quic::{ConnectionId, Quic, QuicKind, QuicLong, QuicShort, QuicVersion};
pub use seq::SeqNum;
pub use skipped::{Skipped, Tally};
pub use tunnel::Tunnels;
