//! Wire rate, throughput and goodput in bins of time.
//!
//! Bins have one width and start at a stated origin on the capture's clock. A packet counts in full in
//! the bin of its capture time. Three sizes are counted:
//!
//! - **wire rate:** bytes on the wire, link header included, as recorded. The load of the
//!   link without preamble, checksum and inter-frame gap (24 bytes a frame on Ethernet), which no
//!   capture contains.
//! - **throughput:** bytes of the IP packets, headers included.
//! - **goodput:** bytes of transport payload that no earlier captured packet of the same direction
//!   carried. A segment lost before the capture point and retransmitted counts once; a loss behind
//!   the capture point is not visible. Reordering does not matter.
//!
//! A duplicate record counts again, except for TCP goodput.
//!
//! A bin is reported once the capture time has passed it by the tolerance, so records may be out of
//! order by up to the tolerance. Later packets are in no bin and are counted separately. Memory
//! grows with the number of live flows, not with the length of the capture.

mod bin;
mod clock;
mod empty;
mod grid;
mod run;
mod series;
mod tally;

#[cfg(test)]
mod tests;

pub use bin::{ThroughputBin, ThroughputFlow, ThroughputRow, ThroughputTotals, Volume};
pub use empty::{MAX_EMPTY_ROWS, RowCounts};
pub use grid::{BinWidth, Origin};
pub use run::{ThroughputCounter, ThroughputOptions, throughput};
pub use tally::BinTally;
