//! How much passed, bin by bin: wire rate, throughput and goodput.
//!
//! Time is cut into bins of one width from a stated origin, on the capture's clock; a packet belongs
//! to the bin that its capture time lies in, whole. Three sizes are counted:
//!
//! - **wire rate:** bytes on the wire, link header included, as the capture file says. What a link
//!   is loaded with, but for preamble, checksum and gap between frames (24 bytes a frame on
//!   Ethernet), which no capture shows.
//! - **throughput:** bytes of the IP packets, headers included.
//! - **goodput:** bytes of TCP or UDP payload that no packet captured earlier carried in the same
//!   direction. What was lost on the way to the capture point and sent again counts once; what is
//!   lost behind it does not come back out. Reordering does not matter.
//!
//! A packet that the capture holds twice counts twice, but for goodput of TCP.
//!
//! A bin is handed out when the capture's time has moved past it by the tolerance, so that captures
//! may be out of order by that much. Packets that come later still are not in any bin and are
//! counted apart. So memory follows the live flows, not the length of the capture.

mod bin;
mod clock;
mod grid;
mod run;
mod series;
mod tally;

#[cfg(test)]
mod tests;

pub use bin::{ThroughputBin, ThroughputFlow, ThroughputRow, ThroughputTotals, Volume};
pub use grid::{BinWidth, Origin};
pub use run::{ThroughputCounter, ThroughputOptions, throughput};
pub use tally::BinTally;
