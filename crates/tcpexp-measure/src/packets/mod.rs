//! What each packet of a flow shows by itself: its place in the stream, and the round-trip time that
//! its ACK gives.
//!
//! The state of the sender at each ACK is in [`sender`](crate::sender).

mod explained;
mod meter;
mod packet;

pub use explained::{ExplainedFlow, ExplainedPacket};
pub use meter::PacketMeter;
pub use packet::{FlowPacketRow, PacketClass, PacketRtt, TcpPart};

#[cfg(test)]
mod tests;
